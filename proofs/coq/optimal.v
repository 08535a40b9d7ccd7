(* The optimal rule for drafts with Pr[all in H] = G(q(H)): the clipped law
   w = max(c q, min(p, d q)) can be selected among the drafts, and the winner, verified
   alone against w, is kept as often as any lossless rule can hit. *)
Require Import prelude prob rejection coupling duality iid.

Section Clip.
Variables (R : realFieldType) (T : finType) (p q : T -> R) (G : R -> R).
Hypotheses (dp : is_dist p) (dq : is_dist q).
Hypotheses (cG : convex G) (G0 : G 0 = 0) (G1 : G 1 = 1).
Implicit Types (c d : R) (H : {set T}).

Lemma weightT (r : T -> R) : is_dist r -> weight r setT = 1.
Proof. by move=> dr; rewrite /weight -(dist_sum dr); apply: eq_bigl => x; rewrite inE. Qed.

Lemma weightC (r : T -> R) H : is_dist r -> weight r (~: H) = 1 - weight r H.
Proof.
move=> dr; rewrite /weight -(dist_sum dr) [X in X - _](bigID (mem H)) /= addrAC subrr add0r.
by apply: eq_bigl => x; rewrite inE.
Qed.

Lemma weight_ge0 (r : T -> R) H : is_dist r -> 0 <= weight r H.
Proof. by move=> dr; apply: sumr_ge0 => x _; exact: dist_ge0. Qed.

(* what c q has above p, and what p has above d q *)
Definition fill c := \sum_x excess (fun x => c * q x) p x.
Definition cut d := \sum_x excess p (fun x => d * q x) x.

Lemma sum_excess_ge (f g : T -> R) H : weight f H - weight g H <= \sum_x excess f g x.
Proof.
rewrite /weight -sumrB [X in X <= _]big_mkcond; apply: ler_sum => x _ /=.
by case: ifP => _; rewrite /excess le_maxr lexx ?orbT.
Qed.

Lemma sum_excess_eq (f g : T -> R) :
  \sum_x excess f g x = weight f [set x | g x < f x] - weight g [set x | g x < f x].
Proof.
rewrite /weight -sumrB [RHS]big_mkcond; apply: eq_bigr => x _ /=; rewrite inE /excess.
by case: ltP => h; [apply/max_idPr; rewrite subr_ge0 ltW | apply/max_idPl; rewrite subr_le0].
Qed.

Lemma weight_scale a H : weight (fun x => a * q x) H = a * weight q H.
Proof. by rewrite /weight mulr_sumr. Qed.

Lemma below_diagonal x : 0 <= x <= 1 -> G x <= x.
Proof.
move=> x01; have [mu [_ line]] := cG x01; have /andP[x0 x1] := x01.
have := line 0; rewrite lexx ler01 G0 => /(_ isT) l0.
have := line 1; rewrite lexx ler01 G1 => /(_ isT) l1.
have y0 : 0 <= 1 - x by rewrite subr_ge0.
have := ler_add (ler_wpmul2l y0 l0) (ler_wpmul2l x0 l1).
rewrite sub0r mulr0 add0r mulr1 => h.
apply: le_trans (_ : (1 - x) * (G x + mu * - x) + x * (G x + mu * (1 - x)) <= _) => //.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
Qed.

(* l is the largest loss; 1 - l the optimum *)
Variable l : R.
Hypothesis l_max : forall H, G (weight q H) - weight p H <= l.
Hypothesis l_met : exists H, G (weight q H) - weight p H = l.

Lemma l_ge0 : 0 <= l.
Proof. by have := l_max set0; rewrite /weight !big_set0 G0 subrr. Qed.

Lemma fill_level : exists c, [/\ 0 <= c, c <= 1 & fill c = l].
Proof.
pose P := [pred H : {set T} | 0 < weight q H]; pose f H := (l + weight p H) / weight q H.
have PT : P setT by rewrite /= weightT ?ltr01.
case: (@Order.TotalTheory.arg_minP _ _ _ setT P f PT) => H0 /= q0 least.
have f0 : 0 <= f H0 by rewrite divr_ge0 ?(ltW q0) // addr_ge0 ?l_ge0 ?weight_ge0.
exists (f H0); split=> //.
  have [H met] := l_met; have [l0|/eqP l0] := eqVneq l 0.
    by have := least setT PT; rewrite {2}/f /= !weightT // l0 add0r divr1.
  have qH : 0 < weight q H.
    rewrite lt_neqAle weight_ge0 // andbT; apply/negP => /eqP e.
    have := l_ge0; rewrite -met -e G0 sub0r oppr_ge0 => le0.
    have e2 : weight p H = 0 by apply/le_anti; rewrite le0 weight_ge0.
    by apply: l0; rewrite -met -e e2 G0 subrr.
  apply: le_trans (least H qH) _; rewrite /f -met subrK ler_pdivr_mulr // mul1r.
  by apply: below_diagonal; exact: weight01.
apply/le_anti/andP; split.
  rewrite /fill sum_excess_eq weight_scale; set H := [set x | _].
  have [e|ne] := eqVneq (weight q H) 0.
    by rewrite e mulr0 sub0r; apply: le_trans l_ge0; rewrite oppr_le0 weight_ge0.
  have qH : 0 < weight q H by rewrite lt_neqAle eq_sym ne weight_ge0.
  by have := least H qH; rewrite {2}/f ler_pdivl_mulr // -ler_subl_addr.
apply: le_trans (sum_excess_ge _ _ H0); rewrite weight_scale /f divfK ?gt_eqF //.
by rewrite addrK.
Qed.

Lemma cut_level c : c <= 1 -> fill c = l -> exists d, c <= d /\ cut d = l.
Proof.
move=> c1 fc.
pose P := [pred H : {set T} | 0 < weight q H]; pose f H := (weight p H - l) / weight q H.
have PT : P setT by rewrite /= weightT ?ltr01.
case: (@Order.TotalTheory.arg_maxP _ _ _ setT P f PT) => H0 /= q0 most.
have low d : f H0 <= d -> cut d <= l.
  move=> fd; rewrite /cut sum_excess_eq weight_scale; set H := [set x | _].
  have [e|ne] := eqVneq (weight q H) 0.
    rewrite e mulr0 subr0; have := l_max (~: H).
    by rewrite !weightC // e subr0 G1 opprB addrC subrK.
  have qH : 0 < weight q H by rewrite lt_neqAle eq_sym ne weight_ge0.
  have h : f H <= d := le_trans (most H qH) fd.
  by move: h; rewrite /f ler_pdivr_mulr // ler_subl_addr ler_subl_addr addrC.
have [fc'|cf] := leP (f H0) c.
  exists c; split=> //; apply/le_anti; rewrite low //=.
  have -> : cut c = l + (1 - c).
    have : \sum_x (excess p (fun x => c * q x) x - excess (fun x => c * q x) p x) = 1 - c.
      transitivity (\sum_x (p x - c * q x)).
        apply: eq_bigr => x _; rewrite /excess -[c * q x - p x]opprB.
        move: (p x - c * q x) => u; case: (leP 0 u) => u0.
          by rewrite (max_idPl _) ?subr0 // oppr_le0.
        by rewrite (max_idPr _) ?sub0r ?opprK // oppr_ge0 ltW.
      by rewrite sumrB -mulr_sumr (dist_sum dp) (dist_sum dq) mulr1.
    by rewrite sumrB -/(cut c) -/(fill c) fc => <-; rewrite addrC subrK.
  by rewrite ler_addl subr_ge0.
exists (f H0); split; first exact: ltW.
apply/le_anti; rewrite low //=; apply: le_trans (sum_excess_ge _ _ H0).
by rewrite weight_scale /f divfK ?gt_eqF // opprB addrC subrK.
Qed.

Variables (c d : R).
Hypotheses (c0 : 0 <= c) (cd : c <= d) (fc : fill c = l) (cutd : cut d = l).

Definition clipped x := Num.max (c * q x) (Num.min (p x) (d * q x)).

Lemma cqdq x : c * q x <= d * q x.
Proof. by apply: ler_wpmul2r => //; exact: dist_ge0. Qed.

Lemma clippedE x : clipped x =
  p x + excess (fun x => c * q x) p x - excess p (fun x => d * q x) x.
Proof.
rewrite /clipped !excessE; have := cqdq x; move: (c * q x) (d * q x) (p x) => a b r ab.
case: (leP r b) => rb; case: (leP a r) => ar; first by ring.
- by ring.
- by rewrite (max_idPr ab); ring.
- by have := lt_trans rb ar; rewrite ltNge ab.
Qed.

Lemma excess_clipped x : excess p clipped x = excess p (fun x => d * q x) x.
Proof.
rewrite /excess /clipped; have := cqdq x; move: (c * q x) (d * q x) (p x) => a b r ab.
case: (leP r b) => rb.
  have -> : Num.max 0 (r - b) = 0 by apply/max_idPl; rewrite subr_le0.
  by apply/max_idPl; rewrite subr_le0 le_maxr lexx orbT.
by rewrite (max_idPr ab).
Qed.

Lemma clipped_dist : is_dist clipped.
Proof.
split=> [x|].
  by rewrite /clipped le_maxr mulr_ge0 //; exact: dist_ge0.
under eq_bigr do rewrite clippedE.
by rewrite sumrB big_split /= -/(fill c) -/(cut d) fc cutd (dist_sum dp) addrK.
Qed.

Theorem clipped_acceptance : overlap p clipped = 1 - l.
Proof.
have := sum_excess p clipped; rewrite (dist_sum dp).
under eq_bigr do rewrite excess_clipped.
by rewrite -/(cut d) cutd => ->; rewrite opprB addrC subrK.
Qed.

(* as much in every set as the drafts force into it *)
Theorem clipped_feasible H : G (weight q H) <= weight clipped H.
Proof.
have [mu [mu0 least]] := prefix_optimal dq cG clipped H.
rewrite -subr_ge0; apply: le_trans least; rewrite /value.
have dw := clipped_dist.
have [muc|cmu] := leP mu c.
  have -> : below q clipped mu = set0.
    apply/setP => x; rewrite !inE; apply/negbTE; rewrite -leNgt /clipped le_maxr.
    by rewrite ler_wpmul2r //; exact: dist_ge0.
  by rewrite /weight !big_set0 G0 subrr.
have [mud|dmu] := leP mu d; last first.
  have out x : x \notin below q clipped mu -> q x = 0.
    rewrite inE -leNgt /clipped le_maxr le_minr => h; apply/eqP; rewrite eq_le dist_ge0 // andbT.
    rewrite leNgt; apply/negP => qx; move: h.
    by rewrite !ler_pmul2r // [mu <= c]leNgt cmu [mu <= d]leNgt dmu andbF.
  have all (r : T -> R) : is_dist r -> (forall x, q x = 0 -> r x = 0) ->
      weight r (below q clipped mu) = 1.
    move=> dr z; rewrite -(dist_sum dr) /weight [RHS](bigID (mem (below q clipped mu))) /=.
    by rewrite [X in _ = _ + X]big1 ?addr0 // => x /out/z.
  rewrite !all // ?G1 ?subrr // => x e; rewrite /clipped e !mulr0.
  by rewrite (min_idPr (dist_ge0 dp x)) (max_idPl (lexx 0)).
rewrite subr_ge0; suff -> : weight clipped (below q clipped mu) = weight p (below q clipped mu) + l.
  by rewrite -ler_subl_addl; exact: l_max.
rewrite -fc /fill (bigID (mem (below q clipped mu))) /= [X in _ + (_ + X)]big1 ?addr0 => [|x].
  rewrite /weight -big_split; apply: eq_bigr => x; rewrite inE /= => h.
  rewrite clippedE [X in _ - X](_ : _ = 0) ?subr0 //; apply/max_idPl; rewrite subr_le0.
  rewrite leNgt; apply/negP => dlt; move: h; rewrite /clipped lt_maxl lt_minl => /andP[_ /orP[]].
    by move=> h; have := lt_trans dlt h; rewrite ltNge ler_wpmul2r // dist_ge0.
  by rewrite ltNge ler_wpmul2r // dist_ge0.
rewrite inE -leNgt => h; apply/max_idPl; rewrite subr_le0 leNgt; apply/negP => pc.
have e : clipped x = c * q x.
  by apply/max_idPl; apply: le_trans (ltW pc); rewrite le_minl lexx.
move: h; rewrite e => h; have qx : q x <= 0.
  by rewrite leNgt; apply/negP => qx; move: h; rewrite ler_pmul2r // leNgt cmu.
have q0 : q x = 0 by apply/le_anti; rewrite qx dist_ge0.
by have := dist_ge0 dp x; rewrite leNgt; move: pc; rewrite q0 mulr0 => ->.
Qed.

End Clip.

(* ---- selection and verification together, for K independent drafts ---- *)
Section Optimal.
Variables (R : realFieldType) (T : finType) (p q : T -> R) (n : nat).
Hypotheses (dp : is_dist p) (dq : is_dist q).
Notation K := n.+1.
Notation D := {ffun 'I_K -> T}.
Notation drawn := (@drawn T K).
Notation drafts := (@iid R T q K).

(* the joint law of drafts and token: s selects the winner, w is its law *)
Definition winner_joint (s : D -> T -> R) (w : T -> R) (d : D) (y : T) :=
  \sum_x s d x * (accept_prob p w x * (x == y)%:R + (1 - accept_prob p w x) * residual p w y).

Theorem optimal_rule : exists (w : T -> R) (s : D -> T -> R) (mu : R),
  let H := below q p mu in
  [/\ is_dist w,
      shipment (tokens drawn) drafts w s,
      kcoupling drafts p (winner_joint s w),
      acceptance drawn (winner_joint s w) = overlap p w
    & overlap p w = 1 + weight p H - weight q H ^+ K].
Proof.
pose G (t : R) := t ^+ K; have cG : convex G := @convex_power R n.
have G0 : G 0 = 0 by rewrite /G expr0n.
have G1 : G 1 = 1 by rewrite /G expr1n.
pose f H := G (weight q H) - weight p H.
case: (@Order.TotalTheory.arg_maxP _ _ _ set0 predT f isT) => H0 _ most.
have lm H : G (weight q H) - weight p H <= f H0 := most H isT.
have lx : exists H, G (weight q H) - weight p H = f H0 by exists H0.
have [c [c0 c1 fc]] := fill_level dp dq cG G0 G1 lm lx.
have [d [cd cutd]] := cut_level dp dq G1 lm c1 fc.
pose w := clipped p q c d.
have dw : is_dist w := clipped_dist dp dq c0 cd fc cutd.
have ov : overlap p w = 1 - f H0 := clipped_acceptance dp dq cd cutd.
have h : hall (tokens drawn) drafts w.
  by move=> H; rewrite iid_inside //; exact: (clipped_feasible dp dq cG G0 G1 lm c0 cd fc cutd).
have di := iid_dist K dq.
have e1 : \sum_d drafts d = \sum_y w y by rewrite (dist_sum di) (dist_sum dw).
have [s [ship cols]] := marriage_exact (dist_ge0 di) (dist_ge0 dw) e1 h.
have [s0 sz rows _] := ship.
have a01 x := accept_prob01 (dist_ge0 dp x) (dist_ge0 dw x).
have res := residual_dist w dp.
have pi0 d' y : 0 <= winner_joint s w d' y.
  apply: sumr_ge0 => x _; have /andP[u0 u1] := a01 x.
  by rewrite mulr_ge0 // addr_ge0 ?mulr_ge0 ?ler0n ?subr_ge0 ?(dist_ge0 res).
have cpl : kcoupling drafts p (winner_joint s w).
  split=> // [d'|y].
    rewrite exchange_big /= -rows; apply: eq_bigr => x _.
    rewrite -mulr_sumr big_split /= -!mulr_sumr (dist_sum res) mulr1.
    by rewrite (bigD1 x) //= eqxx big1 ?addr0 ?mulr1 => [|y /negbTE]; [rewrite addrC subrK mulr1|rewrite eq_sym => ->].
  rewrite exchange_big /= -(spec_law dp dw y) /law /spec E_bind /=; apply: eq_bigr => x _.
  rewrite -mulr_suml cols; congr (_ * (_ + _ * _)).
  rewrite (bigD1 y) //= eqxx mulr1 big1 ?addr0 // => z /negbTE ->; exact: mulr0.
have [mu [_ best]] := prefix_optimal dq cG p H0.
have eH : value q G p (below q p mu) = - f H0.
  apply/le_anti/andP; split; first by rewrite [X in _ <= X]opprB; exact: best.
  by rewrite ler_oppl /value opprB; exact: lm.
have ovH : overlap p w = 1 + weight p (below q p mu) - weight q (below q p mu) ^+ K.
  by rewrite ov -addrA; congr (_ + _); exact: esym eH.
exists w, s, mu; split=> //; apply/le_anti/andP; split.
  apply: le_trans (@weak_duality' _ _ _ drawn _ _ _ (below q p mu) (dist_sum di) cpl) _.
  by rewrite lossE /loss iid_inside // ovH opprB addrA.
rewrite /overlap; under eq_bigr do rewrite -drawn_accepted ?(dist_ge0 dp) ?(dist_ge0 dw) // -cols mulr_suml.
rewrite exchange_big; apply: ler_sum => d' _; rewrite [X in _ <= X]big_mkcond /=.
apply: ler_sum => x _; have /andP[u0 u1] := a01 x; case: ifP => [xd|/negbT xd]; last first.
  by rewrite sz ?mul0r // inE.
rewrite /winner_joint (bigD1 x) //= eqxx mulr1.
apply: le_trans (_ : s d' x * (accept_prob p w x + (1 - accept_prob p w x) * residual p w x) <= _).
  by rewrite ler_wpmul2l // ler_addl mulr_ge0 ?subr_ge0 ?(dist_ge0 res).
rewrite ler_addl; apply: sumr_ge0 => z _; have /andP[v0 v1] := a01 z.
by rewrite mulr_ge0 // addr_ge0 ?mulr_ge0 ?ler0n ?subr_ge0 ?(dist_ge0 res).
Qed.

(* the optimum: reached by some rule, and no rule exceeds it *)
Theorem iid_optimum : exists mu : R, let v := 1 + weight p (below q p mu) - weight q (below q p mu) ^+ K in
  (exists pi, kcoupling drafts p pi /\ acceptance drawn pi = v) /\
  (forall pi, kcoupling drafts p pi -> acceptance drawn pi <= v).
Proof.
have [w [s [mu [dw ship cpl acc ov]]]] := optimal_rule; exists mu; split.
  by exists (winner_joint s w); rewrite acc ov.
move=> pi cpi; apply: le_trans (@weak_duality' _ _ _ drawn _ _ _ (below q p mu) (dist_sum (iid_dist K dq)) cpi) _.
by rewrite lossE /loss iid_inside // opprB addrA.
Qed.

End Optimal.
