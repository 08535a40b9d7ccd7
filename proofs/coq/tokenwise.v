(* Tokenwise verification of a block whose drafts are drawn first: lossless, also in
   the decode loop, and of expected length 1 + a + ... + a^g where the overlap is always a. *)
Require Import prelude prob rejection recursive loop block.

Section Token.
Variables (R : realFieldType) (T : finType).
Notation prog := (prog R T).
Notation model := (seq T -> T -> R).
Variables (p q : model).
Hypotheses (dp : is_model p) (dq : is_model q).

Fixpoint tverify c (ds : seq T) : prog (seq T) :=
  if ds is d :: ds' then
    Flip (accept_prob (p c) (q c) d)
      (bind (tverify (d :: c) ds') (fun ys => Ret (d :: ys)))
      (Draw (residual (p c) (q c)) (fun y => Ret [:: y]))
  else Draw (p c) (fun y => Ret [:: y]).

Definition token_block g c : prog (seq T) := bind (ar q g c) (tverify c).

Lemma token_block_wf g c : wf (token_block g c).
Proof.
apply: wf_bind; first exact: ar_wf.
move=> s; elim: s c => [|d s IHs] c' /=; first by split.
split; [|by apply: wf_bind|by split=> //; exact: residual_dist].
by apply: accept_prob01; apply: dist_ge0.
Qed.

(* one unrolled step: an accepted draft continues, a rejected one stops *)
Lemma token_blockS g c f : E (token_block g.+1 c) f =
  \sum_x Num.min (p c x) (q c x) * E (token_block g (x :: c)) (fun ys => f (x :: ys)) +
  (1 - overlap (p c) (q c)) * (\sum_y residual (p c) (q c) y * f [:: y]).
Proof.
rewrite /token_block E_bind ar_S.
have step x : q c x * E (ar q g (x :: c)) (fun s => E (tverify c (x :: s)) f) =
    Num.min (p c x) (q c x) * E (token_block g (x :: c)) (fun ys => f (x :: ys)) +
    (q c x - Num.min (p c x) (q c x)) * (\sum_y residual (p c) (q c) y * f [:: y]).
  rewrite /token_block E_bind /= E_add E_scale E_const; last exact: ar_wf.
  have -> : E (ar q g (x :: c))
      (fun a => E (bind (tverify (x :: c) a) (fun ys => Ret (x :: ys))) f) =
      E (ar q g (x :: c)) (fun a => E (tverify (x :: c) a) (fun ys => f (x :: ys))).
    by apply: E_ext => s; rewrite E_bind.
  rewrite -(drawn_accepted (dist_ge0 (dp c) x) (dist_ge0 (dq c) x)).
  move: (\sum_y _) (E _ _) => S S'; ring.
under eq_bigr do rewrite step.
by rewrite big_split /= -mulr_suml sumrB (dist_sum (dq c)).
Qed.

Theorem token_lossless g c : completes p (token_block g c) c.
Proof.
elim: g c => [|g IH] c n f.
  by rewrite /token_block /=; exact: (draw_completes c dp).
rewrite token_blockS.
have cont x : E (token_block g (x :: c)) (fun ys =>
      E (ar p (n - size (x :: ys))%N (catrev (x :: ys) c))
        (fun zs => f (take n ((x :: ys) ++ zs)))) = from p n c f x.
  rewrite /from -(IH (x :: c) n.-1); apply: E_ext => ys.
  rewrite /= subnS -subn1 subnAC subn1; apply: E_ext => zs.
  by case: n => [|n] //=; rewrite take_take.
under eq_bigr do rewrite cont.
rewrite mulr_sumr -big_split -(sum_from dp) /=; apply: eq_bigr => x _.
rewrite subn1 -/(from p n c f x) mulrA -mulrDl residual_split //; exact: dp.
Qed.

Lemma token_nonempty g c : outputs (fun ys => 0 < size ys)%N (token_block g c).
Proof.
apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
move=> ds _; elim: ds c => [|d ds IH] c //=; split=> //.
by apply: (outputs_bind (IH (d :: c))).
Qed.

(* the number of drafts may depend on the text and on how many tokens are still wanted *)
Theorem token_decode_lossless (g : nat -> seq T -> nat) n c f :
  E (decode (fun n c => token_block (g n c) c) n n c) f = E (ar p n c) f.
Proof.
by apply: decode_lossless => // {}n {}c; [exact: token_lossless|exact: token_nonempty].
Qed.

(* expected block length when the overlap is a (the i.i.d. formula) *)
Theorem token_length a g c :
  (forall c, overlap (p c) (q c) = a) ->
  E (token_block g c) (fun ys => (size ys)%:R) = \sum_(i < g.+1) a ^+ i.
Proof.
move=> ov; elim: g c => [|g IH] c.
  rewrite /token_block /= big_ord1 expr0.
  by under eq_bigr do rewrite mulr1; rewrite (dist_sum (dp c)).
rewrite token_blockS ov.
have len x : E (token_block g (x :: c)) (fun ys => (size (x :: ys))%:R) =
    1 + \sum_(i < g.+1) a ^+ i.
  have -> : E (token_block g (x :: c)) (fun ys => (size (x :: ys))%:R) =
            E (token_block g (x :: c)) (fun ys => 1 + (size ys)%:R).
    by apply: E_ext => ys /=; rewrite -add1n natrD.
  by rewrite E_add IH E_const //; exact: token_block_wf.
under eq_bigr do rewrite len.
rewrite -mulr_suml -/(overlap (p c) (q c)) ov.
under [X in _ + _ * X]eq_bigr do rewrite mulr1.
rewrite (dist_sum (residual_dist _ (dp c))) mulr1 [RHS]big_ord_recl expr0.
have -> : \sum_(i < g.+1) a ^+ bump 0 i = a * \sum_(i < g.+1) a ^+ i.
  by rewrite mulr_sumr; apply: eq_bigr => i _; rewrite exprS.
move: (\sum_(i < _) _) => S; ring.
Qed.

End Token.
