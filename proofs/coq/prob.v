(* Finite probabilistic programs over a vocabulary T, valued in any ordered
   field R, with their expectation semantics.  Nothing here uses real analysis. *)
Require Import prelude.

Section Dist.
Variables (R : realFieldType) (T : finType).
Implicit Types (p q r : T -> R) (f : T -> R).

Definition is_dist p := (forall x, 0 <= p x) /\ \sum_x p x = 1.

Lemma dist_ge0 p : is_dist p -> forall x, 0 <= p x.  Proof. by case. Qed.
Lemma dist_sum p : is_dist p -> \sum_x p x = 1.      Proof. by case. Qed.

Lemma dist_le1 p : is_dist p -> forall x, p x <= 1.
Proof.
move=> [p0 p1] x; rewrite -p1 (bigD1 x) //= ler_addl.
by apply: sumr_ge0 => y _; exact: p0.
Qed.

(* ---- the quantities of the field ---- *)
Definition overlap p q := \sum_x Num.min (p x) (q x).
Definition tv p q := 2%:R^-1 * \sum_x `|p x - q x|.
Definition excess p q x := Num.max 0 (p x - q x).
Definition residual p q x :=
  let z := \sum_y excess p q y in
  if z == 0 then p x else excess p q x / z.
Definition accept_prob p q x := Num.min 1 (p x / q x).

Lemma excess_ge0 p q x : 0 <= excess p q x.
Proof. by rewrite /excess le_maxr lexx. Qed.

Lemma excessE p q x : excess p q x = p x - Num.min (p x) (q x).
Proof.
rewrite /excess; case: (leP (p x) (q x)) => h; rewrite ?subrr.
  by apply/max_idPl; rewrite subr_le0.
by apply/max_idPr; rewrite subr_ge0 ltW.
Qed.

Lemma sum_excess p q : \sum_x excess p q x = \sum_x p x - overlap p q.
Proof. by under eq_bigr do rewrite excessE; rewrite sumrB. Qed.

Lemma minr_ge0 (a b : R) : 0 <= a -> 0 <= b -> 0 <= Num.min a b.
Proof. by move=> a0 b0; rewrite le_minr a0 b0. Qed.

Lemma overlap_ge0 p q :
  (forall x, 0 <= p x) -> (forall x, 0 <= q x) -> 0 <= overlap p q.
Proof. by move=> p0 q0; apply: sumr_ge0 => x _; apply: minr_ge0. Qed.

Lemma overlap_le1 p q : \sum_x p x = 1 -> overlap p q <= 1.
Proof.
by move=> <-; apply: ler_sum => x _; rewrite le_minl lexx.
Qed.

(* overlap = 1 - TV *)
Theorem overlap_tv p q : is_dist p -> is_dist q -> overlap p q = 1 - tv p q.
Proof.
move=> [_ p1] [_ q1].
have e x : `|p x - q x| = p x + q x - 2%:R * Num.min (p x) (q x).
  case: (leP (p x) (q x)) => h.
    by rewrite ler0_norm ?subr_le0 //; ring.
  by rewrite ger0_norm ?subr_ge0 ?ltW //; ring.
rewrite /tv; under eq_bigr do rewrite e.
rewrite sumrB big_split /= p1 q1 -mulr_sumr -/(overlap p q).
by field; rewrite ?pnatr_eq0.
Qed.

Lemma residual_dist p q : is_dist p -> is_dist (residual p q).
Proof.
move=> dp; rewrite /residual; case: eqP => [//|/eqP z0]; split => [x|].
  apply: divr_ge0; first exact: excess_ge0.
  by apply: sumr_ge0 => y _; exact: excess_ge0.
by rewrite -mulr_suml divff.
Qed.

Lemma accept_prob01 p q x :
  0 <= p x -> 0 <= q x -> 0 <= accept_prob p q x <= 1.
Proof.
move=> px qx; rewrite /accept_prob le_minl lexx /= andbT.
by rewrite le_minr ler01 divr_ge0.
Qed.

(* q(x) * P(accept x) = min(p(x), q(x)), also where q(x) = 0 *)
Lemma drawn_accepted p q x :
  0 <= p x -> 0 <= q x -> q x * accept_prob p q x = Num.min (p x) (q x).
Proof.
move=> px; rewrite le_eqVlt => /orP[/eqP <-|qx].
  by rewrite mul0r; apply/esym/min_idPr.
rewrite /accept_prob minr_pmulr ?ltW // mulr1 mulrCA divff ?gt_eqF // mulr1.
by rewrite minC.
Qed.

(* the one identity behind losslessness *)
Lemma residual_split p q x : is_dist p -> is_dist q ->
  Num.min (p x) (q x) + (1 - overlap p q) * residual p q x = p x.
Proof.
move=> dp dq; have := sum_excess p q; rewrite (dist_sum dp) => z.
rewrite /residual z; case: eqP => [z0|/eqP z0].
  rewrite z0 mul0r addr0; have: \sum_x excess p q x = 0 by rewrite z.
  move/eqP; rewrite psumr_eq0 => [/allP/(_ x)|y _]; last exact: excess_ge0.
  rewrite mem_index_enum => /(_ isT) /= /eqP; rewrite excessE.
  by move/eqP; rewrite subr_eq0 => /eqP.
by rewrite mulrCA divff // mulr1 excessE addrC subrK.
Qed.

End Dist.

(* ---- probabilistic programs ---- *)
Section Prog.
Variables (R : realFieldType) (T : finType).

Inductive prog (A : Type) : Type :=
| Ret of A
| Draw of (T -> R) & (T -> prog A)
| Flip of R & prog A & prog A.

Fixpoint bind A B (m : prog A) (k : A -> prog B) : prog B :=
  match m with
  | Ret a => k a
  | Draw p c => Draw p (fun x => bind (c x) k)
  | Flip b m1 m2 => Flip b (bind m1 k) (bind m2 k)
  end.

(* expectation of f over the output of m *)
Fixpoint E A (m : prog A) (f : A -> R) : R :=
  match m with
  | Ret a => f a
  | Draw p c => \sum_x p x * E (c x) f
  | Flip b m1 m2 => b * E m1 f + (1 - b) * E m2 f
  end.

(* every random choice in m is made from a genuine distribution *)
Fixpoint wf A (m : prog A) : Prop :=
  match m with
  | Ret _ => True
  | Draw p c => is_dist p /\ forall x, wf (c x)
  | Flip b m1 m2 => [/\ 0 <= b <= 1, wf m1 & wf m2]
  end.

(* every output that m can syntactically reach satisfies P *)
Fixpoint outputs A (P : A -> Prop) (m : prog A) : Prop :=
  match m with
  | Ret a => P a
  | Draw p c => forall x, outputs P (c x)
  | Flip b m1 m2 => outputs P m1 /\ outputs P m2
  end.

Lemma E_bind A B (m : prog A) (k : A -> prog B) f :
  E (bind m k) f = E m (fun a => E (k a) f).
Proof.
by elim: m => //= [p c IH|b m1 -> m2 -> //]; apply: eq_bigr => x _; rewrite IH.
Qed.

Lemma E_ext A (m : prog A) f g : (forall a, f a = g a) -> E m f = E m g.
Proof.
move=> fg; elim: m => //= [p c IH|b m1 -> m2 -> //].
by apply: eq_bigr => x _; rewrite IH.
Qed.

Lemma E_outputs A (P : A -> Prop) (m : prog A) f g :
  outputs P m -> (forall a, P a -> f a = g a) -> E m f = E m g.
Proof.
move=> Pm fg; elim: m Pm => /= [a /fg //|p c IH Pc|b m1 IH1 m2 IH2 [P1 P2]].
  by apply: eq_bigr => x _; rewrite IH.
by rewrite IH1 ?IH2.
Qed.

(* adequacy: E of a well-formed program is a probability expectation *)
Lemma E_add A (m : prog A) f g : E m (fun a => f a + g a) = E m f + E m g.
Proof.
elim: m => //= [p c IH|b m1 -> m2 ->]; last by ring.
by rewrite -big_split; apply: eq_bigr => x _; rewrite IH mulrDr.
Qed.

Lemma E_scale A (m : prog A) t f : E m (fun a => t * f a) = t * E m f.
Proof.
elim: m => //= [p c IH|b m1 -> m2 ->]; last by ring.
by rewrite mulr_sumr; apply: eq_bigr => x _; rewrite IH mulrCA.
Qed.

Lemma E_sum A (I : Type) (m : prog A) (s : seq I) (g : I -> A -> R) :
  E m (fun a => \sum_(i <- s) g i a) = \sum_(i <- s) E m (g i).
Proof.
elim: s => [|i s IH].
  under E_ext do rewrite big_nil.
  rewrite big_nil; elim: m => //= [p c IH|b m1 -> m2 ->].
    by rewrite big1 // => x _; rewrite IH mulr0.
  by rewrite !mulr0 addr0.
under E_ext do rewrite big_cons.
by rewrite E_add IH big_cons.
Qed.

Lemma E_swap A B (m : prog A) (m' : prog B) h :
  E m (fun a => E m' (h a)) = E m' (fun b => E m (fun a => h a b)).
Proof.
elim: m => //= [p c IH|b m1 -> m2 ->]; last by rewrite E_add !E_scale.
by rewrite E_sum; apply: eq_bigr => x _; rewrite IH E_scale.
Qed.

Lemma E_const A (m : prog A) t : wf m -> E m (fun _ => t) = t.
Proof.
elim: m => //= [p c IH [dp wc]|b m1 IH1 m2 IH2 [_ w1 w2]].
  under eq_bigr do rewrite IH //.
  by rewrite -mulr_suml (dist_sum dp) mul1r.
by rewrite IH1 // IH2 //; ring.
Qed.

Lemma E_le A (m : prog A) f g :
  wf m -> (forall a, f a <= g a) -> E m f <= E m g.
Proof.
move=> wm fg; elim: m wm => //= [p c IH [dp wc]|b m1 IH1 m2 IH2 [/andP[b0 b1] w1 w2]].
  by apply: ler_sum => x _; apply: ler_wpmul2l; [exact: dist_ge0 | exact: IH].
by apply: ler_add; apply: ler_wpmul2l; rewrite ?subr_ge0 ?IH1 ?IH2.
Qed.

Lemma E_ge0 A (m : prog A) f : wf m -> (forall a, 0 <= f a) -> 0 <= E m f.
Proof. by move=> wm f0; rewrite -[X in X <= _](E_const 0 wm) E_le. Qed.

Lemma wf_bind A B (m : prog A) (k : A -> prog B) :
  wf m -> (forall a, wf (k a)) -> wf (bind m k).
Proof.
move=> wm wk; elim: m wm => //= [p c IH [dp wc]|b m1 IH1 m2 IH2 [b01 w1 w2]].
  by split=> // x; apply: IH.
by split=> //; [apply: IH1 | apply: IH2].
Qed.

Lemma outputs_bind A B (P : A -> Prop) (Q : B -> Prop) (m : prog A) k :
  outputs P m -> (forall a, P a -> outputs Q (k a)) -> outputs Q (bind m k).
Proof.
move=> Pm PQ; elim: m Pm => /= [a /PQ //|p c IH Pc x|b m1 IH1 m2 IH2 [P1 P2]].
  exact: IH.
by split; [apply: IH1|apply: IH2].
Qed.

Lemma outputs_true A (P : A -> Prop) (m : prog A) :
  (forall a, P a) -> outputs P m.
Proof. by move=> Pa; elim: m => /=. Qed.

(* law of the output *)
Definition law (A : eqType) (m : prog A) (a : A) : R := E m (fun b => (b == a)%:R).

Definition draw (p : T -> R) : prog T := Draw p (@Ret T).
Lemma E_draw p f : E (draw p) f = \sum_x p x * f x.
Proof. by []. Qed.

Lemma sum_ind (p : T -> R) y : \sum_x p x * (x == y)%:R = p y.
Proof.
rewrite (bigD1 y) //= eqxx mulr1 big1 ?addr0 // => x /negbTE ->.
by rewrite mulr0.
Qed.

(* a program m samples p exactly *)
Definition samples (m : prog T) (p : T -> R) :=
  forall f, E m f = \sum_x p x * f x.

Lemma samples_law m p : samples m p -> forall y, law m y = p y.
Proof. by move=> s y; rewrite /law s sum_ind. Qed.

Lemma law_samples m p : (forall y, law m y = p y) -> samples m p.
Proof.
move=> lm f.
have -> : E m f = E m (fun a => \sum_x f x * (a == x)%:R).
  apply: E_ext => a; rewrite (bigD1 a) //= eqxx mulr1 big1 ?addr0 // => x.
  by rewrite eq_sym => /negbTE ->; rewrite mulr0.
rewrite E_sum; apply: eq_bigr => x _.
by rewrite E_scale -/(law m x) lm mulrC.
Qed.

End Prog.

Arguments Ret {R T A} _.
