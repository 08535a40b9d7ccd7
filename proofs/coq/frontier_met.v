(* T44: the frontier in every divergence, for p without zeros.  At each acceptance between that of rejection and 1 some
   rule emits the clipped ratio, and no output that accepts as often is closer to p; a certificate says so of the most
   acceptance within a distance; lenience is no closer. *)
Require Import prelude prob price frontier lossy_optimum.

Section Met.
Variables (R : realFieldType) (T : finType) (p q : T -> R).
Hypotheses (dp : is_dist p) (dq : is_dist q) (p_gt0 : forall x, 0 < p x).
Implicit Types (t : T -> T -> R) (a b m eps u v : R) (f g : R -> R).

(* 1: the law o* and its acceptance *)
Theorem clip_levels m : 0 <= m <= tv p q -> exists a b,
  [/\ 0 <= b <= 1, 1 <= a, \sum_x excess q (fun y => a * p y) x = m, \sum_x excess (fun y => b * p y) q x = m &
      is_dist (clip p q a b) /\ overlap (clip p q a b) q = 1 - m].
Proof.
move=> m01; have [a [a1 over _]] := cap_level dp dq p_gt0 m01.
have [b [/andP[b0 b1] under _]] := floor_level dp dq p_gt0 m01.
have ap x : b * p x <= a * p x by apply: ler_wpmul2r; [exact: ltW | exact: le_trans b1 a1].
have parts x : clip p q a b x = q x - excess q (fun y => a * p y) x + excess (fun y => b * p y) q x.
  rewrite /clip !excessE; case: (leP (q x) (a * p x)) => h.
    rewrite subrr subr0; case: (leP (b * p x) (q x)) => k; first by rewrite subrr addr0.
    by rewrite addrC subrK.
  by rewrite (max_idPr (ap x)) (min_idPl (le_trans (ap x) (ltW h))); ring.
have least x : Num.min (clip p q a b x) (q x) = q x - excess q (fun y => a * p y) x.
  rewrite parts excessE; case: (leP (q x) (a * p x)) => h.
    by rewrite subrr subr0; apply/min_idPr; rewrite ler_addl excess_ge0.
  have -> : excess (fun y => b * p y) q x = 0.
    by rewrite excess0 //; exact: le_trans (ap x) (ltW h).
  have -> : q x - (q x - a * p x) = a * p x by ring.
  by rewrite addr0; apply/min_idPl; exact: ltW.
exists a, b; split=> //; first by rewrite b0.
split; [split=> [x|] |].
- by rewrite /clip le_maxr mulr_ge0 // ltW.
- by under eq_bigr do rewrite parts; rewrite big_split sumrB /= over under (dist_sum dq) subrK.
by rewrite /overlap; under eq_bigr do rewrite least; rewrite sumrB over (dist_sum dq).
Qed.

(* 2 and 5: some rule is there, and no rule that accepts as often is closer *)
Theorem frontier_met m : 0 <= m <= tv p q -> exists a b t,
  [/\ b <= 1 <= a, forall x, is_dist (t x), forall y, output q t y = clip p q a b y, hits q t = 1 - m &
      forall f g t', (forall w, b <= w <= a -> tangent f g w) -> (forall w, b <= w <= a -> g b <= g w <= g a) ->
        (forall x, is_dist (t' x)) -> hits q t <= hits q t' ->
        divergence f (output q t) p <= divergence f (output q t') p].
Proof.
move=> m01; have [a [b [/andP[b0 b1] a1 over under [dc ov]]]] := clip_levels m01.
have ba : b <= a by exact: le_trans b1 a1.
have [t [dt out hit]] : exists t,
    [/\ forall x, is_dist (t x), forall y, output q t y = clip p q a b y & hits q t = 1 - m].
  have [m0|mpos] := leP m 0.
    have {m0} mz : m = 0 by apply/le_anti; rewrite m0; case/andP: m01.
    have zero (h : T -> R) : (forall x, 0 <= h x) -> \sum_x h x = 0 -> forall x, h x = 0.
      move=> h0 /eqP; rewrite psumr_eq0 // => /allP z x; apply/eqP.
      by have := z x; rewrite mem_index_enum; apply.
    have z1 := zero _ (excess_ge0 q (fun y => a * p y)) (etrans over mz).
    have z2 := zero _ (excess_ge0 (fun y => b * p y) q) (etrans under mz).
    exists (fun x y => (x == y)%:R); split=> [x|y|].
    - by split=> [y|]; [exact: ler0n | rewrite (bigD1 x) //= eqxx big1 ?addr0 // => y /negbTE; rewrite eq_sym => ->].
    - rewrite /output sum_ind /clip; have := z1 y; have := z2 y; rewrite !excessE => /eqP; rewrite subr_eq0 => /eqP e2.
      move/eqP; rewrite subr_eq0 minC => /eqP <-; apply/esym/max_idPr.
      by rewrite e2 le_minl lexx orbT.
    by rewrite mz subr0 -[RHS](dist_sum dq); apply: eq_bigr => x _; rewrite eqxx mulr1.
  have pos : 0 < \sum_x excess q (fun y => a * p y) x by rewrite over.
  exists (relaxed (fun x => Num.min (a * p x) (q x) / q x) (fun _ y => excess (fun y => b * p y) q y /
    \sum_x excess q (fun y => a * p y) x)); split; first last.
  - by rewrite -ov; exact: clipped_accepted.
  - by move=> y; exact: clipped_emitted.
  move=> x; have a0 : 0 <= a by exact: le_trans ler01 a1.
  apply: relaxed_dist => {}x.
    have k0 : 0 <= Num.min (a * p x) (q x) by rewrite minr_ge0 ?mulr_ge0 ?(dist_ge0 dp) ?(dist_ge0 dq).
    apply/andP; split; first by rewrite divr_ge0 ?(dist_ge0 dq).
    have [->|q0] := eqVneq (q x) 0; first by rewrite invr0 mulr0 ler01.
    by rewrite ler_pdivr_mulr ?mul1r ?le_minl ?lexx ?orbT // lt_neqAle eq_sym q0 (dist_ge0 dq).
  split=> [y|]; first by rewrite divr_ge0 ?excess_ge0 // ltW.
  by rewrite -mulr_suml under over divff // gt_eqF.
exists a, b, t; split=> //; first by rewrite b1.
move=> f g t' convex rising dt' more.
have -> : divergence f (output q t) p = divergence f (clip p q a b) p by apply: eq_bigr => x _; rewrite out.
apply: (nearest p_gt0 ba convex rising dc); first exact: output_dist.
by rewrite ov -hit; apply: le_trans more _; have [h _] := price_bound dp dq dt'; rewrite overlapC.
Qed.

Lemma excess_diff (r s : T -> R) x :
  excess r q x - excess s q x = (r x - s x) - (Num.min (r x) (q x) - Num.min (s x) (q x)).
Proof. by rewrite !excessE; ring. Qed.

Lemma priced_algebra (ga gb s d k y z u v : R) : gb < ga -> u = (ga - gb)^-1 -> v = - (u * gb) ->
  y + s * d <= z -> ga * k + gb * (d - k) <= s * d -> k <= u * (z - y) + v * d.
Proof.
move=> gab ue ve line cheap; have u0 : 0 < u by rewrite ue invr_gt0 subr_gt0.
have -> : k = u * ((ga - gb) * k) by rewrite mulrA ue mulVf ?mul1r // subr_eq0 gt_eqF.
have -> : u * (z - y) + v * d = u * (z - y - gb * d) by rewrite ve; ring.
rewrite ler_pmul2l //; rewrite -subr_ge0 in line; rewrite -subr_ge0 in cheap.
rewrite -subr_ge0; apply: le_trans (addr_ge0 line cheap) _.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
Qed.

(* 4: whatever the levels are, no rule within eps of p accepts more than this *)
Definition left_of f o u v x := Num.min (q x) (o x) - u * (p x * f (o x / p x)) - v * o x.

Lemma left_least f g a b u v o x : b <= a -> g b < g a -> u = (g a - g b)^-1 -> v = - (u * g b) ->
  (forall w, b <= w <= a -> tangent f g w) -> (forall w, b <= w <= a -> g b <= g w <= g a) ->
  is_dist o -> left_of f o u v x <= left_of f (clip p q a b) u v x.
Proof.
move=> ba gab ue ve convex rising dout; have := clip_inside q p_gt0 ba x; have := priced q p_gt0 ba rising x dout.
rewrite /left_of (excess_diff o) !(minC (q x)); have := dist_ge0 dout x; move: (clip p q a b x) (o x) => c y y0.
move: (Num.min y _) (Num.min c _) => k l cheap inside.
have line : p x * f (c / p x) + g (c / p x) * (y - c) <= p x * f (y / p x).
  have -> : g (c / p x) * (y - c) = p x * (g (c / p x) * (y / p x - c / p x)).
    by rewrite -mulrBl mulrCA (mulrC (p x)) divfK // gt_eqF.
  rewrite -mulrDr; apply: ler_wpmul2l; first exact: ltW.
  by apply: (convex _ inside); apply: divr_ge0 => //; exact: ltW.
have h := priced_algebra gab ue ve line cheap; rewrite -subr_ge0.
have -> : l - u * (p x * f (c / p x)) - v * c - (k - u * (p x * f (y / p x)) - v * y) =
  u * (p x * f (y / p x) - p x * f (c / p x)) + v * (y - c) - (k - l) by ring.
by rewrite subr_ge0.
Qed.

Lemma left_sum f o u v : is_dist o ->
  \sum_x left_of f o u v x + u * divergence f o p + v = overlap q o.
Proof.
move=> dout; rewrite /left_of !sumrB -!mulr_sumr (dist_sum dout) -/(divergence f o p) -/(overlap q o) mulr1.
ring.
Qed.

Theorem certificate f g a b t eps u v : b <= a -> g b < g a -> u = (g a - g b)^-1 -> v = - (u * g b) ->
  (forall w, b <= w <= a -> tangent f g w) -> (forall w, b <= w <= a -> g b <= g w <= g a) ->
  (forall x, is_dist (t x)) -> divergence f (output q t) p <= eps ->
  hits q t <= \sum_x left_of f (clip p q a b) u v x + u * eps + v.
Proof.
move=> ba gab ue ve convex rising dt close; have dout := output_dist dq dt.
have u0 : 0 <= u by rewrite ue invr_ge0 subr_ge0 ltW.
have [keeps _] := price_bound dp dq dt; apply: (le_trans keeps); rewrite -(left_sum f u v dout) ler_add2r.
apply: ler_add; last by rewrite ler_wpmul2l.
by apply: ler_sum => x _; apply: left_least ue ve convex rising dout.
Qed.

(* and it is tight where the clipped ratio is a law at that distance *)
Corollary certificate_tight f a b u v : is_dist (clip p q a b) ->
  \sum_x left_of f (clip p q a b) u v x + u * divergence f (clip p q a b) p + v = overlap q (clip p q a b).
Proof. exact: left_sum. Qed.

(* 5: lenience with the same cap accepts as often, is as far in total variation, and is no closer in any divergence *)
Theorem lenience_no_closer a b (lenient := relaxed (accept_prob (fun x => p x / a^-1) q) (fun _ => residual p q)) :
  b <= 1 <= a -> is_dist (clip p q a b) ->
  [/\ hits q lenient = overlap (clip p q a b) q, tv (output q lenient) p = tv (clip p q a b) p &
      forall f g, (forall w, b <= w <= a -> tangent f g w) -> (forall w, b <= w <= a -> g b <= g w <= g a) ->
        divergence f (clip p q a b) p <= divergence f (output q lenient) p].
Proof.
move=> /andP[b1 a1] dc; have a0 : 0 < a by exact: lt_le_trans ltr01 a1.
have ba : b <= a by exact: le_trans b1 a1.
have [hit line] : hits q lenient = \sum_x Num.min (p x / a^-1) (q x) /\
    hits q lenient - overlap p q = tv (output q lenient) p.
  by apply: price_lenience => //; rewrite invr_gt0 a0 invf_le1.
have dt x : is_dist (lenient x).
  apply: relaxed_dist => [y|y]; last exact: residual_dist.
  by apply: accept_prob01; rewrite ?(dist_ge0 dq) // divr_ge0 ?invr_ge0 ?(ltW a0) // ltW.
have same : hits q lenient = overlap (clip p q a b) q.
  rewrite hit; apply: eq_bigr => x _; rewrite invrK mulrC /clip.
  have ap : b * p x <= a * p x by rewrite ler_wpmul2r // ltW.
  case: (leP (b * p x) (Num.min (a * p x) (q x))) => h; first by apply/esym/min_idPl; rewrite le_minl lexx orbT.
  have h' : q x < b * p x by move: h; rewrite lt_minl ltNge ap.
  by rewrite (min_idPr (ltW (lt_le_trans h' ap))) (min_idPr (ltW h')).
split=> // [|f g convex rising].
  rewrite -line same (tv_excess dc dp) /overlap -sumrB; apply: eq_bigr => x _; have p0 := ltW (p_gt0 x).
  have bp : b * p x <= p x by rewrite -[X in _ <= X]mul1r ler_wpmul2r.
  have ap : p x <= a * p x by rewrite -[X in X <= _]mul1r ler_wpmul2r.
  have [pq|/ltW qp] := leP (p x) (q x).
    have pc : p x <= clip p q a b x by rewrite /clip le_maxr le_minr ap pq orbT.
    have cq : clip p q a b x <= q x by rewrite /clip le_maxl (le_trans bp pq) le_minl lexx orbT.
    by rewrite excessB // (min_idPl cq).
  have cp : clip p q a b x <= p x by rewrite /clip le_maxl bp le_minl qp orbT.
  have qc : q x <= clip p q a b x by rewrite /clip le_maxr le_minr lexx (le_trans qp ap) orbT.
  by rewrite excess0 // (min_idPr qc) subrr.
apply: (nearest p_gt0 ba convex rising dc); first exact: output_dist.
by rewrite -same overlapC; case: (price_bound dp dq dt).
Qed.

End Met.
