(* The labels of the optimal rule, exchanged in the order of p/q: the winner then has exactly the law w that was wanted. *)
Require Import prelude prob rejection duality iid optimal winner labels span moves.

(* The rule itself, for any law of the number of drafts that looks at no token. *)
Section Optimal.
Variables (R : realFieldType) (T : finType) (p q : T -> R) (rank : T -> nat) (number : prog R T nat).
Hypotheses (dp : is_dist p) (dq : is_dist q) (wn : wf number) (rank_inj : injective rank).
(* tokens stand in an order of p/q, those that are never drafted last *)
Hypothesis by_ratio : forall i j, (rank i <= rank j)%N -> p i * q j <= p j * q i.

(* Pr[all drafts in H] = all_in (q(H)) *)
Definition all_in t := E number (fun k => t ^+ k.+1).

Lemma all_in_convex : convex all_in.
Proof.
move=> t /andP[t0 _]; exists (E number (fun k => k.+1%:R * t ^+ k)); split=> [|x /andP[x0 _]].
  by apply: E_ge0 => // k; rewrite mulr_ge0 ?ler0n ?exprn_ge0.
rewrite mulrC -E_scale -E_add; apply: E_le => // k; rewrite mulrC; exact: tangent.
Qed.

Lemma all_in0 : all_in 0 = 0.
Proof. by rewrite -[RHS](E_const 0 wn); apply: E_ext => k; rewrite expr0n. Qed.

Lemma all_in1 : all_in 1 = 1.
Proof. by rewrite -[RHS](E_const 1 wn); apply: E_ext => k; rewrite expr1n. Qed.

Variables (l c d : R).
Hypothesis l_max : forall H, all_in (weight q H) - weight p H <= l.
Hypotheses (c0 : 0 <= c) (cd : c <= d) (fc : fill p q c = l) (cutd : cut p q d = l).
Notation w := (clipped p q c d).
Notation z := (mean_slope q rank number).
Notation labels := (move rank q z w).

Lemma mean_slopeE i : q i * z i = all_in (up_to q rank i) - all_in (before q rank i).
Proof.
rewrite /mean_slope -E_scale /all_in -[X in _ = _ - X]mul1r -mulNr -E_scale -E_add; apply: E_ext => k.
by rewrite slopeE // mulN1r.
Qed.

Lemma clipped0 i : q i = 0 -> w i = 0.
Proof. by move=> e; rewrite /clipped e !mulr0 (min_idPr (dist_ge0 dp i)) maxxx. Qed.

Lemma clipped_order i j : (rank i <= rank j)%N -> w i * q j <= w j * q i.
Proof.
move=> ij; have qi := dist_ge0 dq i; have qj := dist_ge0 dq j.
rewrite /clipped !maxr_pmull // !minr_pmull // -!mulrA [q j * q i]mulrC.
by rewrite le_maxl le_maxr lexx /= le_maxr le_minr !le_minl by_ratio // lexx !orbT.
Qed.

Lemma clipped_ahead i : up_to (fun j => q j * z j) rank i <= up_to w rank i.
Proof.
have -> : up_to (fun j => q j * z j) rank i = all_in (up_to q rank i).
  by rewrite {1}/up_to (eq_bigr _ (fun j _ => mean_slopeE j)) (up_to_sum rank_inj q all_in) all_in0 subr0.
have set_sum (b : T -> R) : weight b [set j | (rank j <= rank i)%N] = up_to b rank i.
  by apply: eq_bigl => j; rewrite inE.
rewrite -!set_sum; exact: (clipped_feasible dp dq all_in_convex all_in0 all_in1 l_max c0 cd fc cutd).
Qed.

Lemma clipped_total : \sum_i w i = \sum_i q i * z i.
Proof.
rewrite (eq_bigr _ (fun j _ => mean_slopeE j)) (all_ranks rank_inj q all_in) (dist_sum dq).
by rewrite all_in0 all_in1 subr0 (dist_sum (clipped_dist dp dq c0 cd fc cutd)).
Qed.

Let w0 i : 0 <= w i := dist_ge0 (clipped_dist dp dq c0 cd fc cutd) i.
Let q0 i : 0 <= q i := dist_ge0 dq i.

(* drafts with these labels: the highest label's draft has exactly the law w *)
Theorem spans_select x0 : selects (races q labels rank number) (token x0) w.
Proof.
move=> f; have q_law := move_labels rank_inj q0 w0 clipped0 clipped_order clipped_ahead clipped_total.
rewrite (labels_select rank q_law number x0); apply: eq_bigr => i _; congr (_ * _).
exact: (move_mean rank_inj q0 w0 clipped0 clipped_order clipped_ahead clipped_total).
Qed.

Theorem spans_labels i : is_dist (labels i).
Proof. exact: (move_dist rank_inj q0 w0 clipped0 clipped_order clipped_ahead clipped_total). Qed.

Theorem spans_lossless x0 f :
  E (winner (races q labels rank number) (token x0) p w) (fun o => f o.2.2) = \sum_x p x * f x.
Proof.
by apply: winner_lossless => //; [exact: (clipped_dist dp dq c0 cd fc cutd) | exact: spans_select].
Qed.

(* it keeps its winner with the probability that no lossless rule exceeds (weak_duality') *)
Theorem spans_acceptance x0 :
  E (winner (races q labels rank number) (token x0) p w) (fun o => (o.2.1)%:R) = 1 - l.
Proof.
rewrite winner_acceptance //; [exact: clipped_acceptance|exact: (clipped_dist dp dq c0 cd fc cutd)|].
exact: spans_select.
Qed.

End Optimal.
