(* T51: a draft x is kept with probability a x, at least p x, and else replaced by a draw from p without x.  That is to
   force some drafts and to draw from p otherwise.  SGLang's acceptance thresholds are such an a. *)
Require Import prelude prob rejection recursive acceptance price replaced candidates.

Section Thresholds.
Variables (R : realFieldType) (T : finType) (p q : T -> R).
Hypotheses (dp : is_dist p) (dq : is_dist q).
Implicit Types a b : T -> R.
Notation point := (@point R T).

Definition redrawn a := relaxed a (fun x => without p x).
(* the probability that a drafted x is forced, and what q forces *)
Definition forces a x : R := if a x == 1 then 1 else (a x - p x) / (1 - p x).
Definition forced_mass a x := q x * forces a x.
Definition in_reach a := forall x, p x <= a x <= 1.

Lemma in_reach01 a : in_reach a -> forall x, 0 <= a x <= 1.
Proof. by move=> h x; have /andP[pa ->] := h x; rewrite (le_trans (dist_ge0 dp x) pa). Qed.

Lemma rest_sum x : \sum_(y | y != x) p y = 1 - p x.
Proof. by rewrite -(dist_sum dp) [X in X - _](bigD1 x) //= addrAC subrr add0r. Qed.

Lemma forces01 a x : in_reach a -> 0 <= forces a x <= 1.
Proof.
move=> /(_ x) /andP[pa a1]; rewrite /forces; case: eqP => [_|/eqP ne]; first by rewrite ler01 lexx.
have p1 : 0 < 1 - p x by rewrite subr_gt0; apply: le_lt_trans pa _; rewrite lt_neqAle ne.
by rewrite divr_ge0 ?(ltW p1) ?subr_ge0 //= ler_pdivr_mulr // mul1r ler_add2r.
Qed.

(* to force with that probability and to draw from p otherwise is the rule *)
Lemma redrawnE a x y : in_reach a -> redrawn a x y = forces a x * (x == y)%:R + (1 - forces a x) * p y.
Proof.
move=> /(_ x) /andP[pa a1]; rewrite /redrawn /relaxed /forces.
case: (eqVneq (a x) 1) => [->|ne]; first by rewrite subrr !mul0r.
have p1 : 1 - p x != 0 by rewrite subr_eq0 eq_sym lt_eqF // (le_lt_trans pa) // lt_neqAle ne.
rewrite /without rest_sum (negbTE p1) (eq_sym y); case: (eqVneq x y) => [<-|_] /=; last first.
  by rewrite !mulr0 !add0r; field.
by rewrite !mulr1 mulr0 addr0; field.
Qed.

(* 1 *)
Theorem redrawn_output a y : in_reach a ->
  output q (redrawn a) y = forced_mass a y + (1 - \sum_x forced_mass a x) * p y.
Proof.
move=> ra; rewrite /output; under eq_bigr do rewrite redrawnE // mulrDr !mulrA.
rewrite big_split /= (sum_ind (fun x => q x * forces a x)) -mulr_suml; congr (_ + _ * _).
by rewrite -[X in X - _](dist_sum dq) -sumrB; apply: eq_bigr => x _; rewrite mulrBr mulr1.
Qed.

Lemma redrawn_dist a x : in_reach a -> is_dist (redrawn a x).
Proof. by move=> ra; apply: relaxed_dist => [y|y]; [exact: in_reach01 | exact: without_dist]. Qed.

(* 4: a refused draft is not drawn again *)
Theorem redrawn_hits a : in_reach a -> hits q (redrawn a) = \sum_x q x * a x.
Proof.
move=> ra; apply: eq_bigr => x _; have /andP[pa a1] := ra x; rewrite /redrawn /relaxed eqxx mulr1.
case: (eqVneq (a x) 1) => [->|ne]; first by rewrite subrr mul0r addr0.
have p1 : 1 - p x != 0 by rewrite subr_eq0 eq_sym lt_eqF // (le_lt_trans pa) // lt_neqAle ne.
by rewrite /without rest_sum (negbTE p1) eqxx mulr0 addr0.
Qed.

(* 2 *)
Theorem redrawn_bias a : in_reach a ->
  tv (output q (redrawn a)) p = half (fun y => forced_mass a y - (\sum_x forced_mass a x) * p y) /\
  tv (output q (redrawn a)) p <= \sum_x forced_mass a x.
Proof.
move=> ra; have f0 y : 0 <= forced_mass a y.
  by rewrite mulr_ge0 ?(dist_ge0 dq) //; case/andP: (forces01 y ra).
have b : tv (output q (redrawn a)) p = half (fun y => forced_mass a y - (\sum_x forced_mass a x) * p y).
  by congr (_ * _); apply: eq_bigr => y _; rewrite redrawn_output //; congr `|_|; ring.
split=> //; rewrite b /half.
apply: (@le_trans _ _ (2%:R^-1 * \sum_y (forced_mass a y + (\sum_x forced_mass a x) * p y))); last first.
  rewrite big_split /= -mulr_sumr (dist_sum dp) mulr1 le_eqVlt; apply/orP; left; apply/eqP.
  by field; rewrite ?pnatr_eq0.
apply: ler_wpmul2l; first by rewrite invr_ge0 ler0n.
apply: ler_sum => y _; apply: le_trans (ler_norm_sub _ _) _.
by rewrite !ger0_norm // mulr_ge0 ?(dist_ge0 dp) // sumr_ge0.
Qed.

(* 4: whatever is drafted, at most what is accepted beyond p *)
Theorem redrawn_bias_le a : in_reach a -> tv (output q (redrawn a)) p <= \sum_x q x * (a x - p x).
Proof.
move=> ra; apply: le_trans (_ : \sum_x forced_mass a x * tv (point x) p <= _); last first.
  apply: ler_sum => x _; rewrite tvC (greedy_bias dp) /forced_mass -mulrA; apply: ler_wpmul2l; first exact: dist_ge0.
  have /andP[pa a1] := ra x; rewrite /forces; case: eqP => [->|/eqP ne]; first by rewrite mul1r.
  by rewrite divfK // subr_eq0 eq_sym lt_eqF // (le_lt_trans pa) // lt_neqAle ne.
have -> : \sum_x forced_mass a x * tv (point x) p = 2%:R^-1 * \sum_y \sum_x forced_mass a x * `|point x y - p y|.
  rewrite exchange_big mulr_sumr; apply: eq_bigr => x _ /=; by rewrite -mulr_sumr mulrCA.
have [-> _] := redrawn_bias ra; apply: ler_wpmul2l; first by rewrite invr_ge0 ler0n.
apply: ler_sum => y _.
have -> : forced_mass a y - (\sum_x forced_mass a x) * p y = \sum_x forced_mass a x * (point x y - p y).
  under [RHS]eq_bigr do rewrite mulrBr.
  rewrite sumrB -mulr_suml; congr (_ - _); rewrite -[LHS](sum_ind (forced_mass a)); apply: eq_bigr => x _.
  by rewrite /acceptance.point eq_sym.
apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => x _; rewrite normrM ger0_norm //.
by rewrite mulr_ge0 ?(dist_ge0 dq) //; case/andP: (forces01 x ra).
Qed.

End Thresholds.

(* 4: of a draft that is chosen, not drawn, the bias is that, and the least at its acceptance *)
Theorem redrawn_chosen (R : realFieldType) (T : finType) (p : T -> R) (a : T -> R) x (q := @point R T x) :
  is_dist p -> in_reach p a ->
  [/\ hits q (redrawn p a) = a x, tv (output q (redrawn p a)) p = a x - p x &
      forall s, (forall y, is_dist (s y)) -> hits q (redrawn p a) <= hits q s ->
        tv (output q (redrawn p a)) p <= tv (output q s) p].
Proof.
move=> dp ra; have dq : is_dist q by exact: point_dist.
have one (h : T -> R) : \sum_y q y * h y = h x.
  rewrite (bigD1 x) //= big1 ?addr0 /q /acceptance.point ?eqxx ?mul1r // => y /negbTE ->.
  by rewrite mul0r.
have hit : hits q (redrawn p a) = a x by rewrite redrawn_hits // one.
have ov : overlap p q = p x.
  by have := greedy_bias dp x; rewrite -/q => e; have := overlap_tv dp dq; rewrite e opprB addrCA subrr addr0.
have low s : (forall y, is_dist (s y)) -> hits q s - p x <= tv (output q s) p.
  move=> ds; rewrite ler_subl_addl -ov (overlap_tv dp dq).
  by have [h1 h2] := price_bound dp dq ds; apply: le_trans h1 h2.
have b : tv (output q (redrawn p a)) p = a x - p x.
  apply/le_anti/andP; split; first by apply: le_trans (redrawn_bias_le dp dq ra) _; rewrite one.
  by rewrite -{1}hit; apply: low => y; exact: redrawn_dist.
split=> // s ds more; rewrite b -{1}hit; apply: le_trans (low s ds); rewrite ler_add2r.
exact: more.
Qed.

(* ---- the two thresholds ---- *)
Section Sglang.
Variables (R : realFieldType) (T : finType) (p q : T -> R).
Hypotheses (dp : is_dist p) (dq : is_dist q).

Definition threshold_test (single acc : R) x : R := if single <= p x then 1 else Num.min 1 (p x / acc).

Lemma thresholds_reach single acc : 0 < acc <= 1 -> in_reach p (threshold_test single acc).
Proof.
move=> /andP[c0 c1] x; rewrite /threshold_test; case: ifP => _; first by rewrite dist_le1 //= lexx.
by rewrite le_minl lexx /= andbT le_minr dist_le1 //= ler_pdivl_mulr // ler_pimulr // dist_ge0.
Qed.

(* 3: both 1 *)
Theorem thresholds_lossless y : output q (redrawn p (threshold_test 1 1)) y = p y.
Proof.
have ra : in_reach p (threshold_test 1 1) by apply: thresholds_reach; rewrite ltr01 lexx.
have fp x : forces p (threshold_test 1 1) x = (p x == 1)%:R.
  rewrite /forces /threshold_test divr1; case: (leP 1 (p x)) => h.
    have -> : p x = 1 by apply/le_anti; rewrite h dist_le1.
    by rewrite !eqxx.
  by rewrite (lt_eqF h) subrr mul0r.
rewrite redrawn_output // /forced_mass.
case: (pickP (fun x => p x == 1)) => [b /eqP pb|none]; last first.
  have z x : q x * forces p (threshold_test 1 1) x = 0 by rewrite fp none mulr0.
  by rewrite z big1 // add0r subr0 mul1r.
have only x : x != b -> p x = 0.
  move=> ne; have := rest_sum dp b; rewrite pb subrr => /eqP.
  rewrite psumr_eq0 => [/allP/(_ x)|z _]; last exact: dist_ge0.
  by rewrite mem_index_enum ne /= => /(_ isT) /eqP.
have other x : x != b -> q x * forces p (threshold_test 1 1) x = 0.
  by move=> /only px; rewrite fp px eq_sym oner_eq0 mulr0.
rewrite (bigD1 b) //= [X in _ - (_ + X)]big1 ?addr0; last by move=> x; exact: other.
case: (eqVneq y b) => [->|ne]; first by rewrite pb mulr1 addrC subrK.
by rewrite other // only // mulr0 addr0.
Qed.

(* 5: lower thresholds keep no less, and force no less *)
Theorem thresholds_fall s s' c c' x : s <= s' -> 0 < c -> c <= c' -> c' <= 1 ->
  threshold_test s' c' x <= threshold_test s c x /\
  forced_mass p q (threshold_test s' c') x <= forced_mass p q (threshold_test s c) x.
Proof.
move=> ss c0 cc c1; have c0' : 0 < c' by exact: lt_le_trans cc.
have up : threshold_test s' c' x <= threshold_test s c x.
  rewrite /threshold_test; case: (leP s (p x)) => h.
    by case: ifP => // _; rewrite le_minl lexx.
  rewrite (lt_geF (lt_le_trans h ss)) le_minr !le_minl lexx /=; apply/orP; right.
  by apply: ler_wpmul2l; [exact: dist_ge0 | rewrite lef_pinv].
split=> //; apply: ler_wpmul2l; first exact: dist_ge0.
have r' : in_reach p (threshold_test s' c') by apply: thresholds_reach; rewrite c0'.
have r : in_reach p (threshold_test s c) by apply: thresholds_reach; rewrite c0 (le_trans cc c1).
have [e|ne] := eqVneq (threshold_test s c x) 1.
  by rewrite {2}/forces e eqxx; case/andP: (forces01 x r').
have /andP[pa a1] := r x; have lt1 : threshold_test s c x < 1 by rewrite lt_neqAle ne.
rewrite /forces (negbTE ne) (lt_eqF (le_lt_trans up lt1)) ler_wpmul2r ?ler_add2r // invr_ge0 subr_ge0.
by apply: dist_le1.
Qed.

(* for the first threshold at 0 every draft is kept *)
Lemma thresholds_all c x : threshold_test 0 c x = 1.
Proof. by rewrite /threshold_test dist_ge0. Qed.

End Sglang.
