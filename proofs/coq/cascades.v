(* T53 and T52: speculative sampling with a law between draft and target in the place of the target, as in cascades:
   what it emits, and by how much its bias exceeds the least at its acceptance.  The first token of a rule that keeps
   some of the drafts that rejection refuses, as FLy does. *)
Require Import prelude prob rejection price.

Section Sampled.
Variables (R : realFieldType) (T : finType) (p q : T -> R).
Hypotheses (dp : is_dist p) (dq : is_dist q).
Implicit Types (o : T -> R) (t : T -> T -> R).

(* rejection for the law o *)
Definition sampling o := relaxed (accept_prob o q) (fun _ => residual o q).

Lemma sampling_dist o x : is_dist o -> is_dist (sampling o x).
Proof.
move=> dout; apply: relaxed_dist => [y|y]; last exact: residual_dist.
by apply: accept_prob01; exact: dist_ge0.
Qed.

Lemma sampling_keeps o x : is_dist o -> q x * accept_prob o q x = Num.min (o x) (q x).
Proof. by move=> dout; apply: drawn_accepted; exact: dist_ge0. Qed.

(* 1 *)
Theorem sampling_output o y : is_dist o -> output q (sampling o) y = o y.
Proof.
move=> dout; rewrite outputE sampling_keeps // -mulr_suml -[RHS](residual_split y dout dq); congr (_ + _ * _).
rewrite -[X in X - _](dist_sum dq) /overlap -sumrB; apply: eq_bigr => x _.
by rewrite mulrBr mulr1 sampling_keeps.
Qed.

Theorem sampling_hits o : is_dist o -> hits q (sampling o) = overlap o q.
Proof.
move=> dout; have a01 x : 0 <= accept_prob o q x <= 1 by apply: accept_prob01; exact: dist_ge0.
have enough x : Num.min (o x) (q x) <= q x * accept_prob o q x by rewrite sampling_keeps.
by rewrite /sampling (hit_residual dout dq a01 enough); apply: eq_bigr => x _; exact: sampling_keeps.
Qed.

Corollary sampling_bias o : is_dist o -> tv (output q (sampling o)) p = tv o p.
Proof. by move=> dout; congr (_ * _); apply: eq_bigr => x _; rewrite sampling_output. Qed.

(* 2: the least bias at an acceptance is what it is above that of rejection; the excess of o over it *)
Let high x := Num.max (p x) (q x).
Let low x := Num.min (p x) (q x).

Theorem sampling_excess o : is_dist o ->
  tv (output q (sampling o)) p - (hits q (sampling o) - overlap p q) =
  \sum_x (excess o high x + excess low o x).
Proof.
move=> dout; rewrite sampling_bias // sampling_hits // (tv_excess dout dp) /overlap -!sumrB; apply: eq_bigr => x _.
rewrite !excessE /high /low; case: (leP (p x) (q x)) => h.
  case: (leP (o x) (p x)) => k; first by rewrite (min_idPl (le_trans k h)); ring.
  case: (leP (o x) (q x)) => l; ring.
case: (leP (o x) (q x)) => k; first by rewrite (min_idPl (ltW (le_lt_trans k h))); ring.
case: (leP (o x) (p x)) => l; ring.
Qed.

Corollary sampling_least o : is_dist o ->
  tv (output q (sampling o)) p = hits q (sampling o) - overlap p q <-> (forall x, low x <= o x <= high x).
Proof.
move=> dout; have e := sampling_excess dout.
have pos x : 0 <= excess o high x + excess low o x by rewrite addr_ge0 ?excess_ge0.
split=> [met x|between].
  move: e; rewrite met subrr => /esym/eqP; rewrite psumr_eq0 => [/allP/(_ x)|y _]; last exact: pos.
  rewrite mem_index_enum => /(_ isT) /=; rewrite paddr_eq0 ?excess_ge0 // !excessE !subr_eq0.
  move=> /andP[/eqP h /eqP l]; apply/andP; split; first by rewrite l le_minl lexx orbT.
  by rewrite h le_minl lexx orbT.
apply/eqP; rewrite -subr_eq0 e big1 // => x _; have /andP[l h] := between x.
by rewrite !excess0 ?addr0.
Qed.

(* 2: no rule that accepts as often has less than the least *)
Lemma least_bias t : (forall x, is_dist (t x)) -> hits q t - overlap p q <= tv (output q t) p.
Proof.
move=> dt; have [h1 h2] := price_bound dp dq dt.
by rewrite ler_subl_addr addrC (overlap_tv dp dq); apply: le_trans h1 h2.
Qed.

(* ---- the law of a cascade: r says which tokens are deferred to the target ---- *)
Definition deferral_rate (r : pred T) := \sum_x (r x)%:R * q x.
Definition cascade (r : pred T) v : R := q v * (1 - (r v)%:R) + p v * deferral_rate r.

Lemma cascade_dist r : is_dist (cascade r).
Proof.
have eta0 : 0 <= deferral_rate r by apply: sumr_ge0 => x _; rewrite mulr_ge0 ?ler0n // dist_ge0.
split=> [v|].
  rewrite addr_ge0 ?mulr_ge0 ?(dist_ge0 dp) ?(dist_ge0 dq) // subr_ge0.
  by case: (r v); rewrite ?lexx ?ler01.
rewrite big_split /= -mulr_suml (dist_sum dp) mul1r; under eq_bigr do rewrite mulrBr mulr1.
rewrite sumrB (dist_sum dq) /deferral_rate; under [X in _ + X]eq_bigr do rewrite mulrC.
by rewrite subrK.
Qed.

(* rows that are deferred, or not, as a whole *)
Lemma cascade_row (b : bool) v : cascade (fun _ => b) v = if b then p v else q v.
Proof.
rewrite /cascade /deferral_rate; case: b.
  by rewrite subrr mulr0 add0r; under eq_bigr do rewrite mul1r; rewrite (dist_sum dq) mulr1.
by rewrite subr0 mulr1 big1 ?mulr0 ?addr0 // => x _; rewrite mul0r.
Qed.

(* 4: a token that is kept overshoots by what is deferred to it, a deferred one undershoots *)
Theorem cascade_kept (r : pred T) v : ~~ r v -> p v <= q v -> excess (cascade r) high v = p v * deferral_rate r.
Proof.
move=> /negbTE nr pq; have eta0 : 0 <= deferral_rate r.
  by apply: sumr_ge0 => x _; rewrite mulr_ge0 ?ler0n // dist_ge0.
have e : cascade r v = q v + p v * deferral_rate r by rewrite /cascade nr subr0 mulr1.
rewrite excessB /high (max_idPr pq) e ?ler_addl ?mulr_ge0 ?(dist_ge0 dp) //.
by rewrite addrC addKr.
Qed.

Theorem cascade_deferred (r : pred T) v : r v -> p v * deferral_rate r <= low v ->
  excess low (cascade r) v = low v - p v * deferral_rate r.
Proof.
move=> rv h; have e : cascade r v = p v * deferral_rate r by rewrite /cascade rv subrr mulr0 add0r.
by rewrite excessB e.
Qed.

(* ---- FLy: a draft that rejection refuses is kept with probability h, if it is deferred ---- *)
Variable h : T -> R.
Hypothesis h01 : forall x, 0 <= h x <= 1.
Definition deferring x : R := accept_prob p q x + (1 - accept_prob p q x) * h x.
Definition deferred x : R := excess q p x * h x.
Let fly := relaxed deferring (fun _ => residual p q).

Lemma deferring_mass x : q x * deferring x = Num.min (p x) (q x) + deferred x.
Proof.
rewrite /deferring mulrDr mulrA mulrBr mulr1 sampling_keeps // /deferred excessE minC.
by rewrite (minC (q x)).
Qed.

Lemma deferring01 x : 0 <= deferring x <= 1.
Proof.
have /andP[a0 a1] := accept_prob01 (dist_ge0 dp x) (dist_ge0 dq x); have /andP[h0 h1] := h01 x.
rewrite addr_ge0 ?mulr_ge0 ?subr_ge0 //= -ler_subr_addl.
by rewrite -[X in _ <= X]mulr1 ler_wpmul2l // subr_ge0.
Qed.

Lemma deferring_enough x : Num.min (p x) (q x) <= q x * deferring x.
Proof. by rewrite deferring_mass ler_addl mulr_ge0 ?excess_ge0 //; case/andP: (h01 x). Qed.

Theorem fly_output y : output q fly y = Num.min (p y) (q y) + deferred y +
  (1 - overlap p q - \sum_x deferred x) * residual p q y.
Proof.
rewrite outputE deferring_mass -mulr_suml; congr (_ + _ * _).
under eq_bigr do rewrite mulrBr mulr1 deferring_mass opprD addrA.
by rewrite !sumrB (dist_sum dq).
Qed.

Theorem fly_hits : hits q fly = overlap p q + \sum_x deferred x.
Proof.
rewrite /fly (hit_residual dp dq deferring01 deferring_enough) -big_split.
by apply: eq_bigr => x _; rewrite deferring_mass.
Qed.

(* 3 of T52: the bias, the least at that acceptance *)
Theorem fly_bias : tv (output q fly) p = \sum_x deferred x /\
  forall t, (forall x, is_dist (t x)) -> hits q fly <= hits q t -> tv (output q fly) p <= tv (output q t) p.
Proof.
have b : tv (output q fly) p = \sum_x deferred x.
  by rewrite -(price_residual dp dq deferring01 deferring_enough) -/fly fly_hits addrC addKr.
split=> // t dt more; rewrite b; apply: le_trans (least_bias dt).
by rewrite -ler_subl_addr opprK addrC -fly_hits.
Qed.

End Sampled.

(* 3: on given rows, rules that defer a row as a whole have the least mean bias at their mean acceptance *)
Theorem rows_least (R : realFieldType) (T N : finType) (w : N -> R) (p q : N -> T -> R) (b : N -> bool)
    (t : N -> T -> T -> R) :
  (forall n, 0 <= w n) -> (forall n, is_dist (p n)) -> (forall n, is_dist (q n)) ->
  (forall n x, is_dist (t n x)) ->
  let row n := sampling (q n) (cascade (p n) (q n) (fun _ => b n)) in
  \sum_n w n * hits (q n) (row n) <= \sum_n w n * hits (q n) (t n) ->
  \sum_n w n * tv (output (q n) (row n)) (p n) <= \sum_n w n * tv (output (q n) (t n)) (p n).
Proof.
move=> w0 dp dq dt row more.
have met n : tv (output (q n) (row n)) (p n) = hits (q n) (row n) - overlap (p n) (q n).
  apply/(sampling_least (dp n) (dq n) (cascade_dist (dp n) (dq n) _)) => x; rewrite cascade_row //.
  by case: (b n); rewrite le_minl le_maxr lexx ?orbT.
under eq_bigr do rewrite met mulrBr.
rewrite sumrB; apply: le_trans (_ : \sum_n w n * hits (q n) (t n) - \sum_n w n * overlap (p n) (q n) <= _).
  by rewrite ler_add2r.
rewrite -sumrB; apply: ler_sum => n _; rewrite -mulrBr; apply: ler_wpmul2l => //.
exact: least_bias.
Qed.

(* 4: the smallest case, two tokens: the unlikely one is deferred; less acceptance than rejection has, and a bias *)
Theorem token_rule_worse (R : realFieldType) :
  let p (x : bool) : R := if x then 3%:R^-1 else 2%:R / 3%:R in
  let q (x : bool) : R := if x then 2%:R / 3%:R else 3%:R^-1 in
  let r (x : bool) := p x < (1 - 5%:R^-1) * (2%:R / 3%:R) in
  [/\ hits q (sampling q (cascade p q r)) = 5%:R / 9%:R, overlap p q = 2%:R / 3%:R &
      tv (output q (sampling q (cascade p q r))) p = 9%:R^-1].
Proof.
move=> p q r.
have le_nat (k l d : nat) : (k%:R / d%:R <= l%:R / d%:R :> R) = (d == 0)%N || (k <= l)%N.
  case: d => [|d]; first by rewrite invr0 !mulr0 lexx.
  by rewrite ler_pmul2r ?invr_gt0 ?ltr0n // ler_nat.
have min_nat (k l d : nat) : Num.min (k%:R / d%:R) (l%:R / d%:R) = (minn k l)%:R / d%:R :> R.
  by rewrite /minn; case: ltnP => h; [apply/min_idPl | apply/min_idPr]; rewrite le_nat ?h ?(ltnW h) orbT.
have pt : p true = 3%:R / 9%:R by rewrite /p; field; rewrite ?pnatr_eq0.
have pf : p false = 6%:R / 9%:R by rewrite /p; field; rewrite ?pnatr_eq0.
have qt : q true = 6%:R / 9%:R by rewrite /q; field; rewrite ?pnatr_eq0.
have qf : q false = 3%:R / 9%:R by rewrite /q; field; rewrite ?pnatr_eq0.
have half_pos (k : nat) : 0 <= k%:R / 9%:R :> R by rewrite divr_ge0 ?ler0n.
have dp : is_dist p.
  by split=> [[]|]; rewrite ?pt ?pf // big_bool pt pf /=; field; rewrite ?pnatr_eq0.
have dq : is_dist q.
  by split=> [[]|]; rewrite ?qt ?qf // big_bool qt qf /=; field; rewrite ?pnatr_eq0.
have level : (1 - 5%:R^-1) * (2%:R / 3%:R) = 24%:R / 45%:R :> R by field; rewrite ?pnatr_eq0.
have rt : r true.
  rewrite /r pt level; have -> : 3%:R / 9%:R = 15%:R / 45%:R :> R by field; rewrite ?pnatr_eq0.
  by rewrite ltNge le_nat.
have rf : r false = false.
  rewrite /r pf level; have -> : 6%:R / 9%:R = 30%:R / 45%:R :> R by field; rewrite ?pnatr_eq0.
  by rewrite ltNge le_nat.
have eta : deferral_rate q r = 6%:R / 9%:R.
  by rewrite /deferral_rate big_bool rt rf qt /= mul0r addr0 mul1r.
have ct : cascade p q r true = 2%:R / 9%:R.
  by rewrite /cascade rt eta pt qt subrr mulr0 add0r; field; rewrite ?pnatr_eq0.
have cf : cascade p q r false = 7%:R / 9%:R.
  by rewrite /cascade rf eta pf qf subr0 mulr1; field; rewrite ?pnatr_eq0.
have dc : is_dist (cascade p q r) by exact: cascade_dist.
split.
- rewrite sampling_hits // /overlap big_bool ct cf qt qf /=.
  by rewrite !min_nat /minn /=; field; rewrite ?pnatr_eq0.
- rewrite /overlap big_bool pt pf qt qf /= !min_nat /minn /=.
  by field; rewrite ?pnatr_eq0.
rewrite sampling_bias // (tv_excess dc dp) big_bool excess0 ?ct ?pt ?le_nat // excessB ?cf ?pf ?le_nat //.
by rewrite /=; field; rewrite ?pnatr_eq0.
Qed.
