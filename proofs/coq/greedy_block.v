(* Greedy block verification with its continuation: lossless, and it keeps every text as often as both laws
   allow, so that it attains what text_bound.v says of every verifier (T18). *)
Require Import prelude prob rejection recursive loop block words tokenwise survival dominance block_optimal text_bound texts.

Section Greedy.
Variables (R : realFieldType) (T : finType).
Notation prog := (prog R T).
Notation model := (seq T -> T -> R).
Variables (p q : model).          (* target, draft *)
Hypotheses (dp : is_model p) (dq : is_model q).
(* a and b: the probabilities under p and q of the text since the block began, c: all the text *)
Implicit Types (a b : R) (c : seq T).

Definition short_at a b c x := excess (fun x => a * p c x) (fun x => b * q c x) x.
Definition spare_at a b c x := excess (fun x => b * q c x) (fun x => a * p c x) x.
Definition short a b c := \sum_x short_at a b c x.
Definition spare a b c := \sum_x spare_at a b c x.
Definition passes a b c :=
  let z := Num.max (short a b c) (spare a b c) in if z == 0 then 1 else short a b c / z.
Definition missing a b c x := if short a b c == 0 then p c x else short_at a b c x / short a b c.

(* m tokens that the drafts fall short of, one after another *)
Fixpoint beyond m a b c : prog (seq T) :=
  if m is m'.+1 then
    Draw (missing a b c) (fun y =>
      bind (beyond m' (a * p c y) (b * q c y) (y :: c)) (fun ys => Ret (y :: ys)))
  else Ret [::].

(* How many of the drafts ds are kept, and the tokens after them.  None = no prefix passed; the longest that
   passes wins, so the deepest are tested first. *)
Fixpoint gverify a b c (ds : seq T) : prog (option (nat * seq T)) :=
  if ds is d :: ds' then
    bind (gverify (a * p c d) (b * q c d) (d :: c) ds') (fun o =>
      if o is Some (n, ys) then Ret (Some (n.+1, ys))
      else Flip (passes a b c)
             (bind (beyond (size ds) a b c) (fun ys => Ret (Some (0%N, ys))))
             (Ret None))
  else Flip (Num.min 1 (a / b)) (Draw (p c) (fun y => Ret (Some (0%N, [:: y])))) (Ret None).

(* at the first position nothing can fail *)
Definition greedy_verify c (ds : seq T) : prog (nat * seq T) :=
  bind (gverify 1 1 c ds) (fun o =>
    if o is Some o' then Ret o' else bind (beyond (size ds) 1 1 c) (fun ys => Ret (0%N, ys))).

Definition greedy_block g c : prog (seq T) :=
  bind (ar q g c) (fun ds => bind (greedy_verify c ds) (fun o => Ret (take o.1 ds ++ o.2))).

Lemma short_spare a b c : short a b c - spare a b c = a - b.
Proof.
rewrite /short /spare !sum_excess -!mulr_sumr !(dist_sum (dp c)) !(dist_sum (dq c)) !mulr1.
have -> : overlap (fun x => b * q c x) (fun x => a * p c x) = overlap (fun x => a * p c x) (fun x => b * q c x).
  by apply: eq_bigr => x _; rewrite minC.
by ring.
Qed.

Lemma short_ge0 a b c : 0 <= short a b c.
Proof. by apply: sumr_ge0 => x _; exact: excess_ge0. Qed.

Lemma spare_ge0 a b c : 0 <= spare a b c.
Proof. by apply: sumr_ge0 => x _; exact: excess_ge0. Qed.

Lemma passes01 a b c : 0 <= passes a b c <= 1.
Proof.
rewrite /passes; case: eqP => [_|/eqP z]; first by rewrite ler01 lexx.
have s0 := short_ge0 a b c; have z0 : 0 < Num.max (short a b c) (spare a b c).
  by rewrite lt_neqAle eq_sym z le_maxr s0.
by rewrite divr_ge0 ?(ltW z0) //= ler_pdivr_mulr // mul1r le_maxr lexx.
Qed.

(* what passes of the mass to spare is the mass short, where that is less *)
Lemma passesE a b c : spare a b c * passes a b c = Num.min (short a b c) (spare a b c).
Proof.
have s0 := short_ge0 a b c; have o0 := spare_ge0 a b c; rewrite /passes.
case: eqP => [z|/eqP z].
  have /andP[sz oz] : (short a b c <= 0) && (spare a b c <= 0) by rewrite -le_maxl z.
  have -> : spare a b c = 0 by apply/le_anti; rewrite oz o0.
  by rewrite mul0r; apply/esym/min_idPr.
case: (leP (short a b c) (spare a b c)) z => [le|lt] z; first by rewrite mulrCA divff ?mulr1.
by rewrite divff ?mulr1.
Qed.

Lemma missing_dist a b c : is_dist (missing a b c).
Proof.
rewrite /missing; have [_|z] := eqVneq (short a b c) 0; first exact: dp.
split=> [x|]; last by rewrite -mulr_suml -/(short a b c) divff.
by apply: divr_ge0; [exact: excess_ge0 | exact: short_ge0].
Qed.

Lemma missingE a b c x : short a b c * missing a b c x = short_at a b c x.
Proof.
rewrite /missing; case: eqP => [z|/eqP z]; last by rewrite mulrCA divff ?mulr1.
rewrite z mul0r; move/eqP: z; rewrite psumr_eq0 => [/allP/(_ x)|y _]; last exact: excess_ge0.
by rewrite mem_index_enum => /(_ isT) /= /eqP ->.
Qed.

Lemma beyond_wf m a b c : wf (beyond m a b c).
Proof.
by elim: m a b c => //= m IH a b c; split=> [|y]; [exact: missing_dist | apply: wf_bind].
Qed.

Lemma beyond_size m a b c : outputs (fun ys => size ys = m) (beyond m a b c).
Proof. by elim: m a b c => //= m IH a b c y; apply: (outputs_bind (IH _ _ _)) => ys /= ->. Qed.

Lemma gverify_wf a b c ds : 0 <= a -> 0 <= b -> wf (gverify a b c ds).
Proof.
elim: ds a b c => [|d ds IH] a b c a0 b0 /=.
  by split; [rewrite le_minr ler01 divr_ge0 //= le_minl lexx | split |].
apply: wf_bind => [|[[n ys]|] //=]; first by apply: IH; apply: mulr_ge0 => //; exact: dist_ge0.
split; [exact: passes01 | split=> [|y]; first exact: missing_dist | by []].
by do 2!apply: wf_bind => //; exact: beyond_wf.
Qed.

Lemma greedy_wf c ds : wf (greedy_verify c ds).
Proof.
apply: wf_bind => [|[o|] //]; first by apply: gverify_wf; exact: ler01.
by apply: wf_bind => //; exact: beyond_wf.
Qed.

(* the drafts and what became of them *)
Definition gdrafted g a b c : prog (seq T * option (nat * seq T)) :=
  bind (ar q g c) (fun ds => bind (gverify a b c ds) (fun o => Ret (ds, o))).

Lemma gdraftedS g a b c F : E (gdrafted g.+1 a b c) F =
  \sum_x q c x * E (gdrafted g (a * p c x) (b * q c x) (x :: c)) (fun o =>
    if o.2 is Some (n, ys) then F (x :: o.1, Some (n.+1, ys))
    else passes a b c * E (beyond g.+1 a b c) (fun ys => F (x :: o.1, Some (0%N, ys)))
         + (1 - passes a b c) * F (x :: o.1, None)).
Proof.
rewrite /gdrafted E_bind ar_S; apply: eq_bigr => x _; congr (_ * _); rewrite E_bind.
apply: (E_outputs (ar_size q g (x :: c))) => ds sds; rewrite !E_bind; apply: E_ext => -[[n ys]|] //.
rewrite /= sds; congr (_ * _ + _); apply: eq_bigr => y _; by rewrite !E_bind.
Qed.

(* value of the text that is left, completed by the target to n tokens; a failure is worth v *)
Definition worth n c (f : seq T -> R) v (o : seq T * option (nat * seq T)) : R :=
  value p n c f v (if o.2 is Some (k, ys) then Some (take k o.1 ++ ys) else None).
Definition goes_on m n a b c f : R := E (beyond m a b c) (fun ys => continued p n c f ys).

Lemma worth_cons n c f v x ds k ys : worth n c f v (x :: ds, Some (k.+1, ys)) =
  worth n.-1 (x :: c) (fun zs => f (take n (x :: zs))) v (ds, Some (k, ys)).
Proof. exact: value_cons. Qed.

Lemma restS m n a b c f : short a b c * goes_on m.+1 n a b c f =
  \sum_x short_at a b c x * goes_on m n.-1 (a * p c x) (b * q c x) (x :: c) (fun zs => f (take n (x :: zs))).
Proof.
rewrite /goes_on /= mulr_sumr; apply: eq_bigr => x _; rewrite mulrA missingE E_bind; congr (_ * _).
by apply: E_ext => ys; exact: continued_cons.
Qed.

(* What ends inside a text is all of the target there but for what comes from before it. *)
Theorem gdrafted_value g a b c n f v : 0 <= a -> 0 <= b ->
  b * E (gdrafted g a b c) (worth n c f v) =
  a * E (ar p n c) f - Num.max 0 (a - b) * goes_on g n a b c f + Num.max 0 (b - a) * v.
Proof.
elim: g a b c n f v => [|g IH] a b c n f v a0 b0.
  rewrite /gdrafted /goes_on /= continued0 /worth /=.
  have -> : \sum_x p c x * E (ar p (n - 1) (x :: c)) (fun zs => f (take n (x :: zs))) = E (ar p n c) f.
    by rewrite -(sum_from dp); apply: eq_bigr => x _; rewrite subn1.
  rewrite mulrDr mulrA mulrA.
  have e : b * Num.min 1 (a / b) = Num.min a b.
    exact: (drawn_accepted (p := fun _ : unit => a) (q := fun=> b) (x := tt)).
  rewrite mulrBr mulr1 e; case: (leP a b) => h.
    by rewrite (max_idPl _) ?subr_le0 // (max_idPr _) ?subr_ge0 //; ring.
  by rewrite (max_idPr _) ?subr_ge0 ?(ltW h) // (max_idPl _) ?subr_le0 ?(ltW h) //; ring.
rewrite gdraftedS mulr_sumr.
pose U := goes_on g.+1 n a b c f; pose v1 := passes a b c * U + (1 - passes a b c) * v.
pose h x zs := f (take n (x :: zs)).
have step x : b * (q c x * E (gdrafted g (a * p c x) (b * q c x) (x :: c)) (fun o =>
    if o.2 is Some (k, ys) then worth n c f v (x :: o.1, Some (k.+1, ys))
    else passes a b c * E (beyond g.+1 a b c) (fun ys => worth n c f v (x :: o.1, Some (0%N, ys)))
         + (1 - passes a b c) * worth n c f v (x :: o.1, None))) =
    a * (p c x * from p n c f x) - short_at a b c x * goes_on g n.-1 (a * p c x) (b * q c x) (x :: c) (h x)
    + spare_at a b c x * v1.
  rewrite mulrA; transitivity (b * q c x * E (gdrafted g (a * p c x) (b * q c x) (x :: c)) (worth n.-1 (x :: c) (h x) v1)).
    by congr (_ * _); apply: E_ext => -[ds [[k ys]|]] //; exact: worth_cons.
  by rewrite IH ?mulr_ge0 ?(dist_ge0 (dp c)) ?(dist_ge0 (dq c)) // mulrA.
under eq_bigr do rewrite step.
rewrite big_split sumrB /= -mulr_sumr (sum_from dp) -restS -mulr_suml -/(spare a b c) -/U /v1.
have e := passesE a b c; have e2 := short_spare a b c; clear step v1.
move: (short a b c) (spare a b c) (passes a b c) e e2 => s o w e e2.
have -> : o * (w * U + (1 - w) * v) = o * w * U + (o - o * w) * v by ring.
rewrite -e2 -[b - a]opprB -e2 opprB e; case: (leP s o) => le.
  by rewrite (max_idPl _) ?subr_le0 // (max_idPr _) ?subr_ge0 //; ring.
by rewrite (max_idPr _) ?subr_ge0 ?(ltW le) // (max_idPl _) ?subr_le0 ?(ltW le) //; ring.
Qed.

(* 1 of T18 *)
Theorem greedy_lossless g c : completes p (greedy_block g c) c.
Proof.
move=> n f; rewrite -[RHS]mul1r -[RHS]addr0.
transitivity (1 * E (gdrafted g 1 1 c) (worth n c f (goes_on g n 1 1 c f))); last first.
  by rewrite gdrafted_value ?ler01 // subrr maxxx !mul0r subr0.
rewrite mul1r !E_bind; apply: (E_outputs (ar_size q g c)) => ds sds.
rewrite !E_bind; apply: E_ext => -[[k ys]|] //=; rewrite sds E_bind; apply: E_ext => ys /=.
by rewrite take0.
Qed.

Lemma greedy_size c ds :
  outputs (fun o => o.1 <= size ds <= o.1 + size o.2)%N (greedy_verify c ds).
Proof.
pose fine (ds : seq T) (o : option (nat * seq T)) := if o is Some o' then (o'.1 <= size ds <= o'.1 + size o'.2)%N else true.
have all a b c' ds' : outputs (fine ds') (gverify a b c' ds').
  elim: ds' a b c' => [|d ds' IH] a b c' //.
  apply: (outputs_bind (IH _ _ _)) => -[[n ys]|] // _; split=> //.
  by apply: (outputs_bind (beyond_size (size (d :: ds')) a b c')) => ys sys; rewrite /fine /= sys leqnn.
apply: (outputs_bind (all 1 1 c ds)) => -[o|] //= _.
apply: (outputs_bind (beyond_size (size ds) 1 1 c)) => ys /= ->; exact: leqnn.
Qed.

(* the first g tokens are the target's *)
Lemma greedy_block_text g c : text_lossless p q g c (greedy_verify c).
Proof.
move=> f; rewrite -(greedy_lossless g c g f) /played !E_bind.
apply: (E_outputs (ar_size q g c)) => ds sds; rewrite E_bind [RHS]E_bind.
apply: (E_outputs (greedy_size c ds)) => -[n ys] /=; rewrite sds => /andP[le_n le_g].
have le : (g <= size (take n ds ++ ys))%N by rewrite size_cat size_takel ?sds.
by rewrite (eqP (le : (g - size _ == 0)%N)) /= cats0.
Qed.

Definition gkeeps x (o : seq T * option (nat * seq T)) : R :=
  if o.2 is Some (n, _) then ((take (size x) o.1 == x) && (size x <= n)%N)%:R else 0.

Lemma gkeptE g a b c x : 0 <= a -> 0 <= b -> (size x <= g)%N ->
  b * E (gdrafted g a b c) (gkeeps x) = Num.min (a * word_prob p c x) (b * word_prob q c x).
Proof.
elim: x g a b c => [|x xs IH] g a b c a0 b0 le.
  transitivity (b * E (gdrafted g a b c) (worth 0%N c (fun=> 1) 0)).
    by congr (_ * _); apply: E_ext => -[ds [[n ys]|]] //; rewrite /gkeeps /worth /= take0 eqxx.
  rewrite gdrafted_value // mulr0 addr0 /= !mulr1.
  have -> : goes_on g 0 a b c (fun=> 1) = 1 by rewrite -[RHS](E_const 1 (beyond_wf g a b c)); apply: E_ext.
  rewrite mulr1; case: (leP a b) => h; first by rewrite (max_idPl _) ?subr_le0 // subr0.
  by rewrite (max_idPr _) ?subr_ge0 ?(ltW h) // opprB addrC subrK.
have none m ds : E m (fun ys => gkeeps (x :: xs) (ds, Some (0%N, ys))) = 0.
  rewrite (@E_ext _ _ _ _ _ (fun=> 0 * 0)) => [|ys]; first by rewrite E_scale mul0r.
  by rewrite /gkeeps /= andbF mulr0.
case: g le => // g le; rewrite gdraftedS (bigD1 x) // [X in _ * (_ + X)]big1 => [|y /andP[_ yx]]; [rewrite addr0|].
  have e (m : model) (u : R) : u * word_prob m c (x :: xs) = u * m c x * word_prob m (x :: c) xs by rewrite mulrA.
  rewrite mulrA !e -(IH g) ?mulr_ge0 ?(dist_ge0 (dp c)) ?(dist_ge0 (dq c)) //.
  congr (_ * _); apply: E_ext => -[ds [[n ys]|]]; first by rewrite /gkeeps /= eqseq_cons eqxx.
  by cbn [fst snd]; rewrite none /gkeeps /= !mulr0 addr0.
rewrite (@E_ext _ _ _ _ _ (fun=> 0 * 0)) => [|[ds [[n ys]|]]]; last first.
- by cbn [fst snd]; rewrite none /gkeeps /= !mulr0 addr0.
- by rewrite /gkeeps /= eqseq_cons (negbTE yx) mulr0.
by rewrite E_scale !mul0r mulr0.
Qed.

(* 2 of T18: every text is kept as often as both laws allow *)
Theorem greedy_kept g c x : (size x <= g)%N ->
  kept_text q g c (greedy_verify c) x = Num.min (word_prob p c x) (word_prob q c x).
Proof.
case: x => [|x xs] le.
  rewrite minxx /= -[RHS](E_const 1 (played_wf dq g c (greedy_wf c))); apply: E_ext => o.
  by rewrite /keeps_text take0 eqxx.
rewrite -[word_prob p _ _]mul1r -[word_prob q _ _]mul1r -(gkeptE c ler01 ler01 le) mul1r.
rewrite /kept_text /played /gdrafted !E_bind; apply: E_ext => ds; rewrite !E_bind; apply: E_ext => -[[n ys]|] //=.
rewrite E_bind -[RHS](E_const 0 (beyond_wf (size ds) 1 1 c)); apply: E_ext => ys.
by rewrite /= /keeps_text /= andbF.
Qed.

(* so its length is the largest that any verifier can have (length_bound): the sum of the overlaps of the texts *)
Theorem greedy_length g c : E (played q g c (greedy_verify c)) (fun o => (size (take o.2.1 o.1))%:R) =
  \sum_(i < g) (1 - tv (fun x : i.+1.-tuple T => word_prob p c x) (fun x => word_prob q c x)).
Proof.
rewrite length_kept.
apply: eq_bigr => i _; rewrite -overlap_tv; [|exact: texts_dist|exact: texts_dist].
by apply: eq_bigr => x _; rewrite greedy_kept // size_tuple.
Qed.

End Greedy.
