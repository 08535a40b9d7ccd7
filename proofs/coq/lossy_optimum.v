(* T44: the most acceptance of a lossy rule.  In total variation it is min(1, 1 - TV(p, q) + eps), and a rule has it.
    For other divergences: the two levels of the clipped ratio, which are extremes over sets of tokens. *)
Require Import prelude prob price frontier.

Section Optimum.
Variables (R : realFieldType) (T : finType) (p q : T -> R).
Hypotheses (dp : is_dist p) (dq : is_dist q).
Implicit Types (t : T -> T -> R) (a b m eps : R).
Notation is_rule t := (forall x : T, is_dist (t x)).

(* ---- total variation ---- *)
Theorem lossy_tv_bound t eps : is_rule t -> tv (output q t) p <= eps ->
  hits q t <= Num.min 1 (1 - tv p q + eps).
Proof.
move=> dt close; have [keeps most] := price_bound dp dq dt; rewrite le_minr; apply/andP; split.
  by apply: le_trans keeps _; apply: overlap_le1; exact: dist_sum.
by apply: le_trans keeps (le_trans most _); rewrite ler_add2l.
Qed.

(* a share s of what is above the target is kept *)
Lemma shared_rule s : 0 <= s <= 1 -> exists t,
  [/\ is_rule t, hits q t = overlap p q + s * tv p q & tv (output q t) p = s * tv p q].
Proof.
move=> /andP[s0 s1]; pose k x := Num.min (p x) (q x) + s * excess q p x.
have k_le x : k x <= q x.
  apply: le_trans (_ : Num.min (p x) (q x) + 1 * excess q p x <= _).
    by rewrite ler_add2l ler_wpmul2r ?excess_ge0.
  by rewrite mul1r excessE minC addrC subrK.
have k0 x : 0 <= k x by rewrite addr_ge0 ?minr_ge0 ?mulr_ge0 ?excess_ge0 // ?(dist_ge0 dp) ?(dist_ge0 dq).
pose a x : R := if q x == 0 then 1 else k x / q x.
have keeps x : q x * a x = k x.
  rewrite /a; case: eqP => [e|/eqP e]; last by rewrite mulrC divfK.
  by rewrite e mul0r; apply/le_anti; rewrite k0 -e k_le.
have a01 x : 0 <= a x <= 1.
  rewrite /a; case: eqP => [_|/eqP e]; first by rewrite ler01 lexx.
  have q0 : 0 < q x by rewrite lt_neqAle eq_sym e (dist_ge0 dq).
  by apply/andP; split; [apply: divr_ge0; rewrite ?k0 ?ltW | rewrite ler_pdivr_mulr // mul1r k_le].
have enough x : Num.min (p x) (q x) <= q x * a x by rewrite keeps ler_addl mulr_ge0 ?excess_ge0.
have hit : hits q (relaxed a (fun _ => residual p q)) = overlap p q + s * tv p q.
  rewrite (hit_residual dp dq a01 enough); under eq_bigr do rewrite keeps.
  rewrite big_split /= -/(overlap p q) -mulr_sumr sum_excess (dist_sum dq) (overlapC q p) (overlap_tv dp dq); ring.
exists (relaxed a (fun _ => residual p q)); split=> //.
  by apply: relaxed_dist => // x; exact: residual_dist.
by rewrite -price_residual // hit addrC addKr.
Qed.

Theorem lossy_tv_met eps : 0 <= eps -> exists t,
  [/\ is_rule t, tv (output q t) p <= eps & hits q t = Num.min 1 (1 - tv p q + eps)].
Proof.
move=> e0; have d0 : 0 <= tv p q by rewrite mulr_ge0 ?invr_ge0 ?ler0n // sumr_ge0.
have [far|near] := ltP eps (tv p q).
  have pos : 0 < tv p q by apply: le_lt_trans far.
  have [|t [dt hit tvt]] := @shared_rule (eps / tv p q).
    by rewrite divr_ge0 //= ler_pdivr_mulr // mul1r ltW.
  exists t; rewrite tvt hit divfK ?gt_eqF // lexx overlap_tv //; split=> //.
  by apply/esym/min_idPr; rewrite -addrA ger_addl addrC subr_le0 ltW.
have [|t [dt hit tvt]] := @shared_rule 1; first by rewrite ler01 lexx.
exists t; rewrite tvt hit mul1r overlap_tv // subrK; split=> //.
by apply/esym/min_idPl; rewrite -addrA ler_addl addrC subr_ge0.
Qed.

(* ---- every divergence: p without zeros ---- *)
Hypothesis p_gt0 : forall x, 0 < p x.
Let over a := \sum_x excess q (fun y => a * p y) x.
Let under b := \sum_x excess (fun y => b * p y) q x.
Let mass (r : T -> R) (S : {set T}) := \sum_(x in S) r x.

Lemma mass_pos (S : {set T}) : S != set0 -> 0 < mass p S.
Proof.
case/set0Pn => x xS; rewrite /mass (bigD1 x) //=; apply: ltr_paddr => //.
by apply: sumr_ge0 => y _; exact: ltW.
Qed.

Lemma massT r : is_dist r -> mass r setT = 1.
Proof. by move=> dr; rewrite -(dist_sum dr); apply: eq_bigl => x; rewrite inE. Qed.

(* the sum of what is above is the most of any set *)
Lemma excess_most (f g : T -> R) (S : {set T}) : mass f S - mass g S <= \sum_x excess f g x.
Proof.
rewrite /mass -sumrB [X in X <= _]big_mkcond; apply: ler_sum => x _ /=.
by case: ifP => _; rewrite /excess le_maxr lexx ?orbT.
Qed.

Lemma excess_set (f g : T -> R) :
  \sum_x excess f g x = mass f [set x | g x < f x] - mass g [set x | g x < f x].
Proof.
rewrite /mass -sumrB [RHS]big_mkcond; apply: eq_bigr => x _ /=; rewrite inE /excess.
by case: ltP => h; [apply/max_idPr; rewrite subr_ge0 ltW | apply/max_idPl; rewrite subr_le0].
Qed.

Lemma mass_scale a (S : {set T}) : mass (fun x => a * p x) S = a * mass p S.
Proof. by rewrite /mass mulr_sumr. Qed.

Lemma not_empty : [set: T] != set0.
Proof. by apply/eqP => e; have /eqP := massT dp; rewrite e /mass big_set0 eq_sym oner_eq0. Qed.

(* 1: A is the largest (q(S) - m) / p(S) of all sets S *)
Lemma cap_level m : 0 <= m <= tv p q -> exists a, [/\ 1 <= a, over a = m &
  (exists2 S, S != set0 & a = (mass q S - m) / mass p S) /\ forall S, S != set0 -> (mass q S - m) / mass p S <= a].
Proof.
move=> /andP[m0 mt]; pose f S := (mass q S - m) / mass p S; pose P := [pred S : {set T} | S != set0].
case: (@Order.TotalTheory.arg_maxP _ _ _ setT P f not_empty) => S /= ne most.
have low a : f S <= a -> over a <= m.
  move=> fa; rewrite /over excess_set mass_scale; set H := [set x | _].
  have [e|ne'] := eqVneq H set0; first by rewrite e /mass !big_set0 mulr0 subrr.
  have h : f H <= a := le_trans (most H ne') fa.
  by move: h; rewrite /f ler_pdivr_mulr ?mass_pos // ler_subl_addr ler_subl_addr addrC.
exists (f S); split; last 1 first.
- by split=> [|H neH]; [exists S | exact: (most H neH)].
- have [e|ne'] := eqVneq [set x | p x < q x] set0.
    have m00 : m = 0.
      apply/le_anti; rewrite m0 andbT; apply: le_trans mt _.
      have -> : tv p q = \sum_x excess q p x.
        by rewrite sum_excess (dist_sum dq) (overlapC q p) (overlap_tv dp dq) opprB addrC subrK.
      by rewrite excess_set e /mass !big_set0 subrr.
    by apply: le_trans (most setT not_empty); rewrite /f !massT // m00 subr0 divr1.
  apply: le_trans (most _ ne'); rewrite /f ler_pdivl_mulr ?mass_pos // mul1r ler_subr_addr addrC -ler_subr_addr.
  by rewrite -excess_set sum_excess (dist_sum dq) (overlapC q p) (overlap_tv dp dq) opprB addrC subrK.
apply/le_anti; rewrite low //=; apply: le_trans (excess_most _ _ S).
by rewrite mass_scale /f divfK ?gt_eqF ?mass_pos // opprB addrC subrK.
Qed.

(* 1: B is the smallest (q(S) + m) / p(S) of all sets S *)
Lemma floor_level m : 0 <= m <= tv p q -> exists b, [/\ 0 <= b <= 1, under b = m &
  (exists2 S, S != set0 & b = (mass q S + m) / mass p S) /\ forall S, S != set0 -> b <= (mass q S + m) / mass p S].
Proof.
move=> /andP[m0 mt]; pose f S := (mass q S + m) / mass p S; pose P := [pred S : {set T} | S != set0].
case: (@Order.TotalTheory.arg_minP _ _ _ setT P f not_empty) => S /= ne least.
exists (f S); split; last 1 first.
- by split=> [|H neH]; [exists S | exact: (least H neH)].
- apply/andP; split.
    apply: divr_ge0; last by rewrite ltW ?mass_pos.
    by rewrite addr_ge0 // sumr_ge0 // => x _; exact: dist_ge0.
  have [e|ne'] := eqVneq [set x | q x < p x] set0.
    have m00 : m = 0.
      apply/le_anti; rewrite m0 andbT; apply: le_trans mt _.
      have -> : tv p q = \sum_x excess p q x.
        by rewrite sum_excess (dist_sum dp) (overlap_tv dp dq) opprB addrC subrK.
      by rewrite excess_set e /mass !big_set0 subrr.
    by apply: le_trans (least setT not_empty) _; rewrite /f !massT // m00 addr0 divr1.
  apply: le_trans (least _ ne') _; rewrite /f ler_pdivr_mulr ?mass_pos // mul1r addrC -ler_subr_addr.
  by rewrite -excess_set sum_excess (dist_sum dp) (overlap_tv dp dq) opprB addrC subrK.
apply/le_anti/andP; split; last first.
  apply: le_trans (excess_most _ _ S).
  by rewrite mass_scale /f divfK ?gt_eqF ?mass_pos // addrAC subrr add0r.
rewrite /under excess_set mass_scale; set H := [set x | _].
have [e|ne'] := eqVneq H set0; first by rewrite e /mass !big_set0 mulr0 subrr.
by have := least H ne'; rewrite {2}/f ler_pdivl_mulr ?mass_pos // -ler_subl_addl.
Qed.

End Optimum.
