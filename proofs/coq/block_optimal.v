(* No verifier that keeps a prefix of its drafts, adds one token and goes on from the
   target keeps any prefix more often than block verification, or more on average. *)
Require Import prelude prob rejection recursive loop block words tokenwise survival dominance.

Section Optimal.
Variables (R : realFieldType) (T : finType) (p q : seq T -> T -> R).
Hypotheses (dp : is_model p) (dq : is_model q).
Variables (g : nat) (c : seq T) (V : seq T -> prog R T (nat * T)).
Hypothesis V_wf : forall ds, wf (V ds).
Hypothesis V_keeps : forall ds, outputs (fun o => o.1 <= g)%N (V ds).

(* the drafts, how many are kept, the token after them *)
Definition outcome : prog R T (seq T * (nat * T)) :=
  bind (ar q g c) (fun ds => bind (V ds) (fun o => Ret (ds, o))).
Definition emitted (o : seq T * (nat * T)) := rcons (take o.2.1 o.1) o.2.2.
Definition verifier : prog R T (seq T) := bind outcome (fun o => Ret (emitted o)).
Hypothesis lossless : completes p verifier c.

Definition keeps x (o : seq T * (nat * T)) := (take (size x) o.1 == x) && (size x <= o.2.1)%N.
Definition kept x : R := E outcome (fun o => (keeps x o)%:R).

Definition sound (o : seq T * (nat * T)) := size o.1 = g /\ (o.2.1 <= g)%N.

Lemma outcome_sound : outputs sound outcome.
Proof.
apply: (outputs_bind (ar_size q g c)) => ds sds.
by apply: (outputs_bind (V_keeps ds)) => o le_o.
Qed.

Lemma outcome_wf : wf outcome.
Proof. by apply: wf_bind => [|ds]; [exact: ar_wf | apply: wf_bind]. Qed.

Lemma kept_drafted x : (size x <= g)%N -> kept x <= word_prob q c x.
Proof.
move=> le_x; rewrite -(ar_prefix dq c le_x) /kept /outcome E_bind.
apply: E_le => [|ds]; first exact: ar_wf.
rewrite E_bind -[X in _ <= X](E_const _ (V_wf ds)); apply: E_le => // o.
by rewrite /= /keeps /= ler_nat; case: (take _ _ == x); case: (size x <= o.1)%N.
Qed.

Lemma size_emitted o : sound o -> size (emitted o) = o.2.1.+1.
Proof. by move=> [s le]; rewrite size_rcons size_takel // s. Qed.

(* what is kept of x y is part of what goes from x to y, which has the target's law *)
Lemma kept_next x y : kept (rcons x y) <= kept x * p (catrev x c) y.
Proof.
have e z : kept z = E outcome (fun o => (begins_kept (fun o : seq T * (nat * T) => take o.2.1 o.1) z o)%:R).
  apply: (E_outputs outcome_sound) => o [so le]; congr ((nat_of_bool _)%:R); rewrite /keeps /begins_kept.
  have [lz|lt] := leqP (size z) o.2.1; first by rewrite andbT take_take.
  rewrite andbF take_oversize ?size_takel ?so ?(ltnW lt) //; apply/esym/eqP => e.
  by move: lt; rewrite -e size_takel ?so // ltnn.
by rewrite !e; exact: (kept_flow dp outcome_wf (next := fun o => o.2.2) lossless).
Qed.

Notation running := (running p q).
Lemma running_rcons w ctx x y :
  running w ctx (rcons x y) = next_w p q (running w ctx x) (catrev x ctx) y.
Proof. by elim: x w ctx => //= z x IH w ctx; rewrite IH. Qed.

Lemma running_ge0 w ctx x : 0 <= w -> 0 <= running w ctx x.
Proof.
by elim: x w ctx => //= y x IH w ctx w0; apply: IH; case/andP: (next_w01 dp dq ctx y w0).
Qed.

Theorem kept_bound x : (size x <= g)%N -> kept x <= word_prob q c x * running 1 c x.
Proof.
elim/last_ind: x => [|x y IH] le_x.
  rewrite /= mulr1 -(E_const 1 outcome_wf); apply: E_le => [|o]; first exact: outcome_wf.
  by rewrite lern1 leq_b1.
rewrite size_rcons in le_x; have w0 := running_ge0 c x ler01.
rewrite word_prob_rcons running_rcons -mulrA (next_wE dp dq) // minr_pmulr ?(word_prob_ge0 dq) //.
rewrite le_minr -word_prob_rcons kept_drafted ?size_rcons // andbT.
apply: le_trans (kept_next x y) _; rewrite mulrA; apply: ler_wpmul2r; first exact: dist_ge0.
by apply: IH; exact: ltnW.
Qed.

(* E[n] + 1 as a sum over prefixes *)
Fixpoint prefixes k x o : R := (keeps x o)%:R + (if k is k'.+1 then \sum_y prefixes k' (rcons x y) o else 0).

Lemma keeps_rcons x y o : keeps (rcons x y) o -> keeps x o.
Proof.
rewrite /keeps size_rcons => /andP[/eqP e lt]; rewrite (ltnW lt) andbT; apply/eqP.
have := congr1 (take (size x)) e; rewrite take_take // => ->.
by rewrite -cats1 take_size_cat.
Qed.

Lemma prefixes0 k x o : ~~ keeps x o -> prefixes k x o = 0.
Proof.
elim: k x => [|k IH] x nk /=; first by rewrite (negbTE nk) addr0.
rewrite (negbTE nk) add0r big1 // => y _; apply: IH.
by apply: contra nk; exact: keeps_rcons.
Qed.

Lemma prefixesE k x o : sound o -> keeps x o -> (o.2.1 <= size x + k)%N ->
  prefixes k x o = (o.2.1 - size x).+1%:R.
Proof.
move=> so; elim: k x => [|k IH] x kx le /=.
  by rewrite kx addr0; move: le; rewrite addn0 -subn_eq0 => /eqP ->.
have /andP[/eqP e lx] := kx; have [le'|lt] := leqP o.2.1 (size x).
  rewrite kx big1 ?addr0 => [|y _]; first by move: le'; rewrite -subn_eq0 => /eqP ->.
  by apply: prefixes0; rewrite /keeps size_rcons ltnNge le' andbF.
have ltg : (size x < size o.1)%N by rewrite (proj1 so); apply: leq_trans lt (proj2 so).
pose y0 := o.2.2; pose z := nth y0 o.1 (size x).
have kz : keeps (rcons x z) o by rewrite /keeps size_rcons lt andbT (take_nth y0) // e.
rewrite kx (bigD1 z) //= big1 => [|y ne]; last first.
  apply: prefixes0; apply: contra ne => /andP[/eqP ey _]; apply/eqP.
  by move: ey; rewrite size_rcons (take_nth y0) // e => /rcons_inj[].
rewrite addr0 IH // ?size_rcons ?addSnnS // -natrD add1n; congr (_%:R).
by rewrite subnS prednK // subn_gt0.
Qed.

Lemma prefixes_bound k x : (size x + k <= g)%N ->
  E outcome (prefixes k x) <= word_prob q c x * weight_sum p q k (running 1 c x) (catrev x c).
Proof.
elim: k x => [|k IH] x le /=.
  rewrite (@E_ext _ _ _ _ _ (fun o => (keeps x o)%:R)) => [|o]; last by rewrite addr0.
  by apply: kept_bound; rewrite -[size x]addn0.
rewrite E_add E_sum mulrDr; apply: ler_add.
  by apply: kept_bound; apply: leq_trans le; exact: leq_addr.
rewrite mulr_sumr; apply: ler_sum => y _.
have := IH (rcons x y); rewrite size_rcons addSnnS => /(_ le) h; apply: le_trans h _.
by rewrite word_prob_rcons running_rcons -mulrA -cats1 catrev_catl.
Qed.

(* E[tokens] of the verifier <= E[tokens] of block verification *)
Theorem block_optimal : E verifier (fun ys => (size ys)%:R) <= E (block p q g c) (fun ys => (size ys)%:R).
Proof.
rewrite (block_length dp dq) /verifier E_bind.
have e o : sound o -> (size (emitted o))%:R = prefixes g [::] o.
  move=> so; have k0 : keeps [::] o by rewrite /keeps take0 eqxx.
  by rewrite (prefixesE so k0) ?size_emitted ?subn0 // add0n; case: so.
rewrite /= (E_outputs outcome_sound e).
by have := prefixes_bound (leqnn (size ([::] : seq T) + g)); rewrite /= mul1r.
Qed.

End Optimal.
