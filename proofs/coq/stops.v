(* T02: what no verifier of a drafted text beats, in total variation (4); the decode loop that ends with a stop token (5). *)
Require Import prelude prob rejection recursive loop block words tokenwise block_optimal text_bound texts.

Section Bound.
Variables (R : realFieldType) (T : finType) (p q : seq T -> T -> R).
Hypotheses (dp : is_model p) (dq : is_model q).

(* 4, for every rule that leaves the target's law and keeps a prefix of the drafts *)
Theorem length_tv g c (V : seq T -> prog R T (nat * seq T)) :
  (forall ds, wf (V ds)) -> text_lossless p q g c V ->
  E (played q g c V) (fun o => (size (take o.2.1 o.1))%:R) <=
  \sum_(i < g) (1 - tv (fun x : i.+1.-tuple T => word_prob p c x) (fun x => word_prob q c x)).
Proof.
move=> wV lV; apply: le_trans (length_bound dp dq wV lV) _; apply: ler_sum => i _.
by rewrite -overlap_tv //; exact: texts_dist.
Qed.

End Bound.

Section Stop.
Variables (R : realFieldType) (T : finType).
Notation prog := (prog R T).
Variables (p : seq T -> T -> R) (stop : pred T).
Hypothesis dp : is_model p.

(* a text up to and including its first stop token *)
Fixpoint till_stop (s : seq T) : seq T := if s is x :: s' then x :: if stop x then [::] else till_stop s' else [::].

Lemma till_stop_cat s t : till_stop (s ++ t) = if has stop s then till_stop s else s ++ till_stop t.
Proof. by elim: s => //= x s ->; case: (stop x) => //=; case: (has stop s). Qed.

(* sampling from the target until a stop token or n tokens *)
Fixpoint ar_stop n c : prog (seq T) :=
  if n is n'.+1 then
    Draw (p c) (fun x => if stop x then Ret [:: x] else bind (ar_stop n' (x :: c)) (fun s => Ret (x :: s)))
  else Ret [::].

Lemma ar_stopE n c f : E (ar_stop n c) f = E (ar p n c) (fun s => f (till_stop s)).
Proof.
elim: n c f => //= n IH c f; apply: eq_bigr => x _; congr (_ * _); rewrite E_bind /=.
case: (stop x) => /=; last by rewrite E_bind /= IH.
by rewrite E_const //; exact: ar_wf.
Qed.

(* the loop, each block cut after its first stop token, which ends it *)
Fixpoint decode_stop (B : nat -> seq T -> prog (seq T)) m n c : prog (seq T) :=
  if m is m'.+1 then
    if n is 0 then Ret [::] else
    bind (B n c) (fun ys =>
      if has stop (take n ys) then Ret (till_stop (take n ys)) else
      bind (decode_stop B m' (n - size ys)%N (catrev ys c)) (fun zs => Ret (take n (ys ++ zs))))
  else Ret [::].

Lemma decode_wf (B : nat -> seq T -> prog (seq T)) : (forall n c, wf (B n c)) -> forall m n c, wf (decode B m n c).
Proof. by move=> wB; elim=> [|m IH] [|n] c //=; apply: wf_bind => // ys; apply: wf_bind. Qed.

Lemma decode_size B m n c : outputs (fun s : seq T => size s <= n)%N (decode (R := R) B m n c).
Proof.
case: m n => [|m] [|n] //=; apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
move=> ys _; apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
by move=> zs _ /=; rewrite size_take; case: ltnP.
Qed.

Lemma decode_stopE B m n c f : (forall n c, wf (B n c)) ->
  E (decode_stop B m n c) f = E (decode B m n c) (fun s => f (till_stop s)).
Proof.
move=> wB; elim: m n c f => [|m IH] [|n] c f //=; rewrite !E_bind; apply: E_ext => ys.
rewrite E_bind /=.
have short zs : (size zs <= n.+1 - size ys)%N -> take n.+1 (ys ++ zs) = take n.+1 ys ++ zs.
  rewrite take_cat; case: ltnP => [lt|le] sz; last by rewrite !take_oversize.
  by move: sz; rewrite (eqP (ltnW lt : n.+1 - size ys == 0)%N) leqn0 => /nilP ->; rewrite cats0.
case: ifP => [stops|goes] /=.
  rewrite -[LHS](E_const _ (decode_wf wB m (n.+1 - size ys) (catrev ys c))).
  by apply: (E_outputs (decode_size B m (n.+1 - size ys) (catrev ys c))) => zs /short ->; rewrite till_stop_cat stops.
rewrite E_bind /= IH; apply: (E_outputs (decode_size B m (n.+1 - size ys) (catrev ys c))) => zs sz.
rewrite (short zs sz) till_stop_cat goes short //; apply: leq_trans sz.
by elim: (zs) => //= x s le; case: (stop x).
Qed.

(* 5 with stop tokens: whatever writes lossless blocks *)
Theorem stop_lossless (B : nat -> seq T -> prog (seq T)) n c f :
  (forall n c, wf (B n c)) -> (forall n c, completes p (B n c) c) ->
  (forall n c, outputs (fun ys => 0 < size ys)%N (B n c)) ->
  E (decode_stop B n n c) f = E (ar_stop n c) f.
Proof.
by move=> wB lB neB; rewrite decode_stopE // ar_stopE (decode_lossless lB neB _ _ (leqnn n)).
Qed.

(* so tokenwise verification, with as many drafts as it likes *)
Theorem token_stop_lossless (q : seq T -> T -> R) (g : nat -> seq T -> nat) n c f : is_model q ->
  E (decode_stop (fun n c => token_block p q (g n c) c) n n c) f = E (ar_stop n c) f.
Proof.
move=> dq; apply: stop_lossless => {}n {}c; [exact: token_block_wf | exact: token_lossless | exact: token_nonempty].
Qed.

End Stop.
