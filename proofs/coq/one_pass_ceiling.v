(* T60: the ceiling of drafts that do not see each other.  Where b is the most that one law overlaps with the target at
   a place, over the target's texts before it, no verifier that leaves the target's law keeps the drafts up to that
   place, and up to the one before, with probabilities that add up to more than 1 + b.  For two drafts it is met. *)
Require Import prelude prob rejection recursive loop block words tokenwise survival dominance block_optimal.
Require Import text_bound renewal texts one_pass one_place.

Section Ceiling.
Variables (R : realFieldType) (T : finType) (p : seq T -> T -> R) (m : nat -> T -> R).
Hypotheses (dp : is_model p) (dm : forall i, is_dist (m i)).
Implicit Types c : seq T.

(* the drafter of one pass: a product of the laws m *)
Definition one_pass c := m (size c).

Lemma one_pass_model : is_model one_pass.
Proof. by move=> c; exact: dm. Qed.

(* how much one law r overlaps with the target after i tokens, over the target's texts *)
Definition overlap_at i c (r : T -> R) := \sum_(x : i.-tuple T) word_prob p c x * overlap (p (catrev x c)) r.

Lemma split_min (a b u v : R) : 0 <= a -> 0 <= b -> 0 <= u -> 0 <= v ->
  Num.min (b * u) (a * v) <= b * Num.min u v + (a - Num.min b a) * v.
Proof.
move=> a0 b0 u0 v0; case: (leP b a) => [ba|/ltW ab]; last first.
  rewrite subrr mul0r addr0 minr_pmulr // le_minr !le_minl lexx /= ler_wpmul2r ?orbT //.
case: (leP u v) => uv; rewrite le_minl.
  by rewrite ler_addl mulr_ge0 // subr_ge0.
by rewrite -mulrDl addrC subrK lexx orbT.
Qed.

(* both laws of texts, one token on *)
Lemma common_next i c : size c = 0%N ->
  \sum_(x : i.+1.-tuple T) Num.min (word_prob p c x) (word_prob one_pass c x) <=
  overlap_at i c (m i) + (1 - \sum_(x : i.-tuple T) Num.min (word_prob p c x) (word_prob one_pass c x)).
Proof.
move=> c0; rewrite (sum_tail _ (fun s => Num.min (word_prob p c s) (word_prob one_pass c s))).
have <- : \sum_(x : i.-tuple T) word_prob one_pass c x = 1 by exact: (dist_sum (texts_dist i c one_pass_model)).
rewrite -sumrB -big_split /=; apply: ler_sum => x _.
have a0 := word_prob_ge0 one_pass_model c x; have b0 := word_prob_ge0 dp c x.
have at_i : one_pass (catrev x c) = m i by rewrite /one_pass catrevE size_cat size_rev size_tuple c0 addn0.
under eq_bigr => y _ do rewrite !word_prob_rcons at_i.
apply: le_trans (_ : \sum_y (word_prob p c x * Num.min (p (catrev x c) y) (m i y) +
    (word_prob one_pass c x - Num.min (word_prob p c x) (word_prob one_pass c x)) * m i y) <= _).
  by apply: ler_sum => y _; apply: split_min => //; apply: dist_ge0.
by rewrite big_split /= -!mulr_sumr (dist_sum (dm i)) mulr1.
Qed.

(* the most is met: it is what the dearest pieces give *)
Theorem place_best i c : exists2 q, is_dist q & forall r, is_dist r -> overlap_at i c r <= overlap_at i c q.
Proof.
have [y _|none] := pickP (@predT T); last first.
  by have /eqP := dist_sum (dp [::]); rewrite big_pred0 // eq_sym oner_eq0.
have w0 (x : i.-tuple T) : 0 <= word_prob p c x by exact: (word_prob_ge0 dp).
have rows (x : i.-tuple T) : is_dist (p (catrev x c)) by exact: dp.
have [price [q [dq dear]]] := dearest_exists w0 rows (nseq_tuple i y).
by exists q => // r dr; exact: (dearest_best w0 dq dr dear).
Qed.

(* ---- a verifier of g such drafts, of any kind ---- *)
Variables (g : nat) (V : seq T -> prog R T (nat * seq T)).
Hypotheses (V_wf : forall ds, wf (V ds)) (lossless : text_lossless p one_pass g [::] V).
Let outcome := played one_pass g [::] V.
Definition keeps_to i (o : seq T * (nat * seq T)) := (i <= size (take o.2.1 o.1))%N.

Lemma drafts_sized : outputs (fun o => size o.1 = g) outcome.
Proof.
apply: (outputs_bind (ar_size one_pass g [::])) => ds sds.
by apply: (outputs_bind (P := fun=> True)) => //; exact: outputs_true.
Qed.

Lemma keeps_to_texts i : (i <= g)%N ->
  E outcome (fun o => (keeps_to i o)%:R) = \sum_(x : i.-tuple T) kept_text one_pass g [::] V x.
Proof.
move=> ig; rewrite -E_sum; apply: (E_outputs drafts_sized) => o so.
have s : size (take i o.1) == i by rewrite size_takel // so.
rewrite (bigD1 (Tuple s)) //= big1 ?addr0 => [|x ne]; last first.
  rewrite /keeps_text size_tuple; case: eqP => // e; case/negP: ne.
  by apply/eqP/val_inj; rewrite /= e.
rewrite /keeps_text /keeps_to /= (eqP s) eqxx size_take so; case: (ltnP o.2.1 g) => // ge.
by rewrite ig (leq_trans ig ge).
Qed.

Lemma mean_keeps_to :
  E outcome (fun o => (size (take o.2.1 o.1))%:R) = \sum_(i < g) E outcome (fun o => (keeps_to i.+1 o)%:R).
Proof.
rewrite -E_sum; apply: (E_outputs drafts_sized) => o so; rewrite -(@sum_below R g) //.
by rewrite size_take so; case: ltnP => // /ltnW.
Qed.

Lemma keeps_to_common i : (i <= g)%N -> E outcome (fun o => (keeps_to i o)%:R) <=
  \sum_(x : i.-tuple T) Num.min (word_prob p [::] x) (word_prob one_pass [::] x).
Proof.
move=> ig; rewrite keeps_to_texts //; apply: ler_sum => x _.
by apply: (kept_text_bound dp one_pass_model V_wf lossless); rewrite size_tuple.
Qed.

(* 6: neighbouring places *)
Theorem ceiling_bound i b : (i < g)%N -> (forall r, is_dist r -> overlap_at i [::] r <= b) ->
  E outcome (fun o => (keeps_to i o)%:R) + E outcome (fun o => (keeps_to i.+1 o)%:R) <= 1 + b.
Proof.
move=> ig most; apply: le_trans (ler_add (keeps_to_common (ltnW ig)) (keeps_to_common ig)) _.
rewrite addrC -ler_subr_addr; apply: le_trans (common_next i (erefl : size [::] = 0%N)) _.
by rewrite addrA [_ + 1]addrC ler_add2r ler_add2l most.
Qed.

(* 6: so from any place on, half of it *)
Corollary ceiling_half i j b : (i < j <= g)%N -> (forall r, is_dist r -> overlap_at i [::] r <= b) ->
  E outcome (fun o => (keeps_to j o)%:R) <= (1 + b) / 2%:R.
Proof.
move=> /andP[ij jg] most; rewrite ler_pdivl_mulr ?ltr0n // mulr_natr mulr2n.
apply: le_trans (ceiling_bound (leq_trans ij jg) most); apply: ler_add; apply: E_le => [|o].
- exact: (played_wf one_pass_model g [::] V_wf).
- by rewrite ler_nat /keeps_to; case h: (j <= _)%N => //; rewrite (leq_trans (ltnW ij) h).
- exact: (played_wf one_pass_model g [::] V_wf).
by rewrite ler_nat /keeps_to; case h: (j <= _)%N => //; rewrite (leq_trans ij h).
Qed.

End Ceiling.

(* 6: for two drafts the ceiling of all lossless verifiers is that of tokenwise verification, which meets it *)
Section Two.
Variables (R : realFieldType) (T : finType) (p : seq T -> T -> R).
Hypothesis dp : is_model p.

Theorem ceiling_two (m : nat -> T -> R) (V : seq T -> prog R T (nat * seq T)) b : (forall i, is_dist (m i)) ->
  (forall ds, wf (V ds)) -> text_lossless p (one_pass m) 2 [::] V ->
  (forall r, is_dist r -> overlap_at p 1 [::] r <= b) ->
  E (played (one_pass m) 2 [::] V) (fun o => (size (take o.2.1 o.1))%:R) <= 1 + b.
Proof.
move=> dm wV lV most; rewrite mean_keeps_to !big_ord_recl big_ord0 addr0.
exact: (ceiling_bound dp dm wV lV (erefl : (1 < 2)%N) most).
Qed.

Theorem ceiling_two_met (m : nat -> T -> R) : (forall i, is_dist (m i)) -> (forall x, m 0%N x = p [::] x) ->
  E (token_block p (one_pass m) 2 [::]) (fun ys => (drafts_kept ys)%:R) = 1 + overlap_at p 1 [::] (m 1%N).
Proof.
move=> dm first; rewrite (token_drafts dp (one_pass_model dm)) !big_ord_recl big_ord0 addr0.
have one (F : seq T -> R) : \sum_(x : 1.-tuple T) F x = \sum_y F [:: y].
  by rewrite sum_head; apply: eq_bigr => y _; rewrite (sum_none (fun s => F (y :: s))).
congr (_ + _).
  rewrite (one (shared_mass p (one_pass m) [::])) -[RHS](dist_sum (dp [::])); apply: eq_bigr => y _.
  by rewrite /= mulr1 /one_pass /= first minxx.
rewrite (sum_head _ (shared_mass p (one_pass m) [::])) /overlap_at.
rewrite (one (fun s => word_prob p [::] s * overlap (p (catrev s [::])) (m 1%N))); apply: eq_bigr => y _.
rewrite (one (fun s => shared_mass p (one_pass m) [::] (y :: s))) /= mulr1 mulr_sumr; apply: eq_bigr => z _.
by rewrite /= mulr1 /one_pass /= first minxx.
Qed.

End Two.
