(* T25: what a choice of the length of a block can gain.  Blocks are written until L tokens stand; each emits tokens
   and takes time, in the light of all blocks before it. *)
Require Import prelude prob words block_optimal.

Section Time.
Variables (R : realFieldType) (T : finType) (O : Type).
(* what a block did, earlier blocks given, the last first; how many tokens it wrote; how long it took *)
Variables (B : seq O -> prog R T O) (tokens : O -> nat) (cost : O -> R).

Fixpoint writing m n h : prog R T R :=
  if m is m'.+1 then
    if n is 0 then Ret 0 else
    bind (B h) (fun o => bind (writing m' (n - tokens o)%N (o :: h)) (fun t => Ret (cost o + t)))
  else Ret 0.
(* every block writes a token, so n blocks are enough *)
Definition mean_time n := E (writing n n [::]) id.

Hypothesis B_wf : forall h, wf (B h).
Hypothesis B_some : forall h, outputs (fun o => (0 < tokens o)%N) (B h).

Lemma writing_wf m n h : wf (writing m n h).
Proof. by elim: m n h => [|m IH] [|n] h //=; apply: wf_bind => // o; apply: wf_bind. Qed.

Lemma writingS m n h : E (writing m.+1 n.+1 h) id =
  E (B h) (fun o => cost o + E (writing m (n.+1 - tokens o)%N (o :: h)) id).
Proof.
rewrite /= E_bind; apply: E_ext => o.
by rewrite E_bind /= E_add E_const //; exact: writing_wf.
Qed.

Variable S : R.

(* a bound on tokens over time, block by block, bounds the time of n tokens *)
Theorem mean_time_bound n :
  (forall h, E (B h) (fun o => (tokens o)%:R) <= S * E (B h) cost) -> n%:R <= S * mean_time n.
Proof.
move=> fast; rewrite /mean_time; move: {2 4}n [::] (leqnn n) => m.
elim: m n => [|m IH] [|n] h //= nm; try by rewrite mulr0.
rewrite -/(writing m.+1 n.+1 h) writingS E_add mulrDr.
apply: le_trans (ler_add (fast h) (lexx _)); rewrite -E_scale -E_add -[X in X <= _](E_const _ (B_wf h)).
apply: (E_mono (B_wf h) (B_some h)) => o o0.
apply: le_trans (ler_add (lexx _) (IH (n.+1 - tokens o)%N (o :: h) _)).
  by rewrite -natrD ler_nat -leq_subLR.
by rewrite leq_subLR (leq_trans nm) // -add1n leq_add2r.
Qed.

(* and blocks of at most G tokens and that speed lose no more than the tokens of the last block beyond n *)
Theorem mean_time_reached G n :
  (forall h, outputs (fun o => (tokens o <= G.+1)%N) (B h)) ->
  (forall h, S * E (B h) cost <= E (B h) (fun o => (tokens o)%:R)) -> S * mean_time n <= (n + G)%:R.
Proof.
move=> few fast; rewrite /mean_time; move: {1}n [::] => m.
suff : forall h, S * E (writing m n h) id <= (if n is 0 then 0 else n + G)%:R.
  by move=> le h; apply: le_trans (le h) _; rewrite ler_nat; case: (n).
elim: m n => [|m IH] [|n] h; rewrite ?[writing _ _ _]/= ?[E (Ret _) _]/= ?mulr0 ?ler0n //.
rewrite writingS E_add mulrDr; apply: le_trans (ler_add (fast h) (lexx _)) _.
rewrite -E_scale -E_add -[X in _ <= X](E_const _ (B_wf h)).
apply: (E_mono (B_wf h) (few h)) => o few_o.
apply: le_trans (ler_add (lexx _) (IH (n.+1 - tokens o)%N (o :: h))) _.
rewrite -natrD ler_nat; case e: (n.+1 - tokens o)%N => [|k].
  by rewrite addn0 (leq_trans few_o) // addSn ltnS leq_addl.
by rewrite -e addnA subnKC // ltnW // -subn_gt0 e.
Qed.

End Time.

(* 1: signals say nothing of acceptance *)
Section Blind.
Variables (R : realFieldType) (T : finType) (A : Type).
Variables (time s : nat -> R).
Notation past := (seq (A * nat)).
(* what is known when the length g is chosen, drafts and signals of this block among it, and then how many drafts pass,
   those that are not made included *)
Variables (C : past -> prog R T A) (g : past -> A -> nat) (V : past -> A -> prog R T nat).
Hypotheses (C_wf : forall h, wf (C h)) (V_wf : forall h a, wf (V h a)).
Hypothesis blind : forall h a i, E (V h a) (fun n => (i <= n)%N%:R) = s i.

Notation outcome := ((A * nat) * (nat * nat))%type.
Definition seen (h : seq outcome) : past := map fst h.
Definition controlled (h : seq outcome) : prog R T outcome :=
  bind (C (seen h)) (fun a => bind (V (seen h) a) (fun n => Ret ((a, n), (g (seen h) a, (minn n (g (seen h) a)).+1)))).
Definition emitted (o : outcome) := o.2.2.
Definition takes (o : outcome) := time o.2.1.

Lemma controlled_wf h : wf (controlled h).
Proof. by apply: wf_bind => // a; apply: wf_bind. Qed.

Lemma minn_sum n k : ((minn n k)%:R : R) = \sum_(i < k) (i.+1 <= n)%N%:R.
Proof.
elim: k => [|k IH]; first by rewrite minn0 big_ord0.
rewrite [RHS]big_ord_recr [RHS]/= -IH -natrD; congr (_%:R); case: (leqP k.+1 n) => le.
  by rewrite (minn_idPr (ltnW le)) addn1.
by rewrite (minn_idPl (_ : n <= k)%N) ?addn0.
Qed.

Lemma emitted_mean h : E (controlled h) (fun o => (emitted o)%:R) =
  E (C (seen h)) (fun a => \sum_(i < (g (seen h) a).+1) s i).
Proof.
rewrite E_bind; apply: E_ext => a; rewrite E_bind /= /emitted /=; set k := g _ a.
transitivity (E (V (seen h) a) (fun n => 1 + \sum_(i < k) (i.+1 <= n)%N%:R)).
  by apply: E_ext => n; rewrite -minn_sum mulrS.
rewrite E_add E_const // E_sum big_ord_recl; congr (_ + _).
  by rewrite -(blind (seen h) a) /= E_const.
by apply: eq_bigr => i _; rewrite -(blind (seen h) a).
Qed.

Lemma takes_mean h : E (controlled h) takes = E (C (seen h)) (fun a => time (g (seen h) a)).
Proof. by rewrite E_bind; apply: E_ext => a; rewrite E_bind /= /takes /= E_const. Qed.

Lemma controlled_some h : outputs (fun o => (0 < emitted o)%N) (controlled h).
Proof.
apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
by move=> a _; apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
Qed.

Variable S : R.

(* no fixed length is faster than S: then no controller is *)
Theorem controller_bound L : (forall k, \sum_(i < k.+1) s i <= S * time k) ->
  L%:R <= S * mean_time controlled emitted takes L.
Proof.
move=> fixed; apply: (mean_time_bound controlled_wf controlled_some) => h.
by rewrite emitted_mean takes_mean -E_scale; apply: E_le.
Qed.

(* a fixed length of that speed is as fast, but for what its last block writes beyond the end *)
Theorem fixed_length_time k L : (forall h a, g h a = k) -> \sum_(i < k.+1) s i = S * time k ->
  S * mean_time controlled emitted takes L <= (L + k)%:R.
Proof.
move=> gk fast; apply: (mean_time_reached controlled_wf) => h.
  apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
  move=> a _; apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
  by move=> n _; rewrite /emitted /= gk ltnS geq_minr.
rewrite emitted_mean takes_mean -E_scale; apply: E_le => // a.
by rewrite gk fast.
Qed.

End Blind.
