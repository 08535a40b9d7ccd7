(* Traversal verification: children before their parent, each with the weight that its path has left.
   Lossless on every tree grown one draw at a time, wherever and for as long as the drafter likes. *)
Require Import prelude prob rejection recursive loop block.

(* One child: target r, of which the node has weight a, and draft law d. *)
Section Child.
Variables (R : realFieldType) (T : finType) (a : R) (r d : T -> R).
Hypotheses (a01 : 0 <= a <= 1) (dr : is_dist r) (dd : is_dist d).

Definition part x := a * r x.
Definition handed y := accept_prob part d y.
Definition over := \sum_x excess part d x.
Definition weight_left := if over + (1 - a) == 0 then 1 else over / (over + (1 - a)).
Definition target_left x := if over == 0 then r x else excess part d x / over.

Lemma part_ge0 x : 0 <= part x.
Proof. by case/andP: a01 => a0 _; rewrite mulr_ge0 ?(dist_ge0 dr). Qed.

Lemma handed01 y : 0 <= handed y <= 1.
Proof. by apply: accept_prob01; [exact: part_ge0 | exact: dist_ge0]. Qed.

Lemma over_ge0 : 0 <= over.
Proof. by apply: sumr_ge0 => x _; exact: excess_ge0. Qed.

Lemma weight_left01 : 0 <= weight_left <= 1.
Proof.
have o0 := over_ge0; have b0 : 0 <= 1 - a by case/andP: a01 => _; rewrite subr_ge0.
rewrite /weight_left; case: eqP => [_|/eqP ne]; first by rewrite ler01 lexx.
have s0 : 0 < over + (1 - a) by rewrite lt_neqAle eq_sym ne addr_ge0.
by rewrite (divr_ge0 o0 (ltW s0)) ler_pdivr_mulr // mul1r ler_addl.
Qed.

Lemma target_left_dist : is_dist target_left.
Proof.
rewrite /target_left; case: eqP => [//|/eqP ne]; split=> [x|].
  by rewrite divr_ge0 ?over_ge0 ?excess_ge0.
by rewrite -mulr_suml divff.
Qed.

Lemma overE : over = a - overlap part d.
Proof. by rewrite /over sum_excess /part -mulr_sumr (dist_sum dr) mulr1. Qed.

(* emitting y is worth F y, failing is worth v: the child and what is left after it make up an a-scaled r *)
Lemma one_child F v :
  \sum_y d y * (handed y * F y + (1 - handed y) * (weight_left * (\sum_z target_left z * F z) + (1 - weight_left) * v))
  = a * (\sum_z r z * F z) + (1 - a) * v.
Proof.
set B := \sum_z target_left z * F z.
have da y : d y * handed y = Num.min (part y) (d y).
  by apply: drawn_accepted; [exact: part_ge0 | exact: dist_ge0].
have step y X : d y * (handed y * F y + (1 - handed y) * X) =
    Num.min (part y) (d y) * F y + (d y - Num.min (part y) (d y)) * X.
  by rewrite mulrDr !mulrA mulrBr mulr1 da.
under eq_bigr do rewrite step.
rewrite big_split /= -mulr_suml sumrB (dist_sum dd) -/(overlap part d).
have fail : (1 - overlap part d) * weight_left = over.
  rewrite /weight_left (_ : over + (1 - a) = 1 - overlap part d); last by rewrite overE; ring.
  case: eqP => [z|/eqP z]; last by rewrite mulrCA divff // mulr1.
  rewrite z mul0r; apply/esym/le_anti; rewrite over_ge0 andbT.
  rewrite overE; case/andP: a01 => _ a1; rewrite -z ler_add2r //.
rewrite mulrDr !mulrA fail mulrBr mulr1 fail.
have oB : over * B = \sum_z (part z - Num.min (part z) (d z)) * F z.
  rewrite /B mulr_sumr; apply: eq_bigr => z _; rewrite mulrA -excessE; congr (_ * _).
  rewrite /target_left; case: eqP => [o0|/eqP ne]; last by rewrite mulrCA divff // mulr1.
  rewrite o0 mul0r; move/eqP: o0; rewrite /over psumr_eq0 => [/allP/(_ z)|x _]; last exact: excess_ge0.
  by rewrite mem_index_enum => /(_ isT) /= /eqP ->.
rewrite oB addrA; congr (_ + _); last by rewrite overE; congr (_ * _); ring.
by rewrite -big_split mulr_sumr; apply: eq_bigr => z _ /=; rewrite -mulrDl addrC subrK /part mulrA.
Qed.

End Child.

Section Traversal.
Variables (R : realFieldType) (T : finType).
Notation prog := (prog R T).
Notation model := (seq T -> T -> R).
Variables (p q : model).
Hypotheses (dp : is_model p) (dq : is_model q).

Inductive tree := Tree of forest
with forest := Nil | Child of T & tree & forest.
Scheme tree_mut := Induction for tree Sort Prop with forest_mut := Induction for forest Sort Prop.

(* Some: what is emitted; None: failed.  r and d are what is left of target and draft *)
Fixpoint visit t a c : prog (option (seq T)) := let: Tree fs := t in calls fs a (p c) (q c) c
with calls fs a r d c :=
  match fs with
  | Nil => Flip a (Draw r (fun y => Ret (Some [:: y]))) (Ret None)
  | Child y t fs' =>
      bind (visit t (handed a r d y) (y :: c)) (fun o =>
        if o is Some ys then Ret (Some (y :: ys))
        else calls fs' (weight_left a r d) (target_left a r d) (without d y) c)
  end.

(* the call at the root cannot fail *)
Definition traversed t c : prog (seq T) :=
  bind (visit t 1 c) (fun o => if o is Some ys then Ret ys else Draw (p c) (fun y => Ret [:: y])).

(* growth: the next child of the text at path, drawn without its children so far *)
Fixpoint heads fs := if fs is Child y _ fs' then y :: heads fs' else [::].
Fixpoint snoc fs y := if fs is Child z t fs' then Child z t (snoc fs' y) else Child y (Tree Nil) Nil.
Fixpoint law_at t path c : T -> R :=
  let: Tree fs := t in
  if path is z :: path' then law_in fs z path' c else without_repl (q c) (rev (heads fs))
with law_in fs z path c :=
  match fs with
  | Nil => q c
  | Child y t fs' => if y == z then law_at t path (y :: c) else law_in fs' z path c
  end.
Fixpoint expand t path y := let: Tree fs := t in
  Tree (if path is z :: path' then expand_in fs z path' y else snoc fs y)
with expand_in fs z path y :=
  match fs with
  | Nil => Nil
  | Child x t fs' => if x == z then Child x (expand t path y) fs' else Child x t (expand_in fs' z path y)
  end.

Inductive grown c : tree -> prog tree -> Prop :=
| Stop t : grown c t (Ret t)
| Chance t A (m : prog A) k : wf m -> (forall x, grown c t (k x)) -> grown c t (bind m k)
| Grow t path k : (forall y, grown c (expand t path y) (k y)) -> grown c t (Draw (law_at t path c) k).

Lemma law_at_dist t path c : is_dist (law_at t path c).
Proof.
move: t path c; apply: (@tree_mut (fun t => forall path c, is_dist (law_at t path c))
  (fun fs => forall z path c, is_dist (law_in fs z path c))) => /= [fs IH [|z path] c|z path c|y t IHt fs IHfs z path c].
- exact: without_repl_dist.
- exact: IH.
- exact: dq.
- by case: ifP.
Qed.

(* a call that is tried with weight w, and what it is worth if it fails *)
Lemma tried t w y c n f v (rest : prog (option (seq T))) :
  E (bind (visit t w (y :: c)) (fun o => if o is Some ys then Ret (Some (y :: ys)) else rest)) (value p n c f v) =
  E (visit t w (y :: c)) (value p n.-1 (y :: c) (fun zs => f (take n (y :: zs))) (E rest (value p n c f v))).
Proof. by rewrite E_bind; apply: E_ext => -[ys|] //; exact: value_cons. Qed.

Lemma end_value a r d c n f v :
  E (calls Nil a r d c) (value p n c f v) = a * (\sum_y r y * from p n c f y) + (1 - a) * v.
Proof. by congr (a * _ + _); apply: eq_bigr => y _; rewrite -(value1 p n c f v y). Qed.

Lemma leaf_value a c n f v : E (visit (Tree Nil) a c) (value p n c f v) = a * E (ar p n c) f + (1 - a) * v.
Proof. by rewrite -(sum_from dp n c f) -(end_value a (p c) (q c)). Qed.

Lemma snoc_value fs a r d c n f v : 0 <= a <= 1 -> is_dist r -> is_dist d ->
  E (draw (without_repl d (rev (heads fs)))) (fun y => E (calls (snoc fs y) a r d c) (value p n c f v)) =
  E (calls fs a r d c) (value p n c f v).
Proof.
elim: fs a r d => [|z t fs IH] a r d a01 dr dd.
  rewrite end_value -(one_child a01 dr dd (from p n c f) v); apply: eq_bigr => y _; congr (_ * _).
  have e := tried (Tree Nil) (handed a r d y) y c n f v
    (calls Nil (weight_left a r d) (target_left a r d) (without d y) c).
  by rewrite leaf_value end_value in e; exact: e.
rewrite [heads _]/= rev_cons /without_repl foldr_rcons -/(without_repl (without d z) (rev (heads fs))).
have [[w01 dt] dw] := (weight_left01 r d a01, target_left_dist a d dr, without_dist z dd).
transitivity (E (draw (without_repl (without d z) (rev (heads fs)))) (fun y => E (visit t (handed a r d z) (z :: c))
    (fun o => E (if o is Some ys then Ret (Some (z :: ys))
       else calls (snoc fs y) (weight_left a r d) (target_left a r d) (without d z) c) (value p n c f v)))).
  by apply: E_ext => y; rewrite [snoc _ _]/= [calls (Child _ _ _) _ _ _ _]/= E_bind.
rewrite E_swap [calls (Child _ _ _) _ _ _ _]/= E_bind; apply: E_ext => -[ys|]; last exact: IH.
by rewrite E_const //; split=> //; exact: without_repl_dist.
Qed.

Lemma visit_expand t path a c n f v : 0 <= a <= 1 ->
  E (draw (law_at t path c)) (fun y => E (visit (expand t path y) a c) (value p n c f v)) =
  E (visit t a c) (value p n c f v).
Proof.
move: t path a c n f v; apply: (@tree_mut (fun t => forall path a c n f v, 0 <= a <= 1 ->
    E (draw (law_at t path c)) (fun y => E (visit (expand t path y) a c) (value p n c f v)) =
    E (visit t a c) (value p n c f v))
  (fun fs => forall z path a r d c n f v, 0 <= a <= 1 -> is_dist r -> is_dist d ->
    E (draw (law_in fs z path c)) (fun y => E (calls (expand_in fs z path y) a r d c) (value p n c f v)) =
    E (calls fs a r d c) (value p n c f v))).
- by move=> fs IH [|z path] a c n f v a01; [exact: snoc_value | exact: IH].
- by move=> z path a r d c n f v a01 dr dd; rewrite E_const //; split=> //; exact: dq.
move=> x t IHt fs IHfs z path a r d c n f v a01 dr dd.
have w01 := handed01 a01 dr dd x.
have [[l01 dt] dw] := (weight_left01 r d a01, target_left_dist a d dr, without_dist x dd).
rewrite [law_in _ _ _ _]/=; case: (eqVneq x z) => [e|ne].
  rewrite [RHS]tried -(IHt path) //; apply: E_ext => y.
  by rewrite [expand_in _ _ _ _]/= e eqxx; exact: tried.
transitivity (E (draw (law_in fs z path c)) (fun y => E (visit t (handed a r d x) (x :: c)) (fun o =>
    E (if o is Some ys then Ret (Some (x :: ys))
       else calls (expand_in fs z path y) (weight_left a r d) (target_left a r d) (without d x) c) (value p n c f v)))).
  by apply: E_ext => y; rewrite [expand_in _ _ _ _]/= (negbTE ne) [calls (Child _ _ _) _ _ _ _]/= E_bind.
rewrite E_swap [calls (Child _ _ _) _ _ _ _]/= E_bind; apply: E_ext => -[ys|]; last exact: IHfs.
by rewrite E_const //; split=> //; exact: law_at_dist (Tree fs) (z :: path) c.
Qed.

Theorem visit_value m a c n f v : grown c (Tree Nil) m -> 0 <= a <= 1 ->
  E (bind m (fun t => visit t a c)) (value p n c f v) = a * E (ar p n c) f + (1 - a) * v.
Proof.
move=> g a01; rewrite -leaf_value E_bind; elim: g => {m} [t|t A m k wm _ IH|t path k _ IH] //=.
  by rewrite E_bind -[RHS](E_const _ wm); apply: E_ext => x; exact: IH.
by rewrite -(visit_expand t path c n f v a01); apply: eq_bigr => y _; rewrite IH.
Qed.

Theorem traversal_lossless m c : grown c (Tree Nil) m -> completes p (bind m (fun t => traversed t c)) c.
Proof.
move=> g n f; pose v : R := \sum_y p c y * from p n c f y.
transitivity (E (bind m (fun t => visit t 1 c)) (value p n c f v)).
  rewrite !E_bind; apply: E_ext => t; rewrite E_bind; apply: E_ext => -[ys //|] /=.
  by rewrite /v; apply: eq_bigr => y _; rewrite /from subn1.
by rewrite visit_value ?ler01 ?lexx // mul1r subrr mul0r addr0.
Qed.

Lemma traversal_nonempty m c : outputs (fun ys => 0 < size ys)%N (bind m (fun t => traversed t c)).
Proof.
apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
move=> t _; apply: (@outputs_bind _ _ _ _ (fun o => if o is Some ys then 0 < size ys else true)%N); last by case.
move: t {1}1 c; apply: (@tree_mut
  (fun t => forall a c, outputs (fun o => if o is Some ys then 0 < size ys else true)%N (visit t a c))
  (fun fs => forall a r d c, outputs (fun o => if o is Some ys then 0 < size ys else true)%N (calls fs a r d c)))
  => //= y t IHt fs IHfs a r d c.
by apply: (outputs_bind (IHt _ _)) => -[ys|].
Qed.

Theorem traversal_decode (m : nat -> seq T -> prog tree) n c f : (forall n c, grown c (Tree Nil) (m n c)) ->
  E (decode (fun n c => bind (m n c) (fun t => traversed t c)) n n c) f = E (ar p n c) f.
Proof. by move=> g; apply: decode_lossless => // {}n {}c; [exact: traversal_lossless | exact: traversal_nonempty]. Qed.

End Traversal.
