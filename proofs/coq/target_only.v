(* Draw from the target and follow the tree while the token is one of its nodes. *)
Require Import prelude prob rejection recursive loop.

Section TargetOnly.
Variables (R : realFieldType) (T : finType) (p : seq T -> T -> R).
Hypothesis dp : is_model p.
(* the tree's nodes, as contexts: most recent token first; g bounds its depth *)
Variable node : seq T -> bool.

Definition target_step (_ : nat) (c : seq T) : prog R T (bool * T) :=
  Draw (p c) (fun y => Ret (node (y :: c), y)).
Definition target_only g c := chain p target_step g c.

Theorem target_only_lossless g c : completes p (target_only g c) c.
Proof. by apply: chain_lossless => // {}g {}c; split. Qed.

(* the target's mass of the nodes at depth 1..g that are reached through nodes *)
Fixpoint tree_mass g c : R :=
  if g is g'.+1 then \sum_y p c y * ((node (y :: c))%:R * (1 + tree_mass g' (y :: c))) else 0.

Lemma chain_wf g c : wf (target_only g c).
Proof.
elim: g c => [|g IH] c /=; first by split.
by split=> // x /=; case: (node _) => //=; apply: wf_bind.
Qed.

Theorem target_only_length g c :
  E (target_only g c) (fun ys => (size ys)%:R) = 1 + tree_mass g c.
Proof.
elim: g c => [|g IH] c /=.
  by under eq_bigr do rewrite mulr1; rewrite (dist_sum (dp c)) addr0.
rewrite -[X in _ = X + _](dist_sum (dp c)) -big_split; apply: eq_bigr => y _ /=.
rewrite -[X in X + _]mulr1 -mulrDr; congr (_ * _).
case: (node _) => /=; last by rewrite mul0r addr0.
rewrite E_bind mul1r -IH.
transitivity (E (target_only g (y :: c)) (fun a => 1 + (size a)%:R)).
  by apply: E_ext => a /=; rewrite -add1n natrD.
by rewrite E_add E_const //; exact: chain_wf.
Qed.

End TargetOnly.

(* in the loop every block may have a tree of its own *)
Theorem target_only_decode (R : realFieldType) (T : finType) (p : seq T -> T -> R) (node : nat -> seq T -> seq T -> bool)
  (g : nat -> seq T -> nat) n c f : is_model p ->
  E (decode (fun n c => target_only p (node n c) (g n c) c) n n c) f = E (ar p n c) f.
Proof.
by move=> dp; apply: decode_lossless => // {}n {}c; [exact: target_only_lossless | exact: chain_nonempty].
Qed.

(* Greedy decoding: the target is one-hot, so the text is its argmax, token for token. *)
Section Greedy.
Variables (R : realFieldType) (T : finType) (best : seq T -> T).
Definition one_hot (c : seq T) (x : T) : R := (x == best c)%:R.

Fixpoint greedy_text n c := if n is n'.+1 then best c :: greedy_text n' (best c :: c) else [::].

Lemma one_hot_model : is_model one_hot.
Proof.
move=> c; split=> [x|]; first exact: ler0n.
by rewrite (bigD1 (best c)) //= big1 ?addr0 /one_hot ?eqxx // => x /negbTE ->.
Qed.

Lemma ar_greedy n c f : E (ar one_hot n c) f = f (greedy_text n c).
Proof.
elim: n c f => //= n IH c f; rewrite (bigD1 (best c)) //= big1 => [|x /negbTE e].
  by rewrite /one_hot eqxx mul1r addr0 E_bind IH.
by rewrite /one_hot e mul0r.
Qed.

Theorem greedy_decode node g n c f :
  E (decode (fun n c => target_only one_hot (node n c) (g n c) c) n n c) f = f (greedy_text n c).
Proof. by rewrite target_only_decode ?ar_greedy //; exact: one_hot_model. Qed.

End Greedy.
