(* Couplings of any draft law, and what bounds their acceptance. *)
Require Import prelude prob.

(* D = finite type of draft tuples (or draft sets),
   x \in_d d the membership relation. *)
Section Duality.
Variables (R : realFieldType) (T D : finType) (mem_d : T -> D -> bool).
Variables (Qd : D -> R) (p : T -> R).

Definition kcoupling (pi : D -> T -> R) :=
  [/\ forall d y, 0 <= pi d y,
      forall d, \sum_y pi d y = Qd d
    & forall y, \sum_d pi d y = p y].

Definition acceptance (pi : D -> T -> R) := \sum_d \sum_(y | mem_d y d) pi d y.
Definition mass (H : {set T}) := \sum_(x in H) p x.
Definition draft_mass (P : pred D) := \sum_(d | P d) Qd d.
Definition all_in (H : {set T}) : pred D := fun d => [forall y, mem_d y d ==> (y \in H)].

Theorem weak_duality pi (H : {set T}) : kcoupling pi ->
  acceptance pi <= mass H + \sum_(d | ~~ all_in H d) Qd d.
Proof.
move=> [pi0 rows cols].
have -> : mass H = \sum_d \sum_(y in H) pi d y.
  by rewrite exchange_big; apply: eq_bigr => y _; rewrite cols.
rewrite [X in _ + X]big_mkcond -big_split; apply: ler_sum => d _ /=.
rewrite (bigID (mem H)) /=; apply: ler_add.
  rewrite [X in _ <= X](bigID (mem_d ^~ d)) /=.
  rewrite (eq_bigl (fun y => (y \in H) && mem_d y d)) => [|y]; last by rewrite andbC.
  by rewrite ler_addl sumr_ge0.
case: ifPn => [_|/negPn/forallP a].
  rewrite -rows [X in _ <= X](bigID (fun y => mem_d y d && (y \notin H))) /=.
  by rewrite ler_addl sumr_ge0.
by rewrite big1 // => y /andP[yd yH]; have := a y; rewrite yd (negbTE yH).
Qed.

Corollary weak_duality' pi (H : {set T}) : \sum_d Qd d = 1 -> kcoupling pi ->
  acceptance pi <= mass H + 1 - draft_mass (all_in H).
Proof.
move=> q1 c; apply: le_trans (weak_duality H c) _.
have e : \sum_d Qd d = draft_mass (all_in H) + \sum_(d | ~~ all_in H d) Qd d.
  by rewrite (bigID (all_in H)).
by rewrite -addrA ler_add2l -q1 e addrAC subrr add0r.
Qed.

End Duality.
