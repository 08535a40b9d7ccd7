(* Every flow below the target's law is what some lossless verifier of K paths keeps (T22): so the inequalities of
   paths_bound.v are all there are. *)
Require Import prelude prob rejection recursive loop block words tokenwise survival highest paths_bound.

(* one of the words ws, with weights h *)
Section Choose.
Variables (R : realFieldType) (T : finType) (h : seq T -> R).
Hypothesis h0 : forall w, 0 <= h w.

Fixpoint choose ws : prog R T (seq T) :=
  if ws is w :: ws' then Flip (h w / \sum_(v <- ws) h v) (Ret w) (choose ws') else Ret [::].

Lemma chooseE ws F : (\sum_(w <- ws) h w) * E (choose ws) F = \sum_(w <- ws) h w * F w.
Proof.
elim: ws => [|w ws IH]; first by rewrite !big_nil mul0r.
rewrite [RHS]big_cons -IH [choose _]/= [E _ _]/=; set S := \sum_(v <- w :: ws) h v.
have e : S = h w + \sum_(v <- ws) h v by rewrite /S big_cons.
have s0 : 0 <= \sum_(v <- ws) h v by exact: sumr_ge0.
have [z|z] := eqVneq S 0.
  move: (z); rewrite e => /eqP; rewrite paddr_eq0 // => /andP[/eqP hw /eqP ->].
  by rewrite hw !(mul0r, addr0).
have -> : \sum_(v <- ws) h v = S - h w by rewrite e addrAC subrr add0r.
by move: (E _ F) => x; field.
Qed.

Lemma choose_wf ws : wf (choose ws).
Proof.
elim: ws => //= w ws IH; split=> //; have s0 : 0 <= \sum_(v <- ws) h v by exact: sumr_ge0.
rewrite big_cons divr_ge0 ?addr_ge0 //=; have [->|z] := eqVneq (h w + \sum_(v <- ws) h v) 0.
  by rewrite invr0 mulr0 ler01.
rewrite ler_pdivr_mulr ?mul1r ?ler_addl // lt_neqAle eq_sym z addr_ge0 //.
Qed.
End Choose.

Section Rule.
Variables (R : realFieldType) (T : finType) (p q : seq T -> T -> R).
Hypotheses (dp : is_model p) (dq : is_model q).
Variables (g k : nat) (c : seq T).
(* what begins one of the paths, and the chance with which each is to be kept, given the paths *)
Definition beginnings (ss : seq (seq T)) := undup ([::] :: [seq take i s | s <- ss, i <- iota 0 g.+1]).
Variable share : seq (seq T) -> seq T -> R.
Hypotheses (share0 : forall ss x, 0 <= share ss x) (share1 : forall ss, \sum_(x <- beginnings ss) share ss x = 1).

(* A_f(x), from which the token after what is kept is drawn *)
Definition kept_from x : R :=
  E (paths q g k c) (fun ss => \sum_(z <- beginnings ss) (take (size x) z == x)%:R * share ss z).
Hypothesis flow_below : forall x y, (size x < g)%N -> kept_from (rcons x y) <= kept_from x * p (catrev x c) y.
Definition stays x : R := kept_from x - \sum_y kept_from (rcons x y).
Definition after_kept x y : R :=
  if stays x == 0 then p (catrev x c) y else (kept_from x * p (catrev x c) y - kept_from (rcons x y)) / stays x.
Definition flow_verifier ss : prog R T (seq T * T) :=
  bind (choose (share ss) (beginnings ss)) (fun x => Draw (after_kept x) (fun y => Ret (x, y))).

Lemma beginnings_size ss (x z : seq T) : z \in beginnings ss -> (g < size x)%N -> (take (size x) z == x) = false.
Proof.
rewrite mem_undup inE => zb gx; have le : (size z <= g)%N.
  case/orP: zb => [/eqP -> //|/allpairsP[[s i] [_ ii ->]]]; move: ii; rewrite mem_iota add0n ltnS => /= ig.
  by rewrite size_take; case: ltnP => // /leq_trans; apply.
by rewrite take_oversize ?(leq_trans le (ltnW gx)) //; apply/eqP => e; move: gx; rewrite -e ltnNge le.
Qed.

Lemma long_zero (h : seq (seq T) -> seq T -> R) x : (g < size x)%N ->
  E (paths q g k c) (fun ss => \sum_(z <- beginnings ss) (take (size x) z == x)%:R * h ss z) = 0.
Proof.
move=> gx; transitivity (E (paths q g k c) (fun=> 0 * 0)); last by rewrite E_scale mul0r.
apply: E_ext => ss; rewrite mulr0; apply: big1_seq => z /andP[_ zb].
by rewrite (beginnings_size zb gx) mul0r.
Qed.

Lemma below_target x y : kept_from (rcons x y) <= kept_from x * p (catrev x c) y.
Proof.
have [lt|le] := ltnP (size x) g; first exact: flow_below.
rewrite {1}/kept_from long_zero ?size_rcons //; apply: mulr_ge0; last exact: (dist_ge0 (dp _)).
apply: E_ge0 => [|ss]; first exact: (paths_wf dq).
by apply: sumr_ge0 => z _; rewrite mulr_ge0 ?ler0n.
Qed.

Lemma staysE x : stays x = \sum_y (kept_from x * p (catrev x c) y - kept_from (rcons x y)).
Proof. by rewrite sumrB -mulr_sumr (dist_sum (dp _)) mulr1. Qed.

Lemma stays_after x y : stays x * after_kept x y = kept_from x * p (catrev x c) y - kept_from (rcons x y).
Proof.
rewrite /after_kept; case: eqP => [z|/eqP z]; last by rewrite mulrCA divff ?mulr1.
rewrite z mul0r; move/eqP: z; rewrite staysE psumr_eq0 => [/allP/(_ y)|v _]; last by rewrite subr_ge0 below_target.
by rewrite mem_index_enum => /(_ isT) /= /eqP ->.
Qed.

Lemma after_kept_dist x : is_dist (after_kept x).
Proof.
rewrite /after_kept; have [_|z] := eqVneq (stays x) 0; first exact: dp.
split=> [y|]; last by rewrite -mulr_suml -staysE divff.
apply: divr_ge0; first by rewrite subr_ge0 below_target.
by rewrite staysE; apply: sumr_ge0 => v _; rewrite subr_ge0 below_target.
Qed.

Lemma flow_verifier_wf ss : wf (flow_verifier ss).
Proof. by apply: wf_bind => [|x]; [exact: choose_wf | split=> //; exact: after_kept_dist]. Qed.

Lemma flow_verifierE ss F : E (flow_verifier ss) F =
  \sum_(x <- beginnings ss) share ss x * \sum_y after_kept x y * F (x, y).
Proof. by rewrite E_bind -[LHS]mul1r -(share1 ss) chooseE. Qed.

Lemma begins_next (x z : seq T) : (take (size x) z == x)%:R =
  (z == x)%:R + \sum_y (take (size (rcons x y)) z == rcons x y)%:R :> R.
Proof.
have [lt|le] := ltnP (size x) (size z).
  have -> : (z == x) = false by apply/eqP => e; move: lt; rewrite e ltnn.
  have [x0 _] : exists x0 : T, true by case: (z) lt => // x0; exists x0.
  rewrite add0r (bigD1 (nth x0 z (size x))) //= big1 => [|y yn].
    by rewrite addr0 size_rcons (take_nth x0) // eqseq_rcons eqxx andbT.
  by rewrite size_rcons (take_nth x0) // eqseq_rcons [_ == y]eq_sym (negbTE yn) andbF.
rewrite take_oversize // big1 ?addr0 // => y _; rewrite size_rcons take_oversize ?leqW //.
by case: eqP => // e; move: le; rewrite e size_rcons ltnn.
Qed.

Lemma continued_next n f x : \sum_y p (catrev x c) y * continued p n c f (rcons x y) = continued p n c f x.
Proof.
rewrite /continued; have [le|lt] := leqP n (size x).
  rewrite (eqP (le : (n - size x == 0)%N)) /= cats0 -[RHS]mul1r -(dist_sum (dp (catrev x c))) mulr_suml.
  apply: eq_bigr => y _; congr (_ * _); rewrite size_rcons (eqP (leqW le : (n - (size x).+1 == 0)%N)) /= cats0.
  by rewrite -cats1 takel_cat.
have [m e] : exists m, (n - size x)%N = m.+1 by exists (n - size x).-1; rewrite prednK ?subn_gt0.
rewrite e ar_S; apply: eq_bigr => y _; congr (_ * _).
rewrite size_rcons subnS e /= -cats1 catrev_catl /=.
by apply: E_ext => zs; rewrite -catA.
Qed.

(* 2 of T22, what is enough *)
Theorem flow_lossless : completes p (verifies q g k c flow_verifier) c.
Proof.
move=> n f; pose B z := \sum_y after_kept z y * continued p n c f (rcons z y).
pose Val x := E (paths q g k c) (fun ss => \sum_(z <- beginnings ss) (take (size x) z == x)%:R * share ss z * B z).
have split_sum x (h : seq (seq T) -> seq T -> R) :
    E (paths q g k c) (fun ss => \sum_(z <- beginnings ss) (take (size x) z == x)%:R * h ss z) =
    E (paths q g k c) (fun ss => \sum_(z <- beginnings ss) (z == x)%:R * h ss z) +
    \sum_y E (paths q g k c) (fun ss => \sum_(z <- beginnings ss) (take (size (rcons x y)) z == rcons x y)%:R * h ss z).
  rewrite -E_sum -E_add; apply: E_ext => ss; rewrite exchange_big -big_split /=; apply: eq_bigr => z _.
  by rewrite begins_next mulrDl mulr_suml.
have exactE x : E (paths q g k c) (fun ss => \sum_(z <- beginnings ss) (z == x)%:R * share ss z) = stays x.
  by rewrite /stays /kept_from split_sum addrK.
have val d x : (size x + d)%N = g.+1 -> Val x = kept_from x * continued p n c f x.
  elim: d x => [|d IH] x sx.
    have gx : (g < size x)%N by rewrite -[size x]addn0 sx.
    rewrite /kept_from long_zero // mul0r /Val -[RHS](long_zero (fun ss z => share ss z * B z) gx); apply: E_ext => ss.
    by apply: eq_bigr => z _; rewrite mulrA.
  transitivity (stays x * B x + \sum_y Val (rcons x y)).
    rewrite -exactE mulrC -E_scale.
    transitivity (E (paths q g k c) (fun ss => \sum_(z <- beginnings ss) (take (size x) z == x)%:R * (share ss z * B z))).
      by apply: E_ext => ss; apply: eq_bigr => z _; rewrite mulrA.
    rewrite split_sum; congr (_ + _).
      apply: E_ext => ss; rewrite mulr_sumr; apply: eq_bigr => z _.
      by case: eqP => [->|]; rewrite ?mul0r ?mulr0 // !mul1r mulrC.
    by apply: eq_bigr => y _; apply: E_ext => ss; apply: eq_bigr => z _; rewrite mulrA.
  rewrite -(continued_next n f x) mulr_sumr /B mulr_sumr -big_split; apply: eq_bigr => y _ /=.
  rewrite mulrA stays_after IH ?size_rcons ?addSnnS //.
  by move: (kept_from _) (kept_from _) (p _ _) (continued _ _ _ _ _) => u v w z; ring.
have one : kept_from [::] = 1.
  rewrite -[RHS](E_const 1 (paths_wf dq g c k)); apply: E_ext => ss; rewrite -[RHS](share1 ss).
  by apply: eq_bigr => z _; rewrite take0 eqxx mul1r.
rewrite -(continued0 p n c f) -[RHS]mul1r -[X in _ = X * _]one -(val g.+1) ?add0n // /verifies /met E_bind E_bind.
apply: E_ext => ss.
transitivity (E (flow_verifier ss) (fun o => continued p n c f (rcons o.1 o.2))); first by rewrite E_bind.
by rewrite flow_verifierE; apply: eq_bigr => z _; rewrite take0 eqxx mul1r.
Qed.

(* and it keeps what it was to keep *)
Theorem flow_kept x : flow q g k c flow_verifier x = kept_from x.
Proof.
rewrite /flow /met E_bind; apply: E_ext => ss.
transitivity (E (flow_verifier ss) (fun o => (take (size x) o.1 == x)%:R)); first by rewrite E_bind; apply: E_ext.
rewrite flow_verifierE; apply: eq_bigr => z _; by rewrite /= -mulr_suml (dist_sum (after_kept_dist z)) mul1r mulrC.
Qed.

End Rule.
