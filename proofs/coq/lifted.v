(* Any lossless step rule, lifted to a tree: at every node it is run for the target
   (a p, 1 - a), whose second part, None, is never a draft. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
Require Import prob rejection recursive loop block.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Lifted.
Variables (R : realFieldType) (T : finType).
Notation prog := (prog R T).
Notation model := (seq T -> T -> R).
Variable p : model.
Hypothesis dp : is_model p.
(* how the children of a node at context c are drawn, in the order they are tried *)
Variable children : seq T -> prog (seq T).
(* the step rule at context c and weight a: the law of its outcome, given the children *)
Variable step : seq T -> R -> seq T -> option T -> R.

Definition scaled (c : seq T) (a : R) (o : option T) : R := if o is Some y then a * p c y else 1 - a.

Hypothesis children_wf : forall c, wf (children c).
Hypothesis step_ge0 : forall c a S o, 0 <= a <= 1 -> 0 <= step c a S o.
Hypothesis step_sum : forall c a S, 0 <= a <= 1 -> step c a S None + \sum_y step c a S (Some y) = 1.
(* the step rule is lossless for every such target *)
Hypothesis step_lossless : forall c a, 0 <= a <= 1 ->
  forall o, E (children c) (fun S => step c a S o) = scaled c a o.

(* mass of the tokens that were not tried yet, and with it that of failing *)
Definition others (t : option T -> R) (used : seq T) := \sum_(y | y \notin used) t (Some y).
Definition open (t : option T -> R) used := others t used + t None.
Definition share (x y : R) : R := if y == 0 then 0 else x / y.

Definition fresh (c : seq T) (t : option T -> R) used y :=
  if others t used == 0 then p c y
  else if y \in used then 0 else t (Some y) / others t used.

(* try the children S, given that those in used failed; V tries a child at a weight *)
Fixpoint attempt (V : R -> seq T -> prog (option (seq T))) c t used (S : seq T) : prog (option (seq T)) :=
  if S is y :: S' then
    bind (V (share (t (Some y)) (open t used)) (y :: c)) (fun o =>
      if o is Some ys then Ret (Some (y :: ys)) else attempt V c t (y :: used) S')
  else Flip (share (others t used) (open t used))
    (Draw (fresh c t used) (fun y => Ret (Some [:: y])))
    (Ret None).

(* g bounds the depth below c; Some: what is emitted, None: failed *)
Fixpoint lift g a c : prog (option (seq T)) :=
  if g is g'.+1 then bind (children c) (fun S => attempt (lift g') c (step c a S) [::] (undup S))
  else Flip a (Draw (p c) (fun y => Ret (Some [:: y]))) (Ret None).

Definition lifted g c : prog (seq T) :=
  bind (lift g 1 c) (fun o => if o is Some ys then Ret ys else Draw (p c) (fun y => Ret [:: y])).

Lemma open_cons t used y : y \notin used -> open t used = t (Some y) + open t (y :: used).
Proof.
move=> yu; rewrite /open /others addrA (bigD1 y) //=; congr (_ + _ + _).
by apply: eq_bigl => z; rewrite inE negb_or andbC.
Qed.

Lemma open_ge0 t used : (forall o, 0 <= t o) -> 0 <= open t used.
Proof. by move=> t0; rewrite addr_ge0 // sumr_ge0. Qed.

Lemma shareE x y : 0 <= x <= y -> y * share x y = x.
Proof.
move=> /andP[x0 xy]; rewrite /share; case: eqP => [e|/eqP ne]; last by rewrite mulrCA divff ?mulr1.
by rewrite mulr0; apply/le_anti; rewrite x0 -e xy.
Qed.

Lemma share01 x y : 0 <= x <= y -> 0 <= share x y <= 1.
Proof.
move=> /andP[x0 xy]; rewrite /share; case: eqP => [_|/eqP ne]; first by rewrite lexx ler01.
have y0 : 0 < y by rewrite lt_neqAle eq_sym ne (le_trans x0 xy).
by rewrite (divr_ge0 x0 (ltW y0)) /= ler_pdivr_mulr // mul1r.
Qed.

Section Attempt.
Variables (V : R -> seq T -> prog (option (seq T))) (c : seq T) (n : nat) (f : seq T -> R) (v : R).
Variable t : option T -> R.
Hypothesis t0 : forall o, 0 <= t o.
(* what is known of the children: at weight a, an a-scaled copy of the target *)
Hypothesis V_value : forall a y m h u, 0 <= a <= 1 ->
  E (V a (y :: c)) (value p m (y :: c) h u) = a * E (ar p m (y :: c)) h + (1 - a) * u.

Lemma attempt_value S used : uniq (S ++ used) ->
  open t used * E (attempt V c t used S) (value p n c f v) =
  \sum_(y | y \notin used) t (Some y) * from p n c f y + t None * v.
Proof.
elim: S used => [|y S IH] used /=.
  move=> _; pose o := others t used; have o0 : 0 <= o by apply: sumr_ge0.
  have oo : 0 <= o <= open t used by rewrite o0 ler_addl t0.
  have e1 := shareE oo; rewrite mulrDr mulrA e1.
  have -> : open t used * ((1 - share o (open t used)) * v) = t None * v.
    rewrite mulrA mulrBr mulr1 e1 /open -/o; congr (_ * _); ring.
  congr (_ + _); rewrite mulr_sumr [RHS]big_mkcond /=; apply: eq_bigr => z _.
  rewrite subn1 -/(from p n c f z) mulrA /fresh -/o; case: (eqVneq o 0) => [z0|ne]; last first.
    by case: (z \in used) => /=; rewrite ?mulr0 ?mul0r // mulrCA divff ?mulr1.
  rewrite z0 mul0r; case: (boolP (z \in used)) => zu /=; first by rewrite mul0r.
  move/eqP: z0; rewrite /o /others psumr_eq0 // => /allP/(_ z); rewrite mem_index_enum => /(_ isT).
  by rewrite zu /= => /eqP ->; rewrite !mul0r.
case/andP; rewrite mem_cat negb_or => /andP[yS yu] u.
have u' : uniq (S ++ y :: used).
  by rewrite uniq_catC cat_cons /= mem_cat negb_or yu yS /= uniq_catC.
have yo : 0 <= t (Some y) <= open t used.
  by rewrite t0 /= (open_cons t yu) ler_addl open_ge0.
pose rest := E (attempt V c t (y :: used) S) (value p n c f v).
pose a := share (t (Some y)) (open t used).
have -> : E (bind (V a (y :: c)) (fun o => if o is Some ys then Ret (Some (y :: ys))
      else attempt V c t (y :: used) S)) (value p n c f v) =
    a * from p n c f y + (1 - a) * rest.
  rewrite E_bind -(V_value y n.-1 (fun zs => f (take n (y :: zs))) rest (share01 yo)).
  apply: E_ext => -[ys|] //; exact: value_cons.
rewrite mulrDr !mulrA mulrBr mulr1 (shareE yo) [in X in _ + X](open_cons t yu) addrAC subrr add0r.
rewrite IH // addrA; congr (_ + _).
rewrite [RHS](bigD1 y) //=; congr (_ + _); apply: eq_bigl => z.
by rewrite inE negb_or andbC.
Qed.

End Attempt.

(* at weight a, the outcomes are an a-scaled copy of the target's law *)
Theorem lift_value g a c n f v : 0 <= a <= 1 ->
  E (lift g a c) (value p n c f v) = a * E (ar p n c) f + (1 - a) * v.
Proof.
elim: g a c n f v => [|g IH] a c n f v a01.
  rewrite /= -(sum_from dp n c f); congr (a * _ + _).
  by apply: eq_bigr => y _; rewrite -(value1 p n c f v y).
rewrite /= E_bind.
transitivity (E (children c) (fun S =>
    \sum_y step c a S (Some y) * from p n c f y + step c a S None * v)).
  apply: E_ext => S.
  have t0 o : 0 <= step c a S o by exact: step_ge0.
  have := @attempt_value (lift g) c n f v (step c a S) t0
    (fun b y m h u b01 => IH b (y :: c) m h u b01) (undup S) [::].
  rewrite cats0 undup_uniq => /(_ isT).
  have -> : open (step c a S) [::] = 1 by rewrite /open /others addrC step_sum.
  by rewrite mul1r.
rewrite E_add E_sum; congr (_ + _); last first.
  rewrite -[RHS]/((scaled c a None) * v) -(step_lossless c a01) mulrC -E_scale.
  by apply: E_ext => S; rewrite mulrC.
rewrite -(sum_from dp n c f) mulr_sumr; apply: eq_bigr => y _.
rewrite mulrA -[a * _]/(scaled c a (Some y)) -(step_lossless c a01) mulrC -E_scale.
by apply: E_ext => S; rewrite mulrC.
Qed.

Theorem lifted_lossless g c : completes p (lifted g c) c.
Proof.
move=> n f; rewrite /lifted E_bind.
pose v : R := \sum_y p c y * from p n c f y.
transitivity (E (lift g 1 c) (value p n c f v)).
  by apply: E_ext => -[ys //|] /=; rewrite /v; apply: eq_bigr => y _; rewrite /from subn1.
by rewrite lift_value ?ler01 ?lexx // mul1r subrr mul0r addr0.
Qed.

Lemma lifted_nonempty g c : outputs (fun ys => 0 < size ys)%N (lifted g c).
Proof.
apply: (@outputs_bind _ _ _ _ (fun o => if o is Some ys then 0 < size ys else true)%N); last by case.
elim: g 1 c => [|g IH] a {}c //=.
apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
move=> S _; move: (step c a S) => t; elim: (undup S) [::] => [|y s IHs] used //=.
by apply: (outputs_bind (IH _ _)) => -[ys|].
Qed.

Theorem lifted_decode g n c f : E (decode (lifted g) n n c) f = E (ar p n c) f.
Proof. by apply: decode_lossless => // {}c; [exact: lifted_lossless | exact: lifted_nonempty]. Qed.

End Lifted.
