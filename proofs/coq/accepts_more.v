(* Which lossless rule accepts more, on every pair of laws: naive at most as often as recursive rejection, that at most as
   often as K-SEQ at its root, for every number of drafts; and recursive rejection of two drafts without replacement
   at least as often as with. *)
Require Import prelude prob rejection recursive acceptance coupling duality kseq kseq_rho.

Section Order.
Variables (R : realFieldType) (T : finType) (p q : T -> R).
Hypotheses (dp : is_dist p) (dq : is_dist q).

(* the target of draft j + 1, and the probability that it is looked at *)
Let target j := iter j (fun r => residual r q) p.
Let looked j := \prod_(i < j) (1 - overlap (target i) q).

Lemma target_dist j : is_dist (target j).
Proof. by elim: j => [//|j IH]; exact: residual_dist. Qed.

Lemma refusal_ge0 j : 0 <= 1 - overlap (target j) q.
Proof. by rewrite subr_ge0 overlap_le1 // (dist_sum (target_dist j)). Qed.

Lemma looked_ge0 j : 0 <= looked j.
Proof. by apply: prodr_ge0 => i _; exact: refusal_ge0. Qed.

Lemma lookedS j : looked j.+1 = looked j * (1 - overlap (target j) q).
Proof. by rewrite /looked big_ord_recr. Qed.

(* what is left of the target when draft j was refused *)
Lemma left_over j x : looked j.+1 * target j.+1 x = looked j * excess (target j) q x.
Proof.
rewrite lookedS -mulrA; congr (_ * _); rewrite -[1](dist_sum (target_dist j)) -sum_excess /= -/(target j) /residual.
case: eqP => [z|/eqP z]; last by rewrite mulrCA divff // mulr1.
rewrite z mul0r; apply/esym/eqP.
have := z; move/eqP; rewrite psumr_eq0 => [/allP/(_ x)|y _]; last exact: excess_ge0.
by rewrite mem_index_enum => /(_ isT).
Qed.

(* 1 *)
Lemma left_below j x : looked j * target j x <= p x * (1 - q x) ^+ j.
Proof.
have q1 : 0 <= 1 - q x by rewrite subr_ge0 dist_le1.
elim: j => [|j IH]; first by rewrite /looked big_ord0 mul1r expr0 mulr1.
apply: le_trans (_ : looked j * target j x * (1 - q x) <= _); last first.
  by rewrite exprSr mulrA; apply: ler_wpmul2r.
have r0 := dist_ge0 (target_dist j) x; have r1 := dist_le1 (target_dist j) x; have q0 := dist_ge0 dq x.
rewrite left_over -mulrA; apply: ler_wpmul2l; first exact: looked_ge0.
rewrite /excess le_maxl mulr_ge0 //= mulrBr mulr1 ler_add2l ler_opp2.
by rewrite -[X in _ <= X]mul1r; apply: ler_wpmul2r.
Qed.

Theorem naive_below_recursive k :
  E (naive p (draft_list k (with_repl q) [::])) (fun o => (o.2 \in o.1)%:R) <=
  E (rrs k (with_repl q) p) (fun o => (o.1)%:R).
Proof.
rewrite naive_acceptance // recursive_acceptance //.
under eq_bigr do rewrite mulrBr mulr1.
rewrite sumrB (dist_sum dp) ler_add2l ler_opp2 -/(target _) -/(looked k).
have -> : looked k = \sum_x looked k * target k x by rewrite -mulr_sumr (dist_sum (target_dist k)) mulr1.
by apply: ler_sum => x _; exact: left_below.
Qed.

(* 2: refusals rise, since a residual lives where the draft's law is below it *)
Lemma overlap_falls j : overlap (target j.+1) q <= overlap (target j) q.
Proof.
apply: ler_sum => x _; rewrite /= -/(target j) /residual; case: eqP => // /eqP z.
rewrite le_minr [X in _ && X]le_minl lexx orbT andbT.
have [le|lt] := leP (target j x) (q x).
  by rewrite /excess (max_idPl _) ?subr_le0 // mul0r le_minl (dist_ge0 (target_dist j)).
by rewrite le_minl (ltW lt) orbT.
Qed.

Lemma refusals_rise i j : (i <= j)%N -> 1 - overlap (target i) q <= 1 - overlap (target j) q.
Proof.
move=> /subnK <-; elim: (j - i)%N => [|n IH]; first exact: lexx.
by apply: le_trans IH _; rewrite addSn ler_add2l ler_opp2 overlap_falls.
Qed.

(* what is accepted at a token, by draft and in all *)
Lemma accepted_mass k x : p x - looked k * target k x = \sum_(j < k) looked j * Num.min (target j x) (q x).
Proof.
elim: k => [|k IH]; first by rewrite /looked !big_ord0 mul1r subrr.
by rewrite big_ord_recr /= -IH left_over excessE; ring.
Qed.

Lemma accepted_below k : 1 - looked k <= \sum_x Num.min (p x) ((\sum_(j < k) looked j) * q x).
Proof.
have -> : 1 - looked k = \sum_x (p x - looked k * target k x).
  by rewrite sumrB (dist_sum dp) -mulr_sumr (dist_sum (target_dist k)) mulr1.
apply: ler_sum => x _; rewrite le_minr ler_subl_addr ler_addl mulr_ge0 ?looked_ge0 ?(dist_ge0 (target_dist k)) //=.
rewrite accepted_mass mulr_suml; apply: ler_sum => j _; apply: ler_wpmul2l; first exact: looked_ge0.
by rewrite le_minl lexx orbT.
Qed.

Theorem recursive_below_kseq k rho : 0 < rho -> boost p q rho k = rho ->
  E (rrs k (with_repl q) p) (fun o => (o.1)%:R) <= E (kseq p q rho k) (fun o => (o.1)%:R).
Proof.
move=> r0 root; have vk : valid p q rho k by rewrite /valid root.
rewrite recursive_acceptance // kseq_acceptance // -/(target _) -/(looked k); set c := 1 - beta p q rho.
have c0 : 0 <= c by rewrite subr_ge0; have /andP[] := beta01 dp dq r0.
rewrite leNgt; apply/negP => more.
have lt : looked k < c ^+ k by move: more; rewrite /p_acc -/c ltr_add2l ltr_opp2.
have cp : 0 < c.
  rewrite lt_neqAle eq_sym c0 andbT; apply: contraL lt => /eqP z; rewrite -leNgt z.
  by case: k {root vk more} => [|k]; [rewrite /looked big_ord0 expr0 | rewrite expr0n looked_ge0].
(* counted from the last draft down, none is looked at more often than in K-SEQ *)
have below : forall j, (j <= k)%N -> looked j <= c ^+ j.
  move=> j /subnK; move: (k - j)%N => n; elim: n j => [|n IH] j.
    by rewrite add0n => ->; exact: ltW.
  rewrite addSnnS => /IH next; have [up|down] := leP c (1 - overlap (target j) q).
    rewrite -(ler_pmul2r cp) -exprSr; apply: le_trans next.
    by rewrite lookedS; apply: ler_wpmul2l => //; exact: looked_ge0.
  rewrite -[X in _ <= _ ^+ X]card_ord -prodr_const; apply: ler_prod => i _; rewrite refusal_ge0 /=.
  by apply: le_trans (ltW down); apply: refusals_rise; apply: ltnW.
move: more; apply/negP; rewrite -leNgt root_acceptance //.
apply: le_trans (accepted_below k) _; apply: ler_sum => x _.
have sum_below : \sum_(j < k) looked j <= rho.
  by rewrite -root /boost; apply: ler_sum => j _; apply: below; apply: ltnW.
by rewrite le_minr !le_minl lexx /=; apply/orP; right; apply: ler_wpmul2r => //; exact: dist_ge0.
Qed.

(* 3: a refused draft has no mass in the residual, so leaving it out only raises the others *)
Lemma refused_empty x : excess q p x != 0 -> residual p q x = 0.
Proof.
move=> e; have lt : p x < q x.
  rewrite ltNge; apply: contra e => le; rewrite excessE; apply/eqP.
  by rewrite (min_idPl le) subrr.
rewrite /residual /excess (max_idPl _) ?subr_le0 ?(ltW lt) // mul0r; case: eqP => // z.
have o1 : overlap p q = 1.
  have: \sum_y excess p q y = 0 by exact: z.
  by rewrite sum_excess (dist_sum dp) => /eqP; rewrite subr_eq0 => /eqP.
have: \sum_y excess q p y = 0.
  rewrite sum_excess (dist_sum dq) -o1 /overlap.
  by under [X in _ - X]eq_bigr do rewrite minC; rewrite subrr.
move/eqP; rewrite psumr_eq0 => [/allP/(_ x)|y _]; last exact: excess_ge0.
by rewrite mem_index_enum (negbTE e) => /(_ isT).
Qed.

Lemma others_rise x r : r x = 0 -> overlap q r <= overlap (without q x) r.
Proof.
move=> rx; apply: ler_sum => y _; have q0 := dist_ge0 dq.
have [->|ne] := eqVneq y x.
  rewrite rx (min_idPr (q0 x)) le_minr lexx andbT; exact: dist_ge0 (without_dist x dq) x.
apply: (_ : q y <= without q x y -> _) => [le|].
  by rewrite le_minr !le_minl lexx orbT andbT le.
rewrite /without; case: eqP => // /eqP z; rewrite (negbTE ne).
have zp : 0 < \sum_(y | y != x) q y by rewrite lt_neqAle eq_sym z sumr_ge0.
rewrite ler_pdivl_mulr // -[X in _ <= X]mulr1; apply: ler_wpmul2l => //.
by rewrite -(dist_sum dq) [X in _ <= X](bigD1 x) //= ler_addr.
Qed.

Theorem two_without_replacement :
  E (rrs 2 (with_repl q) p) (fun o => (o.1)%:R) <= E (rrs 2 (without_repl q) p) (fun o => (o.1)%:R).
Proof.
rewrite !rrs_acceptance //; last by move=> h; exact: without_repl_dist.
rewrite ler_add2l ler_opp2; apply: ler_sum => x _; rewrite /with_repl.
have [->|e] := eqVneq (excess q p x) 0; first by rewrite !mul0r.
apply: ler_wpmul2l; first exact: excess_ge0.
rewrite /=; under eq_bigr do rewrite mulr1; under [X in _ <= X]eq_bigr do rewrite mulr1.
rewrite !sum_excess (dist_sum dq) (dist_sum (without_dist x dq)) ler_add2l ler_opp2.
by apply: others_rise; exact: refused_empty.
Qed.

End Order.
