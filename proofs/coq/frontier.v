(* The frontier of lossy rules.  Of all outputs o with overlap q o at least some level, p times q/p clipped to an
   interval is closest to p, for every convex f at once: sum p f(o/p) is least there.  So one output is best in total
   variation, in KL of either direction and in every other f-divergence.  A rule of one draft emits it. *)
Require Import prelude prob price.

Section Frontier.
Variables (R : realFieldType) (T : finType).
Implicit Types (p q o : T -> R) (a b : R) (f g : R -> R).

(* p clip(q/p, b, a), without the division *)
Definition clip p q a b x : R := Num.max (b * p x) (Num.min (a * p x) (q x)).

(* g is a slope of f at u: the tangent there is below f *)
Definition tangent f g u := forall t, 0 <= t -> f u + g u * (t - u) <= f t.

Definition divergence f o p := \sum_x p x * f (o x / p x).

Section Nearest.
Variables (p q : T -> R) (a b : R) (f g : R -> R).
Hypotheses (p_gt0 : forall x, 0 < p x) (ba : b <= a).
Hypothesis convex : forall u, b <= u <= a -> tangent f g u.
Hypothesis rising : forall u, b <= u <= a -> g b <= g u <= g a.
Let c := clip p q a b.
Hypothesis dc : is_dist c.

Lemma clip_inside x : b <= c x / p x <= a.
Proof.
have p0 := p_gt0 x; rewrite ler_pdivl_mulr // ler_pdivr_mulr //; apply/andP; split.
  by rewrite /c /clip le_maxr lexx.
by rewrite /c /clip le_maxl ler_pmul2r // ba le_minl lexx.
Qed.

(* a token whose ratio is below the cap is kept whole: c is at least q there *)
Lemma at_cap x : g (c x / p x) = g a \/ q x <= c x.
Proof.
rewrite /c /clip; case: (leP (a * p x) (q x)) => h; last by right; rewrite le_maxr lexx orbT.
left; rewrite (_ : Num.max _ _ = a * p x) ?mulfK ?gt_eqF //.
by apply/max_idPr; apply: ler_wpmul2r => //; exact: ltW.
Qed.

Lemma at_floor x : g (c x / p x) = g b \/ c x <= q x.
Proof.
rewrite /c /clip; case: (leP (Num.min (a * p x) (q x)) (b * p x)) => h.
  by left; rewrite mulfK ?gt_eqF.
by right; rewrite le_minl lexx orbT.
Qed.

(* what o has more or less than c, priced at the slope of its token, costs at least what it costs at the two ends *)
Lemma priced o x : is_dist o ->
  g a * (Num.min (o x) (q x) - Num.min (c x) (q x)) + g b * (excess o q x - excess c q x) <=
  g (c x / p x) * (o x - c x).
Proof.
move=> dho; set s := g (c x / p x); have /andP[sb sa] : g b <= s <= g a by apply: rising; exact: clip_inside.
have -> : o x - c x = (Num.min (o x) (q x) - Num.min (c x) (q x)) + (excess o q x - excess c q x).
  by rewrite !excessE; ring.
rewrite [X in _ <= X]mulrDr; apply: ler_add.
  case: (at_cap x) => [e|k]; first by rewrite /s e lexx.
  have {}k : Num.min (o x) (q x) - Num.min (c x) (q x) <= 0 by rewrite (min_idPr k) subr_le0 le_minl lexx orbT.
  by rewrite -subr_ge0 -mulrBl; apply: mulr_le0 => //; rewrite subr_le0.
case: (at_floor x) => [e|k]; first by rewrite /s e lexx.
have {}k : 0 <= excess o q x - excess c q x.
  by rewrite [excess c q x]excessE (min_idPl k) subrr subr0 excess_ge0.
by apply: ler_wpmul2r.
Qed.

Theorem nearest o : is_dist o -> overlap c q <= overlap o q -> divergence f c p <= divergence f o p.
Proof.
move=> dho more; have p0 x : p x != 0 by rewrite gt_eqF.
have lines : divergence f c p + \sum_x g (c x / p x) * (o x - c x) <= divergence f o p.
  rewrite /divergence -big_split /=; apply: ler_sum => x _.
  have -> : g (c x / p x) * (o x - c x) = p x * (g (c x / p x) * (o x / p x - c x / p x)).
    by rewrite -mulrBl mulrCA (mulrC (p x)) divfK.
  rewrite -mulrDr; apply: ler_wpmul2l; first exact: ltW.
  by apply: (convex (clip_inside x)); apply: divr_ge0; [exact: dist_ge0 | exact: ltW].
apply: le_trans lines; rewrite ler_addl.
have cheapest : \sum_x (g a * (Num.min (o x) (q x) - Num.min (c x) (q x)) + g b * (excess o q x - excess c q x)) <=
  \sum_x g (c x / p x) * (o x - c x) by apply: ler_sum => x _; exact: priced.
apply: le_trans cheapest.
rewrite big_split /= -!mulr_sumr !sumrB !sum_excess (dist_sum dho) (dist_sum dc) -/(overlap o q) -/(overlap c q).
have -> : 1 - overlap o q - (1 - overlap c q) = - (overlap o q - overlap c q) by ring.
rewrite mulrN -mulrBl; apply: mulr_ge0; last by rewrite subr_ge0.
by have /andP[h _] : g b <= g a <= g a; [apply: rising; rewrite ba lexx | rewrite subr_ge0].
Qed.

End Nearest.

(* two divergences of rationals: total variation, and the sum of (o - p)^2 / p *)
Corollary nearest_tv p q a b o : (forall x, 0 < p x) -> b <= a -> is_dist (clip p q a b) -> is_dist o ->
  overlap (clip p q a b) q <= overlap o q -> tv (clip p q a b) p <= tv o p.
Proof.
move=> p0 ba dc dho more; pose f (t : R) := `|t - 1|; pose g (t : R) : R := if 1 <= t then 1 else -1.
have tvE r : tv r p = 2%:R^-1 * divergence f r p.
  congr (_ * _); apply: eq_bigr => x _; rewrite /f -{2}(ger0_norm (ltW (p0 x))) -normrM mulrBr mulr1 mulrC divfK //.
  by rewrite gt_eqF.
have g_le t : g t <= 1 by rewrite /g; case: ifP => // _; apply: le_trans ler01; rewrite oppr_le0 ler01.
have g_ge t : -1 <= g t by rewrite /g; case: ifP => // _; apply: le_trans ler01; rewrite oppr_le0 ler01.
rewrite !tvE; apply: ler_wpmul2l; first by rewrite invr_ge0 ler0n.
apply: (nearest (g := g) p0 ba _ _ dc dho more) => u /andP[bu ua].
  move=> t _; have -> : f u = g u * (u - 1).
    rewrite /f /g; case: ifP => h; first by rewrite mul1r ger0_norm // subr_ge0.
    by rewrite mulN1r ltr0_norm // subr_lt0 ltNge h.
  rewrite -mulrDr (_ : u - 1 + (t - u) = t - 1) /f; last by ring.
  by rewrite /g; case: ifP => _; rewrite ?mul1r ?mulN1r ?ler_norm // -normrN ler_norm.
apply/andP; split; rewrite /g.
  by case: ifP => [h|_]; [rewrite (le_trans h bu) | exact: g_ge].
by case: ifP => [h|_]; [rewrite (le_trans h ua) | exact: g_ge].
Qed.

Corollary nearest_square p q a b o : (forall x, 0 < p x) -> b <= a -> is_dist (clip p q a b) -> is_dist o ->
  overlap (clip p q a b) q <= overlap o q ->
  divergence (fun t => (t - 1) ^+ 2) (clip p q a b) p <= divergence (fun t => (t - 1) ^+ 2) o p.
Proof.
move=> p0 ba dc dho; apply: (nearest (g := fun t => 2%:R * (t - 1)) p0 ba _ _ dc dho) => u /andP[bu ua].
  move=> t _; rewrite -subr_ge0 (_ : _ - _ = (t - u) ^+ 2) ?sqr_ge0 //; by ring.
by apply/andP; split; rewrite ler_wpmul2l ?ler0n // ler_add2r.
Qed.

(* no rule of one draft whose output is closer accepts more, nor as often *)
Corollary frontier_bound p q a b f g t : is_dist p -> is_dist q -> (forall x, 0 < p x) -> (forall x, is_dist (t x)) ->
  b <= a -> (forall u, b <= u <= a -> tangent f g u) -> (forall u, b <= u <= a -> g b <= g u <= g a) ->
  is_dist (clip p q a b) -> divergence f (output q t) p < divergence f (clip p q a b) p ->
  hits q t < overlap (clip p q a b) q.
Proof.
move=> dp dq p0 dt ba convex rising dc closer; have [keeps _] := price_bound dp dq dt.
apply: le_lt_trans keeps _; rewrite overlapC ltNge; apply/negP => more.
move: closer; apply/negP; rewrite -leNgt.
by apply: (nearest p0 ba convex rising dc) => //; apply: output_dist.
Qed.

(* and the rule that keeps min(q, a p) and replaces what is refused by (b p - q)+ is there *)
Section Rule.
Variables (p q : T -> R) (a b : R).
Hypotheses (dp : is_dist p) (dq : is_dist q) (b1 : b <= 1) (a1 : 1 <= a).
Let over x := excess q (fun y => a * p y) x.
Let under x := excess (fun y => b * p y) q x.
Let m := \sum_x over x.
Hypotheses (balance : \sum_x under x = m) (m0 : 0 < m).

Let keep x : R := Num.min (a * p x) (q x) / q x.
Let fill (x y : T) : R := under y / m.

Lemma kept_mass x : q x * keep x = Num.min (a * p x) (q x).
Proof.
rewrite /keep; case: (eqVneq (q x) 0) => [q0|q0]; last by rewrite mulrC divfK.
rewrite q0 mul0r; apply/esym/min_idPr; apply: mulr_ge0; [exact: le_trans a1 | exact: dist_ge0].
Qed.

Lemma refused_mass x : q x * (1 - keep x) = over x.
Proof. by rewrite mulrBr mulr1 kept_mass /over excessE minC. Qed.

Lemma apart x : over x = 0 \/ under x = 0.
Proof.
have p0 := dist_ge0 dp x; have ap : b * p x <= a * p x by apply: ler_wpmul2r => //; exact: le_trans b1 a1.
rewrite /over /under !excessE; case: (leP (q x) (a * p x)) => h; first by left; rewrite subrr.
by right; rewrite (min_idPl _) ?subrr //; apply: le_trans ap (ltW h).
Qed.

Lemma fill_dist x : is_dist (fill x).
Proof.
split=> [y|]; first by apply: divr_ge0; [exact: excess_ge0 | exact: ltW].
by rewrite -mulr_suml balance divff // gt_eqF.
Qed.

Theorem clipped_emitted y : output q (relaxed keep fill) y = clip p q a b y.
Proof.
rewrite outputE kept_mass; have -> : \sum_x q x * (1 - keep x) * fill x y = under y.
  under eq_bigr do rewrite refused_mass /fill mulrC.
  by rewrite -mulr_sumr -/m divfK // gt_eqF.
have p0 := dist_ge0 dp y; have ap : b * p y <= a * p y by apply: ler_wpmul2r => //; exact: le_trans b1 a1.
rewrite /under excessE /clip; case: (leP (b * p y) (q y)) => h.
  by rewrite subrr addr0; apply/esym/max_idPr; rewrite le_minr ap h.
have -> : Num.min (a * p y) (q y) = q y by apply/min_idPr; exact: le_trans (ltW h) ap.
by rewrite addrC subrK; apply/esym/max_idPl; exact: ltW.
Qed.

Theorem clipped_accepted : hits q (relaxed keep fill) = overlap (clip p q a b) q.
Proof.
apply: eq_bigr => x _; rewrite /relaxed eqxx mulr1 mulrDr mulrA kept_mass refused_mass /fill.
have -> : over x * (under x / m) = 0 by case: (apart x) => ->; rewrite ?mul0r ?mulr0.
have p0 := dist_ge0 dp x; have ap : b * p x <= a * p x by apply: ler_wpmul2r => //; exact: le_trans b1 a1.
rewrite addr0 /clip; case: (leP (b * p x) (Num.min (a * p x) (q x))) => h.
  by apply/esym/min_idPl; rewrite le_minl lexx orbT.
have h' : q x < b * p x by move: h; rewrite lt_minl ltNge ap.
by rewrite (min_idPr (ltW (lt_le_trans h' ap))) (min_idPr (ltW h')).
Qed.

End Rule.

End Frontier.
