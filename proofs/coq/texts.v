(* Sums over the texts of n tokens: by their first token, by their last, and as what a model writes. *)
Require Import prelude prob rejection recursive loop words.

Section Texts.
Variables (R : realFieldType) (T : finType).
Implicit Types F : seq T -> R.

Lemma sum_head n F : \sum_(x : n.+1.-tuple T) F x = \sum_y \sum_(x : n.-tuple T) F (y :: x).
Proof.
rewrite pair_big /= (reindex (fun o : T * n.-tuple T => cons_tuple o.1 o.2)) //=.
exists (fun x : n.+1.-tuple T => (thead x, behead_tuple x)) => [[y x] _ | x _] /=.
  by congr pair; apply: val_inj.
by rewrite [RHS]tuple_eta; apply: val_inj.
Qed.

Lemma sum_tail n F : \sum_(x : n.+1.-tuple T) F x = \sum_(x : n.-tuple T) \sum_y F (rcons x y).
Proof.
elim: n F => [|n IH] F.
  rewrite sum_head exchange_big /=; apply: eq_bigr => x _; apply: eq_bigr => y _.
  by rewrite tuple0.
rewrite sum_head; under eq_bigr => y _ do rewrite (IH (fun s => F (y :: s))).
by rewrite (sum_head _ (fun s => \sum_y F (rcons s y))).
Qed.

Lemma sum_none F : \sum_(x : 0.-tuple T) F x = F [::].
Proof. by rewrite (bigD1 [tuple]) //= big1 ?addr0 // => x; rewrite tuple0. Qed.

Variable p : seq T -> T -> R.

Lemma ar_sum n c F : E (ar p n c) F = \sum_(x : n.-tuple T) word_prob p c x * F x.
Proof.
elim: n c F => [|n IH] c F; first by rewrite (sum_none (fun s => word_prob p c s * F s)) /= mul1r.
rewrite ar_S (sum_head _ (fun s => word_prob p c s * F s)); apply: eq_bigr => y _.
by rewrite IH mulr_sumr; apply: eq_bigr => x _; rewrite /= mulrA.
Qed.

Lemma texts_dist n c : is_model p -> is_dist (fun x : n.-tuple T => word_prob p c x).
Proof.
move=> dp; split=> [x|]; first exact: word_prob_ge0.
rewrite -[RHS](E_const 1 (ar_wf n c dp)) ar_sum; by apply: eq_bigr => x _; rewrite mulr1.
Qed.

End Texts.
