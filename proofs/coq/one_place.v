(* T60: the law that overlaps most, on average, with rows of given weights.  Each token offers its pieces between
   neighbouring entries of its column, at the sum of the weights above them; a law that takes the dearest is best, and
   there is one. *)
Require Import prelude prob.

Section Place.
Variables (R : realFieldType) (T N : finType) (w : N -> R) (p : N -> T -> R).
Hypotheses (w0 : forall n, 0 <= w n) (dp : forall n, is_dist (p n)).
Implicit Types (q r : T -> R) (price t : R).

Definition mean_overlap q := \sum_n w n * overlap (p n) q.
(* the weight of the rows above t, and of those that reach t *)
Definition weight_above v t := \sum_(n | t < p n v) w n.
Definition weight_reaching v t := \sum_(n | t <= p n v) w n.
(* q takes all pieces that are dearer than the price, and none that is cheaper *)
Definition takes_dearest price q :=
  forall v, weight_above v (q v) <= price /\ (0 < q v -> price <= weight_reaching v (q v)).

Lemma token_bound price v s t : 0 <= s -> weight_above v t <= price -> (0 < t -> price <= weight_reaching v t) ->
  \sum_n w n * Num.min (p n v) s <= \sum_n w n * Num.min (p n v) t + price * (s - t).
Proof.
move=> s0 high low; case: (leP t s) => [ts|st].
  apply: le_trans (_ : \sum_n w n * Num.min (p n v) t + weight_above v t * (s - t) <= _); last first.
    by rewrite ler_add2l ler_wpmul2r // subr_ge0.
  rewrite /weight_above mulr_suml [X in _ + X]big_mkcond -big_split /=; apply: ler_sum => n _.
  case: (ltP t (p n v)) => h; last by rewrite (min_idPl (le_trans h ts)) addr0.
  by rewrite -mulrDr addrC subrK ler_wpmul2l // le_minl lexx orbT.
have {}low := low (le_lt_trans s0 st).
apply: le_trans (_ : \sum_n w n * Num.min (p n v) t - weight_reaching v t * (t - s) <= _); last first.
  by rewrite ler_add2l -(opprB t s) mulrN ler_opp2 ler_wpmul2r // subr_ge0 ltW.
rewrite /weight_reaching mulr_suml [X in _ - X]big_mkcond -sumrB /=; apply: ler_sum => n _.
case: (leP t (p n v)) => h; last first.
  by rewrite subr0 ler_wpmul2l // le_minl lexx.
by rewrite -mulrBr opprB addrC subrK ler_wpmul2l // le_minl lexx orbT.
Qed.

(* 4: no law overlaps more *)
Theorem dearest_best price q r : is_dist q -> is_dist r -> takes_dearest price q -> mean_overlap r <= mean_overlap q.
Proof.
move=> dq dr dear; have turn s : mean_overlap s = \sum_v \sum_n w n * Num.min (p n v) (s v).
  by rewrite exchange_big /=; apply: eq_bigr => n _; rewrite mulr_sumr.
rewrite !turn.
apply: le_trans (_ : \sum_v (\sum_n w n * Num.min (p n v) (q v) + price * (r v - q v)) <= _).
  apply: ler_sum => v _; have [high low] := dear v.
  by apply: token_bound => //; exact: dist_ge0.
by rewrite big_split /= -mulr_sumr sumrB (dist_sum dq) (dist_sum dr) subrr mulr0 addr0.
Qed.

(* ---- there is one: between what is dearer than the price, and what is no cheaper ---- *)
Definition dearer price v : R := \big[Num.max/0]_(n | price < weight_reaching v (p n v)) p n v.
Definition no_cheaper price v : R := \big[Num.max/0]_(n | price <= weight_reaching v (p n v)) p n v.

Lemma bigmax_ge (P : pred N) (F : N -> R) n : P n -> F n <= \big[Num.max/0]_(i | P i) F i.
Proof.
move=> Pn; have := mem_index_enum n; elim: (index_enum N) => //= i s IH.
rewrite in_cons big_cons => /orP[/eqP <-|/IH h]; first by rewrite Pn le_maxr lexx.
by case: ifP => _ //; rewrite le_maxr h orbT.
Qed.

Lemma bigmax_ge0 (P : pred N) (F : N -> R) : 0 <= \big[Num.max/0]_(i | P i) F i.
Proof. by elim/big_rec: _ => // i x _ h; rewrite le_maxr h orbT. Qed.

Lemma bigmax_met (P : pred N) (F : N -> R) t : 0 < t -> t <= \big[Num.max/0]_(i | P i) F i -> exists2 n, P n & t <= F n.
Proof.
move=> t0; elim/big_rec: _ => [/(lt_le_trans t0)|i x Pi IH]; first by rewrite ltxx.
by rewrite le_maxr => /orP[h|/IH //]; exists i.
Qed.

Lemma reaching_falls v s t : s <= t -> weight_reaching v t <= weight_reaching v s.
Proof.
move=> st; rewrite /weight_reaching big_mkcond [X in _ <= X]big_mkcond /=; apply: ler_sum => n _.
by case: (leP t (p n v)) => h; [rewrite (le_trans st h) | case: ifP].
Qed.

Lemma above_dearer price v t : 0 <= price -> dearer price v <= t -> weight_above v t <= price.
Proof.
move=> price0 dt; case: (pickP (fun n => t < p n v)) => [n1 lt1|none]; last by rewrite /weight_above big_pred0.
case: (@Order.TotalTheory.arg_minP _ _ _ n1 (fun n => t < p n v) (fun n => p n v) lt1) => n lt next.
have <- : weight_reaching v (p n v) = weight_above v t.
  by apply: eq_bigl => i; apply/idP/idP => [|/next //]; exact: lt_le_trans.
rewrite leNgt; apply/negP => dear.
have := bigmax_ge (fun n => p n v) (dear : (fun n => price < weight_reaching v (p n v)) n).
by move/le_trans => /(_ _ dt); rewrite leNgt lt.
Qed.

Lemma reaching_no_cheaper price v t : 0 < t -> t <= no_cheaper price v -> price <= weight_reaching v t.
Proof. by move=> t0 /(bigmax_met t0) [n h le]; apply: le_trans h (reaching_falls _ le). Qed.

Lemma dearer_le price v : dearer price v <= no_cheaper price v.
Proof.
rewrite /dearer; elim/big_rec: _ => [|n x h IH]; [exact: bigmax_ge0 | rewrite le_maxl IH andbT].
by apply: (bigmax_ge (fun n => p n v)); exact: ltW.
Qed.

(* a price at which the mass is 1 *)
Definition price_of (o : option (N * T)) : R := if o is Some (n, v) then weight_reaching v (p n v) else 0.

Lemma price_exists (n0 : N) :
  exists price, [/\ 0 <= price, \sum_v dearer price v <= 1 & 1 <= \sum_v no_cheaper price v].
Proof.
pose enough o := 1 <= \sum_v no_cheaper (price_of o) v.
have free : enough None.
  rewrite /enough -(dist_sum (dp n0)); apply: ler_sum => v _; apply: (bigmax_ge (fun n => p n v)).
  by apply: sumr_ge0 => n _; exact: w0.
case: (@Order.TotalTheory.arg_maxP _ _ _ None enough price_of free) => o ok most.
exists (price_of o); split=> //.
  by case: (o) => [[n v]|] //=; apply: sumr_ge0 => i _; exact: w0.
case: (pickP (fun k : N * T => price_of o < price_of (Some k))) => [k1 dear1|none]; last first.
  rewrite big1 ?ler01 // => v _; rewrite /dearer big_pred0 // => n.
  exact: (none (n, v)).
pose dear (k : N * T) := price_of o < price_of (Some k).
case: (@Order.TotalTheory.arg_minP _ _ _ k1 dear (fun k => price_of (Some k)) dear1) => k dk next.
have -> : \sum_v dearer (price_of o) v = \sum_v no_cheaper (price_of (Some k)) v.
  apply: eq_bigr => v _; apply: eq_bigl => n; apply/idP/idP => [h|]; last exact: lt_le_trans.
  exact: (next (n, v) h).
rewrite leNgt; apply/negP => many; have le : price_of (Some k) <= price_of o := most (Some k) (ltW many).
by move: dk; rewrite /dear ltNge le.
Qed.

(* 4: some law takes the dearest pieces *)
Theorem dearest_exists (n0 : N) : exists price q, is_dist q /\ takes_dearest price q.
Proof.
have [price [price0 few enough]] := price_exists n0.
pose lo := dearer price; pose hi := no_cheaper price; pose L := \sum_v lo v; pose H := \sum_v hi v.
have LH : L <= H by apply: ler_sum => v _; exact: dearer_le.
have [s [s0 s1 met]] : exists s, [/\ 0 <= s, s <= 1 & L + s * (H - L) = 1].
  have [e|ne] := eqVneq (H - L) 0.
    exists 0; split=> //; rewrite ?ler01 // mul0r addr0; apply/le_anti; rewrite few /=.
    by move/eqP: e; rewrite subr_eq0 => /eqP <-.
  have d0 : 0 < H - L by rewrite lt_neqAle eq_sym ne subr_ge0.
  exists ((1 - L) / (H - L)); split; last by rewrite divfK // addrC subrK.
    by rewrite divr_ge0 ?subr_ge0.
  by rewrite ler_pdivr_mulr // mul1r ler_add2r.
exists price, (fun v => lo v + s * (hi v - lo v)); split=> [|v].
  split=> [v|]; first by rewrite addr_ge0 ?bigmax_ge0 // mulr_ge0 // subr_ge0 dearer_le.
  by rewrite big_split /= -mulr_sumr sumrB met.
have gap : 0 <= hi v - lo v by rewrite subr_ge0 dearer_le.
split; first by apply: above_dearer => //; rewrite ler_addl mulr_ge0.
move=> pos; apply: reaching_no_cheaper => //; rewrite -/hi -ler_subr_addl.
by rewrite -[X in _ <= X]mul1r ler_wpmul2r.
Qed.

End Place.
