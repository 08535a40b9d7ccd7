(* Tokens that win too seldom exchange labels with tokens that win too often, matched in the order of p/q: at the labels
   that drafts then have, the mean of z is what is wanted. *)
Require Import prelude prob labels span.

Section Spans.
Variables (R : realFieldType) (T : finType) (rank : T -> nat) (q z w : T -> R).
Hypothesis rank_inj : injective rank.
Hypotheses (q0 : forall i, 0 <= q i) (w0 : forall i, 0 <= w i).
Hypothesis wq : forall i, q i = 0 -> w i = 0.
(* w/q does not decrease, the first tokens never want less than they have, and all want what all have *)
Hypothesis ordered : forall i j, (rank i <= rank j)%N -> w i * q j <= w j * q i.
Hypothesis ahead : forall i, up_to (fun j => q j * z j) rank i <= up_to w rank i.
Hypothesis total : \sum_i w i = \sum_i q i * z i.

Definition gain i := pos (w i - q i * z i).
Definition pay i := pos (q i * z i - w i).
(* what the span of a gaining i shares with that of a paying j *)
Definition meet i j :=
  shared (before gain rank i) (up_to gain rank i) (before pay rank j) (up_to pay rank j).
(* the chance that a draft of token i gets the label j *)
Definition moved i j := (meet i j + meet j i) / (q i * `|z j - z i|).
Definition move i j := if j == i then 1 - \sum_(l | l != i) moved i l else moved i j.

Lemma gain_pay i : gain i - pay i = w i - q i * z i.
Proof. by rewrite /gain /pay posN opprB addrK. Qed.

Lemma before_le (b : T -> R) i : (forall j, 0 <= b j) -> before b rank i <= up_to b rank i.
Proof. by move=> b0; rewrite (up_toE b rank_inj) ler_addl. Qed.

Lemma before_ge0 (b : T -> R) i : (forall j, 0 <= b j) -> 0 <= before b rank i.
Proof. by move=> b0; rewrite /before sumr_ge0. Qed.

Lemma up_to_all (b : T -> R) i : (forall j, 0 <= b j) -> up_to b rank i <= \sum_j b j.
Proof.
by move=> b0; rewrite /up_to [X in _ <= X](bigID (fun j => (rank j <= rank i)%N)) /= ler_addl sumr_ge0.
Qed.

Lemma gain_ge0 i : 0 <= gain i. Proof. exact: pos_ge0. Qed.
Lemma pay_ge0 i : 0 <= pay i. Proof. exact: pos_ge0. Qed.
Hint Resolve gain_ge0 pay_ge0 : core.

Lemma same_total : \sum_i gain i = \sum_i pay i.
Proof.
apply/eqP; rewrite -subr_eq0 -sumrB (eq_bigr (fun i => w i - q i * z i)) => [|i _]; last exact: gain_pay.
by rewrite sumrB total subrr.
Qed.

Lemma pay_behind i : up_to pay rank i <= up_to gain rank i.
Proof.
rewrite -subr_ge0 /up_to -sumrB (eq_bigr (fun i => w i - q i * z i)) => [|j _]; last exact: gain_pay.
by rewrite sumrB subr_ge0; exact: ahead.
Qed.

Lemma meet_ge0 i j : 0 <= meet i j.
Proof. by apply: shared_ge0; exact: before_le. Qed.

(* the spans of one kind cover a span of the other *)
Lemma meet_gain i : \sum_j meet i j = gain i.
Proof.
rewrite /meet /shared (all_ranks rank_inj pay (span (before gain rank i) (up_to gain rank i))) -same_total.
rewrite span_above ?before_le ?up_to_all // span_below ?before_ge0 ?before_le // subr0.
by rewrite (up_toE gain rank_inj) addrC addKr.
Qed.

Lemma meet_pay j : \sum_i meet i j = pay j.
Proof.
transitivity (\sum_i shared (before pay rank j) (up_to pay rank j) (before gain rank i) (up_to gain rank i)).
  by apply: eq_bigr => i _; exact: sharedC.
rewrite /shared (all_ranks rank_inj gain (span (before pay rank j) (up_to pay rank j))) same_total.
rewrite span_above ?before_le ?up_to_all // span_below ?before_ge0 ?before_le // subr0.
by rewrite (up_toE pay rank_inj) addrC addKr.
Qed.

Lemma meet_gains i j : meet i j != 0 -> 0 < gain i.
Proof.
move=> m; rewrite lt_neqAle gain_ge0 andbT; apply: contra m => /eqP g; move/eqP: (meet_gain i).
by rewrite -g psumr_eq0 => [/allP/(_ j)|l _]; [rewrite mem_index_enum => /(_ isT)|exact: meet_ge0].
Qed.

Lemma meet_pays i j : meet i j != 0 -> 0 < pay j.
Proof.
move=> m; rewrite lt_neqAle pay_ge0 andbT; apply: contra m => /eqP g; move/eqP: (meet_pay j).
by rewrite -g psumr_eq0 => [/allP/(_ i)|l _]; [rewrite mem_index_enum => /(_ isT)|exact: meet_ge0].
Qed.

Lemma pos_gt0 (x : R) : 0 < pos x -> 0 < x.
Proof. by rewrite /pos lt_maxr ltxx. Qed.

(* spans meet only if the gaining token comes first *)
Lemma meet_before i j : meet i j != 0 -> (rank i < rank j)%N.
Proof.
move=> m; rewrite ltnNge; apply: contra m => ji; rewrite /meet /shared.
have le : up_to pay rank j <= before gain rank i \/ i = j.
  move: ji; rewrite leq_eqVlt => /orP[/eqP/rank_inj ->|ji]; [by right|left].
  apply: le_trans (pay_behind j) _; rewrite /up_to /before [X in _ <= X](bigID (fun l => (rank l <= rank j)%N)) /=.
  rewrite (eq_bigl (fun l => (rank l < rank i)%N && (rank l <= rank j)%N)) ?ler_addl ?sumr_ge0 // => l.
  by case: leqP => // il; rewrite leqNgt (leq_trans ji il).
case: le => [le|e].
  have l0 : before pay rank j <= before gain rank i by apply: le_trans le; exact: before_le.
  by rewrite !span_below ?subrr // before_le.
have [g|p] : gain i = 0 \/ pay j = 0.
  rewrite e /gain /pay; case: (leP (w j) (q j * z j)) => h; [left|right]; rewrite pos0 // subr_le0 //.
  exact: ltW.
  by rewrite (up_toE gain rank_inj) g addr0 /span !subrr.
by rewrite (up_toE pay rank_inj) p addr0 subrr.
Qed.

(* then the labels lie apart, by at least what either wants *)
Lemma meet_apart i j : meet i j != 0 ->
  [/\ 0 < q i, 0 < q j, gain i <= q i * (z j - z i) & pay j <= q j * (z j - z i)].
Proof.
move=> m; have gi := meet_gains m; have pj := meet_pays m; have r := ordered (ltnW (meet_before m)).
have := pos_gt0 gi; have := pos_gt0 pj; rewrite !subr_gt0 => hj hi.
have qi : 0 < q i.
  rewrite lt_neqAle q0 andbT eq_sym; apply/eqP => e; move: hi; rewrite wq // e mul0r ltxx //.
have qj : 0 < q j.
  rewrite lt_neqAle q0 andbT eq_sym; apply/eqP => e; move: hj; rewrite e mul0r ltNge w0 //.
have gE : gain i = w i - q i * z i by rewrite /gain pos_id // subr_ge0 ltW.
have pE : pay j = q j * z j - w j by rewrite /pay pos_id // subr_ge0 ltW.
split=> //; rewrite ?gE ?pE mulrBr.
  rewrite ler_add2r -(ler_pmul2r qj); apply: le_trans r _.
  by rewrite (_ : q i * z j * q j = q j * z j * q i); [rewrite ler_wpmul2r // ltW|ring].
rewrite ler_add2l ler_opp2 -(ler_pmul2r qi); apply: le_trans r.
by rewrite (_ : q j * z i * q i = q i * z i * q j); [rewrite ler_wpmul2r // ltW|ring].
Qed.

Lemma apart i j : meet i j != 0 -> 0 < q i * (z j - z i).
Proof. by move=> m; have [_ _ g _] := meet_apart m; apply: lt_le_trans g; exact: meet_gains m. Qed.

Lemma apart_gt0 i j : meet i j != 0 -> 0 < z j - z i.
Proof. by move=> m; have [qi _ _ _] := meet_apart m; rewrite -(pmulr_rgt0 _ qi); exact: apart. Qed.

(* at most one of the two meets *)
Lemma meet_one i j : meet i j != 0 -> meet j i = 0.
Proof.
move=> m; apply/eqP; apply: contraT => m'.
by have := ltn_trans (meet_before m) (meet_before m'); rewrite ltnn.
Qed.

Lemma moved_ge0 i j : 0 <= moved i j.
Proof. by apply: divr_ge0; [apply: addr_ge0; exact: meet_ge0 | rewrite mulr_ge0 ?normr_ge0]. Qed.

(* what leaves a label comes to it *)
Lemma moved_sym i j : q i * moved i j = (meet i j + meet j i) / `|z j - z i|.
Proof.
rewrite /moved; have [m|m] := eqVneq (meet i j) 0; last first.
  have [qi _ _ _] := meet_apart m; by rewrite invfM mulrCA [_ * (_^-1 * _)]mulrA divff ?gt_eqF // mul1r.
have [m'|m'] := eqVneq (meet j i) 0; first by rewrite m m' addr0 !mul0r mulr0.
by have [_ qi _ _] := meet_apart m'; rewrite invfM mulrCA [_ * (_^-1 * _)]mulrA divff ?gt_eqF // mul1r.
Qed.

(* and takes the mean of z where it is wanted *)
Lemma moved_mean i j : q i * moved i j * (z j - z i) = meet i j - meet j i.
Proof.
rewrite moved_sym; have [m|m] := eqVneq (meet i j) 0; last first.
  by rewrite (meet_one m) (gtr0_norm (apart_gt0 m)) addr0 subr0 mulfVK // gt_eqF // apart_gt0.
have [m'|m'] := eqVneq (meet j i) 0; first by rewrite m m' addr0 subr0 !mul0r.
rewrite m add0r sub0r distrC (gtr0_norm (apart_gt0 m')) -[z j - z i]opprB mulrN mulfVK // gt_eqF //.
exact: apart_gt0.
Qed.

Lemma meet_self i : meet i i = 0.
Proof. by apply/eqP; apply: contraT => /meet_before; rewrite ltnn. Qed.

Lemma moved_self i : moved i i = 0.
Proof. by rewrite /moved meet_self addr0 mul0r. Qed.

Lemma gain_or_pay i : gain i = 0 \/ pay i = 0.
Proof.
by rewrite /gain /pay; case: (leP (w i) (q i * z i)) => h; [left|right]; rewrite pos0 // subr_le0 // ltW.
Qed.

Lemma moved_le i j : moved i j <= meet i j / gain i + meet j i / pay i.
Proof.
have [m|m] := eqVneq (meet i j) 0; last first.
  have [qi _ g _] := meet_apart m; have gi := meet_gains m.
  rewrite /moved (meet_one m) addr0 mul0r addr0 (gtr0_norm (apart_gt0 m)).
  by rewrite ler_wpmul2l ?meet_ge0 // lef_pinv ?posrE // apart.
have [m'|m'] := eqVneq (meet j i) 0; first by rewrite /moved m m' addr0 !mul0r addr0.
have [_ qi _ g] := meet_apart m'; have pi := meet_pays m'.
rewrite /moved m add0r mul0r add0r distrC (gtr0_norm (apart_gt0 m')).
by rewrite ler_wpmul2l ?meet_ge0 // lef_pinv ?posrE // (lt_le_trans pi).
Qed.

Lemma moved_sum i : \sum_j moved i j <= 1.
Proof.
apply: (@le_trans _ _ (\sum_j (meet i j / gain i + meet j i / pay i))).
  by apply: ler_sum => j _; exact: moved_le.
rewrite big_split -!mulr_suml meet_gain meet_pay /=; have le1 (x : R) : x / x <= 1.
  by have [->|x0] := eqVneq x 0; [rewrite mul0r ler01 | rewrite divff].
by case: (gain_or_pay i) => ->; rewrite mul0r ?add0r ?addr0.
Qed.

Theorem move_dist i : is_dist (move i).
Proof.
split=> [j|].
  rewrite /move; case: eqP => _; last exact: moved_ge0.
  rewrite subr_ge0; apply: le_trans (moved_sum i); rewrite [X in _ <= X](bigD1 i) //=.
  by rewrite moved_self add0r.
rewrite (bigD1 i) //= {1}/move eqxx -[RHS](subrK (\sum_(l | l != i) moved i l)); congr (_ + _).
by apply: eq_bigr => j /negbTE ji; rewrite /move ji.
Qed.

Theorem move_labels l : \sum_i q i * move i l = q l.
Proof.
rewrite (bigD1 l) //= {1}/move eqxx mulrBr mulr1 -[RHS](subrK (q l * \sum_(i | i != l) moved l i)).
congr (_ + _); rewrite mulr_sumr; apply: eq_bigr => i il.
rewrite /move eq_sym (negbTE il) !moved_sym distrC [meet i l + _]addrC //.
Qed.

(* the mean of z at the label of a draft of token i is w/q *)
Theorem move_mean i : q i * (\sum_l move i l * z l) = w i.
Proof.
have -> : \sum_l move i l * z l = z i + \sum_(l | l != i) moved i l * (z l - z i).
  rewrite (bigD1 i) //= {1}/move eqxx mulrBl mul1r -addrA; congr (_ + _).
  rewrite mulr_suml -sumrN -big_split; apply: eq_bigr => l /negbTE li /=.
  by rewrite /move li mulrBr addrC.
rewrite mulrDr mulr_sumr.
have -> : \sum_(l | l != i) q i * (moved i l * (z l - z i)) = gain i - pay i.
  rewrite -meet_gain -meet_pay -sumrB [RHS](bigD1 i) //= subrr add0r.
  by apply: eq_bigr => l _; rewrite mulrA moved_mean.
by rewrite gain_pay addrC subrK.
Qed.

End Spans.
