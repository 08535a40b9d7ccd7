(* Any lossless step rule, lifted to a grown tree: at every node it is run for the target
   (a p, 1 - a), whose second part, None, is never a draft. *)
Require Import prelude prob rejection recursive loop block tree.

Section Lifted.
Variables (R : realFieldType) (T : finType).
Notation prog := (prog R T).
Notation model := (seq T -> T -> R).
Notation tree := (tree R T).
Variable p : model.
Hypothesis dp : is_model p.

(* mass of the heads that were not tried yet, and with it that of failing *)
Definition others (t : option T -> R) (used : seq T) := \sum_(y | y \notin used) t (Some y).
Definition open (t : option T -> R) used := others t used + t None.
Definition share (x y : R) : R := if y == 0 then 0 else x / y.

Definition fresh (c : seq T) (t : option T -> R) used y :=
  if others t used == 0 then p c y
  else if y \in used then 0 else t (Some y) / others t used.

(* a node at weight a: Some, what is emitted; None, failed.  Its children are tried in turn, then it is itself *)
Fixpoint lift (t : tree) (a : R) c : prog (option (seq T)) :=
  match t with
  | Leaf => Flip a (Draw (p c) (fun y => Ret (Some [:: y]))) (Ret None)
  | Node k fs => attempt (k a) fs [::] c
  end
with attempt t fs used c :=
  match fs with
  | Nil =>
      Flip (share (others t used) (open t used)) (Draw (fresh c t used) (fun y => Ret (Some [:: y]))) (Ret None)
  | Child y s fs' =>
      bind (lift s (share (t (Some y)) (open t used)) (y :: c)) (fun o =>
        if o is Some ys then Ret (Some (y :: ys)) else attempt t fs' (y :: used) c)
  end.

Definition lifted (t : tree) c : prog (seq T) :=
  bind (lift t 1 c) (fun o => if o is Some ys then Ret ys else Draw (p c) (fun y => Ret [:: y])).

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

(* at weight a a leaf is an a-scaled copy of the target *)
Lemma leaf_value a c n f v : E (lift Leaf a c) (value p n c f v) = a * E (ar p n c) f + (1 - a) * v.
Proof.
rewrite /= -(sum_from dp n c f); congr (a * _ + _).
by apply: eq_bigr => y _; rewrite -(value1 p n c f v y).
Qed.

(* what a child that is tried with weight w adds *)
Lemma tried t w y c n f v (rest : prog (option (seq T))) :
  E (bind (lift t w (y :: c)) (fun o => if o is Some ys then Ret (Some (y :: ys)) else rest)) (value p n c f v) =
  E (lift t w (y :: c)) (value p n.-1 (y :: c) (fun zs => f (take n (y :: zs))) (E rest (value p n c f v))).
Proof. by rewrite E_bind; apply: E_ext => -[ys|] //; exact: value_cons. Qed.

Section Attempt.
Variables (c : seq T) (n : nat) (f : seq T -> R) (v : R) (t : option T -> R).
Hypothesis t0 : forall o, 0 <= t o.

Lemma share_open used y : y \notin used -> 0 <= t (Some y) <= open t used.
Proof. by move=> yu; rewrite t0 (open_cons t yu) ler_addl open_ge0. Qed.

Lemma attempt_leaves S used : uniq (S ++ used) ->
  open t used * E (attempt t (leaves R S) used c) (value p n c f v) =
  \sum_(y | y \notin used) t (Some y) * from p n c f y + t None * v.
Proof.
elim: S used => [|y S IH] used.
  rewrite /= => _; pose o := others t used; have o0 : 0 <= o by apply: sumr_ge0.
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
rewrite cat_cons cons_uniq mem_cat negb_or => /andP[/andP[yS yu] u].
have u' : uniq (S ++ y :: used).
  by rewrite uniq_catC cat_cons /= mem_cat negb_or yu yS /= uniq_catC.
have yo := share_open yu.
rewrite [X in _ * X](tried Leaf (share (t (Some y)) (open t used)) y c n f v (attempt t (leaves R S) (y :: used) c)).
rewrite leaf_value -/(from p n c f y) mulrDr !mulrA mulrBr mulr1 (shareE yo).
rewrite [in X in _ + X](open_cons t yu) addrAC subrr add0r IH // addrA; congr (_ + _).
rewrite [RHS](bigD1 y) //=; congr (_ + _); apply: eq_bigl => z.
by rewrite inE negb_or andbC.
Qed.

End Attempt.

(* an expansion changes nothing on average *)
Lemma lift_expand D t : good t -> forall path a c n f v, 0 <= a <= 1 -> fits p (catrev path c) D ->
  E D (fun x => E (lift (expand t path x) a c) (value p n c f v)) = E (lift t a c) (value p n c f v).
Proof.
move: t; apply: (@tree_mut R T (fun t => good t -> forall path a c n f v,
    0 <= a <= 1 -> fits p (catrev path c) D ->
    E D (fun x => E (lift (expand t path x) a c) (value p n c f v)) = E (lift t a c) (value p n c f v))
  (fun fs => all_good fs -> forall z path t used c n f v, (forall o, 0 <= t o) -> uniq (heads fs ++ used) ->
    fits p (catrev path (z :: c)) D ->
    E D (fun x => E (attempt t (expand_in fs z path x) used c) (value p n c f v)) =
    E (attempt t fs used c) (value p n c f v))).
- move=> _ [|y path] a c n f v a01 fD; have [wD kD lD] := fD; last by rewrite E_const.
  transitivity (E D (fun x => \sum_y x.1 a (Some y) * from p n c f y + x.1 a None * v)).
    apply: (E_outputs kD) => x kx; have [x0 x1] := kx a a01.
    have /= := @attempt_leaves c n f v _ x0 (undup x.2) [::].
    rewrite cats0 undup_uniq => /(_ isT).
    have -> : open (x.1 a) [::] = 1 by rewrite /open /others addrC.
    by rewrite mul1r.
  rewrite leaf_value E_add E_sum; congr (_ + _); last first.
    rewrite -[in RHS]/(scaled p c a None) -(lD a None a01) mulrC -E_scale.
    by apply: E_ext => x; rewrite mulrC.
  rewrite -(sum_from dp n c f) mulr_sumr; apply: eq_bigr => y _.
  rewrite mulrA -[a * _]/(scaled p c a (Some y)) -(lD a (Some y) a01) mulrC -E_scale.
  by apply: E_ext => x; rewrite mulrC.
- move=> k fs IH [kk u gfs] [|z path] a c n f v a01 fD; have [wD _ _] := fD; first by rewrite E_const.
  by have [k0 _] := kk a a01; apply: IH; rewrite ?cats0.
- by move=> _ z path t used c n f v _ _ [wD _ _]; rewrite E_const.
move=> y s IHs fs IHfs [gs gfs] z path t used c n f v t0 /= /andP[]; rewrite mem_cat negb_or.
move=> /andP[yS yu] u fD; have [wD _ _] := fD.
have u' : uniq (heads fs ++ y :: used).
  by rewrite uniq_catC cat_cons /= mem_cat negb_or yu yS /= uniq_catC.
have w01 := share01 (share_open t0 yu).
case: (eqVneq y z) => [e|ne].
  rewrite tried -(IHs gs path) ?e //; last by rewrite -e.
  by apply: E_ext => x; rewrite tried.
rewrite E_bind; under E_ext do rewrite E_bind.
rewrite E_swap; apply: E_ext => -[ys|] /=; first by rewrite E_const.
exact: IHfs.
Qed.

(* at weight a, the outcomes are an a-scaled copy of the target's law *)
Theorem lift_value m a c n f v : grown p c Leaf m -> 0 <= a <= 1 ->
  E (bind m (fun t => lift t a c)) (value p n c f v) = a * E (ar p n c) f + (1 - a) * v.
Proof.
move=> g a01; rewrite -leaf_value E_bind.
rewrite (@grown_value _ _ p c Leaf m (fun t => E (lift t a c) (value p n c f v))) //.
by move=> t path D gt fD; exact: lift_expand.
Qed.

Theorem lifted_lossless m c : grown p c Leaf m -> completes p (bind m (fun t => lifted t c)) c.
Proof.
move=> g n f; pose v : R := \sum_y p c y * from p n c f y.
transitivity (E (bind m (fun t => lift t 1 c)) (value p n c f v)).
  rewrite !E_bind; apply: E_ext => t; rewrite E_bind; apply: E_ext => -[ys //|] /=.
  by rewrite /v; apply: eq_bigr => y _; rewrite /from subn1.
by rewrite lift_value ?ler01 ?lexx // mul1r subrr mul0r addr0.
Qed.

Lemma lifted_nonempty m c : outputs (fun ys => 0 < size ys)%N (bind m (fun t => lifted t c)).
Proof.
apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
move=> t _; apply: (@outputs_bind _ _ _ _ (fun o => if o is Some ys then 0 < size ys else true)%N); last by case.
move: t {1}1 c; apply: (@tree_mut R T
  (fun t => forall a c, outputs (fun o => if o is Some ys then 0 < size ys else true)%N (lift t a c))
  (fun fs => forall k used c, outputs (fun o => if o is Some ys then 0 < size ys else true)%N
    (attempt k fs used c))) => //= y t IHt fs IHfs k used c.
by apply: (outputs_bind (IHt _ _)) => -[ys|].
Qed.

Theorem lifted_decode (m : nat -> seq T -> prog tree) n c f : (forall n c, grown p c Leaf (m n c)) ->
  E (decode (fun n c => bind (m n c) (fun t => lifted t c)) n n c) f = E (ar p n c) f.
Proof. by move=> g; apply: decode_lossless => // {}n {}c; [exact: lifted_lossless | exact: lifted_nonempty]. Qed.

End Lifted.

(* The children of a leaf from a step rule for drafts m: V r S is its program for the target r. *)
Section Steps.
Variables (R : realFieldType) (T : finType) (p : seq T -> T -> R).
Hypothesis dp : is_model p.

Lemma sum_option (F : option T -> R) : \sum_o F o = F None + \sum_y F (Some y).
Proof.
rewrite (bigD1 None) //=; congr (_ + _); rewrite (reindex_omap Some id) => [|[]] //.
by apply: eq_bigl => y; rewrite eqxx.
Qed.

Lemma scaled_dist c a : 0 <= a <= 1 -> is_dist (scaled p c a).
Proof.
move=> /andP[a0 a1]; split=> [[y|]|] /=; rewrite ?subr_ge0 // ?mulr_ge0 ?(dist_ge0 (dp c)) //.
by rewrite sum_option /= -mulr_sumr (dist_sum (dp c)) mulr1 subrK.
Qed.

Variables (m : prog R T (seq T)) (V : (option T -> R) -> seq T -> prog R (option_finType T) (bool * option T)).
Definition step_kernel c S : kernel R T := fun a o => E (V (scaled p c a) S) (fun b => (b.2 == o)%:R).
Definition firsts (S : seq T) := rev (undup (rev S)).
Definition step_children c := bind m (fun S => Ret (step_kernel c S, firsts S)).

Hypothesis wm : wf m.
Hypothesis wV : forall r S, is_dist r -> wf (V r S).

Theorem step_fits c :
  (forall r f, is_dist r -> E m (fun S => E (V r S) (fun b => f b.2)) = \sum_o r o * f o) ->
  fits p c (step_children c).
Proof.
move=> lV; split; first exact: wf_bind.
  apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
  move=> S _ a a01; have w := wV S (scaled_dist c a01); split=> [o|].
    by apply: E_ge0 => // b; rewrite ler0n.
  rewrite -(sum_option (step_kernel c S a)) -(E_const 1 w) -E_sum; apply: E_ext => b.
  by rewrite (bigD1 b.2) //= eqxx big1 ?addr0 // => o; rewrite eq_sym => /negbTE ->.
move=> a o a01; rewrite E_bind /= (lV _ (fun z => (z == o)%:R) (scaled_dist c a01)).
exact: sum_ind.
Qed.

End Steps.

(* Recursive rejection is such a rule, for any proposals. *)
Section Recursive.
Variables (R : realFieldType) (T : finType) (p : seq T -> T -> R) (prop : seq T -> T -> R) (k : nat).
Hypotheses (dp : is_model p) (dprop : forall h, is_dist (prop h)).

Definition proposals (h : seq (option T)) (o : option T) : R := if o is Some y then prop (pmap id h) y else 0.
Definition recursive_step r (S : seq T) := verify proposals [::] r [seq Some y | y <- S].

Lemma proposals_dist h : is_dist (proposals h).
Proof.
have [q0 q1] := dprop (pmap id h); split=> [[y|] //=|].
by rewrite sum_option /= add0r.
Qed.

Lemma E_proposals j h f : E (draft_list j proposals [seq Some y | y <- h]) f =
  E (draft_list j prop h) (fun S => f [seq Some y | y <- S]).
Proof.
elim: j h f => //= j IH h f; rewrite sum_option /= mul0r add0r; apply: eq_bigr => y _.
by have -> : pmap id [seq Some x | x <- h] = h by [elim: h => //= x h ->]; rewrite !E_bind -map_cons IH.
Qed.

Corollary recursive_fits c : fits p c (step_children p (draft_list k prop [::]) recursive_step c).
Proof.
apply: step_fits => // [|r S dr|r f dr]; first exact: draft_list_wf.
  by apply: verify_wf => // h; exact: proposals_dist.
rewrite -(rrs_lossless k proposals_dist dr f) E_bind.
exact/esym/(E_proposals k [::]).
Qed.

End Recursive.
