(* Drafts with Pr[all in H] = G(q(H)), G convex: the optimum is attained on a prefix of
   the order of p/q, the clipped law w attains it, and a selection with law w exists. *)
Require Import prelude prob rejection coupling duality.

Section Prefix.
Variables (R : realFieldType) (T : finType) (q : T -> R) (G : R -> R).
Hypothesis dq : is_dist q.
Implicit Types (p : T -> R) (H : {set T}) (mu : R).

(* convex on [0, 1]: at every point some line is below G *)
Definition convex := forall t, 0 <= t <= 1 ->
  exists mu, 0 <= mu /\ forall x, 0 <= x <= 1 -> G t + mu * (x - t) <= G x.
Hypothesis cG : convex.

Definition below p mu := [set x | p x < mu * q x].
Definition value p H := weight p H - G (weight q H).

Lemma weight01 H : 0 <= weight q H <= 1.
Proof.
rewrite /weight sumr_ge0 => [/=|x _]; last exact: dist_ge0.
rewrite -(dist_sum dq) [X in _ <= X](bigID (mem H)) /= ler_addl.
by apply: sumr_ge0 => x _; exact: dist_ge0.
Qed.

(* no set has a smaller p(H) - mu q(H) than the tokens of ratio below mu *)
Lemma below_least p mu H :
  weight p (below p mu) - mu * weight q (below p mu) <= weight p H - mu * weight q H.
Proof.
rewrite /weight !mulr_sumr -!sumrB big_mkcond [X in _ <= X]big_mkcond /=.
apply: ler_sum => x _; rewrite inE; case: ltP => h; case: ifP => _ //.
  by rewrite subr_le0 ltW.
by rewrite subr_ge0.
Qed.

Theorem prefix_optimal p H : exists mu, 0 <= mu /\ value p (below p mu) <= value p H.
Proof.
have [mu [mu0 line]] := cG (weight01 H); exists mu; split=> //.
have g := line _ (weight01 (below p mu)); have l := below_least p mu H.
rewrite /value; apply: le_trans (ler_sub (lexx _) g) _.
move: l g; move: (weight p _) (weight q _) => P Q l _.
rewrite -subr_ge0; rewrite -subr_ge0 in l; apply: le_trans l _.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
Qed.

(* in every list of tokens in order of p/q, these are a prefix *)
Lemma below_prefix p mu (s : seq T) : 0 <= mu -> (forall x, 0 <= p x) ->
  pairwise (fun x y => p x * q y <= p y * q x) s -> all (fun x => 0 < q x) s ->
  [seq x <- s | x \in below p mu] = take (count (fun x => x \in below p mu) s) s.
Proof.
move=> mu0 p0; elim: s => //= x s IH /andP[/allP ord srt] /andP[qx qs].
case: (boolP (x \in below p mu)) => xb /=; first by rewrite IH.
have none : ~~ has (fun y => y \in below p mu) s.
  apply/hasPn => y ys; move: xb; rewrite !inE -!leNgt => xb.
  have := ord y ys; have qy : 0 < q y := allP qs y ys.
  move=> o; rewrite -(ler_pmul2r qx); apply: le_trans o.
  by rewrite mulrAC ler_pmul2r.
have -> : [seq y <- s | y \in below p mu] = [::].
  by apply/eqP; rewrite -size_eq0 size_filter eqn0Ngt -has_count.
by move: none; rewrite has_count -eqn0Ngt => /eqP ->; rewrite take0.
Qed.

End Prefix.

(* powers are convex, and K independent drafts have Pr[all in H] = q(H)^K *)
Section Powers.
Variable R : realFieldType.

Lemma tangent (t x : R) n : 0 <= t -> 0 <= x ->
  t ^+ n.+1 + (n.+1)%:R * t ^+ n * (x - t) <= x ^+ n.+1.
Proof.
move=> t0 x0; elim: n => [|n IH]; first by rewrite !expr1 expr0 mulr1 mul1r addrC subrK.
rewrite [X in _ <= X]exprS; apply: le_trans (ler_wpmul2l x0 IH).
rewrite -subr_ge0.
have -> : x * (t ^+ n.+1 + n.+1%:R * t ^+ n * (x - t)) -
    (t ^+ n.+2 + n.+2%:R * t ^+ n.+1 * (x - t)) = n.+1%:R * t ^+ n * (x - t) ^+ 2.
  have -> : n.+2%:R = n.+1%:R + 1 :> R by rewrite -addn1 natrD.
  by rewrite expr2 !exprS; move: (t ^+ n) n.+1%:R => u v; ring.
by rewrite mulr_ge0 ?sqr_ge0 // mulr_ge0 ?ler0n ?exprn_ge0.
Qed.

Lemma convex_power n : convex (fun t : R => t ^+ n.+1).
Proof.
move=> t /andP[t0 _]; exists (n.+1%:R * t ^+ n); split=> [|x /andP[x0 _]].
  by rewrite mulr_ge0 ?ler0n ?exprn_ge0.
exact: tangent.
Qed.

Variables (T : finType) (q : T -> R) (k : nat).
Hypothesis dq : is_dist q.
Notation D := {ffun 'I_k -> T}.
Definition iid (d : D) : R := \prod_i q (d i).
Definition drawn (y : T) (d : D) := [exists i, d i == y].

Lemma iid_dist : is_dist iid.
Proof.
split=> [d|]; first by apply: prodr_ge0 => i _; exact: dist_ge0.
transitivity (\prod_(i < k) \sum_x q x); last by rewrite (dist_sum dq) prodr_const expr1n.
by rewrite (bigA_distr_bigA (fun _ x => q x)).
Qed.

Lemma iid_inside H : inside (tokens drawn) iid H = weight q H ^+ k.
Proof.
transitivity (\prod_(i < k) weight q H); last by rewrite prodr_const card_ord.
rewrite /weight (bigA_distr_big _ (fun _ x => q x)) /inside.
apply: eq_bigl => d; apply/subsetP/ffun_onP => h i.
  by apply: h; rewrite inE; apply/existsP; exists i.
by rewrite inE => /existsP[j /eqP <-]; apply: h.
Qed.

End Powers.
