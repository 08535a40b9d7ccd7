(* T11, part 4, part 5 below K and the converse: which rho are valid, what holds at the root, and that no fallback makes up
   for a rho that gives a token too much. *)
Require Import prelude prob rejection recursive coupling duality kseq.

Section Rho.
Variables (R : realFieldType) (T : finType) (p q : T -> R) (k : nat).
Hypotheses (dp : is_dist p) (dq : is_dist q) (k0 : (0 < k)%N).
Implicit Types rho : R.

Lemma beta_falls rho rho' : 0 < rho -> rho <= rho' -> beta p q rho' <= beta p q rho.
Proof.
move=> r0 le; apply: ler_sum => x _; rewrite /kept le_minr !le_minl lexx /=; apply/orP; right.
by apply: ler_wpmul2l; rewrite ?(dist_ge0 dp) // lef_pinv ?posrE // (lt_le_trans r0).
Qed.

Lemma rho_beta rho : 0 < rho -> rho * beta p q rho = \sum_x Num.min (p x) (rho * q x).
Proof.
move=> r0; rewrite /beta mulr_sumr; apply: eq_bigr => x _.
by rewrite /kept minr_pmulr ?ltW // [rho * (_ / _)]mulrCA divff ?gt_eqF // mulr1 minC.
Qed.

Lemma rho_beta_rises rho rho' : 0 < rho -> rho <= rho' -> rho * beta p q rho <= rho' * beta p q rho'.
Proof.
move=> r0 le; rewrite !rho_beta ?(lt_le_trans r0) //; apply: ler_sum => x _.
rewrite le_minr !le_minl lexx /=; apply/orP; right.
by apply: ler_wpmul2r; rewrite ?(dist_ge0 dq).
Qed.

Lemma p_acc_falls rho rho' : 0 < rho -> rho <= rho' -> p_acc p q rho' k <= p_acc p q rho k.
Proof.
move=> r0 le; have r0' := lt_le_trans r0 le; rewrite ler_add2l ler_opp2.
have /andP[_ b1] := beta01 dp dq r0; have /andP[_ b1'] := beta01 dp dq r0'.
by apply: ler_expn2r; rewrite ?nnegrE ?subr_ge0 // ler_add2l ler_opp2 beta_falls.
Qed.

Theorem valid_ge1 rho : 0 < rho -> valid p q rho k -> 1 <= rho.
Proof.
move=> r0; rewrite /valid; apply: le_trans; have /andP[_ b1] := beta01 dp dq r0.
case: k k0 => // n _; rewrite /boost big_ord_recl expr0 ler_addl.
by apply: sumr_ge0 => i _; rewrite exprn_ge0 // subr_ge0.
Qed.

Theorem valid_up rho rho' : 0 < rho -> rho <= rho' -> valid p q rho k -> valid p q rho' k.
Proof.
move=> r0 le; have r0' := lt_le_trans r0 le.
have /andP[b0 _] := beta01 dp dq r0; have /andP[b0' _] := beta01 dp dq r0'.
rewrite /valid => vk; have := b0'; rewrite le_eqVlt => /orP[/eqP z|pos].
  have z0 : beta p q rho = 0.
    apply/eqP; rewrite eq_le b0 andbT -(ler_pmul2l r0) mulr0.
    by apply: le_trans (rho_beta_rises r0 le) _; rewrite -z mulr0.
  by move: vk; rewrite /boost -z z0 => vk; apply: le_trans vk le.
rewrite -(ler_pmul2l pos) boostE mulrC; apply: le_trans (p_acc_falls r0 le) _.
apply: le_trans (rho_beta_rises r0 le); rewrite -boostE mulrC.
by apply: ler_wpmul2r.
Qed.

Theorem root_unique rho rho' : 0 < rho -> 0 < rho' ->
  boost p q rho k = rho -> boost p q rho' k = rho' -> rho = rho'.
Proof.
wlog le : rho rho' / rho <= rho' => [sym r0 r0' e e'|r0 r0' e e'].
  by case: (leP rho rho') => [/sym|/ltW /sym h]; [apply | apply/esym/h].
have [//|ne] := eqVneq rho rho'.
have lt : beta p q rho' < beta p q rho.
  rewrite lt_neqAle beta_falls // andbT; apply: contra ne => /eqP b.
  by rewrite -e -e' /boost b.
have /andP[_ b1] := beta01 dp dq r0.
have := rho_beta_rises r0 le.
rewrite -[X in X * _ <= _]e -[X in _ <= X * _]e' ![boost _ _ _ _ * _]mulrC !boostE.
have b0 : 0 <= 1 - beta p q rho by rewrite subr_ge0.
have bb : 1 - beta p q rho < 1 - beta p q rho' by rewrite ltr_add2l ltr_opp2.
by rewrite ler_add2l ler_opp2 leNgt (ltr_expn2r _ b0 bb) -lt0n k0.
Qed.

Theorem root_acceptance rho : 0 < rho -> boost p q rho k = rho ->
  p_acc p q rho k = \sum_x Num.min (p x) (rho * q x).
Proof. by move=> r0 e; rewrite -boostE e mulrC rho_beta. Qed.

(* at the root a token drawn at the end is no draft: what is kept is all that hits *)
Theorem root_hit rho : 0 < rho -> boost p q rho k = rho ->
  E (bind (draft_list k (with_repl q) [::]) (fun s => bind (kseq_verify p q rho (kres p q rho k) s) (fun o => Ret (s, o))))
    (fun o => (o.2.1 || (o.2.2 \in o.1))%:R) = \sum_x Num.min (p x) (rho * q x).
Proof.
move=> r0 e; have vk : valid p q rho k by rewrite /valid e.
rewrite (kseq_hit dp dq r0 vk) root_acceptance // -[RHS]addr0; congr (_ + _); apply: big1 => y _.
have [kq|kp] := leP (q y) (p y / rho).
  have -> : kept p q rho y = q y by apply/min_idPl.
  by rewrite subrr subr0 subrr mulr0.
have ky : kept p q rho y = p y / rho by apply/min_idPr/ltW.
rewrite /kres; case: eqP => [z|_]; last first.
  by rewrite ky e divfK ?gt_eqF // subrr mul0r mul0r.
have : 1 - beta p q rho == 0 by move/eqP: z; rewrite expf_eq0 => /andP[].
rewrite -(dist_sum dq) /beta -sumrB psumr_eq0 => [/allP/(_ y)|x _]; last first.
  by rewrite subr_ge0 /kept le_minl lexx.
by rewrite mem_index_enum => /(_ isT); rewrite ky /= subr_eq0 => /eqP qy; rewrite qy ltxx in kp.
Qed.

(* the converse: where c q exceeds p > 0 the drafts kept give too much, whatever law r is drawn from at the end *)
Theorem kseq_lossy rho r y : 0 < rho -> rho < boost p q rho k -> is_dist r -> 0 < p y < boost p q rho k * q y ->
  p y < law (bind (bind (draft_list k (with_repl q) [::]) (kseq_verify p q rho r)) (fun o => Ret o.2)) y.
Proof.
move=> r0 inval dr /andP[py lt]; rewrite /law E_bind /=.
set f := fun x : T => (x == y)%:R : R.
rewrite (E_ext _ (g := fun o : bool * T => if o.1 then f o.2 else f o.2)) => [|[[] x]] //.
rewrite (kseqE dp dq r0) /f !sum_ind.
have /andP[_ b1] := beta01 dp dq r0.
apply: (@lt_le_trans _ _ (boost p q rho k * kept p q rho y)); last first.
  by rewrite ler_addl mulr_ge0 ?(dist_ge0 dr) // exprn_ge0 // subr_ge0.
have c0 := lt_trans r0 inval.
rewrite /kept minr_pmulr ?ltW // lt_minr lt /= mulrCA -[X in X < _]mulr1 ltr_pmul2l //.
by rewrite ltr_pdivl_mulr // mul1r.
Qed.

Theorem kseq_lossless_if rho : 0 < rho -> (forall y, 0 < p y -> boost p q rho k * q y <= p y) ->
  forall f, E (kseq p q rho k) (fun o => f o.2) = \sum_x p x * f x.
Proof.
move=> r0 enough f; have /andP[b0 b1] := beta01 dp dq r0.
have kx y : kept p q rho y * boost p q rho k <= p y.
  have c0 : 0 <= boost p q rho k by apply: sumr_ge0 => i _; rewrite exprn_ge0 // subr_ge0.
  have := dist_ge0 dp y; rewrite le_eqVlt => /orP[/eqP z|/enough le].
    by rewrite /kept -z mul0r (min_idPr (dist_ge0 dq y)) mul0r.
  by apply: le_trans le; rewrite mulrC; apply: ler_wpmul2l; rewrite // /kept le_minl lexx.
transitivity (E (kseq p q rho k) (fun o => if o.1 then f o.2 else f o.2)).
  by apply: E_ext => -[[] y].
rewrite (kseqE dp dq r0) !mulr_sumr -big_split; apply: eq_bigr => x _ /=.
rewrite /kres; case: eqP => [z|/eqP z]; last by field.
have S : \sum_y (p y - kept p q rho y * boost p q rho k) = 0.
  by rewrite sumrB (dist_sum dp) -mulr_suml -/(beta p q rho) boostE /p_acc z subr0 subrr.
move/eqP: S; rewrite psumr_eq0 => [/allP/(_ x)|y _]; last by rewrite subr_ge0.
rewrite mem_index_enum => /(_ isT) /=; rewrite subr_eq0 => /eqP e.
by rewrite z mul0r addr0 mulrA [boost _ _ _ _ * _]mulrC -e.
Qed.

(* 5 for every valid rho up to K *)
Theorem kseq_approx_below rho (Qd : k.-tuple T -> R) pi :
  (forall i x, \sum_(d : k.-tuple T | tnth d i == x) Qd d = q x) -> kcoupling Qd p pi ->
  0 < rho -> rho <= k%:R -> valid p q rho k ->
  (1 - (1 - k%:R^-1) ^+ k) * acceptance (@mem_t T k) pi <= E (kseq p q rho k) (fun o => (o.1)%:R).
Proof.
move=> marg cpl r0 le vk; apply: le_trans (kseq_approx dp dq k0 marg cpl) _.
rewrite (kseq_acceptance dp dq r0 vk) (kseq_acceptance dp dq (rho_gt0 R k0) (valid_k dp dq k0)).
exact: p_acc_falls.
Qed.

End Rho.
