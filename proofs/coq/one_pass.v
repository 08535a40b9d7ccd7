(* T60: how many drafts are kept, as sums over texts: tokenwise, of products of min(p, q); by block verification, of the
   least probability of a text whose beginning is drafted and whose rest is the target's.  Whoever drafts. *)
Require Import prelude prob rejection recursive loop block words tokenwise survival dominance block_optimal.
Require Import text_bound renewal wellformed texts.

Section Laws.
Variables (R : realFieldType) (T : finType) (p q : seq T -> T -> R).
Hypotheses (dp : is_model p) (dq : is_model q).
Implicit Types (c xs : seq T).

(* a block emits the drafts that it keeps and one token more *)
Definition drafts_kept (ys : seq T) := (size ys).-1.

Lemma sum_below g n : (n <= g)%N -> \sum_(i < g) ((i < n)%N)%:R = n%:R :> R.
Proof.
move=> le; rewrite -natr_sum -{2}(card_ord n) -sum1_card (big_ord_widen g (fun=> 1%N) le) [in RHS]big_mkcond.
by congr (_%:R); apply: eq_bigr => i _; case: (i < n)%N.
Qed.

Lemma mean_drafts g (m : prog R T (seq T)) : outputs (fun ys => 0 < size ys <= g.+1)%N m ->
  E m (fun ys => (drafts_kept ys)%:R) = \sum_(i < g) E m (fun ys => ((i < drafts_kept ys)%N)%:R).
Proof.
move=> short; rewrite -E_sum; apply: (E_outputs short) => ys /andP[ys0 ysg].
by rewrite sum_below // /drafts_kept -ltnS prednK.
Qed.

(* what is kept of a block, from the law of texts where it keeps i or more *)
Lemma kept_any i c ys : ((i < size ys)%N)%:R = survival.kept p i 0 c (fun=> 1) ys.
Proof. by rewrite /survival.kept /continued /= mulr1. Qed.

(* ---- tokenwise ---- *)
Fixpoint shared_mass c xs : R := if xs is x :: xs' then Num.min (p c x) (q c x) * shared_mass (x :: c) xs' else 1.

Lemma drafted_tests c xs : word_prob q c xs * tests p q c xs = shared_mass c xs.
Proof.
elim: xs c => [|x xs IH] c /=; first by rewrite mulr1.
by rewrite -IH -(drawn_accepted (dist_ge0 (dp c) x) (dist_ge0 (dq c) x)); ring.
Qed.

Theorem token_keeps i g c : (i <= g)%N ->
  E (token_block p q g c) (fun ys => ((i < size ys)%N)%:R) = \sum_(x : i.-tuple T) shared_mass c x.
Proof.
move=> ig; under E_ext do rewrite (kept_any i c).
rewrite (token_survival dp dq) // ar_sum; apply: eq_bigr => x _.
by rewrite /continued /= mulr1 drafted_tests.
Qed.

Theorem token_drafts g c :
  E (token_block p q g c) (fun ys => (drafts_kept ys)%:R) = \sum_(i < g) \sum_(x : i.+1.-tuple T) shared_mass c x.
Proof.
rewrite (mean_drafts (token_size p q g c)); apply: eq_bigr => i _; rewrite -(token_keeps c (ltn_ord i)).
by apply: E_ext => -[|y ys].
Qed.

(* ---- as a block ---- *)
(* the first j of xs drafted, the others written by the target *)
Definition split_prob j c xs := word_prob q c (take j xs) * word_prob p (catrev (take j xs) c) (drop j xs).
Definition least_split c xs : R := \big[Num.min/word_prob p c xs]_(j < (size xs).+1) split_prob j c xs.

Lemma bigmin_met (I : finType) (F : I -> R) d v j : (forall i, v <= F i) -> v <= d -> F j = v ->
  \big[Num.min/d]_i F i = v.
Proof.
move=> low vd met; apply/le_anti/andP; split; last first.
  by apply: (big_ind (fun u => v <= u)) => // a b va vb; rewrite le_minr va.
rewrite -met; have := mem_index_enum j; elim: (index_enum I) => //= i s IH.
rewrite in_cons big_cons le_minl => /orP[/eqP ->|/IH ->]; [by rewrite lexx | by rewrite orbT].
Qed.

Lemma split_rcons j c xs y : (j <= size xs)%N -> split_prob j c (rcons xs y) = split_prob j c xs * p (catrev xs c) y.
Proof.
move=> le; rewrite /split_prob -cats1 takel_cat // drop_cat.
have -> : (if (j < size xs)%N then drop j xs ++ [:: y] else drop (j - size xs) [:: y]) = rcons (drop j xs) y.
  case: ltnP => [_|ge]; first by rewrite cats1.
  by rewrite (eqP (le : (j - size xs == 0)%N)) drop0 drop_oversize // .
rewrite word_prob_rcons mulrA; congr (_ * p _ y).
by rewrite -[in RHS](cat_take_drop j xs) !catrevE rev_cat catA.
Qed.

Lemma running_split c xs (v := word_prob q c xs * running p q 1 c xs) :
  (forall j, (j <= size xs)%N -> v <= split_prob j c xs) /\ exists2 j, (j <= size xs)%N & split_prob j c xs = v.
Proof.
rewrite {}/v; elim/last_ind: xs => [|xs y [low [k ks met]]].
  have e j : split_prob j c [::] = word_prob q c [::] * running p q 1 c [::] by [].
  by split=> [j _|]; [rewrite e lexx | exists 0%N].
have w0 : 0 <= running p q 1 c xs by apply: (running_ge0 dp dq); exact: ler01.
have p0 := dist_ge0 (dp (catrev xs c)) y.
have -> : word_prob q c (rcons xs y) * running p q 1 c (rcons xs y) =
    Num.min (word_prob q c xs * running p q 1 c xs * p (catrev xs c) y) (word_prob q c (rcons xs y)).
  rewrite running_rcons !word_prob_rcons -mulrA (next_wE dp dq) // minr_pmulr ?mulrA //.
  exact: (word_prob_ge0 dq).
have all_drafted : split_prob (size xs).+1 c (rcons xs y) = word_prob q c (rcons xs y).
  by rewrite /split_prob take_oversize ?drop_oversize ?size_rcons // mulr1.
split=> [j|].
  rewrite size_rcons leq_eqVlt => /orP[/eqP ->|le]; first by rewrite all_drafted le_minl lexx orbT.
  by rewrite split_rcons // le_minl ler_wpmul2r // low.
rewrite size_rcons; case: (leP (_ * p (catrev xs c) y) (word_prob q c (rcons xs y))).
  by exists k; [exact: leqW | rewrite split_rcons // met].
by exists (size xs).+1.
Qed.

Lemma drafted_running c xs : word_prob q c xs * running p q 1 c xs = least_split c xs.
Proof.
have [low [k ks met]] := running_split c xs.
apply/esym; apply: (bigmin_met (j := Ordinal (ks : k < (size xs).+1)%N)) => //.
  by move=> i; apply: low; rewrite -ltnS.
by have := low 0%N isT; rewrite /split_prob take0 drop0 mul1r.
Qed.

Theorem block_keeps i g c : (i <= g)%N ->
  E (block p q g c) (fun ys => ((i < size ys)%N)%:R) = \sum_(x : i.-tuple T) least_split c x.
Proof.
case: i => [_|i ig].
  rewrite (sum_none (least_split c)) -drafted_running /= mulr1.
  transitivity (E (block p q g c) (fun=> 1)); last exact: (E_const 1 (block_wf dp dq g c)).
  by apply: (E_outputs (block_nonempty p q g c)) => ys ->.
under E_ext do rewrite (kept_any i.+1 c).
rewrite (block_survival dp dq) // ar_sum; apply: eq_bigr => x _.
by rewrite /continued /= mulr1 drafted_running.
Qed.

Lemma block_size g c : outputs (fun ys => 0 < size ys <= g.+1)%N (block p q g c).
Proof.
apply: (outputs_bind (ar_size q g c)) => ds <-.
apply: (@outputs_bind _ _ _ _ (fun o => if o is Some ys then 0 < size ys <= (size ds).+1 else true)%N).
  elim: ds 1 c => [|d ds IH] w {}c //=.
  by apply: (outputs_bind (IH _ _)) => -[ys|] //= /andP[].
by case.
Qed.

Theorem block_drafts g c :
  E (block p q g c) (fun ys => (drafts_kept ys)%:R) = \sum_(i < g) \sum_(x : i.+1.-tuple T) least_split c x.
Proof.
rewrite (mean_drafts (block_size g c)); apply: eq_bigr => i _; rewrite -(block_keeps c (ltn_ord i)).
by apply: E_ext => -[|y ys].
Qed.

End Laws.
