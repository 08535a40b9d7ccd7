(* The highest label wins: drafts are relabelled one by one, and the earliest draft of the
   label that is last in the order is the winner.  The winner's law is exact. *)
Require Import prelude prob rejection winner.

Section Labels.
Variables (R : realFieldType) (T : finType).
Notation prog := (prog R T).
(* move i: the law of the label of a draft i; rank: the place of a label in the order *)
Variables (q : T -> R) (move : T -> T -> R) (rank : T -> nat).
Hypotheses (dq : is_dist q) (dm : forall i, is_dist (move i)).
Hypothesis labels : forall l, \sum_i q i * move i l = q l.
Hypothesis rank_inj : injective rank.

(* the best (label, draft) so far, if any *)
Definition better (b : option (T * T)) (l : T) := if b is Some o then (rank o.1 < rank l)%N else true.

Fixpoint race k b : prog (option (T * T)) :=
  if k is k'.+1 then
    Draw q (fun i => Draw (move i) (fun l => race k' (if better b l then Some (l, i) else b)))
  else Ret b.

Definition up_to l := \sum_(j | (rank j <= rank l)%N) q j.
Definition before l := \sum_(j | (rank j < rank l)%N) q j.
Definition held (b : option (T * T)) := if b is Some o then up_to o.1 else 0.

(* a label's chance to win k draws, by its mass: (up_to^k - before^k) / q *)
Fixpoint slope k l : R := if k is k'.+1 then slope k' l * before l + up_to l ^+ k' else 0.

Lemma up_toE l : up_to l = before l + q l.
Proof.
rewrite /up_to (bigD1 l) //= addrC; congr (_ + _); apply: eq_bigl => j.
by rewrite ltn_neqAle (inj_eq rank_inj) andbC.
Qed.

Lemma slopeE k l : q l * slope k l = up_to l ^+ k - before l ^+ k.
Proof.
elim: k => [|k IH] /=; first by rewrite mulr0 !expr0 subrr.
rewrite mulrDr mulrA IH !exprS up_toE; move: (before l) (q l) => u v.
by move: ((u + v) ^+ k) (u ^+ k) => x y; ring.
Qed.

(* sum over drafts i and their labels l *)
Definition drafted (F : T -> T -> R) := \sum_l \sum_i q i * move i l * F l i.

Lemma drafted_label (h : T -> R) : drafted (fun l _ => h l) = \sum_l q l * h l.
Proof. by apply: eq_bigr => l _; rewrite -mulr_suml labels. Qed.

Lemma draftedD F H : drafted (fun l i => F l i + H l i) = drafted F + drafted H.
Proof.
rewrite /drafted -big_split; apply: eq_bigr => l _ /=; rewrite -big_split.
by apply: eq_bigr => i _; rewrite mulrDr.
Qed.

Lemma draftedZ a F : drafted (fun l i => a * F l i) = a * drafted F.
Proof.
rewrite /drafted mulr_sumr; apply: eq_bigr => l _; rewrite mulr_sumr.
by apply: eq_bigr => i _; rewrite mulrCA.
Qed.

Lemma drafted_ext F H : (forall l i, F l i = H l i) -> drafted F = drafted H.
Proof. by move=> e; apply: eq_bigr => l _; apply: eq_bigr => i _; rewrite e. Qed.

Definition wins k b (f : option (T * T) -> R) := drafted (fun l i => (better b l)%:R * slope k l * f (Some (l, i))).

Lemma raceS k b f : E (race k.+1 b) f =
  drafted (fun l i => E (race k (if better b l then Some (l, i) else b)) f).
Proof.
rewrite /= /drafted exchange_big; apply: eq_bigr => i _; rewrite mulr_sumr.
by apply: eq_bigr => l _; rewrite mulrA.
Qed.

(* mass of the labels between b and l *)
Lemma between b l : better b l ->
  \sum_j q j * ((better b j)%:R * (rank j < rank l)%:R) = before l - held b.
Proof.
move=> bl; rewrite /before; case: b bl => [[l0 i0]|] /= bl; last first.
  by rewrite subr0 [RHS]big_mkcond; apply: eq_bigr => j _; case: ifP; rewrite mul1r ?mulr1 ?mulr0.
apply/eqP; rewrite eq_sym subr_eq; apply/eqP.
rewrite /up_to [X in _ + X]big_mkcond [LHS]big_mkcond -big_split; apply: eq_bigr => j _ /=.
case: (ltnP (rank l0) (rank j)) => h; first by case: ifP; rewrite mul1r ?mulr1 ?mulr0 addr0.
by rewrite (leq_ltn_trans h bl) mul0r mulr0 add0r.
Qed.

Theorem race_law k b f : E (race k b) f = held b ^+ k * f b + wins k b f.
Proof.
elim: k b => [|k IH] b.
  rewrite /= expr0 mul1r /wins (drafted_ext (H := fun _ _ => 0 * 0)) ?draftedZ ?mul0r ?addr0 //.
  by move=> l i; rewrite !mulr0 !mul0r.
rewrite raceS.
transitivity (drafted (fun l i =>
    (1 - (better b l)%:R) * (held b ^+ k * f b + wins k b f)
    + ((better b l)%:R * (up_to l ^+ k * f (Some (l, i))) + (better b l)%:R * wins k (Some (l, i)) f))).
  apply: drafted_ext => l i; rewrite IH; case: (better b l) => /=; ring.
rewrite !draftedD.
have -> : drafted (fun l _ => (1 - (better b l)%:R) * (held b ^+ k * f b + wins k b f)) =
    held b * (held b ^+ k * f b + wins k b f).
  rewrite (drafted_label (fun l => (1 - (better b l)%:R) * _)).
  under eq_bigr do rewrite mulrA.
  rewrite -mulr_suml; congr (_ * _); case: b => [[l0 i0]|] /=; last first.
    by rewrite big1 // => l _; rewrite subrr mulr0.
  rewrite /up_to [RHS]big_mkcond; apply: eq_bigr => l _.
  by rewrite ltnNge; case: (rank l <= rank l0)%N; rewrite /= ?subr0 ?subrr ?mulr1 ?mulr0.
have -> : drafted (fun l i => (better b l)%:R * wins k (Some (l, i)) f) =
    drafted (fun l i => (better b l)%:R * (before l - held b) * slope k l * f (Some (l, i))).
  rewrite (drafted_label (fun l => (better b l)%:R * wins k (Some (l, l)) f)) /wins /drafted.
  under eq_bigr do rewrite mulrA mulr_sumr.
  rewrite exchange_big; apply: eq_bigr => l _ /=.
  under eq_bigr do rewrite mulr_sumr.
  rewrite exchange_big; apply: eq_bigr => i _ /=.
  case: (boolP (better b l)) => bl; last first.
    rewrite !mul0r mulr0 big1 // => j _; case: (boolP (better b j)) => bj; rewrite ?mulr0 ?mul0r //.
    case: ltnP => h; rewrite ?mul0r ?mulr0 //; case/negP: bl.
    by move: bj; case: (b) => [[l0 i0]|] //= bj; apply: ltn_trans h.
  rewrite -(between bl) mul1r !mulr_suml mulr_sumr; apply: eq_bigr => j _.
  by case: (better b j); case: (rank j < rank l)%N; rewrite /=; ring.
rewrite exprS mulrDr mulrA -addrA; congr (_ + _).
rewrite /wins -draftedZ -!draftedD; apply: drafted_ext => l i /=.
case: (better b l) => /=; ring.
Qed.

(* the winner of K drafts: its token i has weight q i times the mean slope of its labels *)
Corollary race_winner k f : E (race k.+1 None) (fun o => if o is Some (_, i) then f i else 0) =
  \sum_i q i * (\sum_l move i l * slope k.+1 l) * f i.
Proof.
rewrite race_law /held expr0n /= mul0r add0r /wins /drafted exchange_big; apply: eq_bigr => i _ /=.
rewrite mulr_sumr mulr_suml; apply: eq_bigr => l _; ring.
Qed.

Lemma race_wf k b : wf (race k b).
Proof. by elim: k b => //= k IH b; split=> // i; split=> // l. Qed.

Lemma race_some k b : outputs isSome (race k.+1 b).
Proof.
have keep k' o : isSome o -> outputs isSome (race k' o).
  by elim: k' o => //= k' IH o so i l; apply: IH; case: ifP.
by move=> i l; apply: keep; case: b => [[l0 i0]|] //=; case: ifP.
Qed.

Lemma slope_ge0 k l : 0 <= slope k l.
Proof.
have q0 := dist_ge0 dq; elim: k => //= k IH.
by rewrite addr_ge0 ?mulr_ge0 ?exprn_ge0 // sumr_ge0.
Qed.

(* the number of drafts is k + 1, k from any program that knows nothing of them; Ret k for a fixed number *)
Variable number : prog nat.
Hypothesis wn : wf number.
Definition mean_slope l := E number (fun k => slope k.+1 l).
Definition races := bind number (fun k => race k.+1 None).

(* the winner's law, whatever the labels are, and the rule that verifies it alone *)
Definition label_law i := q i * \sum_l move i l * mean_slope l.
Definition token (x0 : T) (o : option (T * T)) := if o is Some li then li.2 else x0.

Theorem labels_select x0 : selects races (token x0) label_law.
Proof.
move=> f; rewrite E_bind.
transitivity (E number (fun k => \sum_i q i * (\sum_l move i l * slope k.+1 l) * f i)).
  apply: E_ext => k; rewrite -[RHS](race_winner k f); apply: (E_outputs (race_some k None)).
  by case=> [[l i]|].
rewrite E_sum; apply: eq_bigr => i _.
under E_ext do rewrite mulrAC.
rewrite E_scale E_sum mulrAC; congr (_ * _ * _); apply: eq_bigr => l _; exact: E_scale.
Qed.

Lemma races_wf : wf races.
Proof. by apply: wf_bind => // k; exact: race_wf. Qed.

Lemma label_law_dist (x0 : T) : is_dist label_law.
Proof.
split=> [i|].
  rewrite mulr_ge0 ?(dist_ge0 dq) // sumr_ge0 // => l _.
  by rewrite mulr_ge0 ?(dist_ge0 (dm i)) // E_ge0 // => k; exact: slope_ge0.
rewrite -(E_const 1 races_wf) (labels_select x0 (fun=> 1)).
by apply: eq_bigr => i _; rewrite mulr1.
Qed.

Corollary labels_lossless x0 p f : is_dist p ->
  E (winner races (token x0) p label_law) (fun o => f o.2.2) = \sum_x p x * f x.
Proof.
by move=> dp; apply: winner_lossless => //; [exact: label_law_dist | exact: labels_select].
Qed.

Corollary labels_acceptance x0 p : is_dist p ->
  E (winner races (token x0) p label_law) (fun o => (o.2.1)%:R) = overlap p label_law.
Proof.
by move=> dp; apply: winner_acceptance => //; [exact: label_law_dist | exact: labels_select].
Qed.

End Labels.
