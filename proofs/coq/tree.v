(* Token trees grown node by node: a leaf, chosen in the light of all that was drawn, gets children
   drawn all at once.  Walking down such a tree with a lossless step at every node is lossless. *)
Require Import prelude prob rejection recursive loop block.

Section Tree.
Variables (R : realFieldType) (T : finType).
Notation prog := (prog R T).
Notation model := (seq T -> T -> R).
Variable p : model.
Hypothesis dp : is_model p.

(* A node holds the law of the step rule's token, given its children: at weight a it is run for the
   target a p and one outcome more, None, of mass 1 - a, that is no draft.  At weight 1 it is plain. *)
Definition kernel := R -> option T -> R.
Inductive tree := Leaf | Node of kernel & forest
with forest := Nil | Child of T & tree & forest.
Scheme tree_mut := Induction for tree Sort Prop with forest_mut := Induction for forest Sort Prop.

Definition is_kernel (k : kernel) := forall a, 0 <= a <= 1 ->
  (forall o, 0 <= k a o) /\ k a None + \sum_y k a (Some y) = 1.

Fixpoint heads fs : seq T := if fs is Child y _ fs' then y :: heads fs' else [::].
Fixpoint good t := if t is Node k fs then [/\ is_kernel k, uniq (heads fs) & all_good fs] else True
with all_good fs := if fs is Child _ t fs' then good t /\ all_good fs' else True.

(* the step and the children of a leaf, in the order they are tried; no token twice *)
Definition family := (kernel * seq T)%type.
Fixpoint leaves (S : seq T) := if S is y :: S' then Child y Leaf (leaves S') else Nil.
Fixpoint expand t path (x : family) :=
  match t with
  | Leaf => if path is [::] then Node x.1 (leaves (undup x.2)) else Leaf
  | Node k fs => if path is y :: path' then Node k (expand_in fs y path' x) else t
  end
with expand_in fs y path x :=
  match fs with
  | Nil => Nil
  | Child z t fs' =>
      if z == y then Child z (expand t path x) fs' else Child z t (expand_in fs' y path x)
  end.

Definition scaled c a (o : option T) : R := if o is Some y then a * p c y else 1 - a.
(* children are drawn at c, and the step rule is lossless for them *)
Definition fits c (D : prog family) :=
  [/\ wf D, outputs (fun x => is_kernel x.1) D
    & forall a o, 0 <= a <= 1 -> E D (fun x => x.1 a o) = scaled c a o].

(* m grows the tree below c from t on: it stops, or decides by chance, or draws children somewhere *)
Inductive grown c : tree -> prog tree -> Prop :=
| Stop t : grown c t (Ret t)
| Chance t A (m : prog A) k : wf m -> (forall x, grown c t (k x)) -> grown c t (bind m k)
| Grow t path D k : fits (catrev path c) D -> (forall x, grown c (expand t path x) (k x)) ->
    grown c t (bind D k).

Lemma heads_leaves S : heads (leaves S) = S.
Proof. by elim: S => //= y S ->. Qed.

Lemma heads_expand fs y path x : heads (expand_in fs y path x) = heads fs.
Proof. by elim: fs => //= z t fs IH; case: ifP => _ /=; rewrite ?IH. Qed.

Lemma good_leaves S : all_good (leaves S).
Proof. by elim: S. Qed.

Lemma good_expand x : is_kernel x.1 -> forall t, good t -> forall path, good (expand t path x).
Proof.
move=> kx; apply: (@tree_mut (fun t => good t -> forall path, good (expand t path x))
  (fun fs => all_good fs -> forall y path, all_good (expand_in fs y path x))) => //=.
- by move=> _ [|y path] //=; split=> //; rewrite ?heads_leaves ?undup_uniq //; exact: good_leaves.
- by move=> k fs IH [kk u gfs] [|y path] //=; split=> //; [rewrite heads_expand|exact: IH].
- by move=> z t IHt fs IHfs [gt gfs] y path; case: ifP => _ /=; split=> //; [exact: IHt|exact: IHfs].
Qed.

(* whatever a verifier makes of a tree, if no expansion changes it on average, no growth does *)
Lemma grown_value c t m (F : tree -> R) :
  (forall t path D, good t -> fits (catrev path c) D -> E D (fun x => F (expand t path x)) = F t) ->
  good t -> grown c t m -> E m F = F t.
Proof.
move=> FE gt g; elim: g gt => {t m} [t|t A m k wm _ IH|t path D k fD _ IH] gt //=.
  rewrite E_bind -[RHS](E_const (F t) wm); apply: E_ext => x; exact: IH.
rewrite E_bind -(FE _ _ _ gt fD); have [_ kD _] := fD.
apply: (E_outputs kD) => x kx; apply: IH; exact: good_expand.
Qed.

(* ---- the walk: the token of the step at the root, then at the child that has it ---- *)
Fixpoint walk t c : prog (seq T) :=
  match t with
  | Leaf => Draw (p c) (fun y => Ret [:: y])
  | Node k fs => Draw (fun y => k 1 (Some y)) (fun y => into fs y (y :: c))
  end
with into fs y c :=
  match fs with
  | Nil => Ret [:: y]
  | Child z t fs' => if z == y then bind (walk t c) (fun ys => Ret (y :: ys)) else into fs' y c
  end.

Definition done n c f ys := E (ar p (n - size ys)%N (catrev ys c)) (fun zs => f (take n (ys ++ zs))).

Lemma done_cons n c f y ys : done n c f (y :: ys) = done n.-1 (y :: c) (fun zs => f (take n (y :: zs))) ys.
Proof. exact: (value_cons p n c f 0 y ys). Qed.

Lemma done1 n c f y : done n c f [:: y] = from p n c f y.
Proof. exact: (value1 p n c f 0 y). Qed.

Lemma E_into_leaves S n c f y : E (into (leaves S) y (y :: c)) (done n c f) = from p n c f y.
Proof.
elim: S => [|z S IH] /=; first exact: done1.
case: eqP => // _; rewrite /= -[RHS](sum_from dp); apply: eq_bigr => x _.
by congr (_ * _); rewrite done_cons done1.
Qed.

Lemma walk_expand D t : good t -> forall path c n f, fits (catrev path c) D ->
  E D (fun x => E (walk (expand t path x) c) (done n c f)) = E (walk t c) (done n c f).
Proof.
move: t; apply: (@tree_mut (fun t => good t -> forall path c n f, fits (catrev path c) D ->
    E D (fun x => E (walk (expand t path x) c) (done n c f)) = E (walk t c) (done n c f))
  (fun fs => all_good fs -> forall z path y c n f, fits (catrev path (z :: c)) D ->
    E D (fun x => E (into (expand_in fs z path x) y (y :: c)) (done n c f)) =
    E (into fs y (y :: c)) (done n c f))) => /=.
- move=> _ [|y path] c n f fD; have [wD _ lD] := fD; last by rewrite E_const.
  transitivity (E D (fun x => \sum_y x.1 1 (Some y) * from p n c f y)).
    by apply: E_ext => x /=; apply: eq_bigr => y _; rewrite E_into_leaves.
  rewrite E_sum; apply: eq_bigr => y _; rewrite done1 -[p c y]mul1r.
  rewrite -[1 * p c y]/(scaled c 1 (Some y)) -(lD 1 (Some y)) ?ler01 ?lexx //.
  by rewrite mulrC -E_scale; apply: E_ext => x; rewrite mulrC.
- move=> k fs IH [_ _ gfs] [|z path] c n f fD; have [wD _ _] := fD; first by rewrite E_const.
  rewrite /= E_sum; apply: eq_bigr => y _; rewrite E_scale; congr (_ * _); exact: IH.
- by move=> _ z path y c n f [wD _ _]; rewrite E_const.
- move=> x0 t IHt fs IHfs [gt gfs] z path y c n f fD; have [wD _ _] := fD.
  case: (eqVneq x0 z) => [->|ne] /=; last first.
    by case: ifP => _; [rewrite E_const | exact: IHfs].
  case: eqP => [e|_]; last by rewrite E_const.
  rewrite E_bind -e; transitivity (E (walk t (z :: c)) (done n.-1 (z :: c) (fun zs => f (take n (z :: zs))))).
    rewrite -(IHt gt path) //; apply: E_ext => x; rewrite E_bind; apply: E_ext => ys; exact: done_cons.
  by apply: E_ext => ys; rewrite -done_cons.
Qed.

(* a tree grown at c, then walked *)
Definition walked (m : prog tree) c : prog (seq T) := bind m (fun t => walk t c).

Theorem walk_lossless m c : grown c Leaf m -> completes p (walked m c) c.
Proof.
move=> g n f; rewrite E_bind -/(done n c f).
rewrite (@grown_value c Leaf m (fun t => E (walk t c) (done n c f))) //=.
  by rewrite -[RHS](sum_from dp); apply: eq_bigr => y _; rewrite -(done1 n c f y).
by move=> t path D gt fD; exact: walk_expand.
Qed.

Lemma walk_nonempty m c : outputs (fun ys => 0 < size ys)%N (walked m c).
Proof.
apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
move=> t _; move: t c; apply: (@tree_mut (fun t => forall c, outputs (fun ys => 0 < size ys)%N (walk t c))
  (fun fs => forall y c, outputs (fun ys => 0 < size ys)%N (into fs y c))) => //= z t IHt fs IHfs y c.
by case: ifP => _ //; apply: (outputs_bind (IHt c)).
Qed.

Theorem walk_decode (m : nat -> seq T -> prog tree) n c f : (forall n c, grown c Leaf (m n c)) ->
  E (decode (fun n c => walked (m n c) c) n n c) f = E (ar p n c) f.
Proof. by move=> g; apply: decode_lossless => // {}n {}c; [exact: walk_lossless | exact: walk_nonempty]. Qed.

End Tree.
Arguments Leaf {R T}.
Arguments Nil {R T}.
