(* What no verifier of K paths can beat: what it keeps is a flow below the target's law, and prices on that bound the
   number of drafts kept (T22). *)
Require Import prelude prob rejection recursive loop block words tokenwise survival dominance block_optimal labels span moves spans highest.

Section Program.
Variables (R : realFieldType) (T : finType) (p q : seq T -> T -> R).
Hypotheses (dp : is_model p) (dq : is_model q).
Variables (g k : nat) (c : seq T).
(* from the paths: what is kept, which begins one of them, and the token after it *)
Variable V : seq (seq T) -> prog R T (seq T * T).
Hypothesis V_wf : forall ss, wf (V ss).
Hypothesis V_keeps : forall ss,
  outputs (fun o => (size o.1 <= g)%N && ((o.1 == [::]) || has (fun s => take (size o.1) s == o.1) ss)) (V ss).

Definition met : prog R T (seq (seq T) * (seq T * T)) :=
  bind (paths q g k c) (fun ss => bind (V ss) (fun o => Ret (ss, o))).
Definition verifies : prog R T (seq T) := bind met (fun o => Ret (rcons o.2.1 o.2.2)).
Hypothesis lossless : completes p verifies c.
(* A_f(x): what is kept begins with x *)
Definition flow x : R := E met (fun o => (take (size x) o.2.1 == x)%:R).

Lemma paths_wf n : wf (paths q g n c).
Proof.
by elim: n => //= n IH; apply: wf_bind => [|s]; [exact: ar_wf | exact: wf_bind].
Qed.

Lemma met_wf : wf met.
Proof. by apply: wf_bind => [|ss]; [exact: paths_wf | exact: wf_bind]. Qed.

(* 2 of T22, what is necessary *)
Theorem flow_bound x y : flow (rcons x y) <= flow x * p (catrev x c) y.
Proof. exact: (kept_flow dp met_wf (kept := fun o => o.2.1) (next := fun o => o.2.2) lossless). Qed.

(* ---- prices ---- *)
Variable price : seq T -> R.
Hypothesis price0 : forall x, 0 <= price x.

(* g(x) *)
Definition net x : R := (size x)%:R + \sum_(i < g)
  ((i <= size x)%:R * (\sum_y p (catrev (take i x) c) y * price (rcons (take i x) y))
   - (i < size x)%:R * price (take i.+1 x)).
(* the largest g of what begins one of the paths *)
Definition most ss : R := foldr Num.max (net [::]) [seq net (take i s) | s <- ss, i <- iota 0 g.+1].

Lemma at_take x i (F : seq T -> R) :
  \sum_(z : i.-tuple T) (take (size z) x == z)%:R * F z = (i <= size x)%:R * F (take i x).
Proof.
case: leqP => h; last first.
  rewrite mul0r big1 // => z _; rewrite size_tuple take_oversize ?(ltnW h) //; case: eqP => [e|]; rewrite ?mul0r //.
  by move: h; rewrite e size_tuple ltnn.
have sz : size (take i x) == i by rewrite size_takel.
rewrite (bigD1 (Tuple sz)) //= (eqP sz) eqxx big1 ?addr0 // => z ne.
rewrite size_tuple; case: eqP => [e|]; rewrite ?mul0r //; case/negP: ne.
by apply/eqP/val_inj; rewrite /= e.
Qed.

Lemma at_next x i : \sum_(z : i.-tuple T) \sum_y (take (size (rcons z y)) x == rcons z y)%:R * price (rcons z y) =
  (i < size x)%:R * price (take i.+1 x).
Proof.
case: (ltnP i (size x)) => h; last first.
  rewrite mul0r big1 // => z _; rewrite big1 // => y _; rewrite size_rcons size_tuple take_oversize ?leqW //.
  by case: eqP => [e|]; rewrite ?mul0r //; move: h; rewrite e size_rcons size_tuple ltnn.
have [x0 _] : exists x0 : T, true by case: (x) h => // x0; exists x0.
pose a := nth x0 x i; have tE : take i.+1 x = rcons (take i x) a by exact: take_nth.
transitivity (\sum_(z : i.-tuple T) (take (size z) x == z)%:R * price (rcons z a)).
  apply: eq_bigr => z _; rewrite (bigD1 a) //= big1 ?addr0 => [|y ya].
    by rewrite size_rcons !size_tuple tE eqseq_rcons eqxx andbT.
  by rewrite size_rcons size_tuple tE eqseq_rcons [a == y]eq_sym (negbTE ya) andbF mul0r.
by rewrite (at_take x i (fun z => price (rcons z a))) (ltnW h) tE.
Qed.

Lemma foldr_max (b v : R) vs : v \in vs -> v <= foldr Num.max b vs.
Proof.
by elim: vs => //= w vs IH; rewrite inE => /orP[/eqP ->|/IH h]; rewrite le_maxr ?lexx // h orbT.
Qed.

Lemma foldr_base (b : R) vs : b <= foldr Num.max b vs.
Proof. by elim: vs => //= w vs IH; rewrite le_maxr IH orbT. Qed.

(* 3 of T22 *)
Theorem prices_bound : E met (fun o => (size o.2.1)%:R) <= E (paths q g k c) most.
Proof.
pose slack := \sum_(i < g) \sum_(z : i.-tuple T) \sum_y
  price (rcons z y) * (flow z * p (catrev z c) y - flow (rcons z y)).
have slack0 : 0 <= slack.
  apply: sumr_ge0 => i _; apply: sumr_ge0 => z _; apply: sumr_ge0 => y _.
  by rewrite mulr_ge0 // subr_ge0 flow_bound.
have netE : E met (fun o => net o.2.1) = E met (fun o => (size o.2.1)%:R) + slack.
  rewrite /net E_add; congr (_ + _); rewrite E_sum; apply: eq_bigr => i _.
  transitivity (E met (fun o => \sum_(z : i.-tuple T) \sum_y price (rcons z y) *
      ((take (size z) o.2.1 == z)%:R * p (catrev z c) y - (take (size (rcons z y)) o.2.1 == rcons z y)%:R))).
    apply: E_ext => o; rewrite -at_next -(at_take _ _ (fun z => \sum_y p (catrev z c) y * price (rcons z y))) -sumrB.
    apply: eq_bigr => z _; rewrite mulr_sumr -sumrB; apply: eq_bigr => y _.
    by move: (_%:R) (_%:R) (price _) (p _ _) => u v j w; ring.
  rewrite E_sum; apply: eq_bigr => z _; rewrite E_sum; apply: eq_bigr => y _.
  rewrite E_scale; congr (_ * _); rewrite -mulN1r /flow -E_scale mulrC -E_scale -E_add; apply: E_ext => o.
  by rewrite mulN1r mulrC.
apply: (@le_trans _ _ (E met (fun o => net o.2.1))); first by rewrite netE ler_addl.
rewrite E_bind; apply: E_le => [|ss]; first exact: paths_wf.
rewrite E_bind -[X in _ <= X](E_const _ (V_wf ss)); apply: (E_mono (V_wf ss) (V_keeps ss)) => o.
case/andP=> le_g /orP[/eqP e|/hasP[s ss_s /eqP e]] /=; first by rewrite e; exact: foldr_base.
apply: foldr_max; rewrite -e; apply: allpairs_f => //.
by rewrite mem_iota.
Qed.

End Program.
