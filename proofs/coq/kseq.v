(* SpecTr's K-SEQ (Sun et al. 2023): lossless whenever rho is valid;
   acceptance >= (1 - (1 - 1/k)^k) * optimal at rho = k. *)
Require Import prelude prob rejection recursive coupling duality.

Section KSeq.
Variables (R : realFieldType) (T : finType).
Variables (p q : T -> R) (rho : R).
Hypotheses (dp : is_dist p) (dq : is_dist q) (rho0 : 0 < rho).

Definition kept x := Num.min (q x) (p x / rho).
Definition beta := \sum_x kept x.
Definition p_acc k := 1 - (1 - beta) ^+ k.
(* p_acc / beta, written without division: sum_{i<k} (1 - beta)^i *)
Definition boost k := \sum_(i < k) (1 - beta) ^+ i.
Definition valid k := boost k <= rho.

Definition kres k x :=
  if (1 - beta) ^+ k == 0 then p x
  else (p x - kept x * boost k) / (1 - beta) ^+ k.

(* k drafts one after another, first accepted one wins *)
Fixpoint kseq_verify (r : T -> R) (s : seq T) : prog R T (bool * T) :=
  if s is x :: s' then
    Flip (Num.min 1 (p x / (rho * q x))) (Ret (true, x)) (kseq_verify r s')
  else Draw r (fun y => Ret (false, y)).

Definition kseq k : prog R T (bool * T) :=
  bind (draft_list k (with_repl q) [::]) (kseq_verify (kres k)).

Lemma kept_ge0 x : 0 <= kept x.
Proof. by rewrite minr_ge0 ?(dist_ge0 dq) // divr_ge0 ?(dist_ge0 dp) // ltW. Qed.

Lemma beta01 : 0 <= beta <= 1.
Proof.
rewrite /beta sumr_ge0 => [/=|x _]; last exact: kept_ge0.
by rewrite -(dist_sum dq); apply: ler_sum => x _; rewrite le_minl lexx.
Qed.

Lemma boostE k : beta * boost k = p_acc k.
Proof.
by rewrite /p_acc -opprB subrX1 -mulNr /boost opprB subKr.
Qed.

Lemma kept_draw x : q x * Num.min 1 (p x / (rho * q x)) = kept x.
Proof.
have p0 := dist_ge0 dp x; have := dist_ge0 dq x.
rewrite /kept le_eqVlt => /orP[/eqP <-|q0].
  by rewrite mul0r; apply/esym/min_idPl; rewrite divr_ge0 // ltW.
rewrite minr_pmulr ?ltW // mulr1; congr Num.min.
by field; rewrite !gt_eqF.
Qed.

Lemma kres_dist k : valid k -> is_dist (kres k).
Proof.
move=> vk; rewrite /kres; case: eqP => [//|/eqP z]; split=> [x|].
  have /andP[b0 b1] := beta01.
  apply: divr_ge0; last by rewrite exprn_ge0 // subr_ge0.
  rewrite subr_ge0; apply: le_trans (_ : kept x * rho <= _).
    by apply: ler_wpmul2l => //; exact: kept_ge0.
  by rewrite -ler_pdivl_mulr // le_minl lexx orbT.
rewrite -mulr_suml sumrB (dist_sum dp) -mulr_suml -/beta boostE.
by rewrite /p_acc subKr divff.
Qed.

(* the executed program, for an arbitrary fallback r *)
Lemma kseqE k r f g :
  E (bind (draft_list k (with_repl q) [::]) (kseq_verify r))
    (fun o => if o.1 then f o.2 else g o.2) =
  boost k * (\sum_x kept x * f x) + (1 - beta) ^+ k * (\sum_y r y * g y).
Proof.
rewrite E_bind; elim: k [::] => [|k IH] h.
  by rewrite /boost big_ord0 expr0 mul1r mul0r add0r.
rewrite /=.
have step x : E (bind (draft_list k (with_repl q) (x :: h)) (fun s => Ret (x :: s)))
    (fun a => E (kseq_verify r a) (fun o => if o.1 then f o.2 else g o.2)) =
  Num.min 1 (p x / (rho * q x)) * f x + (1 - Num.min 1 (p x / (rho * q x))) *
   (boost k * (\sum_x kept x * f x) + (1 - beta) ^+ k * (\sum_y r y * g y)).
  rewrite E_bind /= E_add E_const ?E_scale ?IH //.
  by apply: draft_list_wf => ?.
have mix (a u v w : R) : a * (u * v + (1 - u) * w) = a * u * v + (a - a * u) * w by ring.
under eq_bigr do rewrite step mix kept_draw.
rewrite big_split /= -mulr_suml sumrB (dist_sum dq) -/beta.
rewrite /boost big_ord_recl expr0 exprS.
have -> : \sum_(i < k) (1 - beta) ^+ bump 0 i = (1 - beta) * boost k.
  by rewrite /boost mulr_sumr; apply: eq_bigr => i _; rewrite exprS.
rewrite /boost; move: (\sum_(i < k) _) (\sum_x kept x * f x) (_ ^+ k) => B S P.
by move: (\sum_y r y * g y) beta => G b; ring.
Qed.

Theorem kseq_lossless k : valid k ->
  forall f, E (kseq k) (fun o => f o.2) = \sum_x p x * f x.
Proof.
move=> vk f; transitivity (E (kseq k) (fun o => if o.1 then f o.2 else f o.2)).
  by apply: E_ext => -[[] y].
rewrite kseqE !mulr_sumr -big_split; apply: eq_bigr => x _ /=.
rewrite /kres; case: eqP => [z|/eqP z]; last by field.
have /andP[b0 b1] := beta01.
(* (1 - beta)^k = 0: everything is accepted, so the kept mass is p *)
have kx y : kept y * boost k <= p y.
  apply: le_trans (_ : kept y * rho <= _).
    by apply: ler_wpmul2l => //; exact: kept_ge0.
  by rewrite -ler_pdivl_mulr // le_minl lexx orbT.
have S : \sum_y (p y - kept y * boost k) = 0.
  by rewrite sumrB (dist_sum dp) -mulr_suml -/beta boostE /p_acc z subr0 subrr.
move/eqP: S; rewrite psumr_eq0 => [/allP/(_ x)|y _]; last by rewrite subr_ge0.
rewrite mem_index_enum => /(_ isT) /=; rewrite subr_eq0 => /eqP e.
by rewrite z mul0r addr0 mulrA [boost k * _]mulrC -e.
Qed.

Theorem kseq_acceptance k : valid k -> E (kseq k) (fun o => (o.1)%:R) = p_acc k.
Proof.
move=> vk.
transitivity (E (kseq k) (fun o => if o.1 then 1 else 0)).
  by apply: E_ext => -[[] y].
rewrite (kseqE k _ (fun=> 1) (fun=> 0)) [X in _ + _ * X]big1 ?mulr0 ?addr0 => [|y _]; last by rewrite mulr0.
under eq_bigr do rewrite mulr1.
by rewrite -/beta mulrC boostE.
Qed.

(* ---- the token may be a draft that failed: the hit probability ---- *)
Definition test x := Num.min 1 (p x / (rho * q x)).
Fixpoint all_fail (s : seq T) : R := if s is x :: s' then (1 - test x) * all_fail s' else 1.

Lemma E_failed r s g : E (kseq_verify r s) (fun o => (~~ o.1)%:R * g o.2) = all_fail s * \sum_y r y * g y.
Proof.
elim: s => [|x s IH] /=; first by rewrite mul1r; apply: eq_bigr => y _; rewrite mul1r.
by rewrite mul0r mulr0 add0r IH mulrA.
Qed.

Lemma failed_draw x : q x * (1 - test x) = q x - kept x.
Proof. by rewrite mulrBr mulr1 kept_draw. Qed.

Lemma E_missed k h y :
  E (draft_list k (with_repl q) h) (fun s => all_fail s * (y \notin s)%:R) = (1 - beta - (q y - kept y)) ^+ k.
Proof.
elim: k h => [|k IH] h; first by rewrite /= mul1r.
rewrite exprS /=.
transitivity (\sum_x (q x - kept x) * (x != y)%:R * (1 - beta - (q y - kept y)) ^+ k).
  apply: eq_bigr => x _; rewrite E_bind -(IH (x :: h)) -failed_draw -!mulrA; congr (_ * _).
  rewrite -!E_scale; apply: E_ext => s /=; rewrite in_cons negb_or eq_sym.
  by case: (x == y) => /=; rewrite ?mul0r ?mulr0 // mul1r mulrA.
rewrite -mulr_suml; congr (_ * _).
rewrite -[X in _ = X - _ - _](dist_sum dq) /beta -sumrB [in RHS](bigD1 y) //= addrAC subrr add0r.
by rewrite [RHS]big_mkcond; apply: eq_bigr => x _; case: (x != y); rewrite ?mulr1 ?mulr0.
Qed.

Lemma E_all_fail k h : E (draft_list k (with_repl q) h) all_fail = (1 - beta) ^+ k.
Proof.
elim: k h => [|k IH] h //=; have e : 1 - beta = \sum_x (q x - kept x) by rewrite sumrB (dist_sum dq).
rewrite exprS [X in _ = X * _]e mulr_suml; apply: eq_bigr => x _.
by rewrite E_bind /= E_scale IH mulrA failed_draw.
Qed.

Theorem kseq_hit k : valid k ->
  E (bind (draft_list k (with_repl q) [::]) (fun s => bind (kseq_verify (kres k) s) (fun o => Ret (s, o))))
    (fun o => (o.2.1 || (o.2.2 \in o.1))%:R) =
  p_acc k + \sum_y kres k y * ((1 - beta) ^+ k - (1 - beta - (q y - kept y)) ^+ k).
Proof.
move=> vk; rewrite -(kseq_acceptance vk) /kseq !E_bind.
have wd : wf (draft_list k (with_repl q) [::]) by exact: draft_list_wf.
transitivity (E (draft_list k (with_repl q) [::]) (fun s =>
    E (kseq_verify (kres k) s) (fun o => (o.1)%:R) + all_fail s * \sum_y kres k y * (y \in s)%:R)).
  apply: E_ext => s; rewrite E_bind -(E_failed (kres k) s (fun y => (y \in s)%:R)) -E_add.
  by apply: E_ext => -[[] y] /=; rewrite ?mul0r ?addr0 ?mul1r ?add0r.
rewrite E_add; congr (_ + _).
under E_ext do rewrite mulr_sumr; rewrite E_sum; apply: eq_bigr => y _.
rewrite -(E_all_fail k [::]) -(E_missed k [::] y) -[X in _ * (_ - X)]mul1r -mulNr -E_scale -E_add -E_scale.
apply: E_ext => s; rewrite mulrCA; congr (_ * _).
by case: (y \in s); rewrite /= ?mulr0 ?mulr1 ?addr0 ?mulN1r ?subrr.
Qed.

End KSeq.

(* rho = k is always valid, and reaches a 1 - (1 - 1/k)^k fraction of the best
   acceptance any coupling can have. *)
Section Approx.
Variables (R : realFieldType) (T : finType).
Variables (p q : T -> R) (k : nat).
Hypotheses (dp : is_dist p) (dq : is_dist q) (k0 : (0 < k)%N).
Notation rho := (k%:R : R).
Notation b := (beta p q rho).

Lemma rho_gt0 : 0 < rho. Proof. by rewrite ltr0n. Qed.

Lemma valid_k : valid p q rho k.
Proof.
have /andP[b0 b1] := beta01 dp dq rho_gt0.
rewrite /valid /boost -[X in _ <= X%:R]card_ord -sumr_const; apply: ler_sum => i _.
by rewrite exprn_ile1 ?subr_ge0 // ler_subl_addr ler_addl.
Qed.

Lemma chord (a c : R) n : 0 <= a <= 1 -> 0 <= c <= 1 ->
  (1 - a * c) ^+ n <= 1 - a + a * (1 - c) ^+ n.
Proof.
move=> /andP[a0 a1] /andP[c0 c1]; elim: n => [|n IH].
  by rewrite !expr0 mulr1 subrK.
have ac0 : 0 <= 1 - a * c by rewrite subr_ge0 mulr_ile1.
rewrite exprS; apply: le_trans (ler_wpmul2l ac0 IH) _.
have t1 : (1 - c) ^+ n <= 1.
  by rewrite exprn_ile1 ?subr_ge0 // ler_subl_addr ler_addl.
rewrite exprS -subr_ge0.
have -> : 1 - a + a * ((1 - c) * (1 - c) ^+ n) -
    (1 - a * c) * (1 - a + a * (1 - c) ^+ n) =
    a * c * ((1 - a) * (1 - (1 - c) ^+ n)) by ring.
by rewrite !mulr_ge0 // subr_ge0.
Qed.

(* drafts: any law Qd over k-tuples whose every coordinate has law q *)
Variables (Qd : k.-tuple T -> R) (pi : k.-tuple T -> T -> R).
Hypothesis marg : forall i x, \sum_(d : k.-tuple T | tnth d i == x) Qd d = q x.
Hypothesis cpl : kcoupling Qd p pi.
Definition mem_t (x : T) (d : k.-tuple T) := x \in d.

Lemma best_le : acceptance mem_t pi <= rho * b.
Proof.
have [pi0 rows cols] := cpl.
rewrite /acceptance /beta mulr_sumr (exchange_big_dep predT) //=.
apply: ler_sum => x _.
rewrite /kept minr_pmulr ?(ltW rho_gt0) // le_minr; apply/andP; split; last first.
  rewrite mulrCA divff ?mulr1 ?gt_eqF ?rho_gt0 // -cols.
  by rewrite [X in _ <= X](bigID (mem_t x)) /= ler_addl sumr_ge0.
have -> : rho * q x = \sum_(i < k) \sum_(d : k.-tuple T | tnth d i == x) Qd d.
  by under eq_bigr do rewrite marg; rewrite sumr_const card_ord mulr_natl.
rewrite (exchange_big_dep predT) //= big_mkcond /=; apply: ler_sum => d _.
case: ifPn => [/tnthP[i xi]|_]; last first.
  by apply: sumr_ge0 => i _; rewrite -rows sumr_ge0.
have Q0 d' : 0 <= Qd d' by rewrite -rows sumr_ge0.
apply: (@le_trans _ _ (Qd d)).
  by rewrite -rows (bigD1 x) //= ler_addl sumr_ge0.
have ix : tnth d i == x by rewrite xi.
by rewrite (bigD1 i) //= ler_addl sumr_ge0.
Qed.

Lemma acceptance01 : 0 <= acceptance mem_t pi <= 1.
Proof.
have [pi0 rows cols] := cpl; apply/andP; split.
  by apply: sumr_ge0 => d _; apply: sumr_ge0.
rewrite -(dist_sum dp) /acceptance (exchange_big_dep predT) //=.
apply: ler_sum => x _; rewrite -cols [X in _ <= X](bigID (mem_t x)) /=.
by rewrite ler_addl sumr_ge0.
Qed.

Theorem kseq_approx :
  (1 - (1 - rho^-1) ^+ k) * acceptance mem_t pi <=
  E (kseq p q rho k) (fun o => (o.1)%:R).
Proof.
rewrite (kseq_acceptance dp dq rho_gt0 valid_k) /p_acc.
have a01 := acceptance01; have /andP[b0 b1] := beta01 dp dq rho_gt0.
set a := acceptance _ _ in a01 *.
have k1 : 0 <= rho^-1 <= 1.
  by rewrite invr_ge0 ler0n invf_le1 ?rho_gt0 // ler1n.
apply: le_trans (_ : 1 - (1 - a * rho^-1) ^+ k <= _).
  rewrite mulrBl mul1r ler_subr_addr -ler_subr_addl.
  apply: le_trans (chord k a01 k1) _.
  rewrite le_eqVlt; apply/orP; left; apply/eqP; move: (_ ^+ k) => t; ring.
rewrite ler_add2l ler_opp2; have [-> //|k_gt0] := posnP k.
apply: ler_expn2r; rewrite ?nnegrE ?subr_ge0 //.
  by case/andP: a01 => ? ?; case/andP: k1 => ? ?; rewrite mulr_ile1.
by rewrite ler_add2l ler_opp2 ler_pdivr_mulr ?rho_gt0 // mulrC best_le.
Qed.

End Approx.
