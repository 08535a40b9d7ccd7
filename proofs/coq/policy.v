(* T25, part 4: drafting on for as long as the next draft alone is worth its time is the best policy where drafts never
   become cheaper and the chance that the next one counts never grows. *)
Require Import prelude prob.

Section Policy.
Variables (R : realFieldType) (T : finType).
(* a history: the signals of the drafts made, the last first; T holds the signals *)
Notation history := (seq T).
(* the law of the next signal; the chance that the last draft is kept if all before it are; the time of a block *)
Variables (next : history -> T -> R) (r : history -> R) (time : nat -> R).
Hypotheses (next_dist : forall h, is_dist (next h)) (r01 : forall h, 0 <= r h <= 1).

Fixpoint all_kept (h : history) : R := if h is _ :: h' then all_kept h' * r h else 1.

(* a policy goes on with a chance that may depend on all signals; at most k drafts are made *)
Fixpoint drafted (pi : history -> R) k h : prog R T history :=
  if k is k'.+1 then Flip (pi h) (Draw (next h) (fun s => drafted pi k' (s :: h))) (Ret h) else Ret h.
(* how many drafts are kept before the first that is not *)
Fixpoint verified (h : history) : prog R T nat :=
  if h is _ :: h' then
    bind (verified h') (fun n => if n == size h' then Flip (r h) (Ret n.+1) (Ret n) else Ret n)
  else Ret 0%N.

Definition block_tokens pi k : R := E (bind (drafted pi k [::]) verified) (fun n => n.+1%:R).
Definition block_time pi k : R := E (drafted pi k [::]) (fun h => time (size h)).

(* ---- the mean number of tokens, signals given ---- *)
Fixpoint mean_tokens (h : history) : R := if h is _ :: h' then mean_tokens h' + all_kept h else 1.

Lemma verified_wf h : wf (verified h).
Proof. by elim: h => //= s h IH; apply: wf_bind => // n; case: ifP. Qed.

Lemma verified_all h : E (verified h) (fun n => (n == size h)%:R) = all_kept h.
Proof.
elim: h => [|s h IH] /=; first by [].
have small : outputs (fun n => n <= size h)%N (verified h).
  elim: (h) => //= t h' IH'; apply: (outputs_bind IH') => n le.
  by case: ifP => [/eqP ->|_] /=; [split=> // | exact: leqW].
rewrite E_bind mulrC -IH -E_scale; apply: (E_outputs small) => n le.
case: eqP => [->|/eqP ne] /=; first by rewrite eqxx ltn_eqF // mulr0 addr0.
by rewrite ltn_eqF ?mulr0.
Qed.

Lemma verified_mean h : E (verified h) (fun n => n.+1%:R) = mean_tokens h.
Proof.
elim: h => [|s h IH] //=; rewrite E_bind -IH -verified_all mulrC -E_scale -E_add.
apply: E_ext => n; case: eqP => [_|_] /=; last by rewrite mulr0 addr0.
rewrite mulr1 [n.+2%:R]mulrS; move: (n.+1%:R : R) (r _) => a b; ring.
Qed.

Variable theta : R.
Definition worth h := mean_tokens h - theta * time (size h).
Definition value pi k h := E (drafted pi k h) worth.

Lemma valueE pi k : value pi k [::] = block_tokens pi k - theta * block_time pi k.
Proof.
rewrite /value /block_tokens /block_time E_bind -mulNr -E_scale -E_add.
by apply: E_ext => h; rewrite verified_mean mulNr.
Qed.

(* the chance that the next draft is kept along with all before it, and the time that it takes *)
Definition gain h := \sum_s next h s * all_kept (s :: h).
Definition toll (h : history) := theta * (time (size h).+1 - time (size h)).
(* draft on iff the next draft alone is worth its time *)
Definition one_step h : R := (toll h < gain h)%R%:R.
Definition is_policy (pi : history -> R) := forall h, 0 <= pi h <= 1.

Lemma one_step_policy : is_policy one_step.
Proof. by move=> h; rewrite /one_step; case: (_ < _); rewrite ?lexx ler01. Qed.

Lemma drafted_wf pi k h : is_policy pi -> wf (drafted pi k h).
Proof. by move=> ok; elim: k h => //= k IH h; split=> //; split. Qed.

(* what a draft more adds *)
Lemma worth_next h : \sum_s next h s * worth (s :: h) = worth h + (gain h - toll h).
Proof.
rewrite /worth /gain /toll /=.
transitivity (\sum_s (next h s * (mean_tokens h - theta * time (size h).+1) + next h s * (all_kept h * r (s :: h)))).
  by apply: eq_bigr => s _; move: (all_kept h * _) => a; ring.
rewrite big_split /= -mulr_suml (dist_sum (next_dist h)) mul1r.
by move: (\sum_s _) => a; ring.
Qed.

Lemma valueS pi k h : value pi k.+1 h = pi h * (\sum_s next h s * value pi k (s :: h)) + (1 - pi h) * worth h.
Proof. by []. Qed.

Hypothesis falls : forall h s, gain (s :: h) - toll (s :: h) <= gain h - toll h.

Lemma mixed (a b : R) : a * b + (1 - a) * b = b.
Proof. by rewrite -mulrDl addrC subrK mul1r. Qed.

(* where one draft more is not worth it, no policy does better than to stop *)
Lemma stop_best pi k h : is_policy pi -> gain h <= toll h -> value pi k h <= worth h.
Proof.
move=> ok; elim: k h => [|k IH] h bad; first by rewrite /value /= lexx.
have /andP[pi0 pi1] := ok h.
rewrite valueS -[X in _ <= X](mixed (pi h)) ler_add2r.
apply: ler_wpmul2l => //; apply: (@le_trans _ _ (\sum_s next h s * worth (s :: h))).
  apply: ler_sum => s _; apply: ler_wpmul2l; first exact: (dist_ge0 (next_dist h)).
  by apply: IH; rewrite -subr_le0; apply: le_trans (falls h s) _; rewrite subr_le0.
by rewrite worth_next ger_addl subr_le0.
Qed.

Lemma stop_ok k h : worth h <= value one_step k h.
Proof.
elim: k h => [|k IH] h; first by rewrite /value /= lexx.
rewrite valueS /one_step; case: ltP => [good|_]; last by rewrite mul0r add0r subr0 mul1r.
rewrite mul1r subrr mul0r addr0; apply: (@le_trans _ _ (\sum_s next h s * worth (s :: h))).
  by rewrite worth_next ler_addl subr_ge0 ltW.
by apply: ler_sum => s _; apply: ler_wpmul2l => //; exact: (dist_ge0 (next_dist h)).
Qed.

Theorem one_step_best pi k h : is_policy pi -> value pi k h <= value one_step k h.
Proof.
move=> ok; elim: k h => [|k IH] h; first by rewrite /value /= lexx.
have /andP[pi0 pi1] := ok h.
case: (ltP (toll h) (gain h)) => [good|bad]; last first.
  apply: le_trans (stop_best _ ok bad) _; exact: stop_ok.
have e : value one_step k.+1 h = \sum_s next h s * value one_step k (s :: h).
  by rewrite valueS /one_step good mul1r subrr mul0r addr0.
have le : \sum_s next h s * value pi k (s :: h) <= value one_step k.+1 h.
  by rewrite e; apply: ler_sum => s _; apply: ler_wpmul2l => //; exact: (dist_ge0 (next_dist h)).
rewrite valueS -[X in _ <= X](mixed (pi h)).
by apply: ler_add; apply: ler_wpmul2l => //; [rewrite subr_ge0 | exact: stop_ok].
Qed.

End Policy.

Section Maximising.
Variables (R : realFieldType) (T : finType).
Variables (next : seq T -> T -> R) (r : seq T -> R) (time : nat -> R) (S : R) (k : nat).
Hypotheses (next_dist : forall h, is_dist (next h)) (r01 : forall h, 0 <= r h <= 1).
Notation tokens pi := (block_tokens next r pi k).
Notation spent pi := (block_time next time pi k).
Notation gain := (gain next r).
Notation rule := (one_step next r time S).

(* 4: S is the best speed, and some policy has it; then the rule has it *)
Theorem one_step_speed :
  0 <= S -> (forall i, time i.+1 - time i <= time i.+2 - time i.+1) -> (forall h s, gain (s :: h) <= gain h) ->
  (forall pi, is_policy pi -> tokens pi <= S * spent pi) ->
  (exists2 pi, is_policy pi & tokens pi = S * spent pi) -> tokens rule = S * spent rule.
Proof.
move=> S0 dear falls best [pi ok e]; apply/eqP; rewrite eq_le best /=; last exact: one_step_policy.
have f h s : gain (s :: h) - toll time S (s :: h) <= gain h - toll time S h.
  by apply: ler_sub => //; apply: ler_wpmul2l => //; exact: dear.
have := one_step_best next_dist f k [::] ok.
by rewrite !valueE e subrr subr_ge0.
Qed.

(* for example where (signal, kept) has the same law at each position, whatever the signals before *)
Theorem same_law_falls (law0 : T -> R) (r0 : T -> R) :
  (forall h, next h =1 law0) -> (forall h s, r (s :: h) = r0 s) -> forall h s, gain (s :: h) <= gain h.
Proof.
move=> nextE rE h s.
have g h' : gain h' = all_kept r h' * \sum_t law0 t * r0 t.
  by rewrite /policy.gain mulr_sumr; apply: eq_bigr => t _; rewrite nextE /= rE mulrCA.
have r00 t : 0 <= r0 t <= 1 by rewrite -(rE [::] t).
have w0 h' : 0 <= all_kept r h'.
  by elim: h' => [|t h' IH] /=; rewrite ?ler01 // rE mulr_ge0 //; case/andP: (r00 t).
rewrite !g; apply: ler_wpmul2r.
  apply: sumr_ge0 => t _; rewrite mulr_ge0 //; last by case/andP: (r00 t).
  by rewrite -(nextE [::]); exact: (dist_ge0 (next_dist [::])).
by rewrite /= rE ler_pimulr //; case/andP: (r00 s).
Qed.

End Maximising.
