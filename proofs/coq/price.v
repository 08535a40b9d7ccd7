(* The price of acceptance: a rule of one draft whose output is o hits at most TV(o, p) more often than the best
   lossless one.  Rules that keep at least min(p, q), and put what is refused where the output stays below p, pay just
   that: any that draw it from (p - q)+ (lenience, a judge). *)
Require Import prelude prob.

Section Price.
Variables (R : realFieldType) (T : finType).
Implicit Types (p q o a : T -> R) (t s : T -> T -> R).

Definition output q t y := \sum_x q x * t x y.
Definition hits q t := \sum_x q x * t x x.

(* x is kept with probability a x, and else replaced by a draw from s x *)
Definition relaxed a s x y : R := a x * (x == y)%:R + (1 - a x) * s x y.

Lemma output_dist q t : is_dist q -> (forall x, is_dist (t x)) -> is_dist (output q t).
Proof.
move=> dq dt; split=> [y|]; first by apply: sumr_ge0 => x _; apply: mulr_ge0; apply: dist_ge0.
rewrite exchange_big -[RHS](dist_sum dq); apply: eq_bigr => x _.
by rewrite -mulr_sumr (dist_sum (dt x)) mulr1.
Qed.

Lemma tv_excess o p : is_dist o -> is_dist p -> tv o p = \sum_x excess o p x.
Proof.
by move=> dho dp; rewrite sum_excess (dist_sum dho) (overlap_tv dho dp) opprB addrCA subrr addr0.
Qed.

Lemma overlapC p q : overlap p q = overlap q p.
Proof. by apply: eq_bigr => x _; rewrite minC. Qed.

(* 1: no rule pays less *)
Theorem price_bound p q t : is_dist p -> is_dist q -> (forall x, is_dist (t x)) ->
  hits q t <= overlap q (output q t) /\ overlap q (output q t) <= 1 - tv p q + tv (output q t) p.
Proof.
move=> dp dq dt; have dout := output_dist dq dt; split.
  apply: ler_sum => x _; rewrite le_minr; apply/andP; split.
    by rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l; [exact: dist_ge0 | exact: dist_le1].
  rewrite /output (bigD1 x) //= ler_addl; apply: sumr_ge0 => y _.
  by apply: mulr_ge0; apply: dist_ge0.
rewrite -(overlap_tv dp dq) (tv_excess dout dp) /overlap -big_split /=; apply: ler_sum => x _.
set w := output q t x; rewrite excessE.
case: (leP w (p x)) => h; first by rewrite subrr addr0 (minC (p x)) le_minr le_minl lexx /= le_minl h orbT.
apply: le_trans (_ : Num.min (p x) (q x) + (w - p x) <= _) => //.
case: (leP (p x) (q x)) => k; first by rewrite addrC subrK le_minl lexx orbT.
by rewrite le_minl ler_addl subr_ge0 (ltW h).
Qed.

(* what the rules on the line have in common *)
Section Line.
Variables (p q a : T -> R) (s : T -> T -> R).
Hypotheses (dp : is_dist p) (dq : is_dist q) (a01 : forall x, 0 <= a x <= 1) (ds : forall x, is_dist (s x)).
Hypothesis enough : forall x, Num.min (p x) (q x) <= q x * a x.

Lemma relaxed_dist x : is_dist (relaxed a s x).
Proof.
have /andP[a0 a1] := a01 x; split=> [y|].
  rewrite /relaxed addr_ge0 ?mulr_ge0 ?ler0n ?subr_ge0 //; exact: dist_ge0.
rewrite /relaxed big_split /= -!mulr_sumr (dist_sum (ds x)) mulr1.
rewrite (bigD1 x) //= eqxx big1 ?addr0; last by move=> y /negbTE; rewrite eq_sym => ->.
by rewrite mulr1 addrC subrK.
Qed.

Lemma outputE y : output q (relaxed a s) y = q y * a y + \sum_x q x * (1 - a x) * s x y.
Proof.
rewrite -[X in X + _](sum_ind (fun x => q x * a x)) -big_split /=; apply: eq_bigr => x _.
by rewrite /relaxed mulrDr !mulrA.
Qed.

Lemma kept_le x : q x * a x <= q x.
Proof.
by have /andP[_ a1] := a01 x; rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l => //; apply: dist_ge0.
Qed.

Lemma kept_below x : q x < p x -> q x * a x = q x.
Proof.
move=> h; apply/le_anti; rewrite kept_le /=; apply: le_trans (enough x).
by rewrite le_minr lexx (ltW h).
Qed.

Lemma refused_ge0 x : 0 <= q x * (1 - a x).
Proof. by have /andP[_ a1] := a01 x; rewrite mulr_ge0 ?subr_ge0 ?(dist_ge0 dq). Qed.

Lemma refused_le x : q x * (1 - a x) != 0 -> p x <= q x.
Proof. by case: (leP (p x) (q x)) => // h; rewrite mulrBr mulr1 kept_below // subrr eqxx. Qed.

Hypothesis elsewhere : forall x y, q x * (1 - a x) != 0 -> p y <= q y -> s x y = 0.

Lemma replaced0 y : p y <= q y -> \sum_x q x * (1 - a x) * s x y = 0.
Proof.
move=> h; rewrite big1 // => x _; case: (eqVneq (q x * (1 - a x)) 0) => [->|r]; first by rewrite mul0r.
by rewrite elsewhere ?mulr0.
Qed.

Lemma hitE : hits q (relaxed a s) = \sum_x q x * a x.
Proof.
apply: eq_bigr => x _; rewrite /relaxed eqxx mulr1 mulrDr mulrA.
case: (eqVneq (q x * (1 - a x)) 0) => [->|r]; first by rewrite mul0r addr0.
by rewrite elsewhere ?mulr0 ?addr0 //; apply: refused_le.
Qed.

(* 2: they pay no more *)
Theorem price_line : (forall y, q y < p y -> output q (relaxed a s) y <= p y) ->
  hits q (relaxed a s) - overlap p q = tv (output q (relaxed a s)) p.
Proof.
move=> under; rewrite (tv_excess (output_dist dq relaxed_dist) dp) hitE /overlap -sumrB; apply: eq_bigr => y _.
rewrite excessE; case: (leP (p y) (q y)) => h.
  rewrite outputE replaced0 // addr0; congr (_ - _); apply/esym/min_idPr.
  by have := enough y; rewrite (min_idPl h).
by rewrite kept_below // subrr; apply/esym/eqP; rewrite subr_eq0; apply/eqP/esym/min_idPl; exact: under.
Qed.

End Line.

Lemma sum_excessC p q : is_dist p -> is_dist q -> \sum_x excess p q x = \sum_x excess q p x.
Proof. by move=> dp dq; rewrite !sum_excess (dist_sum dp) (dist_sum dq) overlapC. Qed.

Lemma excess_le p q b x : Num.min (p x) (q x) <= q x * b -> q x * (1 - b) <= excess q p x.
Proof. by move=> e; rewrite mulrBr mulr1 excessE minC ler_sub. Qed.

Lemma excess0 p q x : p x <= q x -> excess p q x = 0.
Proof. by move=> h; rewrite excessE (min_idPl h) subrr. Qed.

Lemma excessB p q x : q x <= p x -> excess p q x = p x - q x.
Proof. by move=> h; rewrite excessE (min_idPr h). Qed.

Lemma sum_excess_ge0 p q : 0 <= \sum_x excess p q x.
Proof. by apply: sumr_ge0 => x _; exact: excess_ge0. Qed.

Lemma excess_le_sum p q x : excess p q x <= \sum_y excess p q y.
Proof. by rewrite (bigD1 x) //= ler_addl; apply: sumr_ge0 => y _; exact: excess_ge0. Qed.

(* 3: whatever is kept, if the rest comes from (p - q)+ *)
Section Residual.
Variables (p q a : T -> R).
Hypotheses (dp : is_dist p) (dq : is_dist q) (a01 : forall x, 0 <= a x <= 1).
Hypothesis enough : forall x, Num.min (p x) (q x) <= q x * a x.
Let z := \sum_x excess p q x.

Lemma lack : z = \sum_x excess q p x.
Proof. by rewrite /z !sum_excess (dist_sum dp) (dist_sum dq) overlapC. Qed.

Lemma lacking x : q x * (1 - a x) != 0 -> z != 0.
Proof.
apply: contra => /eqP z0; apply/eqP/le_anti; rewrite (refused_ge0 dq a01) andbT.
by apply: le_trans (excess_le (enough x)) _; rewrite -z0 lack excess_le_sum.
Qed.

Lemma residual_elsewhere x y : q x * (1 - a x) != 0 -> p y <= q y -> residual p q y = 0.
Proof. by move=> /lacking z0 h; rewrite /residual /= -/z (negbTE z0) excess0 // mul0r. Qed.

Theorem hit_residual : hits q (relaxed a (fun _ => residual p q)) = \sum_x q x * a x.
Proof. by apply: (hitE dq a01 enough) => x y; exact: residual_elsewhere. Qed.

Theorem price_residual :
  hits q (relaxed a (fun _ => residual p q)) - overlap p q = tv (output q (relaxed a (fun _ => residual p q))) p.
Proof.
apply: (price_line dp dq a01 _ enough) => [x|x y|y h]; [exact: residual_dist | exact: residual_elsewhere |].
rewrite outputE (kept_below dq a01 enough h) -mulr_suml -ler_subr_addl -(excessB (ltW h)).
rewrite /residual /= -/z; case: eqP => [z0|/eqP z0].
  rewrite big1 ?mul0r ?excess_ge0 // => x _; apply/eqP/negPn/negP => /lacking.
  by rewrite z0 eqxx.
apply: le_trans (_ : z * (excess p q y / z) <= _); last by rewrite mulrCA divff // mulr1.
apply: ler_wpmul2r; first by apply: divr_ge0; [exact: excess_ge0 | exact: sum_excess_ge0].
by rewrite lack; apply: ler_sum => x _; exact: excess_le.
Qed.

End Residual.

Lemma le_min_l (u v w : R) : u <= v -> Num.min u w <= Num.min v w.
Proof. by move=> h; rewrite le_minr !le_minl h lexx orbT. Qed.

(* lenience: the test over eps <= 1 *)
Corollary price_lenience p q (eps : R) : is_dist p -> is_dist q -> 0 < eps <= 1 ->
  let t := relaxed (accept_prob (fun x => p x / eps) q) (fun _ => residual p q) in
  hits q t = \sum_x Num.min (p x / eps) (q x) /\ hits q t - overlap p q = tv (output q t) p.
Proof.
move=> dp dq /andP[e0 e1]; have l0 x : 0 <= p x / eps by apply: divr_ge0; [exact: dist_ge0 | exact: ltW].
have a01 x : 0 <= accept_prob (fun x => p x / eps) q x <= 1 by apply: accept_prob01 => //; exact: dist_ge0.
have keeps x : q x * accept_prob (fun x => p x / eps) q x = Num.min (p x / eps) (q x).
  by apply: drawn_accepted => //; exact: dist_ge0.
have enough x : Num.min (p x) (q x) <= q x * accept_prob (fun x => p x / eps) q x.
  rewrite keeps; apply: le_min_l; rewrite ler_pdivl_mulr // -[X in _ <= X]mulr1.
  by apply: ler_wpmul2l => //; exact: dist_ge0.
split; last exact: price_residual.
by rewrite hit_residual //; apply: eq_bigr => x _; exact: keeps.
Qed.

(* a judge: what is in J passes *)
Definition judged p q (J : {set T}) x : R := if x \in J then 1 else accept_prob p q x.

Corollary price_judge p q (J : {set T}) : is_dist p -> is_dist q ->
  let t := relaxed (judged p q J) (fun _ => residual p q) in
  hits q t - overlap p q = \sum_(x in J) excess q p x /\ tv (output q t) p = \sum_(x in J) excess q p x.
Proof.
move=> dp dq; have a01 x : 0 <= judged p q J x <= 1.
  by rewrite /judged; case: (x \in J); [rewrite ler01 lexx | apply: accept_prob01; exact: dist_ge0].
have keeps x : q x * judged p q J x = if x \in J then q x else Num.min (p x) (q x).
  by rewrite /judged; case: (x \in J); [rewrite mulr1 | apply: drawn_accepted; exact: dist_ge0].
have enough x : Num.min (p x) (q x) <= q x * judged p q J x.
  by rewrite keeps; case: (x \in J); rewrite ?lexx // le_minl lexx orbT.
have paid : hits q (relaxed (judged p q J) (fun _ => residual p q)) - overlap p q = \sum_(x in J) excess q p x.
  rewrite hit_residual // /overlap -sumrB [RHS]big_mkcond /=; apply: eq_bigr => x _.
  by rewrite keeps; case: (x \in J); rewrite ?subrr // excessE minC.
by split=> //; rewrite -price_residual.
Qed.

End Price.
