(* T45: how far the texts of a model o are from those of p, in total variation.  At most the sum of the mean errors of
   single tokens along the texts of either; at most 1 - prod (1 - largest error); one model has both, and mean errors
   must not be multiplied. *)
Require Import prelude prob rejection recursive loop block words price texts.

Section Drift.
Variables (R : realFieldType) (T : finType) (p o : seq T -> T -> R).
Hypotheses (dp : is_model p) (dout : is_model o).
Implicit Types c : seq T.

(* the error of one token, and the distance of texts of n tokens *)
Definition error c := tv (p c) (o c).
Definition text_tv n c := tv (fun x : n.-tuple T => word_prob p c x) (fun x => word_prob o c x).

Lemma half_ge0 : 0 <= 2%:R^-1 :> R.
Proof. by rewrite invr_ge0 ler0n. Qed.

(* 1: the mean error at each place, along the target's texts *)
Theorem drift_sum n c : text_tv n c <= \sum_(i < n) E (ar p i c) (fun s => error (catrev s c)).
Proof.
elim: n => [|n IH].
  rewrite big_ord0 /text_tv /tv (sum_none (fun s => `|word_prob p c s - word_prob o c s|)) /=.
  by rewrite subrr normr0 mulr0.
rewrite big_ord_recr /= ar_sum; apply: le_trans (ler_add IH (lexx _)).
rewrite /text_tv /tv (sum_tail n (fun s => `|word_prob p c s - word_prob o c s|)) /error /tv.
have -> : \sum_(x : n.-tuple T) word_prob p c x * (2%:R^-1 * \sum_y `|p (catrev x c) y - o (catrev x c) y|) =
    2%:R^-1 * \sum_(x : n.-tuple T) word_prob p c x * \sum_y `|p (catrev x c) y - o (catrev x c) y|.
  by rewrite mulr_sumr; apply: eq_bigr => x _; rewrite mulrCA.
rewrite -mulrDr; apply: ler_wpmul2l; first exact: half_ge0.
rewrite -big_split /=; apply: ler_sum => x _.
rewrite mulr_sumr -[X in X + _]mulr1 -(dist_sum (dout (catrev x c))) mulr_sumr -big_split /=; apply: ler_sum => y _.
have P0 := word_prob_ge0 dp c x; have o0 := dist_ge0 (dout (catrev x c)) y.
rewrite !word_prob_rcons.
have -> : `|word_prob p c x - word_prob o c x| * o (catrev x c) y +
    word_prob p c x * `|p (catrev x c) y - o (catrev x c) y| =
    `|(word_prob p c x - word_prob o c x) * o (catrev x c) y| +
    `|word_prob p c x * (p (catrev x c) y - o (catrev x c) y)|.
  by rewrite !normrM (ger0_norm o0) (ger0_norm P0).
rewrite (_ : word_prob p c x * _ - _ = (word_prob p c x - word_prob o c x) * o (catrev x c) y +
  word_prob p c x * (p (catrev x c) y - o (catrev x c) y)); last by ring.
exact: ler_norm_add.
Qed.

(* 2: what is common to both is at least the product of what is common at each place *)
Theorem drift_common n c (e : nat -> R) : (forall i, (i < n)%N -> e i <= 1) ->
  (forall i s, (i < n)%N -> size s = i -> 0 < word_prob p c s -> 0 < word_prob o c s -> error (catrev s c) <= e i) ->
  text_tv n c <= 1 - \prod_(i < n) (1 - e i).
Proof.
have common m : text_tv m c = 1 - \sum_(x : m.-tuple T) Num.min (word_prob p c x) (word_prob o c x).
  have := overlap_tv (texts_dist m c dp) (texts_dist m c dout).
  by rewrite /overlap => ->; rewrite opprB addrCA subrr addr0.
rewrite common => e1 close; rewrite ler_add2l ler_opp2.
elim: n e1 close => [|n IH] e1 close.
  by rewrite big_ord0 (sum_none (fun s => Num.min (word_prob p c s) (word_prob o c s))) /= minxx.
rewrite big_ord_recr /= (sum_tail n (fun s => Num.min (word_prob p c s) (word_prob o c s))).
have en : 0 <= 1 - e n by rewrite subr_ge0 e1.
apply: le_trans (ler_wpmul2r en (IH _ _)) _ => [i lt|i s lt|].
- by apply: e1; exact: ltnW.
- by apply: close; exact: ltnW.
rewrite mulr_suml; apply: ler_sum => x _.
have P0 := word_prob_ge0 dp c x; have O0 := word_prob_ge0 dout c x.
have [m0|m0] := eqVneq (Num.min (word_prob p c x) (word_prob o c x)) 0.
  rewrite m0 mul0r; apply: sumr_ge0 => y _.
  by apply: minr_ge0; apply: word_prob_ge0.
have mpos : 0 < Num.min (word_prob p c x) (word_prob o c x) by rewrite lt_neqAle eq_sym m0 minr_ge0.
have /andP[Ppos Opos] : (0 < word_prob p c x) && (0 < word_prob o c x) by rewrite -lt_minr.
apply: le_trans (_ : Num.min (word_prob p c x) (word_prob o c x) * overlap (p (catrev x c)) (o (catrev x c)) <= _).
  apply: ler_wpmul2l; first exact: ltW.
  rewrite (overlap_tv (dp _) (dout _)) ler_add2l ler_opp2.
  by apply: close => //; rewrite size_tuple.
rewrite mulr_sumr; apply: ler_sum => y _; rewrite !word_prob_rcons le_minr.
have p0 := dist_ge0 (dp (catrev x c)) y; have o0 := dist_ge0 (dout (catrev x c)) y.
by apply/andP; split; apply: ler_pmul; rewrite ?minr_ge0 // ?le_minl ?lexx ?orbT.
Qed.

(* 3: for any logarithm, relative entropies of single tokens along the target's texts add up *)
Variable log : R -> R.
Hypothesis logM : forall a b, 0 < a -> 0 < b -> log (a * b) = log a + log b.
Hypothesis covered : forall c y, 0 < p c y -> 0 < o c y.

Lemma covered_texts c s : 0 < word_prob p c s -> 0 < word_prob o c s.
Proof.
elim: s c => //= y s IH c; have P0 := word_prob_ge0 dp (y :: c) s; have p0 := dist_ge0 (dp c) y.
rewrite lt_neqAle eq_sym mulf_eq0 negb_or => /andP[/andP[py Ps] _].
by rewrite mulr_gt0 //; [apply: covered | apply: IH]; rewrite lt_neqAle eq_sym ?py ?Ps.
Qed.

Theorem entropies_add n c :
  \sum_(x : n.-tuple T) word_prob p c x * log (word_prob p c x / word_prob o c x) =
  \sum_(i < n) E (ar p i c) (fun s => \sum_y p (catrev s c) y * log (p (catrev s c) y / o (catrev s c) y)).
Proof.
have log1 : log 1 = 0 by have := logM ltr01 ltr01; rewrite mulr1 -[X in X = _]addr0 => /addrI.
elim: n => [|n IH].
  rewrite big_ord0 (sum_none (fun s => word_prob p c s * log (word_prob p c s / word_prob o c s))) /=.
  by rewrite divr1 log1 mulr0.
rewrite big_ord_recr /= -IH ar_sum -big_split /=.
rewrite (sum_tail n (fun s => word_prob p c s * log (word_prob p c s / word_prob o c s))); apply: eq_bigr => x _.
set P := word_prob p c x; set O := word_prob o c x; set d := catrev x c.
rewrite -[P * log (P / O)]mulr1 -(dist_sum (dp d)) !mulr_sumr -big_split /=; apply: eq_bigr => y _.
rewrite !word_prob_rcons -/P -/O -/d.
have [P0|Pne] := eqVneq P 0; first by rewrite P0 !mul0r addr0.
have [p0|pne] := eqVneq (p d y) 0; first by rewrite p0 !(mulr0, mul0r) addr0.
have Ppos : 0 < P by rewrite lt_neqAle eq_sym Pne word_prob_ge0.
have ppos : 0 < p d y by rewrite lt_neqAle eq_sym pne dist_ge0.
have Opos : 0 < O := covered_texts Ppos; have opos := covered ppos.
have -> : P * p d y / (O * o d y) = P / O * (p d y / o d y) by field; rewrite !gt_eqF.
by rewrite logM ?divr_gt0 //; ring.
Qed.

End Drift.

(* 1 along the emitted texts *)
Corollary drift_sum_emitted (R : realFieldType) (T : finType) (p o : seq T -> T -> R) n c :
  is_model p -> is_model o ->
  text_tv p o n c <= \sum_(i < n) E (ar o i c) (fun s => error p o (catrev s c)).
Proof.
move=> dp dout; have turn (S : finType) (f g : S -> R) : tv f g = tv g f.
  by congr (_ * _); apply: eq_bigr => x _; rewrite distrC.
rewrite /text_tv turn; apply: le_trans (drift_sum dout dp n c) _; apply: ler_sum => i _.
by rewrite /error; under E_ext do rewrite turn.
Qed.

(* ---- 4: met together: the target leaves a text of zeros with probability e, the rule never ---- *)
Section Met.
Variables (R : realFieldType) (e : R).
Hypothesis e01 : 0 <= e <= 1.
Definition straying (c : seq bool) (y : bool) : R :=
  if true \in c then (~~ y)%:R else if y then e else 1 - e.
Definition zeros (c : seq bool) (y : bool) : R := (~~ y)%:R.

Lemma straying_model : is_model straying.
Proof.
have /andP[e0 e1] := e01; move=> c; rewrite /straying; split=> [y|]; last first.
  by rewrite big_bool; case: (true \in c) => /=; rewrite ?add0r // addrC subrK.
by case: (true \in c); [exact: ler0n | case: y; rewrite ?subr_ge0].
Qed.

Lemma zeros_model : is_model zeros.
Proof. by move=> c; split=> [y|]; [exact: ler0n | rewrite big_bool /= add0r]. Qed.

Lemma error_met c : error straying zeros c = if true \in c then 0 else e.
Proof.
have /andP[e0 e1] := e01; rewrite /error (tv_excess (straying_model c) (zeros_model c)) big_bool /=.
rewrite /straying /zeros; case: (true \in c); first by rewrite !excess0 ?addr0.
rewrite excessB // subr0 excess0 ?addr0 //=; by rewrite ger_addl oppr_le0.
Qed.

Lemma no_ones (s : seq bool) : true \notin s -> s = nseq (size s) false.
Proof. by elim: s => [|[] s IH] //=; rewrite in_cons /= => /IH {1}->. Qed.

Lemma zeros_prob n c : true \notin c -> word_prob straying c (nseq n false) = (1 - e) ^+ n.
Proof.
elim: n c => [|n IH] c nc //; rewrite exprS -(IH (false :: c)); last by rewrite in_cons (negbTE nc).
by rewrite /= {1}/straying (negbTE nc).
Qed.

Lemma zeros_only c s : word_prob zeros c s = (s == nseq (size s) false)%:R.
Proof.
elim: s c => [|y s IH] c /=; first by [].
by rewrite IH /zeros eqseq_cons; case: y; rewrite ?mul0r ?mul1r.
Qed.

Theorem drift_met n : text_tv straying zeros n [::] = 1 - (1 - e) ^+ n.
Proof.
have /andP[e0 e1] := e01.
have := overlap_tv (texts_dist n [::] straying_model) (texts_dist n [::] zeros_model).
rewrite -/(text_tv straying zeros n [::]) => h; rewrite -[LHS](subKr 1) -h; congr (_ - _).
rewrite /overlap (bigD1 [tuple of nseq n false]) //= big1 ?addr0 => [|x ne].
  rewrite zeros_prob // zeros_only size_nseq eqxx; apply/min_idPl.
  by rewrite exprn_ile1 // ?subr_ge0 // ger_addl oppr_le0.
rewrite zeros_only size_tuple; have -> : (tval x == nseq n false) = false.
  by apply/negP => /eqP h'; case/eqP: ne; apply: val_inj.
by apply/min_idPr; apply: word_prob_ge0; exact: straying_model.
Qed.

Theorem drift_sum_met n :
  \sum_(i < n) E (ar straying i [::]) (fun s => error straying zeros (catrev s [::])) = text_tv straying zeros n [::].
Proof.
rewrite drift_met; elim: n => [|n IH]; first by rewrite big_ord0 expr0 subrr.
rewrite big_ord_recr /= IH.
have -> : E (ar straying n [::]) (fun s => error straying zeros (catrev s [::])) = e * (1 - e) ^+ n.
  rewrite -(@zeros_prob n [::]) // -[nseq n false]/(tval [tuple of nseq n false]) ar_sum.
  rewrite (bigD1 [tuple of nseq n false]) //= big1 ?addr0 => [|x ne].
    by rewrite error_met catrevE cats0 mem_rev mem_nseq andbF mulrC.
  rewrite error_met catrevE cats0 mem_rev; case: ifP => [_|/negbT no]; first by rewrite mulr0.
  by case/eqP: ne; apply: val_inj; rewrite /= (no_ones no) size_tuple.
by rewrite exprS; ring.
Qed.

End Met.

(* 4: mean errors of 1/2 at two places, and texts that are never alike: 1 - 1/4 bounds nothing *)
Section Means.
Variable R : realFieldType.
Definition coin (c : seq bool) (y : bool) : R := if c is [::] then 2%:R^-1 else (~~ y)%:R.
Definition astray (c : seq bool) (y : bool) : R := if c is [:: false] then y%:R else (~~ y)%:R.

Lemma coin_model : is_model coin.
Proof.
move=> c; split=> [y|]; first by rewrite /coin; case: c => [|_ _]; rewrite ?invr_ge0 ler0n.
by rewrite big_bool /=; case: c => [|_ _] /=; rewrite ?add0r //; field; rewrite ?pnatr_eq0.
Qed.

Lemma astray_model : is_model astray.
Proof.
move=> c; split=> [y|]; first by rewrite /astray; case: c => [|[] [|? ?]]; rewrite ler0n.
by rewrite big_bool /= /astray; case: c => [|[] [|? ?]] /=; rewrite ?add0r ?addr0.
Qed.

Theorem means_not_multiplied :
  let mean i := E (ar coin i [::]) (fun s => error coin astray (catrev s [::])) in
  [/\ mean 0%N = 2%:R^-1, mean 1%N = 2%:R^-1, text_tv coin astray 2 [::] = 1 & 1 - (1 - mean 0%N) * (1 - mean 1%N) < 1].
Proof.
move=> mean; have half1 : 2%:R^-1 < 1 :> R by rewrite invf_lt1 ?ltr1n ?ltr0n.
have half0 : 0 <= 2%:R^-1 :> R by rewrite invr_ge0 ler0n.
have err c : error coin astray c = excess (coin c) (astray c) true + excess (coin c) (astray c) false.
  by rewrite /error (tv_excess (coin_model c) (astray_model c)) big_bool.
have m0 : mean 0%N = 2%:R^-1.
  rewrite /mean /= err /coin /astray /= excessB // subr0 excess0 ?addr0 //.
  exact: ltW.
have after_one : error coin astray [:: true] = 0 by rewrite err !excess0 ?addr0.
have after_zero : error coin astray [:: false] = 1.
  by rewrite err excess0 ?ler01 // excessB ?ler01 //= subr0 add0r.
have m1 : mean 1%N = 2%:R^-1 by rewrite /mean /= big_bool /= after_one after_zero mulr0 add0r mulr1.
split=> //; last by rewrite m0 m1 ltr_subl_addr ltr_addl mulr_gt0 ?subr_gt0.
have := overlap_tv (texts_dist 2 [::] coin_model) (texts_dist 2 [::] astray_model).
rewrite -/(text_tv coin astray 2 [::]) => h; rewrite -[LHS](subKr 1) -h.
rewrite (_ : overlap _ _ = 0) ?subr0 // /overlap.
rewrite (sum_head 1 (fun s => Num.min (word_prob coin [::] s) (word_prob astray [::] s))).
rewrite big1 // => y _.
rewrite (sum_head 0 (fun s => Num.min (word_prob coin [::] (y :: s)) (word_prob astray [::] (y :: s)))).
rewrite big1 // => z _.
rewrite (sum_none (fun s => Num.min (word_prob coin [::] (y :: z :: s)) (word_prob astray [::] (y :: z :: s)))).
have P0 := word_prob_ge0 coin_model [::] [:: y; z]; have O0 := word_prob_ge0 astray_model [::] [:: y; z].
have [e|e] : word_prob coin [::] [:: y; z] = 0 \/ word_prob astray [::] [:: y; z] = 0.
  by case: y z {P0 O0} => [] []; [right | right | left | right]; rewrite /= ?mul0r ?mulr0.
- by rewrite e; apply/min_idPl.
by rewrite e; apply/min_idPr.
Qed.

End Means.
