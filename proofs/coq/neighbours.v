(* LANTERN pays no more than its acceptance is worth: a token is tested with what its neighbours A x lend it, and where
   it is refused, the rest is drawn from the residual of its paper. *)
Require Import prelude prob price.

Section Lantern.
Variables (R : realFieldType) (T : finType) (p q : T -> R) (A : T -> {set T}).
Hypotheses (dp : is_dist p) (dq : is_dist q) (others : forall x, x \notin A x).

Definition raised x : R := p x + \sum_(y in A x) p y.
Definition moved x y : R := if y == x then raised x else if y \in A x then 0 else p y.
Definition lantern := relaxed (accept_prob raised q) (fun x => residual (moved x) q).

Let p0 x : 0 <= p x. Proof. exact: dist_ge0. Qed.
Let q0 x : 0 <= q x. Proof. exact: dist_ge0. Qed.

Lemma raised_ge x : p x <= raised x.
Proof. by rewrite ler_addl; apply: sumr_ge0. Qed.

Lemma raised_ge0 x : 0 <= raised x.
Proof. by apply: le_trans (raised_ge x). Qed.

Lemma moved_le x y : moved x y <= raised y.
Proof.
rewrite /moved; case: eqP => [-> //|_]; case: (y \in A x); [exact: raised_ge0 | exact: raised_ge].
Qed.

Lemma moved_le_target x y : y != x -> moved x y <= p y.
Proof. by rewrite /moved => /negbTE ->; case: (y \in A x). Qed.

Lemma moved_dist x : is_dist (moved x).
Proof.
split=> [y|].
  by rewrite /moved; case: eqP => _; [exact: raised_ge0 | case: (y \in A x)].
rewrite (bigD1 x) //= -(dist_sum dp) [RHS](bigD1 x) //= {1}/moved eqxx /raised -addrA; congr (_ + _).
rewrite [RHS](bigID (fun y => y \in A x)) /=; congr (_ + _).
  by apply: eq_bigl => y; case: eqP => [->|]; rewrite ?(negbTE (others x)) ?andbT.
rewrite big_mkcondr /=; apply: eq_bigr => y /negbTE nx; rewrite /moved nx.
by case: (y \in A x).
Qed.

Let a01 x : 0 <= accept_prob raised q x <= 1.
Proof. by apply: accept_prob01; first exact: raised_ge0. Qed.

Let r x := q x * (1 - accept_prob raised q x).

Lemma refusedE x : r x = excess q raised x.
Proof. by rewrite /r mulrBr mulr1 drawn_accepted ?raised_ge0 // excessE minC. Qed.

Let enough x : Num.min (p x) (q x) <= q x * accept_prob raised q x.
Proof. by rewrite drawn_accepted ?raised_ge0 //; apply: le_min_l; exact: raised_ge. Qed.

Lemma refused_lifted x : r x != 0 -> raised x <= q x.
Proof. by rewrite refusedE; case: (leP (raised x) (q x)) => // h; rewrite excess0 ?eqxx // ltW. Qed.

Lemma normaliser x : \sum_y r y <= \sum_y excess (moved x) q y.
Proof.
rewrite sum_excess (dist_sum (moved_dist x)) -(dist_sum dq) overlapC -sum_excess.
apply: ler_sum => y _; rewrite refusedE !excessE ler_sub // minC [X in _ <= X]minC.
by apply: le_min_l; exact: moved_le.
Qed.

Lemma r_ge0 x : 0 <= r x.
Proof. exact: refused_ge0. Qed.

Lemma total_gt0 x : r x != 0 -> 0 < \sum_y r y.
Proof.
move=> h; apply: lt_le_trans (_ : r x <= _); first by rewrite lt_def h r_ge0.
by rewrite (bigD1 x) //= ler_addl; apply: sumr_ge0 => y _; exact: r_ge0.
Qed.

Lemma lantern_elsewhere x y : r x != 0 -> p y <= q y -> residual (moved x) q y = 0.
Proof.
move=> h le; have := lt_le_trans (total_gt0 h) (normaliser x); rewrite lt_def => /andP[/negbTE z0 _].
rewrite /residual /= z0 excess0 ?mul0r //.
case: (eqVneq y x) => [->|nx]; last exact: le_trans (moved_le_target nx) le.
by rewrite /moved eqxx; exact: refused_lifted.
Qed.

Lemma lantern_share x y : q y < p y -> r x * residual (moved x) q y <= r x * ((p y - q y) / \sum_z r z).
Proof.
move=> h; case: (eqVneq (r x) 0) => [->|rx]; first by rewrite !mul0r.
have R0 := total_gt0 rx; have Z0 := lt_le_trans R0 (normaliser x).
apply: ler_wpmul2l; first exact: r_ge0.
rewrite /residual /= (negbTE (lt0r_neq0 Z0)) ler_pdivr_mulr //.
have d0 : 0 <= p y - q y by rewrite subr_ge0 ltW.
apply: le_trans (_ : p y - q y <= _).
  have nx : y != x.
    by apply: contraTneq h => ->; rewrite -leNgt; apply: le_trans (raised_ge x) (refused_lifted rx).
  by rewrite /excess le_maxl d0 /= ler_sub // moved_le_target.
apply: le_trans (_ : (p y - q y) / (\sum_z r z) * (\sum_z r z) <= _); first by rewrite divfK // lt0r_neq0.
by apply: ler_wpmul2l; [apply: divr_ge0 => //; exact: ltW | exact: normaliser].
Qed.

(* 4: it is on the line, whatever lends to whom *)
Theorem price_lantern : hits q lantern - overlap p q = tv (output q lantern) p.
Proof.
apply: (price_line dp dq a01 _ enough) => [x|x y|y h].
- by apply: residual_dist; exact: moved_dist.
- exact: lantern_elsewhere.
rewrite outputE (kept_below dq a01 enough h) -ler_subr_addl.
apply: le_trans (ler_sum _ (fun x _ => lantern_share x h)) _.
rewrite -mulr_suml; case: (eqVneq (\sum_x r x) 0) => [->|R0]; first by rewrite mul0r subr_ge0 ltW.
by rewrite mulrCA divff // mulr1.
Qed.

Theorem lantern_hit : hits q lantern = \sum_x Num.min (raised x) (q x).
Proof.
rewrite (hitE dq a01 enough) => [|x y]; last exact: lantern_elsewhere.
by apply: eq_bigr => x _; rewrite drawn_accepted ?raised_ge0.
Qed.

End Lantern.
