(* Select one draft by any procedure, then verify it alone against its law w:
   lossless for every w, and it keeps the winner with probability 1 - TV(p, w). *)
Require Import prelude prob rejection coupling duality.

Section Winner.
Variables (R : realFieldType) (T : finType) (A : Type).
(* m draws the tuple of drafts, and all that the selection needs; win names the winner *)
Variables (m : prog R T A) (win : A -> T) (p w : T -> R).
Hypotheses (dp : is_dist p) (dw : is_dist w).

Definition selects := forall f, E m (fun a => f (win a)) = \sum_x w x * f x.

Definition winner : prog R T (A * (bool * T)) :=
  bind m (fun a => Flip (accept_prob p w (win a))
    (Ret (a, (true, win a)))
    (Draw (residual p w) (fun y => Ret (a, (false, y))))).

Hypothesis sel : selects.

Lemma winnerE (g : bool -> T -> R) :
  E winner (fun o => g o.2.1 o.2.2) = E (spec_trace p w) (fun o => g o.2.1 o.2.2).
Proof.
rewrite E_bind /=; pose f x := accept_prob p w x * g true x +
  (1 - accept_prob p w x) * \sum_y residual p w y * g false y.
exact: (sel f).
Qed.

Theorem winner_lossless f : E winner (fun o => f o.2.2) = \sum_x p x * f x.
Proof. by rewrite (winnerE (fun _ => f)) -(spec_lossless dp dw) /spec E_bind. Qed.

Theorem winner_acceptance : E winner (fun o => (o.2.1)%:R) = overlap p w.
Proof. by rewrite (winnerE (fun b _ => b%:R)) spec_acceptance. Qed.

End Winner.

(* Greedy drafts: the tokens of S are fixed, x ~ d is the last draft. *)
Section Greedy.
Variables (R : realFieldType) (T : finType) (p d : T -> R) (S : {set T}).
Hypotheses (dp : is_dist p) (dd : is_dist d).

Definition hit (o : T * (bool * T)) := (o.2.2 \in S) || (o.2.2 == o.1).

(* the token is a draft with the mass of S, and what rejection keeps outside S *)
Theorem greedy_draft_acceptance :
  E (spec_trace p d) (fun o => (hit o)%:R) =
  \sum_(x in S) p x + \sum_(x | x \notin S) Num.min (p x) (d x).
Proof.
rewrite spec_traceE //.
have res x y : Num.min (p x) (d x) != d x -> residual p d y * (hit (x, (false, y)))%:R =
    residual p d y * (y \in S)%:R.
  move=> ne; rewrite /hit /=; case: (boolP (y \in S)) => //= yS.
  case: eqP => [e|_] //; rewrite e /residual.
  have lt : p x < d x by rewrite ltNge; apply: contra ne => /min_idPr ->.
  have neq : p x != d x by rewrite lt_eqF.
  case: eqP => z; last first.
    by rewrite /excess (max_idPl _) ?mul0r ?mulr0 // subr_le0 ltW.
  have: overlap p d = 1.
    by have := sum_excess p d; rewrite z (dist_sum dp) => /eqP; rewrite eq_sym subr_eq0 => /eqP.
  move=> o1; have: \sum_x excess d p x = 0.
    rewrite sum_excess (dist_sum dd) -[X in X - _]o1 /overlap.
    by under [X in _ - X]eq_bigr do rewrite minC; rewrite subrr.
  move/eqP; rewrite psumr_eq0 => [/allP/(_ x)|i _]; last exact: excess_ge0.
  rewrite mem_index_enum => /(_ isT) /=; rewrite excessE subr_eq0 minC.
  by move/eqP => e2; move: ne; rewrite -e2 eqxx.
have -> : \sum_x (d x - Num.min (p x) (d x)) * (\sum_y residual p d y * (hit (x, (false, y)))%:R)
   = (1 - overlap p d) * \sum_(y in S) residual p d y.
  rewrite -[in RHS](dist_sum dd) -sumrB mulr_suml; apply: eq_bigr => x _.
  case: (eqVneq (Num.min (p x) (d x)) (d x)) => [->|ne]; first by rewrite subrr !mul0r.
  congr (_ * _); rewrite [RHS]big_mkcond; apply: eq_bigr => y _.
  by rewrite res //; case: ifP; rewrite ?mulr1 ?mulr0.
have -> : \sum_x Num.min (p x) (d x) * (hit (x, (true, x)))%:R = overlap p d.
  by apply: eq_bigr => x _; rewrite /hit /= eqxx orbT mulr1.
have o2 : overlap p d = \sum_(x in S) Num.min (p x) (d x) +
    \sum_(x | x \notin S) Num.min (p x) (d x) by rewrite /overlap (bigID (mem S)).
rewrite [X in X + _ = _]o2 addrAC; congr (_ + _).
rewrite mulr_sumr -big_split; apply: eq_bigr => x _ /=.
by rewrite residual_split.
Qed.

(* no more is possible: this H in weak_duality *)
Definition refused := S :|: [set x | p x < d x].

Theorem greedy_draft_certificate :
  \sum_(x in refused) p x + 1 - \sum_(x in refused) d x =
  \sum_(x in S) p x + \sum_(x | x \notin S) Num.min (p x) (d x).
Proof.
have e (f : T -> R) : \sum_(x in refused) f x =
    \sum_(x in S) f x + \sum_(x | (x \notin S) && (p x < d x)) f x.
  rewrite (bigID (mem S)) /=; congr (_ + _); apply: eq_bigl => x.
    by rewrite /refused !inE andbC; case: (x \in S).
  by rewrite /refused !inE andbC; case: (x \in S).
have d1 : \sum_(x in S) d x + \sum_(x | x \notin S) d x = 1.
  by rewrite -(dist_sum dd) [RHS](bigID (mem S)).
have minE : \sum_(x | x \notin S) Num.min (p x) (d x) =
    \sum_(x | (x \notin S) && (p x < d x)) p x + \sum_(x | (x \notin S) && ~~ (p x < d x)) d x.
  rewrite (bigID (fun x => p x < d x)) /=; congr (_ + _); apply: eq_bigr => x /andP[_].
    by move/ltW/min_idPl.
  by rewrite -leNgt => /min_idPr.
have d2 : \sum_(x | x \notin S) d x = \sum_(x | (x \notin S) && (p x < d x)) d x +
    \sum_(x | (x \notin S) && ~~ (p x < d x)) d x by rewrite (bigID (fun x => p x < d x)).
rewrite !e minE; rewrite d2 in d1; rewrite -d1; ring.
Qed.

Definition among (y x : T) := (y \in S) || (y == x).

Theorem greedy_draft_optimal pi : kcoupling d p pi ->
  acceptance among pi <= \sum_(x in S) p x + \sum_(x | x \notin S) Num.min (p x) (d x).
Proof.
move=> cpl; apply: le_trans (weak_duality' among refused (dist_sum dd) cpl) _.
rewrite -greedy_draft_certificate /mass /draft_mass le_eqVlt; apply/orP; left; apply/eqP; congr (_ - _).
apply: eq_bigl => x; apply/forallP/idP => [/(_ x)|xH y]; first by rewrite /among eqxx orbT.
by apply/implyP => /orP[yS|/eqP -> //]; rewrite inE yS.
Qed.

End Greedy.
