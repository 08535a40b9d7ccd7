(* Drafts kept, given the text: what a block that keeps i drafts or more emits, continued by the target.
   This is the law from which the length of blocks is predicted along a text (T06). *)
Require Import prelude prob rejection recursive loop block tokenwise.

Section Survival.
Variables (R : realFieldType) (T : finType).
Notation model := (seq T -> T -> R).
Variables (p q : model).
Hypotheses (dp : is_model p) (dq : is_model q).

(* continue ys by the target to n tokens, or cut it there *)
Definition continued n c (f : seq T -> R) ys :=
  E (ar p (n - size ys)%N (catrev ys c)) (fun zs => f (take n (ys ++ zs))).
(* a block of ys keeps size ys - 1 drafts *)
Definition kept i n c f ys : R := (i < size ys)%:R * continued n c f ys.
Definition after n f x (zs : seq T) : R := f (take n (x :: zs)).

Lemma continued_cons n c f x ys : continued n c f (x :: ys) = continued n.-1 (x :: c) (after n f x) ys.
Proof. exact: (value_cons p n c f 0 x ys). Qed.

Lemma kept_cons i n c f x ys : kept i.+1 n c f (x :: ys) = kept i n.-1 (x :: c) (after n f x) ys.
Proof. by rewrite /kept continued_cons. Qed.

Lemma kept_one i n c f y : kept i.+1 n c f [:: y] = 0.
Proof. by rewrite /kept mul0r. Qed.

Lemma continued0 n c f : continued n c f [::] = E (ar p n c) f.
Proof. by rewrite /continued subn0; exact: ar_take. Qed.

(* ---- tokenwise: each draft passes a test of its own ---- *)
Fixpoint tests c (xs : seq T) : R :=
  if xs is x :: xs' then accept_prob (p c) (q c) x * tests (x :: c) xs' else 1.

Theorem token_survival i g c n f : (i <= g)%N ->
  E (token_block p q g c) (kept i n c f) = E (ar q i c) (fun xs => tests c xs * continued n c f xs).
Proof.
elim: i g c n f => [|i IH] g c n f ig.
  rewrite /= mul1r continued0 -(token_lossless dp dq g c n f).
  by apply: (E_outputs (token_nonempty p q g c)) => ys ys0; rewrite /kept ys0 mul1r.
case: g ig => // g ig; rewrite (token_blockS dp dq) [X in _ + X](_ : _ = 0) ?addr0; last first.
  by rewrite big1 ?mulr0 // => y _; rewrite kept_one mulr0.
rewrite ar_S; apply: eq_bigr => x _.
rewrite -(drawn_accepted (dist_ge0 (dp c) x) (dist_ge0 (dq c) x)) -mulrA; congr (_ * _).
transitivity (accept_prob (p c) (q c) x * E (token_block p q g (x :: c)) (kept i n.-1 (x :: c) (after n f x))).
  by congr (_ * _); apply: E_ext => ys; exact: kept_cons.
by rewrite IH // -E_scale; apply: E_ext => xs /=; rewrite -mulrA continued_cons.
Qed.

(* ---- block verification: the running weight, capped at 1 ---- *)
Fixpoint running w c (xs : seq T) : R := if xs is x :: xs' then running (next_w p q w c x) (x :: c) xs' else w.

Definition kept_some i n c f (o : option (seq T)) := if o is Some ys then kept i n c f ys else 0.

Lemma drafted_nonempty g w c :
  outputs (fun o => if o is Some ys then 0 < size ys else true)%N (drafted p q g w c).
Proof.
apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
move=> ds _; elim: ds w c => [|d ds IH] w c //=.
by apply: (outputs_bind (IH _ _)) => -[ys|].
Qed.

Lemma drafted_survival i g w c n f : (i <= g)%N -> 0 <= w <= 1 ->
  E (drafted p q g w c) (kept_some i n c f) = E (ar q i c) (fun xs => running w c xs * continued n c f xs).
Proof.
elim: i g w c n f => [|i IH] g w c n f ig w01.
  rewrite /= continued0 -[RHS]addr0 -(mulr0 (1 - w)) -(drafted_value dp dq g c n f 0 w01).
  by apply: (E_outputs (drafted_nonempty g w c)) => -[ys|] //= ys0; rewrite /kept ys0 mul1r.
case: g ig => // g ig; have /andP[w0 _] := w01; rewrite draftedS ar_S; apply: eq_bigr => x _; congr (_ * _).
transitivity (E (drafted p q g (next_w p q w c x) (x :: c)) (kept_some i n.-1 (x :: c) (after n f x))).
  apply: E_ext => -[ys|] /=; first exact: kept_cons.
  by rewrite mulr0 addr0 big1 ?mulr0 // => y _; rewrite kept_one mulr0.
rewrite IH // ?next_w01 //; by apply: E_ext => xs /=; rewrite continued_cons.
Qed.

Theorem block_survival i g c n f : (i < g)%N ->
  E (block p q g c) (kept i.+1 n c f) = E (ar q i.+1 c) (fun xs => running 1 c xs * continued n c f xs).
Proof.
move=> ig; rewrite -(drafted_survival c n f ig) ?ler01 ?lexx // !E_bind; apply: E_ext => ds.
rewrite E_bind; apply: E_ext => -[ys|] //=.
by rewrite big1 // => y _; rewrite kept_one mulr0.
Qed.

(* Q(xs) w(xs) / P(xs) is the least of 1 and of Q/P at the beginnings of xs *)
Fixpoint positive c (xs : seq T) := if xs is x :: xs' then (0 < p c x) && positive (x :: c) xs' else true.
Fixpoint ratio c (xs : seq T) : R := if xs is x :: xs' then q c x / p c x * ratio (x :: c) xs' else 1.
Fixpoint lowest m a c (xs : seq T) : R :=
  if xs is x :: xs' then lowest (Num.min m (a * (q c x / p c x))) (a * (q c x / p c x)) (x :: c) xs' else m.

Lemma running_lowest xs w a c : 0 <= w -> 0 <= a -> positive c xs ->
  running w c xs * (a * ratio c xs) = lowest (w * a) a c xs.
Proof.
elim: xs w a c => [|x xs IH] w a c w0 a0 /=; first by rewrite mulr1.
move=> /andP[px pos]; have q0 := dist_ge0 (dq c) x; have r0 : 0 <= q c x / p c x by rewrite divr_ge0 // ltW.
have /andP[n0 _] := next_w01 dp dq c x w0; have ar0 := mulr_ge0 a0 r0.
rewrite [a * (_ * _)]mulrA IH //.
congr lowest; rewrite /next_w minr_pmull // mul1r; have [->|qx] := eqVneq (q c x) 0.
  by rewrite mul0r !mulr0 (min_idPl (lexx 0)); apply/esym/min_idPr; rewrite mulr_ge0.
congr Num.min; field; rewrite qx gt_eqF //.
Qed.

Corollary survival_lowest c xs : positive c xs -> running 1 c xs * ratio c xs = lowest 1 1 c xs.
Proof. by move=> px; rewrite -[ratio c xs]mul1r running_lowest ?ler01 // mulr1. Qed.

End Survival.
