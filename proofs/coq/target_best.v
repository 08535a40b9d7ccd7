(* T20: how often the target's own draws keep i drafts of a tree, and that on a tree chosen without draws no rule keeps
   more of them on average. *)
Require Import prelude prob rejection recursive loop words block_optimal target_only texts.

Section Best.
Variables (R : realFieldType) (T : finType) (p : seq T -> T -> R).
Hypothesis dp : is_model p.
Variable node : seq T -> bool.

(* the beginning of a text along which all are nodes *)
Fixpoint in_tree c (s : seq T) : bool := if s is y :: s' then node (y :: c) && in_tree (y :: c) s' else true.

(* 2: the target's mass of the texts of length i *)
Definition level_mass i c : R := \sum_(x : i.-tuple T) (in_tree c x)%:R * word_prob p c x.

Lemma level_mass0 c : level_mass 0 c = 1.
Proof.
rewrite /level_mass (bigD1 [tuple]) //= mulr1 big1 ?addr0 // => x.
by rewrite tuple0.
Qed.

Lemma level_massS i c : level_mass i.+1 c = \sum_y p c y * ((node (y :: c))%:R * level_mass i (y :: c)).
Proof.
pose F (s : seq T) : R := (in_tree c s)%:R * word_prob p c s.
rewrite {1}/level_mass (sum_head i F); apply: eq_bigr => y _; rewrite /level_mass !mulr_sumr; apply: eq_bigr => x _.
by rewrite /F /=; case: (node _); rewrite ?mul0r ?mulr0 //= mul1r mulrCA.
Qed.

Theorem target_only_survival g c i : (i <= g)%N ->
  E (target_only p node g c) (fun ys => (i < size ys)%N%:R) = level_mass i c.
Proof.
elim: g c i => [|g IH] c [|i] //= ig.
- by rewrite level_mass0 -[RHS](dist_sum (dp c)); apply: eq_bigr => y _; rewrite mulr1.
- rewrite level_mass0 -[RHS](dist_sum (dp c)); apply: eq_bigr => y _ /=.
  rewrite -[RHS]mulr1; congr (_ * _); case: (node _) => //=.
  by rewrite E_bind /= E_const //; exact: chain_wf.
rewrite level_massS; apply: eq_bigr => y _ /=; congr (_ * _).
case: (node _) => /=; last by rewrite mul0r.
by rewrite E_bind mul1r -IH.
Qed.

(* 3: a rule of any kind, on a tree of at most g levels; it keeps some drafts, a text of the tree, at the head of what
   it emits, and what it emits, continued by the target, has the law of the target *)
Variables (g : nat) (c : seq T) (rule : prog R T (nat * seq T)).
Hypothesis rule_wf : wf rule.
Definition keeps_a_text (o : nat * seq T) := [&& (o.1 <= g)%N, (o.1 <= size o.2)%N & in_tree c (take o.1 o.2)].
Hypothesis keeps : outputs keeps_a_text rule.
Hypothesis lossless : completes p (bind rule (fun o => Ret o.2)) c.

(* how far a text stays in the tree *)
Fixpoint depth c (s : seq T) : nat := if s is y :: s' then if node (y :: c) then (depth (y :: c) s').+1 else 0%N else 0%N.

Lemma depth_inside c' n s : (n <= size s)%N -> in_tree c' (take n s) -> (n <= depth c' s)%N.
Proof. by elim: s c' n => [|y s IH] c' [|n] //= le /andP[-> /IH]; apply. Qed.

Lemma depth_mean n c' : E (ar p n c') (fun s => (depth c' s)%:R) = tree_mass p node n c'.
Proof.
elim: n c' => [|n IH] c' //=; apply: eq_bigr => y _; rewrite E_bind; congr (_ * _) => /=.
case: (node _) => /=; last by rewrite mul0r E_const //; exact: ar_wf.
rewrite mul1r -IH -[X in _ = X + _](E_const 1 (ar_wf n (y :: c') dp)) -E_add.
by apply: E_ext => s; rewrite mulrS.
Qed.

Theorem target_only_best : E rule (fun o => (o.1)%:R) <= tree_mass p node g c.
Proof.
rewrite -depth_mean -(lossless g) E_bind /=; apply: (E_mono rule_wf keeps) => -[n ys] /and3P[/= ng ny ins].
rewrite -[X in X <= _](E_const _ (ar_wf (g - size ys) (catrev ys c) dp)); apply: E_le => [|zs]; first exact: ar_wf.
have ns : (n <= size (take g (ys ++ zs)))%N.
  by rewrite size_take size_cat; case: ltnP => // _; rewrite (leq_trans ny) // leq_addr.
by rewrite ler_nat; apply: depth_inside; rewrite // take_take // takel_cat.
Qed.

(* it is attained: 1 and target_only_length *)
Corollary target_only_most : E rule (fun o => (o.1)%:R) + 1 <= E (target_only p node g c) (fun ys => (size ys)%:R).
Proof. by rewrite target_only_length // addrC ler_add2l; exact: target_only_best. Qed.

End Best.
