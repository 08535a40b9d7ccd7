(* Words: how long those of a program are, how likely, and what follows where a verifier keeps one, adds one token and
   goes on from the target. *)
Require Import prelude prob rejection recursive loop block.

Section Words.
Variables (R : realFieldType) (T : finType) (p : seq T -> T -> R).
Hypothesis dp : is_model p.

Lemma ar_size n c : outputs (fun s => size s = n) (ar p n c).
Proof. by elim: n c => //= n IH c x; apply: (outputs_bind (IH (x :: c))) => s /= ->. Qed.

Lemma word_prob_rcons c x y : word_prob p c (rcons x y) = word_prob p c x * p (catrev x c) y.
Proof. by elim: x c => [|z x IH] c /=; rewrite ?mulr1 ?mul1r // IH mulrA. Qed.

Lemma word_prob_ge0 c x : 0 <= word_prob p c x.
Proof. by elim: x c => [|y x IH] c //=; rewrite ?ler01 // mulr_ge0 // (dist_ge0 (dp c)). Qed.

Lemma ar_prefix n c x : (size x <= n)%N -> E (ar p n c) (fun s => (take (size x) s == x)%:R) = word_prob p c x.
Proof.
elim: x n c => [|y x IH] n c.
  by move=> _; rewrite -[RHS](E_const 1 (ar_wf n c dp)); apply: E_ext => s; rewrite take0.
case: n => // n le_n; rewrite ar_S /= (bigD1 y) //= big1 ?addr0 => [|z zy].
  by congr (_ * _); rewrite -(IH n) //; apply: E_ext => s; rewrite eqseq_cons eqxx.
rewrite (@E_ext _ _ _ _ _ (fun=> 0 * 0)) => [|s]; last by rewrite eqseq_cons (negbTE zy) mulr0.
by rewrite E_scale mul0r mulr0.
Qed.

(* the chance that the target writes z, once ys is written *)
Lemma ar_completion c ys z : (size ys <= size z)%N ->
  E (ar p (size z - size ys)%N (catrev ys c)) (fun zs => (take (size z) (ys ++ zs) == z)%:R) =
  (take (size ys) z == ys)%:R * word_prob p (catrev ys c) (drop (size ys) z).
Proof.
move=> le_z; have sz : size (drop (size ys) z) = (size z - size ys)%N by rewrite size_drop.
rewrite -ar_law /law -E_scale sz; apply: (E_outputs (ar_size _ _)) => zs szs.
rewrite take_oversize ?size_cat ?szs ?subnKC // -[z in LHS](cat_take_drop (size ys)).
by rewrite eqseq_cat ?size_takel // [ys == _]eq_sym; case: (_ == ys); rewrite ?mul1r ?mul0r.
Qed.

End Words.

Section Mono.
Variables (R : realFieldType) (T : finType).
Lemma E_mono A (P : A -> Prop) (m : prog R T A) f h : wf m -> outputs P m ->
  (forall a, P a -> f a <= h a) -> E m f <= E m h.
Proof.
move=> wm Pm fh; elim: m wm Pm => /= [a _ /fh //|r k IH [dr wk] Pk|b m1 IH1 m2 IH2 [/andP[b0 b1] w1 w2] [P1 P2]].
  by apply: ler_sum => x _; apply: ler_wpmul2l; [exact: dist_ge0 | exact: IH].
by apply: ler_add; apply: ler_wpmul2l; rewrite ?subr_ge0 ?IH1 ?IH2.
Qed.
End Mono.

(* A verifier of any drafts: of each outcome, the tokens that are kept, and the one after them. *)
Section Kept.
Variables (R : realFieldType) (T : finType) (p : seq T -> T -> R) (A : Type).
Hypothesis dp : is_model p.
Variables (m : prog R T A) (kept : A -> seq T) (next : A -> T) (c : seq T).
Hypotheses (m_wf : wf m) (lossless : completes p (bind m (fun a => Ret (rcons (kept a) (next a)))) c).

Definition begins_kept x (a : A) := take (size x) (kept a) == x.
Notation emitted a := (rcons (kept a) (next a)).
(* the chance that the completed text begins with z *)
Definition writes z a := E (ar p (size z - size (emitted a))%N (catrev (emitted a) c))
  (fun zs => (take (size z) (emitted a ++ zs) == z)%:R).

Lemma writesE z : E m (writes z) = word_prob p c z.
Proof. by rewrite -ar_law /law -(lossless (size z) (fun s => (s == z)%:R)) E_bind. Qed.

Lemma writes_kept z a : (size z <= size (kept a))%N -> writes z a = (begins_kept z a)%:R.
Proof.
move=> le_z; rewrite /writes size_rcons (eqP (leqW le_z : (size z - (size (kept a)).+1 == 0)%N)) /=.
by rewrite cats0 /begins_kept -cats1 takel_cat.
Qed.

Lemma writes_rcons x y a : (size (kept a) < size x)%N -> writes (rcons x y) a = p (catrev x c) y * writes x a.
Proof.
move=> lt; have se : size (emitted a) = (size (kept a)).+1 by rewrite size_rcons.
rewrite /writes !ar_completion ?se ?size_rcons ?(leqW lt) //.
rewrite -[rcons x y]cats1 takel_cat // drop_cat.
have [lt'|] := ltnP (size (kept a)).+1 (size x).
  rewrite cats1 word_prob_rcons; case: eqP => [e|_]; last by rewrite !mul0r mulr0.
  rewrite !mul1r mulrC; congr (p _ _ * _).
  by rewrite -[in RHS](cat_take_drop (size (kept a)).+1 x) e !catrevE rev_cat catA.
move=> le; have e : size x = (size (kept a)).+1 by apply/eqP; rewrite eqn_leq le lt.
rewrite -e subnn drop0 drop_size take_size /= mulr1 mulr1; case: eqP => [->|_]; last by rewrite mul0r mulr0.
by rewrite mul1r mulr1.
Qed.

Lemma writes_ge0 z a : 0 <= writes z a.
Proof. by apply: E_ge0 => [|zs]; [exact: ar_wf | exact: ler0n]. Qed.

(* what is kept of x y is part of what goes from x to y, which has the target's law *)
Theorem kept_flow x y :
  E m (fun a => (begins_kept (rcons x y) a)%:R) <= E m (fun a => (begins_kept x a)%:R) * p (catrev x c) y.
Proof.
set r := p (catrev x c) y.
have : E m (fun a => (begins_kept (rcons x y) a)%:R + r * writes x a) <=
       E m (fun a => writes (rcons x y) a + r * (begins_kept x a)%:R).
  apply: E_le => // a; have [lt|le] := ltnP (size (kept a)) (size x).
    rewrite (writes_rcons y lt) -/r /begins_kept size_rcons [take _.+1 _]take_oversize ?(leqW (ltnW lt)) //.
    have -> : (kept a == rcons x y) = false by apply/eqP => e; move: lt; rewrite e size_rcons ltnNge leqW.
    by rewrite add0r ler_addl mulr_ge0 ?ler0n // (dist_ge0 (dp _)).
  rewrite (writes_kept le) ler_add2r.
  have [lt|le'] := ltnP (size x) (size (kept a)); first by rewrite writes_kept ?size_rcons.
  rewrite /begins_kept size_rcons take_oversize ?(leqW le') //.
  have -> : (kept a == rcons x y) = false by apply/eqP => e; move: le'; rewrite e size_rcons ltnn.
  exact: writes_ge0.
rewrite !E_add !E_scale !writesE word_prob_rcons -/r.
by rewrite [word_prob p c x * r]mulrC addrC ler_add2l [r * _]mulrC.
Qed.
End Kept.
