(* Programs on uniforms: each coin is a test of a fresh uniform, each draw inverts the cdf of its law.  Forking finds
   the law of the program, so `E` is what independent uniforms give.  And rational cuts are on some grid. *)
Require Import prelude prob forking forking_law forking_grid.

Section Programs.
Variables (R : realFieldType) (T : finType) (A : eqType) (n : nat) (a0 : A).
Notation place := [finType of 'I_n.+1].
Notation sampler := (sampler R place A).
Notation box := (place -> R * R).

(* the first token whose cdf, which is acc before the list, exceeds uniform k *)
Fixpoint invert (p : T -> R) (k : nat) (c : T -> sampler) (acc : R) (s : seq T) : sampler :=
  match s with
  | [::] => Stop R place a0
  | [:: x] => c x
  | x :: s' => Test true (inord k) 1 (acc + p x) (c x) (invert p k c (acc + p x) s')
  end.

(* uniforms before the k-th are used *)
Fixpoint on_uniforms (m : prog R T A) (k : nat) : sampler :=
  match m with
  | Ret a => Stop R place a
  | Draw p c => invert p k (fun x => on_uniforms (c x) k.+1) 0 (enum T)
  | Flip b m1 m2 => Test true (inord k) 1 b (on_uniforms m1 k.+1) (on_uniforms m2 k.+1)
  end.

Fixpoint depth (m : prog R T A) : nat :=
  match m with
  | Ret _ => 0
  | Draw _ c => (\max_x depth (c x)).+1
  | Flip _ m1 m2 => (maxn (depth m1) (depth m2)).+1
  end.

Definition mean_leaves (t : sampler) (x : box) (f : A -> R) := \sum_(r <- leaves t x) volume r.2 * f r.1.
Definition fresh (k : nat) (x : box) := forall j : place, (k <= j)%N -> x j = (0, 1).

Lemma fresh_put k x cell : (k <= n)%N -> fresh k.+1 x -> fresh k.+1 (put x (inord k) cell).
Proof.
move=> kn fr j kj; rewrite /put; case: eqP => [e|_]; last exact: fr.
by move: kj; rewrite e inordK ?ltnn // ltnS.
Qed.

Lemma mean_test (i : place) (t : R) yes no x f (lo := (x i).1) (hi := (x i).2) :
  mean_leaves (Test true i 1 t yes no) x f =
    if t <= lo then mean_leaves no x f
    else if t < hi then mean_leaves yes (put x i (lo, t)) f + mean_leaves no (put x i (t, hi)) f
    else mean_leaves yes x f.
Proof.
rewrite /mean_leaves /= /decide oner_eq0 divr1 -/lo -/hi; case: leP => // _; case: ltP => // _.
by rewrite big_cat.
Qed.

(* the volume without one place *)
Definition volume_off (x : box) (i : place) := \prod_(j | j != i) ((x j).2 - (x j).1).

Lemma off_put x i cell : volume_off (put x i cell) i = volume_off x i.
Proof. by apply: eq_bigr => j /negbTE ji; rewrite /put ji. Qed.

Lemma volume_off_at x i : volume x = ((x i).2 - (x i).1) * volume_off x i.
Proof. by rewrite /volume (bigD1 i). Qed.

Lemma invert_mean p k c f g s acc x : (k <= n)%N -> (forall y, 0 <= p y) ->
  (forall y (z : box), fresh k.+1 z -> mean_leaves (c y) z f = volume z * g y) ->
  fresh k.+1 x -> (x (inord k)).1 = acc -> (x (inord k)).2 = 1 -> acc < 1 -> \sum_(y <- s) p y = 1 - acc ->
  mean_leaves (invert p k c acc s) x f = volume_off x (inord k) * \sum_(y <- s) p y * g y.
Proof.
move=> kn p0 IH; elim: s acc x => [|y s IHs] acc x fr lo hi a1.
  by rewrite big_nil => /esym/eqP; rewrite subr_eq0 gt_eqF.
have vx : volume x = (1 - acc) * volume_off x (inord k) by rewrite (volume_off_at x (inord k)) lo hi.
rewrite !big_cons; case: s IHs => [|y' s] IHs total.
  rewrite big_nil addr0 in total.
  by rewrite /= IH // vx -total big_nil addr0; ring.
have rest0 : 0 <= \sum_(z <- y' :: s) p z by apply: sumr_ge0.
have rest : \sum_(z <- y' :: s) p z = 1 - (acc + p y) by rewrite opprD addrA -total addrAC subrr add0r.
rewrite [invert _ _ _ _ _]/= -/(invert p k c (acc + p y) (y' :: s)) mean_test lo hi.
have := p0 y; rewrite le_eqVlt => /predU1P[pz|pp].
  rewrite -pz addr0 lexx mul0r add0r; apply: IHs => //.
  by rewrite rest -pz addr0.
rewrite leNgt ltr_addl pp /=; case: ltP => lt.
  rewrite IH; last exact: fresh_put.
  rewrite IHs ?put_same // ?off_put; last exact: fresh_put.
  by rewrite (volume_off_at _ (inord k)) put_same off_put /=; ring.
have e : acc + p y = 1 by apply/le_anti; rewrite lt andbT -subr_ge0 -rest.
have zero : \sum_(z <- y' :: s) p z * g z = 0.
  have: \sum_(z <- y' :: s) p z = 0 by rewrite rest e subrr.
  move/eqP; rewrite psumr_eq0 // => /allP h; rewrite big_seq big1 // => z zs.
  by rewrite (eqP (h z zs)) mul0r.
by rewrite zero addr0 IH // vx -e; ring.
Qed.

Lemma program_mean m k x f : wf m -> (k + depth m <= n.+1)%N -> fresh k x ->
  mean_leaves (on_uniforms m k) x f = volume x * E m f.
Proof.
elim: m k x => [a|p c IH|b m1 IH1 m2 IH2] k x.
- by move=> _ _ _; rewrite /mean_leaves /= big_seq1.
- move=> [dp wc]; rewrite /= addnS ltnS => deep fr; have kn : (k <= n)%N by exact: leq_trans (leq_addr _ _) deep.
  have xk : x (inord k) = (0, 1) by apply: fr; rewrite inordK // ltnS.
  rewrite (invert_mean (g := fun y => E (c y) f)) ?xk //; last first.
  + by rewrite subr0 -[RHS](dist_sum dp) big_enum.
  + exact: ltr01.
  + by move=> j kj; apply: fr; exact: ltnW.
  + move=> y z fz; apply: IH (wc y) _ fz; rewrite addSn ltnS; apply: leq_trans deep; rewrite leq_add2l.
    exact: leq_bigmax.
  + exact: dist_ge0.
  by rewrite (volume_off_at x (inord k)) xk subr0 mul1r big_enum.
move=> [/andP[b0 b1] w1 w2]; rewrite /= addnS ltnS => deep fr.
have kn : (k <= n)%N by exact: leq_trans (leq_addr _ _) deep.
have xk : x (inord k) = (0, 1) by apply: fr; rewrite inordK // ltnS.
have fr' : fresh k.+1 x by move=> j kj; apply: fr; exact: ltnW.
have d1 : (k.+1 + depth m1 <= n.+1)%N.
  by rewrite addSn ltnS; apply: leq_trans deep; rewrite leq_add2l leq_maxl.
have d2 : (k.+1 + depth m2 <= n.+1)%N.
  by rewrite addSn ltnS; apply: leq_trans deep; rewrite leq_add2l leq_maxr.
have vx : volume x = volume_off x (inord k) by rewrite (volume_off_at x (inord k)) xk subr0 mul1r.
rewrite mean_test xk /=; case: (ltP 0 b) => bp; last first.
  have -> : b = 0 by apply/le_anti; rewrite bp.
  by rewrite IH2 // mul0r add0r subr0 mul1r.
case: ltP => lt; last first.
  have -> : b = 1 by apply/le_anti; rewrite b1.
  by rewrite IH1 // mul1r subrr mul0r addr0.
rewrite IH1 ?IH2 //; try exact: fresh_put.
by rewrite vx !(volume_off_at _ (inord k)) !put_same !off_put /=; ring.
Qed.

(* forking finds the law of the program *)
Theorem forked_program (m : prog R T A) a : wf m -> (depth m <= n.+1)%N ->
  forked_law (on_uniforms m 0) a = law m a.
Proof.
move=> w deep; rewrite forked_lawE; have whole_fresh : fresh 0 (@whole R place) by [].
have := @program_mean m 0 _ (fun b => (b == a)%:R) w deep whole_fresh; rewrite volume_whole mul1r /law => <-.
rewrite /mean_leaves big_mkcond; apply: eq_bigr => r _.
by case: eqP => _; rewrite ?mulr1 ?mulr0.
Qed.

(* no scale is negative, and so every product of uniforms gives that law *)
Lemma program_scales (m : prog R T A) k : scales_ge0 (on_uniforms m k).
Proof.
elim: m k => [//|p c IH|b m1 IH1 m2 IH2] k /=; last by rewrite ler01 IH1 IH2.
have scales y : scales_ge0 (on_uniforms (c y) k.+1) := IH y k.+1.
move: 0 => acc; elim: (enum T) acc => [//|y s IHs] acc; case: s IHs => [_|z s IHs]; first exact: scales.
by have /= -> := IHs (acc + p y); rewrite ler01 scales.
Qed.

Corollary program_law (event : ((place -> R) -> bool) -> Prop) mu (m : prog R T A) a :
  product_of_uniforms (fun=> True) event mu -> wf m -> (depth m <= n.+1)%N ->
  mu (fun u => in_box (@whole R place) u && (run (on_uniforms m 0) u == a)) = law m a.
Proof.
move=> U w deep; rewrite (forking_exact _ _ U) //; first exact: forked_program.
  exact: program_scales.
by elim: (on_uniforms m 0) => //= strict i c b yes cy no cn.
Qed.

End Programs.

(* ---- rational cuts ---- *)
Section Rational.
Variables (I : finType) (Z : eqType).
Notation sampler := (sampler [realFieldType of rat] I Z).

Lemma cuts_weaken (P P' : rat -> Prop) (t : sampler) : (forall x, P x -> P' x) -> cuts_in P t -> cuts_in P' t.
Proof.
move=> PP; elim: t => //= strict i c b yes IHy no IHn [cut cy cn]; split; [|exact: IHy|exact: IHn].
by move=> c0; apply: PP; exact: cut.
Qed.

Lemma finer_grid N M (x : rat) : (0 < M)%N -> on_grid N x -> on_grid (N * M) x.
Proof.
move=> M0 [z ->]; exists (z * M%:Z); rewrite natrM intrM -pmulrn -mulf_div divff ?mulr1 //.
by rewrite pnatr_eq0 -lt0n.
Qed.

Lemma rational_cuts (t : sampler) : exists2 N, (0 < N)%N & cuts_in (on_grid N) t.
Proof.
elim: t => [z|strict i c b yes [N N0 cy] no [M M0 cn]]; first by exists 1%N.
pose D := `|denq (b / c)|%N; have D0 : (0 < D)%N by rewrite absz_gt0 denq_neq0.
exists (N * M * D)%N; first by rewrite !muln_gt0 N0 M0.
split=> [_||].
- rewrite mulnC; apply: finer_grid; first by rewrite muln_gt0 N0.
  by exists (numq (b / c)); rewrite pmulrn /D absz_denq divq_num_den.
- by apply: cuts_weaken cy => x gx; rewrite -mulnA; apply: finer_grid => //; rewrite muln_gt0 M0.
- by apply: cuts_weaken cn => x gx; rewrite -mulnA mulnCA; apply: finer_grid => //; rewrite muln_gt0 N0.
Qed.

(* the law found by forking counts the cells of some grid; inside each the sampler always returns the same *)
Theorem forking_rational (t : sampler) : scales_ge0 t -> exists2 N, (0 < N)%N &
  (forall z, forked_law t z = #|[pred g : {ffun I -> 'I_N} | run t (middle _ g) == z]|%:R / N%:R ^+ #|I|) /\
  (forall (g : {ffun I -> 'I_N}) u, in_cell g u -> run t u = run t (middle _ g)).
Proof.
move=> st; have [N N0 cuts] := rational_cuts t; exists N => //; split=> [z|g u].
  exact: forking_counts.
exact: constant_in_cells.
Qed.

End Rational.
