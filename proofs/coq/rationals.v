(* Coq's canonical rationals Qc (binary, computable) as a MathComp ordered
   field, so that every theorem and every definition applies to it. *)
Require Import prelude.
From Coq Require Import ZArith QArith Qcanon.
From mathcomp.zify Require Import ssrZ.

Definition Qc_eqb (x y : Qc) : bool := Qc_eq_bool x y.
Lemma Qc_eqP : Equality.axiom Qc_eqb.
Proof.
move=> x y; rewrite /Qc_eqb /Qc_eq_bool.
by case: (Qc_eq_dec x y) => h; constructor.
Qed.
Canonical Qc_eqType := EqType Qc (EqMixin Qc_eqP).

Definition Qc_enc (x : Qc) : Z * Z := (Qnum x, Zpos (Qden x)).
Definition Qc_dec (z : Z * Z) : Qc := Q2Qc (Qmake z.1 (Z.to_pos z.2)).
Lemma Qc_encK : cancel Qc_enc Qc_dec.
Proof. by move=> x; apply: Qc_is_canon; apply: Qeq_trans (Qred_correct _) _; case: x => -[]. Qed.
Canonical Qc_choiceType := ChoiceType Qc (CanChoiceMixin Qc_encK).

Definition Qc_zmodMixin :=
  @ZmodMixin Qc (Q2Qc 0) Qcopp Qcplus Qcplus_assoc Qcplus_comm Qcplus_0_l
    (fun x => eq_trans (Qcplus_comm _ _) (Qcplus_opp_r x)).
Canonical Qc_zmodType := ZmodType Qc Qc_zmodMixin.

Lemma Qc_1n0 : Q2Qc 1 != Q2Qc 0 :> Qc. Proof. by apply/eqP. Qed.
Definition Qc_ringMixin :=
  @ComRingMixin Qc_zmodType (Q2Qc 1) Qcmult Qcmult_assoc Qcmult_comm Qcmult_1_l
    Qcmult_plus_distr_l Qc_1n0.
Canonical Qc_ringType := RingType Qc Qc_ringMixin.
Canonical Qc_comRingType := ComRingType Qc Qcmult_comm.

Lemma Qc_mulV : GRing.Field.axiom (R := Qc_ringType) Qcinv.
Proof. by move=> x /eqP h; rewrite /GRing.mul /=; apply: Qcmult_inv_l. Qed.
Lemma Qc_inv0 : Qcinv (Q2Qc 0) = Q2Qc 0. Proof. exact/Qc_is_canon. Qed.
Definition Qc_unitMixin := FieldUnitMixin Qc_mulV Qc_inv0.
Canonical Qc_unitRingType := UnitRingType Qc Qc_unitMixin.
Canonical Qc_comUnitRingType := [comUnitRingType of Qc].
Definition Qc_fieldMixin := @FieldMixin _ _ Qc_mulV Qc_inv0.
Canonical Qc_idomainType := IdomainType Qc (FieldIdomainMixin Qc_fieldMixin).
Canonical Qc_fieldType := FieldType Qc Qc_fieldMixin.

Definition Qc_leb (x y : Qc) : bool := Qle_bool x y.
Definition Qc_ltb (x y : Qc) : bool := ~~ Qc_leb y x.
Definition Qc_abs (x : Qc) : Qc := if Qc_leb (Q2Qc 0) x then x else Qcopp x.

Lemma Qc_leP x y : reflect (Qcle x y) (Qc_leb x y).
Proof. by apply: (iffP idP); rewrite /Qc_leb /Qcle => /Qle_bool_iff. Qed.

Local Open Scope Qc_scope.
Lemma Qc_le0D x y : Qc_leb 0 x -> Qc_leb 0 y -> Qc_leb 0 (x + y).
Proof.
move=> /Qc_leP h1 /Qc_leP h2; apply/Qc_leP.
by rewrite -[0]Qcplus_0_l; apply: Qcplus_le_compat.
Qed.
Lemma Qc_le0M x y : Qc_leb 0 x -> Qc_leb 0 y -> Qc_leb 0 (x * y).
Proof.
move=> /Qc_leP h1 /Qc_leP h2; apply/Qc_leP.
by rewrite -[0](Qcmult_0_l y); apply: Qcmult_le_compat_r.
Qed.
Lemma Qc_le0_anti x : Qc_leb 0 x -> Qc_leb x 0 -> x = 0.
Proof. by move=> /Qc_leP h1 /Qc_leP h2; apply: Qcle_antisym. Qed.
Lemma Qc_sub_ge0 x y : Qc_leb 0 (y - x) = Qc_leb x y.
Proof.
by apply/Qc_leP/Qc_leP; [exact: (proj2 (Qcle_minus_iff x y)) | exact: (proj1 (Qcle_minus_iff x y))].
Qed.
Lemma Qc_le_total : total Qc_leb.
Proof.
move=> x y; apply/orP; case: (Qclt_le_dec x y) => h; [left|right]; apply/Qc_leP => //.
exact: Qclt_le_weak.
Qed.
Lemma Qc_absN x : Qc_abs (- x) = Qc_abs x.
Proof.
rewrite /Qc_abs; have [h1|/negP h1] := boolP (Qc_leb 0 x); have [h2|/negP h2] := boolP (Qc_leb 0 (- x)).
- have -> : x = 0; last by [].
  apply: Qc_le0_anti => //; rewrite -Qc_sub_ge0.
  by have -> : 0 - x = - x by rewrite /Qcminus Qcplus_0_l.
- exact: Qcopp_involutive.
- by [].
- case/orP: (Qc_le_total 0 x) => [/h1 //|h]; case: h2.
  by rewrite -Qc_sub_ge0 in h; rewrite /Qcminus Qcplus_0_l in h.
Qed.
Lemma Qc_ge0_abs x : Qc_leb 0 x -> Qc_abs x = x.
Proof. by rewrite /Qc_abs => ->. Qed.
Lemma Qc_lt_def x y : Qc_ltb x y = (y != x) && Qc_leb x y.
Proof.
rewrite /Qc_ltb; apply/idP/andP => [h|[ne h]].
  split; last by case/orP: (Qc_le_total x y) => // h'; rewrite h' in h.
  by apply: contra h => /eqP ->; apply/Qc_leP/Qcle_refl.
apply: contra ne => h'; apply/eqP; apply: Qcle_antisym; exact/Qc_leP.
Qed.

Definition Qc_leMixin : realLeMixin Qc_idomainType :=
  RealLeMixin Qc_le0D Qc_le0M Qc_le0_anti Qc_sub_ge0 (Qc_le_total 0) Qc_absN
    Qc_ge0_abs Qc_lt_def.
Canonical Qc_porderType := POrderType ring_display Qc Qc_leMixin.
Canonical Qc_latticeType := LatticeType Qc Qc_leMixin.
Canonical Qc_distrLatticeType := DistrLatticeType Qc Qc_leMixin.
Canonical Qc_orderType := OrderType Qc Qc_le_total.
Canonical Qc_numDomainType := NumDomainType Qc Qc_leMixin.
Canonical Qc_normedZmodType := NormedZmodType Qc Qc Qc_leMixin.
Canonical Qc_numFieldType := [numFieldType of Qc].
Canonical Qc_realDomainType := [realDomainType of Qc].
Canonical Qc_realFieldType := [realFieldType of Qc].
