(* The middles of a grid: a product of uniforms for cuts on the grid.  So the law found by forking is a count over the
   cells of a grid that holds the cuts, and inside a cell the sampler always returns the same. *)
Require Import prelude forking forking_law.

Section Grid.
Variables (R : realFieldType) (I : finType) (N : nat).
Hypothesis N0 : (0 < N)%N.
Notation cells := {ffun I -> 'I_N}.

Definition on_grid (t : R) := exists z : int, t = z%:~R / N%:R.
Definition middle (g : cells) (i : I) : R := ((g i)%:R + 2%:R^-1) / N%:R.
Definition share (X : (I -> R) -> bool) : R := #|[pred g | X (middle g)]|%:R / N%:R ^+ #|I|.
Definition in_cell (g : cells) (u : I -> R) := [forall i, ((g i)%:R / N%:R < u i) && (u i < (g i).+1%:R / N%:R)].

Let Np : 0 < N%:R :> R.
Proof. by rewrite ltr0n. Qed.

Lemma share_sum X : share X = (\sum_g (X (middle g))%:R) / N%:R ^+ #|I|.
Proof.
rewrite /share -sum1_card natr_sum big_mkcond; congr (_ / _); apply: eq_bigr => g _ /=.
by rewrite inE; case: (X _).
Qed.

(* no number of the grid is inside a cell *)
Lemma cell_below (j : nat) (x : R) (z : int) : j%:R / N%:R < x -> x < j.+1%:R / N%:R ->
  ((x < z%:~R / N%:R) = (j%:Z < z)) * ((x <= z%:~R / N%:R) = (j%:Z < z)).
Proof.
move=> lo hi; have [lt|ge] := ltP j%:Z z.
  have le : j.+1%:R / N%:R <= z%:~R / N%:R :> R.
    by rewrite ler_pmul2r ?invr_gt0 // -[j.+1%:R]/(j.+1%:Z%:~R) ler_int.
  by rewrite (lt_le_trans hi le) (ltW (lt_le_trans hi le)).
have le : z%:~R / N%:R <= j%:R / N%:R :> R.
  by rewrite ler_pmul2r ?invr_gt0 // -[j%:R]/(j%:Z%:~R) ler_int.
by rewrite leNgt (le_lt_trans le lo) ltNge (ltW (le_lt_trans le lo)).
Qed.

Lemma middle_in g : in_cell g (middle g).
Proof.
apply/forallP => i; rewrite /middle !ltr_pmul2r ?invr_gt0 // ltr_addl invr_gt0 ltr0n /=.
by rewrite -[(g i).+1]addn1 natrD ltr_add2l invf_lt1 ?ltr0n // ltr1n.
Qed.

(* how many cells of a row are between two numbers of the grid *)
Lemma row_count (a b : nat) : (a <= b)%N -> (b <= N)%N ->
  \sum_(j < N) ((a <= j)%N && (j < b)%N)%:R = b%:R - a%:R :> R.
Proof.
have upto c : (c <= N)%N -> \sum_(j < N) (j < c)%N%:R = c%:R :> R.
  move=> le; rewrite -[RHS]mulr1 -[X in X%:R * _]card_ord mulr_natl -sumr_const.
  by rewrite (big_ord_widen_cond N xpredT (fun=> 1 : R)) // [RHS]big_mkcond; apply: eq_bigr => j _; case: ltnP.
move=> ab bN; rewrite -upto // -[a%:R]upto ?(leq_trans ab bN) // -sumrB; apply: eq_bigr => j _.
case: (leqP a j) => h; case: (ltnP j b) => h' //=; rewrite ?subr0 ?subrr //.
by have := leq_trans h (leq_trans ab h'); rewrite ltnn.
Qed.

Theorem grid_uniforms : product_of_uniforms on_grid (fun=> True) share.
Proof.
split=> // [X Y XY _|X _|X Y _ _ off|x good|i t [z ->]].
- by split=> //; rewrite !share_sum; congr (_ / _); apply: eq_bigr => g _; rewrite XY.
- by rewrite share_sum divr_ge0 ?exprn_ge0 ?ler0n // sumr_ge0 // => g _; rewrite ler0n.
- rewrite !share_sum -mulrDl -big_split; congr (_ / _); apply: eq_bigr => g _ /=.
  by have := off (middle g); case: (X _); case: (Y _); rewrite ?addr0 ?add0r.
- rewrite share_sum.
  have row i : exists a b : nat, [/\ (a <= b)%N, (b <= N)%N, (x i).1 = a%:R / N%:R & (x i).2 = b%:R / N%:R].
    have [[a ea] [b eb] lo mid hi] := good i; move: lo mid hi; rewrite ea eb.
    rewrite pmulr_lge0 ?invr_gt0 // ler0z => a0; rewrite ltr_pmul2r ?invr_gt0 // ltr_int => ab.
    rewrite ler_pdivr_mulr // mul1r -[N%:R]/(N%:Z%:~R) ler_int => bN.
    have b0 := le_trans a0 (ltW ab); case: a b a0 b0 ab bN ea eb => [a|//] [b|//] _ _ ab bN _ _.
    by exists a, b; split=> //; exact: ltnW.
  transitivity ((\sum_(g : cells) \prod_i (((x i).1 <= middle g i) && (middle g i < (x i).2))%:R) / N%:R ^+ #|I| : R).
    congr (_ / _); apply: eq_bigr => g _; rewrite /in_box; case: forallP => [h|h].
      by rewrite big1 // => i _; rewrite h.
    have [i bad] : exists i, ~~ (((x i).1 <= middle g i) && (middle g i < (x i).2)).
      by apply/existsP; rewrite -negb_forall; apply/forallP.
    by rewrite (bigD1 i) //= (negbTE bad) mul0r.
  pose f i (j : 'I_N) : R := (((x i).1 <= (j%:R + 2%:R^-1) / N%:R) && ((j%:R + 2%:R^-1) / N%:R < (x i).2))%:R.
  rewrite -(bigA_distr_bigA f) /volume -prodr_const -prodf_div; apply: eq_bigr => i _.
  have [a [b [ab bN ea eb]]] := row i; rewrite ea eb -mulrBl; congr (_ / _); rewrite -(row_count ab bN).
  apply: eq_bigr => j _; rewrite /f ea eb.
  have /forallP/(_ i) := middle_in [ffun=> j]; rewrite ffunE => /andP[lo hi].
  have := cell_below a%:Z lo hi; have := cell_below b%:Z lo hi; rewrite /middle ffunE -!pmulrn => -[-> _] [ba _].
  by rewrite leNgt ba !ltz_nat -leqNgt.
- split=> //; rewrite share_sum big1 ?mul0r // => g _.
  have /forallP/(_ i)/andP[lo hi] := middle_in g; have [lt le] := cell_below z lo hi.
  by case: eqP => //= e; move: le; rewrite -lt e lexx ltxx.
Qed.

Variable Z : eqType.
Notation sampler := (sampler R I Z).

Theorem constant_in_cells (t : sampler) g u : scales_ge0 t -> cuts_in on_grid t -> in_cell g u ->
  run t u = run t (middle g).
Proof.
move=> + + inu; elim: t => [//|strict i c b yes IHy no IHn] /= /and3P[c0 sy sn] [cut cy cn].
suff -> : passes strict c b (u i) = passes strict c b (middle g i) by rewrite IHy // IHn.
move: c0; rewrite le_eqVlt eq_sym => /predU1P[->|c0]; first by rewrite /passes !mul0r.
have [z e] := cut (lt0r_neq0 c0).
have at_cut x : passes strict c b x = if strict then x < z%:~R / N%:R else x <= z%:~R / N%:R.
  by rewrite /passes [c * x]mulrC -e ltr_pdivl_mulr // ler_pdivl_mulr.
have /andP[lo hi] := forallP inu i; have /andP[lo' hi'] := forallP (middle_in g) i.
by rewrite !at_cut !(cell_below z lo hi) !(cell_below z lo' hi').
Qed.

Theorem forking_counts (t : sampler) z : scales_ge0 t -> cuts_in on_grid t ->
  forked_law t z = #|[pred g | run t (middle g) == z]|%:R / N%:R ^+ #|I|.
Proof.
move=> st ct; have g0 : on_grid 0 by exists 0; rewrite mul0r.
have g1 : on_grid 1 by exists N%:Z; rewrite -pmulrn divff // lt0r_neq0.
rewrite -(forking_exact g0 g1 grid_uniforms z st ct) -[RHS]/(share (fun u => run t u == z)) !share_sum; congr (_ / _).
apply: eq_bigr => g _; rewrite (_ : in_box _ _) //; apply/forallP => i /=.
have /forallP/(_ i)/andP[lo hi] := middle_in g; rewrite ltW /=; last first.
  by apply: le_lt_trans lo; rewrite divr_ge0 ?ler0n.
by apply: lt_le_trans hi _; rewrite ler_pdivr_mulr // mul1r ler_nat.
Qed.

End Grid.
