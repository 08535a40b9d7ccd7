(* T50: a draft in a set A is kept, and any other is replaced by the token t of A.  Relaxed acceptance, top-k acceptance
   and greedy verification differ in A alone.  The output, the hits, and how far it is from greedy decoding. *)
Require Import prelude prob rejection recursive acceptance price.

Section Candidates.
Variables (R : realFieldType) (T : finType) (p q : T -> R) (A : {set T}) (t : T).
Hypotheses (dp : is_dist p) (dq : is_dist q) (tA : t \in A).
Notation point := (@point R T).

Definition is_candidate x : R := (x \in A)%:R.
Definition candidate_rule := relaxed is_candidate (fun _ => point t).
Let mass := \sum_(x in A) q x.

Lemma point_dist x : is_dist (point x).
Proof.
split=> [y|]; first exact: ler0n.
by rewrite (bigD1 x) //= /acceptance.point eqxx big1 ?addr0 // => y /negbTE ->.
Qed.

Lemma tvC (f g : T -> R) : tv f g = tv g f.
Proof. by congr (_ * _); apply: eq_bigr => x _; rewrite distrC. Qed.

Lemma is_candidate01 x : 0 <= is_candidate x <= 1.
Proof. by rewrite /is_candidate; case: (x \in A); rewrite ?lexx ?ler01. Qed.

Lemma candidates_dist x : is_dist (candidate_rule x).
Proof. by apply: relaxed_dist => [y|y]; [exact: is_candidate01 | exact: point_dist]. Qed.

Lemma candidate_mass : \sum_x q x * is_candidate x = mass.
Proof.
by rewrite /mass [RHS]big_mkcond; apply: eq_bigr => x _; rewrite /is_candidate; case: ifP; rewrite ?mulr1 ?mulr0.
Qed.

(* 1 *)
Theorem candidates_output y : output q candidate_rule y = q y * (y \in A)%:R + (1 - mass) * point t y.
Proof.
rewrite outputE -mulr_suml -candidate_mass -[X in X - _](dist_sum dq) -sumrB; congr (_ + _ * _).
by apply: eq_bigr => x _; rewrite mulrBr mulr1.
Qed.

Theorem candidates_hits : hits q candidate_rule = mass.
Proof.
rewrite -candidate_mass; apply: eq_bigr => x _.
rewrite /candidate_rule /relaxed eqxx mulr1 /is_candidate /acceptance.point.
case: (eqVneq x t) => [->|_]; first by rewrite tA subrr mul0r addr0.
by rewrite mulr0 addr0.
Qed.

(* 3: from greedy decoding it is as far as it accepts more, and no rule that accepts as often is nearer *)
Theorem candidates_far : tv (output q candidate_rule) (point t) = mass - q t.
Proof.
have dout := output_dist dq candidates_dist.
rewrite (tv_excess dout (point_dist t)) (bigD1 t) //= excess0 ?add0r; last first.
  by rewrite /acceptance.point eqxx; exact: dist_le1.
rewrite /mass [in RHS](bigD1 t) //= [RHS]addrAC subrr add0r.
rewrite [RHS]big_mkcond [LHS]big_mkcond /=; apply: eq_bigr => x _.
rewrite andbC; case: (eqVneq x t) => [->|ne] //=.
rewrite excessB /acceptance.point (negbTE ne); last exact: (dist_ge0 dout).
by rewrite subr0 candidates_output /acceptance.point (negbTE ne) mulr0 addr0; case: (x \in A); rewrite ?mulr1 ?mulr0.
Qed.

Theorem candidates_least (s : T -> T -> R) : (forall x, is_dist (s x)) -> hits q candidate_rule <= hits q s ->
  tv (output q candidate_rule) (point t) <= tv (output q s) (point t).
Proof.
move=> ds more; have [keeps most] := price_bound (point_dist t) dq ds.
have e : 1 - tv (point t) q = q t.
  rewrite -overlap_tv //; last exact: point_dist.
  rewrite /overlap (bigD1 t) //= big1 ?addr0 /acceptance.point ?eqxx => [|x /negbTE ->].
    by apply/min_idPr; exact: dist_le1.
  by apply/min_idPl; exact: dist_ge0.
rewrite candidates_far ler_subl_addl -e -candidates_hits.
by apply: le_trans more (le_trans keeps most).
Qed.

(* 2, for t alone *)
Theorem candidates_greedy : A = [set t] -> tv (output q candidate_rule) p = 1 - p t.
Proof.
move=> At; rewrite tvC -(greedy_bias dp t); congr (_ * _); apply: eq_bigr => x _; congr `|_ - _|.
rewrite candidates_output /mass At big_set1 inE /acceptance.point.
case: (eqVneq x t) => [->|_]; last by rewrite !mulr0 addr0.
by rewrite !mulr1 addrC subrK.
Qed.

End Candidates.
