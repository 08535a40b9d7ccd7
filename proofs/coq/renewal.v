(* Where blocks start, given the text: a Markov chain whose jumps are known along the text, and the mean over texts of
   its visits is the expected number of blocks (T06). *)
Require Import prelude prob rejection recursive loop block words tokenwise survival dominance block_optimal.

Section Renewal.
Variables (R : realFieldType) (T : finType) (p q : seq T -> T -> R) (gamma : nat).
Hypotheses (dp : is_model p) (dq : is_model q).
Implicit Types (c x y ys : seq T).

(* the loop, which leaves its blocks: one with n tokens wanted has min(gamma, n - 1) drafts *)
Fixpoint blocks fuel n c : prog R T (seq (seq T)) :=
  if fuel is fuel'.+1 then
    if n is 0 then Ret [::] else
    bind (token_block p q (minn gamma n.-1) c) (fun ys =>
      bind (blocks fuel' (n - size ys)%N (catrev ys c)) (fun bs => Ret (ys :: bs)))
  else Ret [::].
(* a block starts after t tokens *)
Fixpoint starts (t : nat) (bs : seq (seq T)) : bool :=
  if bs is ys :: bs' then (t == 0%N) || (size ys <= t)%N && starts (t - size ys)%N bs' else false.

(* sigma: the chance that the next i tokens, if drafted, are kept, given the text; none beyond its end *)
Fixpoint sigma c y i : R :=
  if i is i'.+1 then if y is x :: y' then accept_prob (q c) (p c) x * sigma (x :: c) y' i' else 0 else 1.
Definition capped g c y i := if (i <= g)%N then sigma c y i else 0.
(* the chance that a block with g drafts ends with i of them *)
Definition jump g c y i := capped g c y i - capped g c y i.+1.

(* s: the chances that a block starts at 0, 1, ..., n, each from those before it *)
Definition step c y t t' := jump gamma (catrev (take t y) c) (drop t y) (t' - t).-1%N.
Fixpoint renewals c y n : seq R :=
  if n is n'.+1 then
    let s := renewals c y n' in rcons s (\sum_(t < n) nth 0 s t * step c y t n)
  else [:: 1].
Definition renewal c y t := nth 0 (renewals c y t) t.
(* the expected number of blocks that write y *)
Definition target_calls c y := \sum_(t < size y) renewal c y t.

Lemma renewals_size c y n : size (renewals c y n) = n.+1.
Proof. by elim: n => //= n IH; rewrite size_rcons IH. Qed.

Lemma renewalsE c y n t : (t <= n)%N -> nth 0 (renewals c y n) t = renewal c y t.
Proof.
elim: n => [|n IH]; first by rewrite leqn0 => /eqP ->.
rewrite leq_eqVlt => /orP[/eqP -> //|lt]; rewrite /= nth_rcons renewals_size lt; exact: IH.
Qed.

(* its recursion *)
Lemma renewalE c y n : renewal c y n.+1 = \sum_(t < n.+1) renewal c y t * step c y t n.+1.
Proof.
rewrite /renewal /= nth_rcons renewals_size ltnn eqxx; apply: eq_bigr => t _.
by rewrite renewalsE // -ltnS.
Qed.

(* ---- one block ---- *)
Lemma accepted c (x : T) : p c x * accept_prob (q c) (p c) x = Num.min (p c x) (q c x).
Proof. by rewrite drawn_accepted; [rewrite minC|exact: (dist_ge0 (dq c))|exact: (dist_ge0 (dp c))]. Qed.

Theorem token_block_law g c x : (0 < size x)%N ->
  law (token_block p q g c) x = word_prob p c x * jump g c x (size x).-1.
Proof.
elim: g c x => [|g IH] c [|x xs] // _.
  rewrite /law /token_block /= (bigD1 x) //= big1 ?addr0 => [|y /negbTE yx]; last first.
    by rewrite eqseq_cons yx mulr0.
  rewrite eqseq_cons eqxx /jump /capped /=; case: xs => [|z xs]; first by rewrite /= subr0 !mulr1.
  by rewrite /= subrr !mulr0.
rewrite /law token_blockS // (bigD1 x) //= big1 ?addr0 => [|y /negbTE yx]; last first.
  rewrite (@E_ext _ _ _ _ _ (fun=> 0 * 0)) => [|t]; last by rewrite eqseq_cons yx mulr0.
  by rewrite E_scale mul0r mulr0.
rewrite (@E_ext _ _ _ _ _ (fun ys => (ys == xs)%:R)) => [|t]; last by rewrite eqseq_cons eqxx.
case: xs => [|z xs] /=.
  rewrite (E_outputs (g := fun=> 0 * 0) (token_nonempty p q g (x :: c))) => [|[|u t]] //; last by rewrite mulr0.
  rewrite E_scale mul0r mulr0 add0r /jump /capped /= !mulr1 mulrBr mulr1 accepted.
  rewrite (eq_bigr (fun z : T => residual (p c) (q c) z * (z == x)%:R)) => [|y _]; last by rewrite eqseq_cons andbT.
  rewrite sum_ind; apply/eqP; rewrite eq_sym subr_eq addrC; apply/eqP.
  by rewrite residual_split.
rewrite big1 ?mulr0 ?addr0 => [|y _]; last by rewrite eqseq_cons andbF mulr0.
have := IH (x :: c) (z :: xs) isT; rewrite /law => ->; rewrite -accepted /jump /capped !ltnS /=.
by case: (size xs < g)%N; case: (size xs <= g)%N; rewrite ?ltnS /=; ring.
Qed.

Lemma token_size g c : outputs (fun ys => 0 < size ys <= g.+1)%N (token_block p q g c).
Proof.
apply: (outputs_bind (ar_size q g c)) => ds <-; elim: ds c => [|d ds IH] c //=.
by split=> //; apply: (outputs_bind (IH (d :: c))) => ys /andP[_].
Qed.

Lemma sigma_take c y b i : (i <= b)%N -> sigma c (take b y) i = sigma c y i.
Proof. by elim: i c y b => [|i IH] c [|x y] [|b] //= ib; rewrite IH. Qed.

Lemma jump_take g c y b : jump g c (take b.+1 y) b = jump g c y b.
Proof. by rewrite /jump /capped !sigma_take. Qed.

(* near the end of the text fewer are drafted, and no jump that stays inside is another *)
Lemma jump_inside n c y b : (b.+1 < n)%N -> jump (minn gamma n.-1) c y b = jump gamma c y b.
Proof.
case: n => // n; rewrite ltnS => bn; rewrite /jump /capped !leq_min bn (ltnW bn) !andbT.
by [].
Qed.

(* ---- the loop ---- *)
Lemma blocks_text m n c f : (n <= m)%N -> E (blocks m n c) (fun bs => f (flatten bs)) = E (ar p n c) f.
Proof.
elim: m n c f => [|m IH] [|n] c f // nm.
rewrite -(token_lossless dp dq (minn gamma n) c n.+1 f) [blocks _ _ _]/= E_bind.
apply: (E_outputs (token_size _ c)) => ys /andP[ys0 ysg]; rewrite E_bind.
have le : (size ys <= n.+1)%N by apply: leq_trans ysg _; rewrite ltnS geq_minr.
rewrite -[LHS]/(E (blocks m (n.+1 - size ys) (catrev ys c)) (fun bs => f (ys ++ flatten bs))).
rewrite (IH _ _ (fun zs => f (ys ++ zs))); last by rewrite leq_subLR (leq_trans nm) // -add1n leq_add2r.
by apply: (E_outputs (ar_size p _ _)) => zs szs; rewrite take_oversize // size_cat szs subnKC.
Qed.

Lemma blocks_fuel m1 m2 n c f : (n <= m1)%N -> (n <= m2)%N -> E (blocks m1 n c) f = E (blocks m2 n c) f.
Proof.
elim: m1 m2 n c f => [|m1 IH] [|m2] [|n] c f // n1 n2; rewrite /= E_bind [RHS]E_bind.
apply: (E_outputs (token_size _ c)) => ys /andP[ys0 _]; rewrite E_bind [RHS]E_bind.
by apply: IH; rewrite leq_subLR; [apply: leq_trans n1 _|apply: leq_trans n2 _]; rewrite -add1n leq_add2r.
Qed.

(* the text is y and a block starts after t of its tokens *)
Definition started c y t : R := E (blocks (size y) (size y) c) (fun bs => ((flatten bs == y) && starts t bs)%:R).

Lemma started0 c y : (0 < size y)%N -> started c y 0 = word_prob p c y.
Proof.
move=> y0; rewrite -ar_law /law -(@blocks_text (size y) (size y) c (fun zs => (zs == y)%:R)) //.
apply: E_ext => -[|ys bs] /=; last by rewrite andbT.
by case: (y) y0.
Qed.

Lemma startedS c y t : (0 < t)%N -> (t < size y)%N -> started c y t =
  \sum_(b < t) word_prob p c (take b.+1 y) * jump gamma c y b *
    started (catrev (take b.+1 y) c) (drop b.+1 y) (t - b.+1).
Proof.
move=> t0 ty; have [n sy] : exists n, size y = n.+1 by exists (size y).-1; rewrite prednK // (leq_ltn_trans _ ty).
transitivity (E (token_block p q (minn gamma n) c) (fun ys =>
    \sum_(b < t) (ys == take b.+1 y)%:R * started (catrev (take b.+1 y) c) (drop b.+1 y) (t - b.+1))); last first.
  rewrite E_sum; apply: eq_bigr => b _; have by_ : (b.+1 < size y)%N by exact: leq_ltn_trans (ltn_ord b) ty.
  rewrite (@E_ext _ _ _ _ _ (fun ys => started (catrev (take b.+1 y) c) (drop b.+1 y) (t - b.+1) * (ys == take b.+1 y)%:R)).
    rewrite E_scale mulrC -/(law _ _) token_block_law ?size_takel ?(ltnW by_) // jump_take; congr (_ * _ * _).
    by rewrite -(jump_inside c y by_) sy.
  by move=> ys; rewrite mulrC.
rewrite /started sy [blocks _ _ _]/= E_bind; apply: (E_outputs (token_size _ c)) => ys /andP[ys0 ysg].
rewrite E_bind [LHS]/=.
have le : (size ys <= n.+1)%N by apply: leq_trans ysg _; rewrite ltnS geq_minr.
have sized b : (b < t)%N -> ys == take b.+1 y -> size ys = b.+1.
  by move=> bt /eqP ->; rewrite size_takel // (leq_trans bt (ltnW ty)).
case: (leqP (size ys) t) => st; last first.
  rewrite big1 => [|b _]; last first.
    by case: (boolP (ys == take b.+1 y)) => [/(sized b (ltn_ord b)) e|_]; [move: st; rewrite e ltnS leqNgt ltn_ord|rewrite mul0r].
  rewrite (@E_ext _ _ _ _ _ (fun=> 0 * 0)) => [|bs]; first by rewrite E_scale mul0r.
  by rewrite [t == 0%N]eqn0Ngt t0 /= andbF mulr0.
have bt : ((size ys).-1 < t)%N by rewrite prednK.
rewrite (bigD1 (Ordinal bt)) //= big1 => [|b ne]; last first.
  case: (boolP (ys == take b.+1 y)) => [/(sized b (ltn_ord b)) e|_]; last by rewrite mul0r.
  by case/eqP: ne; apply: val_inj; rewrite /= e.
rewrite addr0 prednK //; case: (ys =P take (size ys) y) => [e|ne]; last first.
  rewrite mul0r (@E_ext _ _ _ _ _ (fun=> 0 * 0)) => [|bs]; first by rewrite E_scale mul0r.
  by rewrite mulr0; case: (ys ++ _ =P y) => // e; case: ne; rewrite -e take_size_cat.
rewrite mul1r /started -e size_drop sy; rewrite (@blocks_fuel n (n.+1 - size ys)) //; last first.
  by rewrite leq_subLR -add1n leq_add2r.
apply: E_ext => bs; rewrite [t == 0%N]eqn0Ngt t0 /=; congr ((nat_of_bool (_ && _))%:R).
by rewrite -{1}[y](cat_take_drop (size ys)) -e eqseq_cat // eqxx.
Qed.

(* ---- the chain along the text ---- *)
Lemma word_prob_cat c x y : word_prob p c (x ++ y) = word_prob p c x * word_prob p (catrev x c) y.
Proof. by elim: x c => [|z x IH] c /=; rewrite ?mul1r // IH mulrA. Qed.

Section Along.
Variables (c y : seq T) (t : nat).
Hypothesis ty : (t < size y)%N.
(* the text is y, and a block starts after t of its tokens, if one starts after a *)
Definition reaches a : R := word_prob p c (take a y) * started (catrev (take a y) c) (drop a y) (t - a).

Lemma reaches_end : reaches t = word_prob p c y.
Proof.
rewrite /reaches subnn started0; last by rewrite size_drop subn_gt0.
by rewrite -word_prob_cat cat_take_drop.
Qed.

Lemma reaches_step a : (a < t)%N -> reaches a = \sum_(b < t.+1) (a < b)%:R * (step c y a b * reaches b).
Proof.
move=> a_t; rewrite {1}/reaches startedS; last 2 first.
- by rewrite subn_gt0.
- by rewrite size_drop ltn_sub2r // (ltn_trans a_t ty).
rewrite mulr_sumr.
rewrite -(big_mkord xpredT (fun b => (a < b)%:R * (step c y a b * reaches b))).
rewrite (big_cat_nat _ _ _ (leq0n a.+1) (leqW a_t)) /= big_nat [X in _ = X + _]big1 => [|b /andP[_ ba]]; last first.
  by rewrite ltnNge -ltnS ba mul0r.
rewrite add0r -{1}[a.+1]add0n big_addn subSS big_mkord; apply: eq_bigr => b _.
have ab : (a < b + a.+1)%N by rewrite addnS ltnS leq_addl.
rewrite ab mul1r /step /reaches addnS -addSn addnC.
have -> : (a + b.+1 - a).-1 = b by rewrite addKn.
rewrite subnDA takeD catrev_catl word_prob_cat drop_drop [(b.+1 + a)%N]addnC.
move: (word_prob _ _ _) (word_prob _ _ _) (jump _ _ _ _) (started _ _ _) => u v j w; ring.
Qed.

(* 2 of T06: given the text, s_t is the chance that a block starts after t tokens *)
Theorem renewal_starts : started c y t = word_prob p c y * renewal c y t.
Proof.
pose s := renewal c y.
have flow : \sum_(a < t) s a * reaches a = \sum_(b < t.+1) (0 < b)%:R * (s b * reaches b).
  transitivity (\sum_(a < t) \sum_(b < t.+1) (a < b)%:R * (s a * step c y a b) * reaches b).
    apply: eq_bigr => a _; rewrite reaches_step // mulr_sumr; apply: eq_bigr => b _.
    by move: (reaches b) (step c y a b) (s a) ((_ < _)%:R) => u v j w; ring.
  rewrite exchange_big /=; apply: eq_bigr => b _; rewrite -mulr_suml mulrA; congr (_ * _).
  case: b => [[|b] bt] /=; first by rewrite mul0r big1 // => a _; rewrite !mul0r.
  rewrite mul1r /s renewalE (big_ord_widen t (fun a => renewal c y a * step c y a b.+1) (bt : (b.+1 <= t)%N)) [RHS]big_mkcond /=.
    by apply: eq_bigr => a _; case: ifP; rewrite ?mul1r ?mul0r.
have all_b : \sum_(b < t.+1) s b * reaches b = reaches 0 + \sum_(b < t.+1) (0 < b)%:R * (s b * reaches b).
  rewrite !big_ord_recl /= mul0r add0r mul1r; congr (_ + _).
  by apply: eq_bigr => b _; rewrite mul1r.
have : s t * reaches t = reaches 0.
  by apply: (@addrI _ (\sum_(a < t) s a * reaches a)); rewrite {2}flow [RHS]addrC -all_b big_ord_recr.
rewrite reaches_end mulrC => ->.
by rewrite /reaches take0 drop0 /= mul1r subn0.
Qed.
End Along.

Lemma blocks_sound m n c : (n <= m)%N ->
  outputs (fun bs => all (fun ys => 0 < size ys)%N bs /\ size (flatten bs) = n) (blocks m n c).
Proof.
elim: m n c => [|m IH] [|n] c // nm; apply: (outputs_bind (token_size _ c)) => ys /andP[ys0 ysg].
have le : (size ys <= n.+1)%N by apply: leq_trans ysg _; rewrite ltnS geq_minr.
have nm' : (n.+1 - size ys <= m)%N by rewrite leq_subLR (leq_trans nm) // -add1n leq_add2r.
by apply: (outputs_bind (IH _ (catrev ys c) nm')) => bs [ne sz]; rewrite /= ys0 ne size_cat sz subnKC.
Qed.

Lemma starts_count bs : all (fun ys => 0 < size ys)%N bs ->
  (\sum_(t < size (flatten bs)) starts t bs = size bs)%N.
Proof.
elim: bs => [|ys bs IH] /=; first by rewrite big_ord0.
case/andP=> ys0 ne; rewrite size_cat big_split_ord /= -(IH ne) -add1n; congr (_ + _)%N.
  rewrite (bigD1 (Ordinal ys0)) //= big1 ?addn0 // => t /negbTE t0.
  by rewrite -(inj_eq val_inj) /= in t0; rewrite t0 leqNgt ltn_ord.
by apply: eq_bigr => t _; rewrite addn_eq0 (gtn_eqF ys0) leq_addr addKn.
Qed.

(* so the number of blocks that write y *)
Theorem calls_given c y :
  E (blocks (size y) (size y) c) (fun bs => (flatten bs == y)%:R * (size bs)%:R) = word_prob p c y * target_calls c y.
Proof.
transitivity (\sum_(t < size y) started c y t); last first.
  by rewrite /target_calls mulr_sumr; apply: eq_bigr => t _; exact: renewal_starts.
rewrite -E_sum; apply: (E_outputs (blocks_sound c (leqnn _))) => bs [ne _].
case: eqP => [<-|_]; last by rewrite mul0r big1.
by rewrite mul1r -(starts_count ne) natr_sum; apply: eq_bigr => t _.
Qed.

(* 3 of T06: the mean over texts of the target *)
Theorem calls_mean n c : E (blocks n n c) (fun bs => (size bs)%:R) = E (ar p n c) (target_calls c).
Proof.
have only (s : seq T) (v : seq T -> R) : size s = n -> v s = \sum_(y : n.-tuple T) (s == y)%:R * v y.
  move/eqP=> ss; rewrite (bigD1 (Tuple ss)) //= eqxx mul1r big1 ?addr0 // => y ne.
  by case: eqP => [e|]; rewrite ?mul0r //; case/negP: ne; apply/eqP/val_inj; rewrite /= e.
transitivity (\sum_(y : n.-tuple T) word_prob p c y * target_calls c y).
  transitivity (E (blocks n n c) (fun bs => \sum_(y : n.-tuple T) (flatten bs == y)%:R * (size bs)%:R)).
    apply: (E_outputs (blocks_sound c (leqnn n))) => bs [_ sz].
    exact: (only (flatten bs) (fun=> (size bs)%:R)).
  by rewrite E_sum; apply: eq_bigr => y _; rewrite -calls_given size_tuple.
rewrite (E_outputs (ar_size p n c) (fun s ss => only s (target_calls c) ss)) E_sum; apply: eq_bigr => y _.
rewrite -ar_law /law size_tuple [RHS](@E_ext _ _ _ _ _ (fun s : seq T => target_calls c y * (s == tval y)%:R)) => [|s]; last by rewrite mulrC.
by rewrite E_scale mulrC.
Qed.

(* ---- the chain itself: the chance of all borders, given the text, is the product of the jumps ---- *)
Fixpoint jumps c n bs : R :=
  if bs is ys :: bs' then
    jump (minn gamma n.-1) c ys (size ys).-1 * jumps (catrev ys c) (n - size ys)%N bs'
  else 1.

(* 1 of T06 *)
Theorem blocks_law m n c bs : (n <= m)%N -> all (fun ys => 0 < size ys)%N bs -> size (flatten bs) = n ->
  law (blocks m n c) bs = word_prob p c (flatten bs) * jumps c n bs.
Proof.
elim: bs m n c => [|ys bs IH] [|m] [|n] c //=; rewrite ?mulr1 //.
- by move=> _ /andP[y0 _]; rewrite size_cat => /eqP; rewrite addn_eq0 (gtn_eqF y0).
- by move=> _ /andP[y0 _]; rewrite size_cat => /eqP; rewrite addn_eq0 (gtn_eqF y0).
move=> nm /andP[ys0 ne]; rewrite size_cat => sz; have szb : size (flatten bs) = (n.+1 - size ys)%N.
  by rewrite -sz addKn.
rewrite /law E_bind.
transitivity (E (token_block p q (minn gamma n) c) (fun zs =>
    law (blocks m (n.+1 - size ys) (catrev ys c)) bs * (zs == ys)%:R)).
  apply: E_ext => zs; rewrite E_bind /=; case: (zs =P ys) => [->|zy].
    by rewrite mulr1; apply: E_ext => b; rewrite eqseq_cons eqxx.
  rewrite mulr0 (@E_ext _ _ _ _ _ (fun=> 0 * 0)) => [|b]; first by rewrite E_scale mul0r.
  by rewrite eqseq_cons mulr0; case: eqP.
rewrite E_scale -/(law _ _) token_block_law // IH //; last by rewrite leq_subLR (leq_trans nm) // -add1n leq_add2r.
rewrite word_prob_cat; move: (word_prob _ _ _) (word_prob _ _ _) (jump _ _ _ _) (jumps _ _ _) => u v j w; ring.
Qed.

End Renewal.
