(* T03: a random number of drafts has a convex G (3); in the shortest prefix that attains the optimum no ratio p/q reaches
   the slope of G (4). *)
Require Import prelude prob rejection coupling duality iid.

Section Mixture.
Variables (R : realFieldType) (T : finType) (q : T -> R) (n : nat) (a : 'I_n -> R).
Hypotheses (dq : is_dist q) (da : is_dist a).

(* i + 1 drafts with probability a i, drawn apart from them *)
Definition mixture (t : R) := \sum_i a i * t ^+ i.+1.

Theorem convex_mixture : convex mixture.
Proof.
move=> t /andP[t0 _]; exists (\sum_i a i * (i.+1%:R * t ^+ i)); split=> [|x /andP[x0 _]].
  by apply: sumr_ge0 => i _; rewrite !mulr_ge0 ?(dist_ge0 da) ?ler0n ?exprn_ge0.
rewrite mulr_suml -big_split /=; apply: ler_sum => i _.
by rewrite -mulrA -mulrDr; apply: ler_wpmul2l; [exact: dist_ge0 | exact: tangent].
Qed.

Definition mixed (d : {i : 'I_n & {ffun 'I_i.+1 -> T}}) : R := a (tag d) * iid q (tagged d).
Definition mixed_drawn (y : T) (d : {i : 'I_n & {ffun 'I_i.+1 -> T}}) := drawn y (tagged d).

Lemma mixed_dist : is_dist mixed.
Proof.
split=> [d|]; first by rewrite mulr_ge0 ?(dist_ge0 da) ?(dist_ge0 (iid_dist _ dq)).
rewrite -(sig_big_dep (fun=> true) (fun _ _ => true) (fun i d => a i * iid q d)) /= -[RHS](dist_sum da).
by apply: eq_bigr => i _; rewrite -mulr_sumr (dist_sum (iid_dist _ dq)) mulr1.
Qed.

Theorem mixed_inside H : inside (tokens mixed_drawn) mixed H = mixture (weight q H).
Proof.
pose Q i (d : {ffun 'I_i.+1 -> T}) := tokens (drawn (k := i.+1)) d \subset H.
transitivity (\sum_(d : {i : 'I_n & {ffun 'I_i.+1 -> T}} | Q (tag d) (tagged d)) mixed d) => //.
rewrite -(sig_big_dep (fun=> true) (fun i d => Q (val i) d) (fun i d => a i * iid q d)) /=.
by apply: eq_bigr => i _; rewrite -mulr_sumr -iid_inside.
Qed.

End Mixture.

Section Shortest.
Variables (R : realFieldType) (T : finType) (p q : T -> R) (G : R -> R).
Hypotheses (dp : is_dist p) (dq : is_dist q).

(* a token that is never drafted only adds to p(H) *)
Theorem idle_token H x : q x = 0 -> value q G p (H :\ x) <= value q G p H.
Proof.
move=> qx; have [xH|xH] := boolP (x \in H); last first.
  by rewrite (_ : H :\ x = H) //; apply/setDidPl; rewrite disjoint_sym disjoints1.
rewrite /value /weight [X in _ <= X - _](big_setD1 x xH) /= [X in _ <= _ - G X](big_setD1 x xH) /= qx add0r.
by rewrite ler_add2r ler_addr (dist_ge0 dp).
Qed.

(* tokens with q > 0 in order of p/q *)
Variable s : seq T.
Hypotheses (once : uniq s) (ordered : pairwise (fun x y => p x * q y <= p y * q x) s) (pos : all (fun x => 0 < q x) s).
Definition first_tokens m : {set T} := [set x in take m s].

Theorem shortest_prefix m mu : (m <= size s)%N ->
  (forall i, (i < m)%N -> value q G p (first_tokens m) < value q G p (first_tokens i)) ->
  (forall x, 0 <= x <= 1 -> G (weight q (first_tokens m)) + mu * (x - weight q (first_tokens m)) <= G x) ->
  forall x, x \in first_tokens m -> p x < mu * q x.
Proof.
case: m => [|m] ms short line x; first by rewrite inE take0.
have l0 : T by exact: x.
pose l := nth l0 s m; pose A := first_tokens m.
have tE : take m.+1 s = rcons (take m s) l by rewrite (take_nth l0).
have lA : l \notin A.
  by rewrite inE; have := take_uniq m.+1 once; rewrite tE rcons_uniq => /andP[].
have AE : first_tokens m.+1 = l |: A.
  by apply/setP => y; rewrite !inE tE mem_rcons in_cons.
have ql : 0 < q l by apply: (allP pos); rewrite mem_nth.
have pl : p l < mu * q l.
  have := short m (ltnSn m); have := line _ (weight01 dq A).
  rewrite AE /value /weight !big_setU1 //=; set P := \sum_(i in A) p i; set Q := \sum_(i in A) q i => le lt.
  have : p l < G (q l + Q) - G Q.
    by rewrite ltr_subr_addr -subr_gt0; rewrite -subr_gt0 in lt; apply: lt_le_trans lt _; rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
  move/lt_le_trans; apply; rewrite ler_subl_addr -ler_subl_addl.
  apply: le_trans le; rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
rewrite AE !inE => /orP[/eqP -> //|xA].
have xs : x \in s by apply: mem_take xA.
have qx : 0 < q x := allP pos x xs.
have o : p x * q l <= p l * q x.
  have := ordered; rewrite -(cat_take_drop m.+1 s) tE pairwise_cat => /and3P[_ + _].
  by rewrite pairwise_rcons => /andP[/allP/(_ x xA)].
rewrite -(ltr_pmul2r ql); apply: le_lt_trans o _.
by rewrite mulrAC ltr_pmul2r.
Qed.

End Shortest.

(* K i.i.d. drafts: ratios of K or more never occur *)
Theorem shortest_prefix_iid (R : realFieldType) (T : finType) (p q : T -> R) k (s : seq T) m :
  is_dist p -> is_dist q -> uniq s -> pairwise (fun x y => p x * q y <= p y * q x) s -> all (fun x => 0 < q x) s ->
  (m <= size s)%N ->
  (forall i, (i < m)%N -> value q (fun t => t ^+ k.+1) p (first_tokens s m) < value q (fun t => t ^+ k.+1) p (first_tokens s i)) ->
  forall x, x \in first_tokens s m ->
    p x < k.+1%:R * weight q (first_tokens s m) ^+ k * q x /\ p x < k.+1%:R * q x.
Proof.
move=> dp dq once ordered pos ms short x xm; have /andP[w0 w1] := weight01 dq (first_tokens s m).
have lt : p x < k.+1%:R * weight q (first_tokens s m) ^+ k * q x.
  apply: (shortest_prefix dq once ordered pos ms short) xm => y /andP[y0 _].
  exact: tangent.
split=> //; apply: lt_le_trans lt _; apply: ler_wpmul2r; first exact: dist_ge0.
by rewrite ler_pimulr ?ler0n // exprn_ile1.
Qed.
