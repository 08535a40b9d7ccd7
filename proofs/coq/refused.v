(* A refused winner of the optimal rule is never replaced by a draft: the token is among the drafts if and only if
   the winner was kept (5 of T08). *)
Require Import prelude prob rejection coupling duality iid optimal winner labels span moves spans reached.

(* ---- no label crosses a place where the first tokens get all that they want ---- *)
Section Tight.
Variables (R : realFieldType) (T : finType) (rank : T -> nat) (q z w : T -> R) (n : nat).
Hypothesis rank_inj : injective rank.
Hypothesis ahead : forall i, up_to (fun j => q j * z j) rank i <= up_to w rank i.
Hypothesis tight : \sum_(i | (rank i < n)%N) w i = \sum_(i | (rank i < n)%N) q i * z i.

Lemma meet_tight i j : meet rank q z w i j != 0 -> (rank i < n)%N = (rank j < n)%N.
Proof.
move=> m; have ij := meet_before rank_inj ahead m; case: (ltnP (rank j) n) => jn; first exact: ltn_trans ij jn.
apply/negP => i_n; case/eqP: m.
have same : \sum_(i | (rank i < n)%N) gain q z w i = \sum_(i | (rank i < n)%N) pay q z w i.
  apply/eqP; rewrite -subr_eq0 -sumrB (eq_bigr (fun i => w i - q i * z i)) => [|l _]; last exact: gain_pay.
  by rewrite sumrB tight subrr.
have part (b : T -> R) (P Q : pred T) : (forall l, 0 <= b l) -> (forall l, P l -> Q l) ->
    \sum_(l | P l) b l <= \sum_(l | Q l) b l.
  move=> b0 PQ; rewrite [X in X <= _]big_mkcond [X in _ <= X]big_mkcond; apply: ler_sum => l _.
  by case: (boolP (P l)) => [/PQ ->|_] //; case: ifP.
have g0 l : 0 <= gain q z w l := pos_ge0 _; have p0 l : 0 <= pay q z w l := pos_ge0 _.
have le : up_to (gain q z w) rank i <= before (pay q z w) rank j.
  apply: (@le_trans _ _ (\sum_(l | (rank l < n)%N) gain q z w l)).
    by apply: part => // l li; exact: leq_ltn_trans li i_n.
  by rewrite same; apply: part => // l ln; exact: leq_trans ln jn.
rewrite /meet /shared !span_above ?subrr ?before_le //.
exact: le_trans le (before_le rank_inj _ p0).
Qed.

Lemma move_tight i l : move rank q z w i l != 0 -> (rank i < n)%N = (rank l < n)%N.
Proof.
have [-> //|li] := eqVneq l i; rewrite /move (negbTE li) /moved mulf_eq0 negb_or => /andP[m _].
have [e|m'] := eqVneq (meet rank q z w i l) 0; last exact: meet_tight.
by rewrite e add0r in m; rewrite (meet_tight m).
Qed.
End Tight.

(* ---- the rule ---- *)
Section Hit.
Variables (R : realFieldType) (T : finType) (p q : T -> R) (rank : T -> nat) (number : prog R T nat).
Hypotheses (dp : is_dist p) (dq : is_dist q) (wn : wf number) (rank_inj : injective rank).
Hypothesis by_ratio : forall i j, (rank i <= rank j)%N -> p i * q j <= p j * q i.
Notation G := (all_in number).
Variables (l c d : R).
Hypothesis l_max : forall H, G (weight q H) - weight p H <= l.
Hypothesis l_met : exists H, G (weight q H) - weight p H = l.
Hypotheses (c0 : 0 <= c) (cd : c <= d) (fc : fill p q c = l) (cutd : cut p q d = l).
Notation w := (clipped p q c d).
Notation move := (move rank q (mean_slope q rank number) w).
Let dw : is_dist w := clipped_dist dp dq c0 cd fc cutd.
Let ahead := clipped_ahead dp dq wn rank_inj l_max c0 cd fc cutd.

Definition foremost n := [set i | (rank i < n)%N].

(* the optimum is attained at a prefix *)
Lemma prefix_met : exists n, G (weight q (foremost n)) - weight p (foremost n) = l.
Proof.
have [H met] := l_met; have [mu [mu0 le]] := prefix_optimal dq (all_in_convex wn) p H.
pose n := (\max_(i in below q p mu) (rank i).+1)%N; exists n.
have same i : (i \in foremost n) && (i \notin below q p mu) -> p i = 0 /\ q i = 0.
  rewrite !inE -leNgt => /andP[i_n mi].
  have [j jb ij] : exists2 j, j \in below q p mu & (rank i <= rank j)%N.
    have [/existsP[j /andP[jb ij]]|] := boolP [exists j in below q p mu, (rank i <= rank j)%N]; first by exists j.
    rewrite negb_exists => /forallP none; exfalso; move: i_n; rewrite ltnNge => /negP; apply.
    by apply/bigmax_leqP => j jb; have := none j; rewrite jb /= -ltnNge.
  move: jb; rewrite inE => jb; have r := by_ratio ij.
  have qj : 0 < q j.
    rewrite lt_neqAle eq_sym (dist_ge0 dq) andbT; apply/eqP => e.
    by move: jb; rewrite e mulr0 ltNge (dist_ge0 dp).
  have qi : q i = 0.
    apply/eqP; apply: contraT => qi; have qi0 : 0 < q i by rewrite lt_neqAle eq_sym qi (dist_ge0 dq).
    have : p i * q j < mu * q i * q j.
      by apply: le_lt_trans r _; rewrite mulrAC ltr_pmul2r.
    by rewrite ltr_pmul2r // ltNge mi.
  split=> //; apply/le_anti; rewrite (dist_ge0 dp) andbT.
  by move: r; rewrite qi mulr0 pmulr_lle0.
have sub : below q p mu \subset foremost n.
  by apply/subsetP => j jb; rewrite inE; apply: (@leq_bigmax_cond _ _ (fun j => (rank j).+1) j jb).
have w_eq (b : T -> R) : (forall i, (i \in foremost n) && (i \notin below q p mu) -> b i = 0) ->
    weight b (foremost n) = weight b (below q p mu).
  move=> b0; rewrite /weight (big_setID (below q p mu)) /= (setIidPr sub) [X in _ + X]big1 ?addr0 // => i.
  by rewrite inE andbC => /b0.
apply/le_anti; rewrite l_max /= !w_eq; try by move=> i /same[].
by rewrite -met -[X in X <= _]opprB -[X in _ <= X]opprB ler_opp2.
Qed.

Lemma sum_over : \sum_i excess w p i = l.
Proof.
rewrite sum_excess (dist_sum dw); have -> : overlap w p = overlap p w.
  by apply: eq_bigr => i _; rewrite minC.
by rewrite (clipped_acceptance dp dq cd cutd) opprB addrC subrK.
Qed.

Lemma tight : exists n, [/\ \sum_(i | (rank i < n)%N) w i = \sum_(i | (rank i < n)%N) q i * mean_slope q rank number i,
  forall i, p i < w i -> (rank i < n)%N & forall i, (rank i < n)%N -> p i <= w i].
Proof.
have [n met] := prefix_met; exists n.
have feas := clipped_feasible dp dq (all_in_convex wn) (all_in0 wn) (all_in1 wn) l_max c0 cd fc cutd (foremost n).
have set_sum (b : T -> R) : weight b (foremost n) = \sum_(i | (rank i < n)%N) b i.
  by apply: eq_bigl => i; rewrite inE.
have Gw : \sum_(i | (rank i < n)%N) q i * mean_slope q rank number i = G (weight q (foremost n)).
  rewrite (eq_bigr _ (fun i _ => mean_slopeE q number rank_inj i)) (telescope rank_inj q (all_in number)).
  by rewrite set_sum (all_in0 wn) subr0.
have diff : \sum_(i | (rank i < n)%N) (w i - p i) =
    \sum_(i | (rank i < n)%N) excess w p i - \sum_(i | (rank i < n)%N) excess p w i.
  by rewrite -sumrB; apply: eq_bigr => i _; rewrite !excessE [Num.min (p i) (w i)]minC; move: (w i) (Num.min _ _) => x m; ring.
have e0 i : 0 <= excess w p i by exact: excess_ge0.
have f0 i : 0 <= excess p w i by exact: excess_ge0.
have all_over : \sum_(i | (rank i < n)%N) excess w p i + \sum_(i | ~~ (rank i < n)%N) excess w p i = l.
  by rewrite -sum_over [RHS](bigID (fun i => (rank i < n)%N)).
have in0 : 0 <= \sum_(i | (rank i < n)%N) excess p w i by exact: sumr_ge0.
have out0 : 0 <= \sum_(i | ~~ (rank i < n)%N) excess w p i by exact: sumr_ge0.
rewrite !set_sum in feas met; rewrite set_sum in Gw.
move: diff; rewrite sumrB.
set W := \sum_(i | _) w i in feas *; set P := \sum_(i | _) p i in met *.
set a := \sum_(i | (rank i < n)%N) excess w p i in all_over *.
set b := \sum_(i | ~~ _) excess w p i in all_over out0 *.
set e := \sum_(i | (rank i < n)%N) excess p w i in in0 *.
set g := G _ in feas met Gw * => diff.
have le : l <= W - P by rewrite -met ler_add2r.
have be : b + e <= 0.
  by rewrite -ler_subr_addr sub0r -(ler_add2l a) all_over -diff.
have b0 : b = 0 by apply/le_anti; rewrite out0 andbT; apply: le_trans be; rewrite ler_addl.
have e00 : e = 0 by apply/le_anti; rewrite in0 andbT; apply: le_trans be; rewrite ler_addr.
have zero (P' : pred T) (h : T -> R) i : (forall i, 0 <= h i) -> \sum_(i | P' i) h i = 0 -> P' i -> h i = 0.
  move=> h0 /eqP; rewrite psumr_eq0 // => /allP/(_ i); rewrite mem_index_enum => /(_ isT)/implyP z /z.
  by move/eqP.
split.
- rewrite Gw; have -> : g = l + P by rewrite -met subrK.
  by rewrite -all_over b0 addr0 -[a]subr0 -e00 -diff subrK.
- move=> i lt; apply: contraTT lt => ni; rewrite -leNgt.
  have := zero _ _ i e0 b0 ni; rewrite excessE => /eqP; rewrite subr_eq0 => /eqP ->.
  by rewrite le_minl lexx orbT.
move=> i ni; have := zero _ _ i f0 e00 ni; rewrite excessE => /eqP; rewrite subr_eq0 => /eqP ->.
by rewrite le_minl lexx orbT.
Qed.

(* all drafts with their labels; the winner is the first draft of the last label *)
Definition all_drafts := bind number (fun k => labelled q move k.+1).
Definition winning x0 (s : seq (T * T)) := token x0 (best rank None s).
Definition labels_rule x0 : prog R T (seq (T * T) * (bool * T)) := winner all_drafts (winning x0) p w.
Definition is_draft (o : seq (T * T) * (bool * T)) := o.2.2 \in [seq o'.2 | o' <- o.1].

Lemma drafts_select x0 : selects all_drafts (winning x0) w.
Proof.
move=> f; rewrite -(spans_select dp dq wn rank_inj by_ratio l_max c0 cd fc cutd x0) !E_bind.
by apply: E_ext => k; rewrite race_labelled.
Qed.

Lemma drafts_possible : reached (fun s => possible q move s /\ (0 < size s)%N) all_drafts.
Proof.
apply: (reached_bind (P := fun=> True)) => [|k _]; first exact: reached_true.
have := labelled_possible q move k.+1.
elim: (labelled q move k.+1) => [s [ps ss]|r m IH fm x rx|b m1 IH1 m2 IH2 [f1 f2]] /=.
- by rewrite ps ss.
- by apply: IH; exact: fm.
by split=> b0; [apply: IH1; exact: f1|apply: IH2; exact: f2].
Qed.

Lemma winning_draft x0 s : (0 < size s)%N -> exists o,
  [/\ o \in s, winning x0 s = o.2 & all (fun o' => rank o'.1 <= rank o.1)%N s].
Proof.
have := best_last rank s None; rewrite /winning.
by case: (best rank None s) => [o [[//|os] al _] _|[-> //]]; exists o.
Qed.

(* where the winner was refused nothing that can be emitted was drafted *)
Lemma refused_apart x0 s y : 0 < l -> possible q move s -> (0 < size s)%N ->
  accept_prob p w (winning x0 s) != 1 -> residual p w y != 0 -> ~~ is_draft (s, (false, y)).
Proof.
move=> l0 ps s0 acc res; have [n [tight filled uncut]] := tight.
have [o [os wo al]] := winning_draft x0 s0; have /allP poss := ps.
have c_gt0 : 0 < c.
  rewrite lt_neqAle c0 andbT; apply/eqP => e; move: l0; rewrite -fc /fill -e big1 ?ltxx // => x _.
  by rewrite excessE mul0r (min_idPl (dist_ge0 dp x)) subrr.
have cross := move_tight rank_inj ahead tight.
have [qo mo] := andP (poss o os); have on : (rank o.2 < n)%N.
  apply: filled; rewrite ltNge; apply: contra acc => le.
  have wpos : 0 < w o.2.
    apply: lt_le_trans (_ : c * q o.2 <= _); last by rewrite /clipped le_maxr lexx.
    by rewrite mulr_gt0 // lt_neqAle eq_sym qo (dist_ge0 dq).
  by rewrite /accept_prob wo; apply/eqP/min_idPl; rewrite ler_pdivl_mulr // mul1r.
have ny : ~~ (rank y < n)%N.
  apply: contra res => /uncut le; rewrite /residual sum_excess (dist_sum dp) (clipped_acceptance dp dq cd cutd).
  by rewrite opprB addrC subrK (gt_eqF l0) excessE (min_idPl le) subrr mul0r.
apply/mapP => -[o' o's e]; case/negP: ny; rewrite [y]e.
have /andP[_ mo'] := poss o' o's; rewrite (cross _ _ mo').
apply: leq_ltn_trans (allP al o' o's) _.
by rewrite -(cross _ _ mo).
Qed.

Lemma drafts_wf : wf all_drafts.
Proof.
apply: wf_bind => // k; elim: k.+1 => //= n IH; split=> // i.
split=> [|j]; last exact: wf_bind.
exact: (spans_labels dp dq wn rank_inj by_ratio l_max c0 cd fc cutd).
Qed.

Lemma labels_rule_wf x0 : wf (labels_rule x0).
Proof.
apply: wf_bind => [|s]; first exact: drafts_wf.
split=> //; first by apply: accept_prob01; [exact: dist_ge0 | exact: (dist_ge0 dw)].
by split=> //; exact: residual_dist.
Qed.

Lemma labels_rule_kept x0 : E (labels_rule x0) (fun o => (o.2.1)%:R) = 1 - l.
Proof. by rewrite (winner_acceptance dp dw (drafts_select x0)) (clipped_acceptance dp dq cd cutd). Qed.

(* 5 of T08: it is a draft if and only if the winner was kept *)
Theorem draft_iff_kept x0 : E (labels_rule x0) (fun o => (is_draft o != o.2.1)%:R) = 0.
Proof.
have kept s : (0 < size s)%N -> is_draft (s, (true, winning x0 s)).
  by move=> s0; have [o [os wo _]] := winning_draft x0 s0; rewrite /is_draft /= wo; apply/mapP; exists o.
pose acc s := accept_prob p w (winning x0 s).
have acc1 s : acc s <= 1 by rewrite /acc /accept_prob le_minl lexx.
have [l0|l0] := eqVneq l 0; last first.
  have lpos : 0 < l by rewrite lt_neqAle eq_sym l0 -sum_over sumr_ge0 // => i _; exact: excess_ge0.
  rewrite E_bind -[RHS](mul0r (E all_drafts (fun=> 0))) -E_scale.
  apply: (E_reached drafts_possible) => s [ps s0]; rewrite mul0r /= kept //= mulr0 add0r -/(acc s).
  have [->|ne] := eqVneq (acc s) 1; first by rewrite subrr mul0r.
  rewrite big1 ?mulr0 // => y _; have [->|res] := eqVneq (residual p w y) 0; first by rewrite mul0r.
  by rewrite (negbTE (refused_apart lpos ps s0 ne res)) mulr0.
(* a winner is never refused *)
apply/le_anti; rewrite (E_ge0 (labels_rule_wf x0)) ?andbT => [|o]; last exact: ler0n.
have <- : 1 - E (labels_rule x0) (fun o => (o.2.1)%:R) = 0 by rewrite labels_rule_kept l0 subr0 subrr.
rewrite -[X in _ <= X - _](E_const 1 (labels_rule_wf x0)) -mulN1r -E_scale -E_add E_bind [X in _ <= X]E_bind.
rewrite (E_reached drafts_possible (g := fun s => (1 - acc s) * \sum_y residual p w y * (is_draft (s, (false, y)))%:R)).
  apply: E_le => [|s]; first exact: drafts_wf.
  rewrite /= -/(acc s) mulN1r subrr mulr0 add0r; apply: ler_wpmul2l; first by rewrite subr_ge0.
  apply: ler_sum => y _; apply: ler_wpmul2l; first exact: (dist_ge0 (residual_dist w dp)).
  by rewrite mulr0 addr0 lern1 leq_b1.
move=> s [_ s0]; rewrite /= kept //= mulr0 add0r -/(acc s); congr (_ * _).
by apply: eq_bigr => y _; case: (is_draft _).
Qed.

(* so it is a draft with the probability that no lossless rule exceeds *)
Corollary spans_hit x0 : E (labels_rule x0) (fun o => (is_draft o)%:R) = 1 - l.
Proof.
rewrite -(labels_rule_kept x0); apply/le_anti/andP; split.
  rewrite -[X in _ <= X]addr0 -(draft_iff_kept x0) -E_add; apply: E_le => [|o]; first exact: labels_rule_wf.
  by rewrite -natrD ler_nat; case: (is_draft o); case: (o.2.1).
rewrite -[X in _ <= X]addr0 -(draft_iff_kept x0) -E_add; apply: E_le => [|o]; first exact: labels_rule_wf.
by rewrite -natrD ler_nat; case: (is_draft o); case: (o.2.1).
Qed.

(* and lossless, as spans_lossless *)
Corollary labels_rule_lossless x0 f : E (labels_rule x0) (fun o => f o.2.2) = \sum_x p x * f x.
Proof. by apply: winner_lossless => //; exact: drafts_select. Qed.

End Hit.
