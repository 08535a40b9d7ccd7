(* When the drafts come from q' although the verifier was told q: the law of the output
   moves by at most TV(q', q) a draft.  And a rule whose output law is p' hits at most TV(p', p)
   more often than one for p can. *)
Require Import prelude prob rejection recursive loop coupling duality.

Section Robust.
Variables (R : realFieldType) (T : finType).
Notation prog := (prog R T).
Notation model := (seq T -> T -> R).


(* no test function with values in [0, 1] tells two laws apart by more than their TV *)
Lemma tv_test (q' q f : T -> R) : is_dist q' -> is_dist q -> (forall x, 0 <= f x <= 1) ->
  `|\sum_x q' x * f x - \sum_x q x * f x| <= tv q' q.
Proof.
move=> dq' dq f01; set half : R := 2%:R^-1.
have -> : \sum_x q' x * f x - \sum_x q x * f x = \sum_x (q' x - q x) * (f x - half).
  transitivity (\sum_x ((q' x - q x) * f x - (q' x - q x) * half)).
    rewrite sumrB -!mulr_suml sumrB (dist_sum dq') (dist_sum dq) subrr mul0r subr0 -sumrB.
    by apply: eq_bigr => x _; rewrite mulrBl.
  by apply: eq_bigr => x _; rewrite mulrBr.
rewrite /tv -/half mulr_sumr; apply: le_trans (ler_norm_sum _ _ _) _.
apply: ler_sum => x _; rewrite normrM mulrC; apply: ler_wpmul2r; first exact: normr_ge0.
have /andP[f0 f1] := f01 x; have h2 : half + half = 1 by rewrite -mulr2n -mulr_natr /half mulVf ?pnatr_eq0.
rewrite ler_norml; apply/andP; split.
  by rewrite ler_subr_addr addNr.
by rewrite ler_subl_addr h2.
Qed.

Lemma E01 A (m : prog A) g : wf m -> (forall a, 0 <= g a <= 1) -> 0 <= E m g <= 1.
Proof.
move=> wm g01; apply/andP; split; first by apply: E_ge0 => // a; case/andP: (g01 a).
by rewrite -[X in _ <= X](E_const 1 wm); apply: E_le => // a; case/andP: (g01 a).
Qed.

(* a function between 0 and 1 that tells two laws apart by their TV *)
Lemma tv_attained (p q : T -> R) : is_dist p -> is_dist q ->
  tv p q = \sum_x p x * (q x <= p x)%R%:R - \sum_x q x * (q x <= p x)%R%:R.
Proof.
move=> dp dq; have /eqP := overlap_tv dp dq; rewrite eq_sym subr_eq => /eqP e.
have -> : tv p q = 1 - overlap p q by rewrite e addrC addKr.
rewrite -[X in X - _ = _](dist_sum dp) /overlap -!sumrB; apply: eq_bigr => x _.
by case: (leP (q x) (p x)) => h /=; rewrite ?mulr1 // !mulr0 !subrr.
Qed.

(* one draft and any kernel t that is lossless for q *)
Theorem robust_kernel (p q' q : T -> R) (t : T -> T -> R) :
  is_dist p -> is_dist q' -> is_dist q -> (forall x, is_dist (t x)) -> (forall y, \sum_x q x * t x y = p y) ->
  tv (fun y => \sum_x q' x * t x y) p <= tv q' q.
Proof.
move=> dp dq' dq dt lossless; set o := fun y => _.
have dout : is_dist o.
  split=> [y|]; first by apply: sumr_ge0 => x _; apply: mulr_ge0; apply: dist_ge0.
  rewrite exchange_big -[RHS](dist_sum dq'); apply: eq_bigr => x _.
  by rewrite -mulr_sumr (dist_sum (dt x)) mulr1.
rewrite (tv_attained dout dp); pose g y := (p y <= o y)%R%:R : R.
have swap (r : T -> R) : \sum_y (\sum_x r x * t x y) * g y = \sum_x r x * \sum_y t x y * g y.
  under eq_bigr do rewrite mulr_suml.
  by rewrite exchange_big; apply: eq_bigr => x _; rewrite mulr_sumr; apply: eq_bigr => y _; rewrite mulrA.
have -> : \sum_y p y * g y = \sum_x q x * \sum_y t x y * g y.
  by rewrite -swap; apply: eq_bigr => y _; rewrite lossless.
rewrite -/(g _) (swap q'); apply: le_trans (ler_norm _) _; apply: tv_test => // x.
apply/andP; split; first by apply: sumr_ge0 => y _; rewrite mulr_ge0 ?ler0n ?(dist_ge0 (dt x)).
rewrite -[X in _ <= X](dist_sum (dt x)); apply: ler_sum => y _; rewrite -[X in _ <= X]mulr1.
apply: ler_wpmul2l; first exact: (dist_ge0 (dt x)).
by rewrite /g; case: (p y <= o y); rewrite ?ler01 ?lexx.
Qed.

(* n draws from q' instead of q, whatever is done with them *)
Theorem robust_draws (q' q : model) (delta : R) A (V : seq T -> prog A) n c g :
  is_model q' -> is_model q -> (forall c, tv (q' c) (q c) <= delta) ->
  (forall s, wf (V s)) -> (forall a, 0 <= g a <= 1) ->
  `|E (bind (ar q' n c) V) g - E (bind (ar q n c) V) g| <= n%:R * delta.
Proof.
move=> dq' dq close wV g01.
elim: n c V wV => [|n IH] c V wV; first by rewrite /= subrr normr0 mul0r.
rewrite !E_bind !ar_S.
pose e' x := E (ar q' n (x :: c)) (fun s => E (V (x :: s)) g).
pose e x := E (ar q n (x :: c)) (fun s => E (V (x :: s)) g).
have e01 x : 0 <= e' x <= 1.
  by apply: E01 => [|s]; [exact: ar_wf | exact: E01].
have -> : \sum_x q' c x * e' x - \sum_x q c x * e x =
    (\sum_x q' c x * e' x - \sum_x q c x * e' x) + \sum_x q c x * (e' x - e x).
  under [X in _ = _ + X]eq_bigr do rewrite mulrBr.
  by rewrite sumrB addrA subrK.
have -> : n.+1%:R * delta = delta + n%:R * delta by rewrite -[n.+1]addn1 natrD; ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  by apply: le_trans (close c); exact: tv_test.
apply: le_trans (ler_norm_sum _ _ _) _.
have -> : n%:R * delta = \sum_x q c x * (n%:R * delta).
  by rewrite -mulr_suml (dist_sum (dq c)) mul1r.
apply: ler_sum => x _.
rewrite normrM ger0_norm; last exact: dist_ge0.
apply: ler_wpmul2l; first exact: dist_ge0.
have := IH (x :: c) (fun s => V (x :: s)) (fun s => wV (x :: s)).
by rewrite !(E_bind (ar _ _ _)).
Qed.

(* any block that is lossless for q, fed with drafts from q' *)
Corollary robust_block (p q' q : model) (delta : R) (V : seq T -> prog (seq T)) n k c h :
  is_model p -> is_model q' -> is_model q -> (forall c, tv (q' c) (q c) <= delta) ->
  (forall s, wf (V s)) -> (forall s, 0 <= h s <= 1) -> completes p (bind (ar q n c) V) c ->
  `|E (bind (ar q' n c) V) (fun ys => E (ar p (k - size ys)%N (catrev ys c))
      (fun zs => h (take k (ys ++ zs)))) - E (ar p k c) h| <= n%:R * delta.
Proof.
move=> dp dq' dq close wV h01 compl; rewrite -(compl k h); apply: robust_draws => // ys.
by apply: E01 => [|zs]; [exact: ar_wf|].
Qed.

(* one draft: rejection *)
Corollary robust_rejection (p q' q : T -> R) f : is_dist p -> is_dist q' -> is_dist q ->
  (forall x, 0 <= f x <= 1) ->
  `|\sum_x q' x * (accept_prob p q x * f x + (1 - accept_prob p q x) * \sum_y residual p q y * f y)
    - \sum_x p x * f x| <= tv q' q.
Proof.
move=> dp dq' dq f01; rewrite -(spec_lossless dp dq f) /spec E_bind /=.
apply: tv_test => // x; have /andP[a0 a1] := accept_prob01 (dist_ge0 dp x) (dist_ge0 dq x).
have /andP[r0 r1] : 0 <= \sum_y residual p q y * f y <= 1.
  by apply: (@E01 _ (draw (residual p q)) f) => //; split=> //; exact: residual_dist.
have /andP[f0 f1] := f01 x; have b0 : 0 <= 1 - accept_prob p q x by rewrite subr_ge0.
rewrite addr_ge0 ?mulr_ge0 //=.
apply: le_trans (_ : accept_prob p q x * 1 + (1 - accept_prob p q x) * 1 <= _).
  by apply: ler_add; exact: ler_wpmul2l.
by rewrite !mulr1 addrC subrK.
Qed.

(* the bound of weak duality for a rule with a bias *)
Theorem biased_bound (D : finType) (mem_d : T -> D -> bool) (Qd : D -> R) (p p' : T -> R) pi (H : {set T}) :
  is_dist p -> is_dist p' -> \sum_d Qd d = 1 -> kcoupling Qd p' pi ->
  acceptance mem_d pi <= mass p H + 1 - draft_mass Qd (all_in mem_d H) + tv p' p.
Proof.
move=> dp dp' q1 cpl; apply: le_trans (weak_duality' mem_d H q1 cpl) _.
have ind (r : T -> R) : mass r H = \sum_x r x * (x \in H)%:R.
  by rewrite /mass big_mkcond; apply: eq_bigr => x _; case: (x \in H); rewrite ?mulr1 ?mulr0.
have b : mass p' H <= mass p H + tv p' p.
  rewrite addrC -ler_subl_addr !ind; apply: le_trans (ler_norm _) _; apply: tv_test => // x.
  by case: (x \in H); rewrite ?lexx ?ler01.
by rewrite [X in _ <= X]addrAC ler_add2r [X in _ <= X]addrAC ler_add2r.
Qed.

End Robust.
