(* Whole decode loops.  Contexts are lists of tokens, most recent first. *)
Require Import prelude prob rejection recursive.

Section Loop.
Variables (R : realFieldType) (T : finType).
Notation prog := (prog R T).
Notation ctx := (seq T).
Notation model := (seq T -> T -> R).
Implicit Types (c : ctx) (p q : model).

Definition is_model p := forall c, is_dist (p c).

(* plain autoregressive sampling of n tokens *)
Fixpoint ar p n c : prog (seq T) :=
  if n is n'.+1 then
    Draw (p c) (fun x => bind (ar p n' (x :: c)) (fun s => Ret (x :: s)))
  else Ret [::].

Lemma ar_wf p n c : is_model p -> wf (ar p n c).
Proof.
by move=> dp; elim: n c => //= n IH c; split=> // x; apply: wf_bind.
Qed.

Lemma ar_S p n c f :
  E (ar p n.+1 c) f = \sum_x p c x * E (ar p n (x :: c)) (fun s => f (x :: s)).
Proof. by rewrite /=; apply: eq_bigr => x _; rewrite E_bind. Qed.

(* chain rule: the probability of a word is the product of the conditionals *)
Fixpoint word_prob p c (s : seq T) : R :=
  if s is x :: s' then p c x * word_prob p (x :: c) s' else 1.

Lemma ar_law p c s : law (ar p (size s) c) s = word_prob p c s.
Proof.
elim: s c => [|x s IH] c; first by [].
rewrite /law [size _]/= ar_S /= (bigD1 x) //= big1 ?addr0 => [|y yx].
  rewrite -IH /law; congr (_ * _); apply: E_ext => t.
  by rewrite eqseq_cons eqxx.
rewrite (@E_ext _ _ _ _ _ (fun=> 0 * 0)) => [|t]; last by rewrite eqseq_cons (negbTE yx) mulr0.
by rewrite E_scale mul0r mulr0.
Qed.

(* A block (one speculative iteration) is lossless at c when completing its
   output to n tokens with the target model (or cutting it at n tokens)
   gives n tokens of the target model, for every n. *)
Definition completes p (m : prog (seq T)) c := forall n f,
  E m (fun ys => E (ar p (n - size ys)%N (catrev ys c)) (fun zs => f (take n (ys ++ zs))))
  = E (ar p n c) f.

Lemma ar_take p n c f :
  E (ar p n c) (fun zs => f (take n zs)) = E (ar p n c) f.
Proof.
elim: n c f => //= n IH c f; apply: eq_bigr => x _; congr (_ * _).
by rewrite !E_bind /=; apply: (IH (x :: c) (fun zs => f (x :: zs))).
Qed.

(* the decode loop; a block may look at the text so far and at how many tokens are still wanted *)
Fixpoint decode (B : nat -> ctx -> prog (seq T)) fuel n c : prog (seq T) :=
  if fuel is fuel'.+1 then
    if n is 0 then Ret [::] else
    bind (B n c) (fun ys =>
      bind (decode B fuel' (n - size ys)%N (catrev ys c)) (fun zs =>
        Ret (take n (ys ++ zs))))
  else Ret [::].

Theorem decode_lossless p (B : nat -> ctx -> prog (seq T)) :
  (forall n c, completes p (B n c) c) ->
  (forall n c, outputs (fun ys => 0 < size ys)%N (B n c)) ->
  forall m n c f, (n <= m)%N -> E (decode B m n c) f = E (ar p n c) f.
Proof.
move=> Bl Bne; elim=> [|m IH] [|n] c f //= nm.
rewrite E_bind -[RHS](Bl n.+1 c n.+1 f).
apply: (E_outputs (Bne n.+1 c)) => ys ys0; rewrite E_bind /=.
apply: IH; rewrite leq_subLR; apply: leq_trans nm _.
by rewrite -add1n leq_add2r.
Qed.

(* ---- a chain of steps; each step is any program whose token is lossless,
   and that decides (in any way) whether the chain goes on ---- *)
Definition step_lossless (p : T -> R) (m : prog (bool * T)) :=
  forall f : T -> R, E m (fun o => f o.2) = \sum_x p x * f x.

Fixpoint chain p (V : nat -> ctx -> prog (bool * T)) g c : prog (seq T) :=
  if g is g'.+1 then
    bind (V g' c) (fun o =>
      if o.1 then bind (chain p V g' (o.2 :: c)) (fun ys => Ret (o.2 :: ys))
      else Ret [:: o.2])
  else Draw (p c) (fun y => Ret [:: y]).

Lemma draw_completes p c : is_model p ->
  completes p (Draw (p c) (fun y => Ret [:: y])) c.
Proof.
move=> dp [|n] f /=; first by rewrite -mulr_suml (dist_sum (dp c)) mul1r.
apply: eq_bigr => x _; rewrite subn1 /= E_bind /=; congr (_ * _).
exact: (ar_take p n (x :: c) (fun zs => f (x :: zs))).
Qed.

Theorem chain_lossless p V g c : is_model p ->
  (forall g c, step_lossless (p c) (V g c)) -> (forall g c, wf (V g c)) ->
  completes p (chain p V g c) c.
Proof.
move=> dp Vl Vw; elim: g c => [|g IH] c; first exact: draw_completes.
move=> n f; rewrite /= E_bind.
pose G x := if n is n'.+1 then E (ar p n' (x :: c)) (fun zs => f (x :: zs)) else f [::].
have -> : E (ar p n c) f = \sum_x p c x * G x.
  case: n @G => [|n] /=; first by rewrite -mulr_suml (dist_sum (dp c)) mul1r.
  by apply: eq_bigr => x _; rewrite E_bind.
rewrite -(Vl g c G); apply: E_ext => -[b x] /=; case: b.
  rewrite E_bind /=; case: n @G => [|n] /=; last first.
    by rewrite -(IH (x :: c) n (fun zs => f (x :: zs))); apply: E_ext.
  by rewrite -[RHS](IH (x :: c) 0%N); apply: E_ext => ys /=; rewrite take0.
case: n @G => [|n] //=; rewrite subn1 /=.
exact: (ar_take p n (x :: c) (fun zs => f (x :: zs))).
Qed.

Lemma chain_nonempty p V g c : outputs (fun ys => 0 < size ys)%N (chain p V g c).
Proof.
elim: g c => //= g IH c.
apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
by move=> [[] x] _ //=; apply: (outputs_bind (IH (x :: c))).
Qed.

(* Instance: recursive rejection sampling with k candidates at each level,
   proposals depending on the context (covers k = 1, token verification) *)
Definition tree_block k (prop : ctx -> seq T -> T -> R) p g c :=
  chain p (fun _ c => rrs k (prop c) (p c)) g c.

Theorem tree_decode_lossless k prop p g : is_model p ->
  (forall c h, is_dist (prop c h)) ->
  forall n c f, E (decode (fun _ => tree_block k prop p g) n n c) f = E (ar p n c) f.
Proof.
move=> dp dq; move=> n c f; apply: decode_lossless => // _ {}c; last exact: chain_nonempty.
apply: chain_lossless => // [{}g {}c {}f|{}g {}c]; first exact: rrs_lossless.
apply: wf_bind; first exact: draft_list_wf.
by move=> s; apply: verify_wf.
Qed.

Corollary tree_decode_law k prop p g : is_model p ->
  (forall c h, is_dist (prop c h)) ->
  forall c (s : seq T),
    law (decode (fun _ => tree_block k prop p g) (size s) (size s) c) s = word_prob p c s.
Proof. by move=> dp dq c s; rewrite /law tree_decode_lossless // -ar_law. Qed.

End Loop.
