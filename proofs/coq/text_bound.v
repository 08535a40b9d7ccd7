(* No verifier of one drafted text, whatever it sees and however it goes on, keeps a prefix more often
   than both laws allow, if the text that it leaves has the law of the target. *)
Require Import prelude prob rejection recursive loop block words tokenwise survival dominance block_optimal.

Section Text.
Variables (R : realFieldType) (T : finType) (p q : seq T -> T -> R).
Hypotheses (dp : is_model p) (dq : is_model q).
Variables (g : nat) (c : seq T).
(* from the drafts: how many are kept, and the tokens after them, as many as it likes *)
Variable V : seq T -> prog R T (nat * seq T).
Hypothesis V_wf : forall ds, wf (V ds).

Definition played : prog R T (seq T * (nat * seq T)) :=
  bind (ar q g c) (fun ds => bind (V ds) (fun o => Ret (ds, o))).
Definition text (o : seq T * (nat * seq T)) := take o.2.1 o.1 ++ o.2.2.
(* the first g tokens have the law of the target *)
Definition text_lossless := forall f, E played (fun o => f (take g (text o))) = E (ar p g c) f.
Definition keeps_text x (o : seq T * (nat * seq T)) := (take (size x) o.1 == x) && (size x <= o.2.1)%N.
Definition kept_text x : R := E played (fun o => (keeps_text x o)%:R).

Lemma played_wf : wf played.
Proof. by apply: wf_bind => [|ds]; [exact: ar_wf | apply: wf_bind]. Qed.

(* the mean number of drafts kept, a sum over texts *)
Lemma length_kept : E played (fun o => (size (take o.2.1 o.1))%:R) =
  \sum_(i < g) \sum_(x : i.+1.-tuple T) kept_text x.
Proof.
transitivity (E played (fun o => \sum_(i < g) \sum_(x : i.+1.-tuple T) (keeps_text x o)%:R)); last first.
  by rewrite E_sum; apply: eq_bigr => i _; rewrite E_sum.
have sized : outputs (fun o => size o.1 = g) played.
  by apply: (outputs_bind (ar_size q g c)) => ds sds; apply: (outputs_bind (P := fun=> True)) => //; exact: outputs_true.
apply: (E_outputs sized) => o so.
have le : (size (take o.2.1 o.1) <= g)%N by rewrite size_take so; case: ltnP => // /ltnW.
rewrite -{1}[size _]card_ord -sum1_card (big_ord_widen g (fun=> 1%N) le) big_mkcond natr_sum.
apply: eq_bigr => i _; have s : size (take i.+1 o.1) == i.+1 by rewrite size_takel // so.
rewrite (bigD1 (Tuple s)) //= big1 ?addr0 => [|x ne]; last first.
  rewrite /keeps_text size_tuple; case: eqP => // e; case/negP: ne.
  by apply/eqP/val_inj; rewrite /= e.
rewrite /keeps_text /= (eqP s) eqxx size_take so; case: (ltnP o.2.1 g) => // ge.
by rewrite ltn_ord (leq_trans (ltn_ord i) ge).
Qed.

Hypothesis lossless : text_lossless.

Lemma keeps_text_text x o : (size x <= g)%N -> keeps_text x o -> take (size x) (take g (text o)) == x.
Proof.
move=> le_x /andP[/eqP e le]; rewrite take_take // /text.
have s : (size x <= size o.1)%N.
  by rewrite -e size_take; case: ltnP => // /ltnW.
rewrite takel_cat ?take_take ?e // size_take; by case: ifP.
Qed.

(* 3 of T18 *)
Theorem kept_text_bound x : (size x <= g)%N -> kept_text x <= Num.min (word_prob p c x) (word_prob q c x).
Proof.
move=> le_x; rewrite le_minr; apply/andP; split.
  rewrite -(ar_prefix dp c le_x) -(lossless (fun s => (take (size x) s == x)%:R)).
  apply: E_le => [|o]; first exact: played_wf.
  by rewrite ler_nat; case k: (keeps_text x o) => //; rewrite (keeps_text_text le_x k).
rewrite -(ar_prefix dq c le_x) /kept_text /played E_bind.
apply: E_le => [|ds]; first exact: ar_wf.
rewrite E_bind -[X in _ <= X](E_const _ (V_wf ds)); apply: E_le => // o.
by rewrite /= /keeps_text /= ler_nat; case: (take _ _ == x); case: (size x <= o.1)%N.
Qed.

(* so the mean number of drafts kept *)
Theorem length_bound :
  E played (fun o => (size (take o.2.1 o.1))%:R) <=
  \sum_(i < g) \sum_(x : i.+1.-tuple T) Num.min (word_prob p c x) (word_prob q c x).
Proof.
rewrite length_kept; apply: ler_sum => i _; apply: ler_sum => x _.
by apply: kept_text_bound; rewrite size_tuple.
Qed.

End Text.
