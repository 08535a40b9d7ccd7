(* What spans of a line share with one another, and sums along an order of tokens: for the labels of the optimal rule. *)
Require Import prelude prob labels.

Section Pos.
Variable R : realFieldType.
Implicit Types x y l u : R.
Definition pos x := Num.max 0 x.
Lemma pos_ge0 x : 0 <= pos x. Proof. by rewrite /pos le_maxr lexx. Qed.
Lemma pos_id x : 0 <= x -> pos x = x. Proof. by move/max_idPr. Qed.
Lemma pos0 x : x <= 0 -> pos x = 0. Proof. by move/max_idPl. Qed.
Lemma posN x : pos x = x + pos (- x).
Proof.
by case: (leP 0 x) => h; [rewrite pos_id // pos0 ?addr0 // oppr_le0|
  rewrite pos0 ?(ltW h) // pos_id ?subrr // oppr_ge0 ltW].
Qed.
Lemma pos_sub x y : x <= y -> pos y <= pos x + (y - x).
Proof.
move=> xy; rewrite {1}/pos le_maxl addr_ge0 ?pos_ge0 ?subr_ge0 //=.
by rewrite addrCA ler_addl subr_ge0 /pos le_maxr lexx orbT.
Qed.

(* how much of the span from l to u lies below x *)
Definition span l u x := pos (x - l) - pos (x - u).
Lemma span_mono l u x y : l <= u -> x <= y -> span l u x <= span l u y.
Proof.
move=> lu xy; rewrite /span; case: (leP (y - u) 0) => h.
  rewrite (pos0 h) (@pos0 (x - u)) ?subr0; last by apply: le_trans h; rewrite ler_add2r.
  by rewrite /pos le_maxl !le_maxr lexx /= ler_add2r xy orbT.
have yl : 0 <= y - l by apply: le_trans (ltW h) _; rewrite ler_add2l ler_opp2.
rewrite (pos_id (ltW h)) (pos_id yl).
have -> : y - l - (y - u) = u - l by ring.
rewrite ler_subl_addl (_ : u - l = (x - l) - (x - u)); last by ring.
by apply: pos_sub; rewrite ler_add2l ler_opp2.
Qed.
Lemma span_below l u x : x <= l -> l <= u -> span l u x = 0.
Proof.
by move=> xl lu; rewrite /span !pos0 ?subrr // subr_le0 // (le_trans xl).
Qed.
Lemma span_above l u x : l <= u -> u <= x -> span l u x = u - l.
Proof.
move=> lu ux; rewrite /span !pos_id ?subr_ge0 // ?(le_trans lu) //; ring.
Qed.
(* what two spans share *)
Definition shared l u l' u' := span l u u' - span l u l'.
Lemma sharedC l u l' u' : shared l u l' u' = shared l' u' l u.
Proof.
rewrite /shared /span (posN (u' - l)) (posN (u' - u)) (posN (l' - l)) (posN (l' - u)) !opprB.
move: (pos _) (pos _) (pos _) (pos _) => a b c d; ring.
Qed.
Lemma shared_ge0 l u l' u' : l <= u -> l' <= u' -> 0 <= shared l u l' u'.
Proof. by move=> lu lu'; rewrite subr_ge0 span_mono. Qed.
Lemma shared_empty l l' u' : shared l l l' u' = 0.
Proof. by rewrite /shared /span !subrr. Qed.
End Pos.

Section Ranks.
Variables (R : realFieldType) (T : finType) (rank : T -> nat).
Hypothesis rank_inj : injective rank.
Notation up b i := (up_to b rank i).
Notation lo b i := (before b rank i).

Lemma telescope (b : T -> R) (F : R -> R) n :
  \sum_(i | (rank i < n)%N) (F (up b i) - F (lo b i)) = F (\sum_(i | (rank i < n)%N) b i) - F 0.
Proof.
elim: n => [|n IH]; first by rewrite !big_pred0_eq subrr.
have split (f : T -> R) : \sum_(i | (rank i < n.+1)%N) f i =
    \sum_(i | (rank i < n)%N) f i + \sum_(i | rank i == n) f i.
  rewrite (bigID (fun i => (rank i < n)%N)) /=; congr (_ + _); apply: eq_bigl => i.
    by rewrite ltnS; case: ltngtP.
  by rewrite ltnS -leqNgt eqn_leq.
rewrite !split IH; case: (pickP (fun i => rank i == n)) => [i /eqP ri|none]; last first.
  by rewrite [X in _ + X]big_pred0 // [X in F (_ + X)]big_pred0 ?addr0.
have one (f : T -> R) : \sum_(j | rank j == n) f j = f i.
  by rewrite (big_pred1 i) // => j; rewrite -ri (inj_eq rank_inj).
rewrite !one (up_toE b rank_inj) /before ri; ring.
Qed.

Lemma up_to_sum (b : T -> R) (F : R -> R) i :
  \sum_(j | (rank j <= rank i)%N) (F (up b j) - F (lo b j)) = F (up b i) - F 0.
Proof. exact: (telescope b F (rank i).+1). Qed.

Lemma all_ranks (b : T -> R) (F : R -> R) : \sum_i (F (up b i) - F (lo b i)) = F (\sum_i b i) - F 0.
Proof.
have r i : (rank i < (\max_i rank i).+1)%N by rewrite ltnS (leq_bigmax i).
have e (f : T -> R) : \sum_(i | (rank i < (\max_i rank i).+1)%N) f i = \sum_i f i.
  by apply: eq_bigl => i; rewrite r.
by have := telescope b F (\max_i rank i).+1; rewrite !e.
Qed.
End Ranks.
