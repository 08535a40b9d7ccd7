(* Single-draft speculative sampling: lossless, and a maximal coupling. *)
Require Import prelude prob.

Section Single.
Variables (R : realFieldType) (T : finType).
Implicit Types (p q : T -> R).

(* returns (draft, (accepted?, output)) so that the joint law can be stated *)
Definition spec_trace p q : prog R T (T * (bool * T)) :=
  Draw q (fun x =>
    Flip (accept_prob p q x)
      (Ret (x, (true, x)))
      (Draw (residual p q) (fun y => Ret (x, (false, y))))).

Definition spec p q : prog R T T := bind (spec_trace p q) (fun o => Ret o.2.2).

Lemma spec_trace_wf p q : is_dist p -> is_dist q -> wf (spec_trace p q).
Proof.
move=> dp dq; split=> // x; split=> //.
  by apply: accept_prob01; apply: dist_ge0.
by split=> //; exact: residual_dist.
Qed.

(* full description of the joint law *)
Lemma spec_traceE p q f : is_dist p -> is_dist q ->
  E (spec_trace p q) f =
    \sum_x Num.min (p x) (q x) * f (x, (true, x)) +
    \sum_x (q x - Num.min (p x) (q x)) *
       \sum_y residual p q y * f (x, (false, y)).
Proof.
move=> dp dq /=; rewrite -big_split; apply: eq_bigr => x _ /=.
by rewrite mulrDr !mulrA mulrBr mulr1 !drawn_accepted //; apply: dist_ge0.
Qed.

(* the output law is the target law *)
Theorem spec_lossless p q : is_dist p -> is_dist q -> samples (spec p q) p.
Proof.
move=> dp dq f; rewrite E_bind spec_traceE //= -mulr_suml sumrB (dist_sum dq).
rewrite -/(overlap p q) mulr_sumr -big_split; apply: eq_bigr => x _ /=.
by rewrite mulrA -mulrDl residual_split.
Qed.

Corollary spec_law p q : is_dist p -> is_dist q -> forall y, law (spec p q) y = p y.
Proof. by move=> dp dq; apply/samples_law/spec_lossless. Qed.

(* acceptance probability *)
Theorem spec_acceptance p q : is_dist p -> is_dist q ->
  E (spec_trace p q) (fun o => (o.2.1)%:R) = overlap p q.
Proof.
move=> dp dq; rewrite spec_traceE //= [X in _ + X]big1 ?addr0.
  by under eq_bigr do rewrite mulr1.
by move=> x _; rewrite big1 ?mulr0 // => y _; rewrite mulr0.
Qed.

(* Couplings of q (draft) and p (output), as joint weights *)
Definition coupling (q p : T -> R) (pi : T -> T -> R) :=
  [/\ forall x y, 0 <= pi x y,
      forall x, \sum_y pi x y = q x
    & forall y, \sum_x pi x y = p y].

Definition spec_joint p q x y : R :=
  E (spec_trace p q) (fun o => ((o.1, o.2.2) == (x, y))%:R).

Theorem spec_is_coupling p q : is_dist p -> is_dist q ->
  coupling q p (spec_joint p q).
Proof.
move=> dp dq.
split.
- by move=> x y; apply: E_ge0 => [|o]; [exact: spec_trace_wf | rewrite ler0n].
- move=> x; rewrite -E_sum.
  transitivity (E (spec_trace p q) (fun o => (o.1 == x)%:R)).
    apply: E_ext => -[u [b v]] /=; rewrite (bigD1 v) //= big1 ?addr0.
      by rewrite xpair_eqE eqxx andbT.
    by move=> w wv; rewrite xpair_eqE (eq_sym v) (negbTE wv) andbF.
  rewrite spec_traceE //= -[RHS]addr0 -{1}(sum_ind q x) -big_split /=.
  transitivity (\sum_i q i * (i == x)%:R); last by rewrite addr0.
  apply: eq_bigr => u _.
  by rewrite -mulr_suml (dist_sum (residual_dist q dp)) mul1r -mulrDl addrC subrK.
- move=> y; rewrite -E_sum -(spec_law dp dq y) /law E_bind; apply: E_ext.
  move=> -[u [b v]] /=; rewrite (bigD1 u) //= big1 ?addr0.
    by rewrite xpair_eqE eqxx.
  by move=> w wu; rewrite xpair_eqE (eq_sym u) (negbTE wu).
Qed.

(* no coupling keeps the draft more often ... *)
Theorem coupling_bound p q pi : coupling q p pi -> \sum_x pi x x <= overlap p q.
Proof.
move=> [pi0 rows cols]; apply: ler_sum => x _; rewrite le_minr -rows -cols.
by rewrite (bigD1 x) //= (bigD1 x (F := pi x)) //= !ler_addl !sumr_ge0.
Qed.

(* ... and speculative sampling attains the bound. *)
Theorem spec_maximal p q : is_dist p -> is_dist q ->
  \sum_x spec_joint p q x x = overlap p q.
Proof.
move=> dp dq; apply/le_anti/andP; split.
  by apply: coupling_bound; exact: spec_is_coupling.
rewrite -spec_acceptance //.
rewrite -E_sum /=; apply: ler_sum => x _; apply: ler_wpmul2l; first exact: dist_ge0.
have/andP[a0 a1] := accept_prob01 (dist_ge0 dp x) (dist_ge0 dq x).
apply: ler_add; apply: ler_wpmul2l; rewrite ?subr_ge0 //.
  rewrite (bigD1 x) //= eqxx ler_addl; apply: sumr_ge0 => *; exact: ler0n.
apply: ler_sum => y _; rewrite mulr0; apply: mulr_ge0.
  by apply: dist_ge0; exact: residual_dist.
by apply: sumr_ge0 => *; exact: ler0n.
Qed.

End Single.
