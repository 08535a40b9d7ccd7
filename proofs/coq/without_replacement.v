(* Drafts without replacement: what a token adds to the probability that all drafts are in a set, per unit of its
   weight, grows when another token has joined the set, for every number of drafts.  No arrival times: two tokens are
   compared with one that has the weight of both. *)
Require Import prelude prob recursive duality prefix.

Section Without.
Variables (R : realFieldType) (T : finType) (q : T -> R).
Hypotheses (dq : is_dist q) (q0 : forall x, 0 < q x).
Implicit Types (S H : {set T}) (o a b c : R) (k : nat).
Let qw x : 0 <= q x := ltW (q0 x).

(* the next k drafts are all in H: S are the tokens of H that are left, o is the mass that is not in H *)
Fixpoint inside_left k S o : R :=
  if k is k'.+1 then
    if weight q S + o == 0 then 1 else (\sum_(x in S) q x * inside_left k' (S :\ x) o) / (weight q S + o)
  else 1.

(* the same with a token of weight c more, which is drafted, per c *)
Fixpoint gain k S c o : R :=
  if k is k'.+1 then
    (inside_left k' S o + \sum_(x in S) q x * gain k' (S :\ x) c o) / (weight q S + c + o)
  else 0.

Lemma weight_ge0 S : 0 <= weight q S.
Proof. by apply: sumr_ge0 => x _. Qed.

Lemma weight_add j S : j \notin S -> weight q (j |: S) = q j + weight q S.
Proof. by move=> jS; rewrite /weight big_setU1. Qed.

Lemma weight_del x S : x \in S -> weight q S = q x + weight q (S :\ x).
Proof. by move=> xS; rewrite {1}/weight (big_setD1 x). Qed.

Lemma weight_eq0 S o : 0 <= o -> weight q S + o = 0 -> S = set0.
Proof.
move=> o0 z; apply/eqP; rewrite -subset0; apply/subsetP => x xS.
have : 0 < weight q S + o; last by rewrite z ltxx.
apply: ltr_paddr => //; rewrite /weight (big_setD1 x) //=; apply: ltr_paddr (q0 x).
exact: weight_ge0.
Qed.

(* sums over a set with one token more *)
Lemma sum_add (f : {set T} -> R) j S : j \notin S ->
  \sum_(x in j |: S) q x * f ((j |: S) :\ x) = q j * f S + \sum_(x in S) q x * f (j |: (S :\ x)).
Proof.
move=> jS; rewrite big_setU1 //= setU1K //; congr (_ + _); apply: eq_bigr => x xS; congr (_ * f _).
apply/setP => y; rewrite !inE; have [->|//] := eqVneq y x; rewrite /= orbF.
by apply/esym/negbTE; apply: contraNneq jS => <-.
Qed.

Lemma inside_leftE k S o : 0 <= o ->
  (weight q S + o) * inside_left k.+1 S o = \sum_(x in S) q x * inside_left k (S :\ x) o.
Proof.
move=> o0 /=; case: eqP => [z|/eqP z]; last by rewrite mulrCA divff // mulr1.
by rewrite z mul0r (weight_eq0 o0 z) big_set0.
Qed.

Lemma gainE k S c o : 0 < c -> 0 <= o ->
  (weight q S + c + o) * gain k.+1 S c o = inside_left k S o + \sum_(x in S) q x * gain k (S :\ x) c o.
Proof.
move=> c0 o0 /=; rewrite mulrCA divff ?mulr1 // gt_eqF //.
by apply: ltr_paddr => //; apply: ltr_paddl => //; exact: weight_ge0.
Qed.

Lemma inside_left_ge0 k S o : 0 <= o -> 0 <= inside_left k S o.
Proof.
move=> o0; elim: k S => [|k IH] S /=; first exact: ler01.
case: ifP => _; first exact: ler01.
apply: divr_ge0; last by rewrite addr_ge0 ?weight_ge0.
by apply: sumr_ge0 => x _; rewrite mulr_ge0.
Qed.

Lemma total_gt0 S o : 0 <= o -> weight q S + o != 0 -> 0 < weight q S + o.
Proof. by move=> o0 z; rewrite lt_neqAle eq_sym z addr_ge0 ?weight_ge0. Qed.

Lemma inside_left_le1 k S o : 0 <= o -> inside_left k S o <= 1.
Proof.
move=> o0; elim: k S => [|k IH] S //=; case: ifPn => // z.
rewrite ler_pdivr_mulr ?total_gt0 // mul1r; apply: le_trans (_ : weight q S <= _); last by rewrite ler_addl.
by apply: ler_sum => x _; rewrite -[X in _ <= X]mulr1 ler_wpmul2l.
Qed.

(* one draft more is inside less often *)
Lemma inside_left_step k S o : 0 <= o -> inside_left k.+1 S o <= inside_left k S o.
Proof.
move=> o0; elim: k S => [|k IH] S; first exact: inside_left_le1.
have [z|z] := eqVneq (weight q S + o) 0; first by rewrite /= z eqxx.
rewrite -(ler_pmul2l (total_gt0 o0 z)) !inside_leftE //.
by apply: ler_sum => x _; rewrite ler_wpmul2l.
Qed.

(* one token more in the set, none outside it *)
Lemma inside_left_more k j S o : 0 <= o -> j \notin S -> inside_left k S o <= inside_left k (j |: S) o.
Proof.
move=> o0; elim: k S => [|k IH] S jS; first exact: lexx.
have m0 : 0 < weight q (j |: S) + o.
  by rewrite weight_add // -addrA; apply: ltr_paddr; rewrite ?addr_ge0 ?weight_ge0.
rewrite -(ler_pmul2l m0) inside_leftE // (sum_add (inside_left k ^~ o)) // weight_add // -addrA mulrDl inside_leftE //.
apply: ler_add; first by rewrite ler_wpmul2l //; exact: inside_left_step.
by apply: ler_sum => x xS; rewrite ler_wpmul2l //; apply: IH; rewrite !inE negb_and jS orbT.
Qed.

(* more mass outside *)
Lemma inside_left_outside k S a o : 0 <= o -> 0 <= a -> inside_left k S (o + a) <= inside_left k S o.
Proof.
move=> o0 a0; have oa := addr_ge0 o0 a0; elim: k S => [|k IH] S; first exact: lexx.
have [z|z] := eqVneq (weight q S + o) 0.
  by rewrite [X in _ <= X]/= z eqxx; exact: inside_left_le1.
have m0 := total_gt0 o0 z; rewrite -(ler_pmul2l m0) inside_leftE //.
apply: le_trans (_ : (weight q S + (o + a)) * inside_left k.+1 S (o + a) <= _).
  by rewrite ler_wpmul2r ?inside_left_ge0 // ler_add2l ler_addl.
by rewrite inside_leftE //; apply: ler_sum => x _; rewrite ler_wpmul2l.
Qed.

Lemma gain_ge0 k S c o : 0 < c -> 0 <= o -> 0 <= gain k S c o.
Proof.
move=> c0 o0; elim: k S => [|k IH] S //=; apply: divr_ge0.
  by rewrite addr_ge0 ?inside_left_ge0 //; apply: sumr_ge0 => x _; rewrite mulr_ge0.
by rewrite addr_ge0 // addr_ge0 ?weight_ge0 // ltW.
Qed.

(* what a token adds when it comes in from outside *)
Lemma added k j S o : 0 <= o -> j \notin S ->
  inside_left k (j |: S) o - inside_left k S (o + q j) = q j * gain k S (q j) o.
Proof.
move=> o0; elim: k S => [|k IH] S jS; first by rewrite subrr mulr0.
have oq : 0 <= o + q j by rewrite addr_ge0.
have m0 : weight q S + q j + o != 0.
  by rewrite gt_eqF //; apply: ltr_paddr => //; apply: ltr_paddl => //; exact: weight_ge0.
apply: (mulfI m0); rewrite mulrCA gainE // mulrBr.
have -> : weight q S + q j + o = weight q S + (o + q j) by rewrite -addrA [q j + o]addrC.
rewrite (inside_leftE _ _ oq); have -> : weight q S + (o + q j) = weight q (j |: S) + o.
  by rewrite weight_add // addrA addrAC -addrA addrCA addrA.
rewrite inside_leftE // (sum_add (inside_left k ^~ o)) // mulrDr -addrA; congr (_ + _).
rewrite mulr_sumr -sumrB; apply: eq_bigr => x xS; rewrite -mulrBr IH; first exact: mulrCA.
by rewrite !inE negb_and jS orbT.
Qed.

(* a token and one outside as one: the drafts hold the two together at least so often *)
Lemma gain_outside k S a b o : 0 < b -> 0 <= a -> 0 <= o -> gain k S b (o + a) <= gain k S (a + b) o.
Proof.
move=> b0 a0 o0; have ab : 0 < a + b by exact: ltr_paddl.
have oa := addr_ge0 o0 a0; elim: k S => [|k IH] S; first exact: lexx.
have m0 : 0 < weight q S + (a + b) + o.
  by apply: ltr_paddr => //; apply: ltr_paddl => //; exact: weight_ge0.
rewrite -(ler_pmul2l m0) gainE //.
have -> : weight q S + (a + b) + o = weight q S + b + (o + a) by ring.
rewrite gainE //; apply: ler_add; first exact: inside_left_outside.
by apply: ler_sum => x _; rewrite ler_wpmul2l.
Qed.

(* and once that one is inside, the other is drafted at least so often *)
Lemma gain_inside k j S a o : 0 < a -> 0 <= o -> j \notin S -> gain k S (a + q j) o <= gain k (j |: S) a o.
Proof.
move=> a0 o0; have aj : 0 < a + q j by rewrite addr_gt0.
elim: k S => [|k IH] S jS; first exact: lexx.
have m0 : 0 < weight q S + (a + q j) + o.
  by apply: ltr_paddr => //; apply: ltr_paddl => //; exact: weight_ge0.
rewrite -(ler_pmul2l m0) gainE //.
have -> : weight q S + (a + q j) + o = weight q (j |: S) + a + o by rewrite weight_add //; ring.
rewrite gainE // (sum_add (fun S => gain k S a o)) //; apply: ler_add; first exact: inside_left_more.
rewrite -[X in X <= _]add0r; apply: ler_add; first by rewrite mulr_ge0 ?gain_ge0.
by apply: ler_sum => x xS; rewrite ler_wpmul2l //; apply: IH; rewrite !inE negb_and jS orbT.
Qed.

(* all of k drafts are in H *)
Definition within k H := E (draft_list k (without_repl q) [::]) (fun s => (all (mem H) s)%:R).

Definition outside (h : seq T) := \sum_(y | y \notin h) q y.

Lemma without_replE h x : uniq h -> has (fun y => y \notin h) (enum T) ->
  without_repl q h x = if x \in h then 0 else q x / outside h.
Proof.
elim: h x => [|v h IH] x /=.
  by rewrite /outside (eq_bigl xpredT) // (dist_sum dq) divr1.
move=> /andP[vh uh] /hasP[y _ yvh].
have yh : y \notin h by apply: contra yvh; rewrite in_cons => ->; rewrite orbT.
have left : has (fun y => y \notin h) (enum T) by apply/hasP; exists y; rewrite ?mem_enum.
have out0 (g : seq T) z : z \notin g -> 0 < outside g.
  move=> zg; rewrite /outside (bigD1 z) //=; apply: ltr_paddr (q0 z).
  by apply: sumr_ge0 => t _.
have z0 : \sum_(t | t != v) without_repl q h t = outside (v :: h) / outside h.
  under eq_bigr => t _ do rewrite IH //.
  rewrite [in RHS]/outside mulr_suml (bigID (mem h)) /= big1 ?add0r => [|t /andP[_ ->] //].
  apply: eq_big => [t|t /andP[_ /negbTE -> //]]; by rewrite in_cons negb_or.
rewrite /without z0 mulf_eq0 invr_eq0 !gt_eqF ?(out0 _ y) //= in_cons IH //.
have [//|_] /= := eqVneq x v; case: ifP => _; first by rewrite mul0r.
by field; rewrite !gt_eqF ?(out0 _ y).
Qed.

Lemma within_left k h H : uniq h -> {subset h <= H} ->
  E (draft_list k (without_repl q) h) (fun s => (all (mem H) s)%:R) =
  inside_left k (H :\: [set x in h]) (weight q (~: H)).
Proof.
have o0 := weight_ge0 (~: H); elim: k h => [|k IH] h uh hH //=.
have total : weight q (H :\: [set x in h]) + weight q (~: H) = outside h.
  rewrite /weight /outside [RHS](bigID (mem H)) /=; congr (_ + _); apply: eq_bigl => x; rewrite !inE //.
  by case: (boolP (x \in h)) => //= /hH ->.
rewrite total; have [left|] := boolP (has (fun y => y \notin h) (enum T)); last first.
(* all tokens are drawn: then the drafts stay where they are *)
  move=> /hasPn none; have all_h x : x \in h by apply/negPn/none; rewrite mem_enum.
  have -> : outside h = 0 by apply: big_pred0 => x; rewrite all_h.
  rewrite eqxx -[RHS](dist_sum (without_repl_dist h dq)); apply: eq_bigr => x _.
  rewrite E_bind -[RHS]mulr1; congr (_ * _).
  have w := draft_list_wf k (x :: h) (fun g => without_repl_dist g dq).
  rewrite -[RHS](E_const 1 w); apply: E_ext => s /=; have -> : all (mem H) s by apply/allP => y _; exact: hH.
  by rewrite hH.
have pos : 0 < outside h.
  case/hasP: left => y _ yh; rewrite /outside (bigD1 y) //=; apply: ltr_paddr (q0 y).
  by apply: sumr_ge0 => t _.
rewrite gt_eqF // mulr_suml big_mkcond [RHS]big_mkcond /=; apply: eq_bigr => x _.
rewrite without_replE // !inE; case: (boolP (x \in h)) => [_|xh] /=; first by rewrite mul0r.
case: (boolP (x \in H)) => [xH|/negbTE xH]; last first.
  rewrite E_bind (_ : E _ _ = 0) ?mulr0 //.
  have w := draft_list_wf k (x :: h) (fun g => without_repl_dist g dq).
  by rewrite -[RHS](E_const 0 w); apply: E_ext => s /=; rewrite xH.
rewrite mulrAC; congr (_ * _ * _); rewrite E_bind.
transitivity (E (draft_list k (without_repl q) (x :: h)) (fun s => (all (mem H) s)%:R)).
  by apply: E_ext => s /=; rewrite xH.
rewrite IH /=; first last.
- by move=> y; rewrite in_cons => /orP[/eqP ->|/hH].
- by rewrite xh.
congr (inside_left _ _ _); apply/setP => y; rewrite !inE negb_or andbA; congr (_ && _).
Qed.

Lemma withinE k H : within k H = inside_left k H (weight q (~: H)).
Proof.
rewrite /within within_left //; congr (inside_left _ _ _).
by apply/setP => x; rewrite !inE.
Qed.

(* part 2 of T15 *)
Theorem without_grows k : gains_grow q (within k).
Proof.
move=> S i j ij iS jS; rewrite !withinE.
have comp l H : l \notin H -> weight q (~: H) = weight q (~: (l |: H)) + q l.
  move=> lH; rewrite {1}/weight (bigD1 l) ?inE //= addrC; congr (_ + _).
  by apply: eq_bigl => x; rewrite !inE negb_or andbC.
have ijS : i \notin j |: S by rewrite !inE negb_or ij.
rewrite (comp j S) // (comp i (j |: S)) //; set o := weight q (~: _).
have o0 : 0 <= o by exact: weight_ge0.
have oi : 0 <= o + q i by rewrite addr_ge0.
rewrite !added // ![_ * gain _ _ _ _ / _]mulrAC !divff ?gt_eqF // !mul1r.
apply: le_trans (gain_inside _ (q0 i) o0 jS).
by apply: gain_outside => //; exact: ltW.
Qed.

(* part 1 for two drafts *)
Theorem without_two H : (forall x, q x < 1) ->
  within 2 H = \sum_(x in H) q x * (weight q H - q x) / (1 - q x).
Proof.
move=> q1; have o0 := weight_ge0 (~: H); rewrite withinE.
have total : weight q H + weight q (~: H) = 1.
  by rewrite -(dist_sum dq) [RHS](bigID (mem H)) /=; congr (_ + _); apply: eq_bigl => x; rewrite inE.
rewrite -[inside_left _ _ _]mul1r -{1}total inside_leftE //; apply: eq_bigr => x xH; rewrite -mulrA; congr (_ * _).
have rest : weight q (H :\ x) = weight q H - q x by rewrite (weight_del xH) addrAC subrr add0r.
have left : weight q (H :\ x) + weight q (~: H) = 1 - q x by rewrite rest addrAC total.
rewrite /= left subr_eq0 gt_eqF // -rest /weight; congr (_ / _).
by apply: eq_bigr => y _; rewrite mulr1.
Qed.

(* where nothing is outside, all drafts are inside *)
Lemma inside_left_none_outside k S : inside_left k S 0 = 1.
Proof.
elim: k S => [//|k IH] S /=; case: ifPn => // z.
rewrite [X in X / _](_ : _ = weight q S + 0) ?divff // addr0 /weight.
by apply: eq_bigr => x _; rewrite IH mulr1.
Qed.

(* where something is, more drafts than there are tokens inside are not *)
Lemma inside_left_too_many k S o : 0 < o -> (#|S| < k)%N -> inside_left k S o = 0.
Proof.
move=> o0; elim: k S => [//|k IH] S Sk /=.
rewrite gt_eqF; last by apply: ltr_paddl => //; exact: weight_ge0.
rewrite big1 ?mul0r // => x xS; rewrite IH ?mulr0 //.
by move: Sk; rewrite (cardsD1 x) xS.
Qed.

(* part 5: with as many drafts as tokens or more, all are inside the whole set only *)
Theorem without_all k H : (#|T| <= k)%N -> within k H = (H == setT)%:R.
Proof.
move=> Tk; rewrite withinE; have [->|HT] := eqVneq H setT.
  by rewrite setCT /weight big_set0 inside_left_none_outside.
have [y yH] : exists y, y \notin H.
  by apply/existsP; rewrite -negb_forall; apply: contra HT => /forallP all_H; apply/eqP/setP => x; rewrite inE all_H.
rewrite inside_left_too_many //.
  rewrite /weight (bigD1 y) ?inE //=; apply: ltr_paddr (q0 y).
  by apply: sumr_ge0 => x _.
apply: leq_trans Tk; rewrite -cardsT; apply: proper_card.
by rewrite properE subsetT; apply/subsetPn; exists y; rewrite ?inE.
Qed.

(* a part with more in it is a larger part of the whole *)
Lemma fraction_grows (w c o : R) : 0 <= w -> 0 <= c -> 0 < o -> w / (w + o) <= (c + w) / (c + w + o).
Proof.
move=> w0 c0 o0; have p1 : 0 < w + o by exact: ltr_paddl.
have p2 : 0 < c + w + o by apply: ltr_paddl => //; exact: addr_ge0.
rewrite ler_pdivr_mulr // mulrAC ler_pdivl_mulr //.
have -> : (c + w) * (w + o) = w * (c + w + o) + c * o by ring.
by rewrite ler_addl mulr_ge0 // ltW.
Qed.

(* part 6: as many i.i.d. drafts are inside at least so often *)
Theorem without_below_iid k H : within k H <= weight q H ^+ k.
Proof.
rewrite withinE; have o0 := weight_ge0 (~: H).
have total : weight q H + weight q (~: H) = 1.
  by rewrite -(dist_sum dq) [RHS](bigID (mem H)) /=; congr (_ + _); apply: eq_bigl => x; rewrite inE.
set o := weight q (~: H) in o0 total *; have [z|z] := eqVneq o 0.
  have -> : weight q H = 1 by rewrite -total z addr0.
  by rewrite expr1n; exact: inside_left_le1.
have op : 0 < o by rewrite lt_neqAle eq_sym z.
have pos S : 0 < weight q S + o by apply: ltr_paddl => //; exact: weight_ge0.
have general S : inside_left k S o <= (weight q S / (weight q S + o)) ^+ k.
  elim: k S => [|k IH] S; first exact: lexx.
  rewrite -(ler_pmul2l (pos S)) inside_leftE // exprS mulrA [X in X * _](_ : _ = weight q S); last first.
    by rewrite mulrCA divff ?mulr1 // gt_eqF.
  rewrite {1}/weight mulr_suml; apply: ler_sum => x xS; rewrite ler_wpmul2l //.
  apply: le_trans (IH _) _; apply: ler_expn2r; rewrite ?nnegrE ?divr_ge0 ?weight_ge0 ?(ltW (pos _)) //.
  by rewrite (weight_del xS); apply: fraction_grows => //; exact: weight_ge0.
by apply: le_trans (general H) _; rewrite total divr1.
Qed.

End Without.
