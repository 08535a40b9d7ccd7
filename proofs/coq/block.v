(* Block verification (Sun et al. 2024): drafting the whole block first, then
   verifying it jointly, is lossless. *)
Require Import prelude prob rejection recursive loop.

Section Block.
Variables (R : realFieldType) (T : finType).
Notation prog := (prog R T).
Notation ctx := (seq T).
Notation model := (seq T -> T -> R).
Variables (p q : model).          (* target, draft *)
Hypotheses (dp : is_model p) (dq : is_model q).
Implicit Types (c : ctx) (w : R).

(* running weight: w_0 = 1, w_{i+1} = min(w_i p/q, 1) *)
Definition next_w w c x := Num.min (w * p c x / q c x) 1.
(* residual mass and overlap at weight w *)
Definition rmass w c := \sum_x excess (fun x => w * p c x) (q c) x.
Definition hprob w c :=
  if rmass w c + (1 - w) == 0 then 1 else rmass w c / (rmass w c + (1 - w)).
Definition bres w c x :=
  if rmass w c == 0 then p c x
  else excess (fun x => w * p c x) (q c) x / rmass w c.

(* Verification of the drafted block ds, continuing context c at weight w.
   None = no prefix of length >= |position| accepted. The longest accepted
   prefix wins, so the deepest positions are tested first. *)
Fixpoint bverify w c (ds : seq T) : prog (option (seq T)) :=
  if ds is d :: ds' then
    bind (bverify (next_w w c d) (d :: c) ds') (fun o =>
      if o is Some ys then Ret (Some (d :: ys))
      else Flip (hprob w c)
             (Draw (bres w c) (fun y => Ret (Some [:: y])))
             (Ret None))
  else Flip w (Draw (p c) (fun y => Ret (Some [:: y]))) (Ret None).

(* the text emitted for the drafts ds: at the first position nothing can fail *)
Definition bverified c (ds : seq T) : prog (seq T) :=
  bind (bverify 1 c ds) (fun o =>
    if o is Some ys then Ret ys
    else Draw (bres 1 c) (fun y => Ret [:: y])).

(* one iteration with g drafted tokens *)
Definition block g c : prog (seq T) := bind (ar q g c) (bverified c).

Definition olap w c := overlap (fun x => w * p c x) (q c).

Lemma rmassE w c : rmass w c = w - olap w c.
Proof. by rewrite /rmass sum_excess -mulr_sumr (dist_sum (dp c)) mulr1. Qed.

Lemma olap_le1 w c : olap w c <= 1.
Proof.
by rewrite -(dist_sum (dq c)); apply: ler_sum => x _; rewrite le_minl lexx orbT.
Qed.

Lemma rmass_ge0 w c : 0 <= rmass w c.
Proof. by apply: sumr_ge0 => x _; exact: excess_ge0. Qed.

(* reject mass * h = residual mass *)
Lemma hprobE w c : 0 <= w <= 1 -> (1 - olap w c) * hprob w c = rmass w c.
Proof.
move=> /andP[w0 w1]; rewrite /hprob.
have e : rmass w c + (1 - w) = 1 - olap w c by rewrite rmassE; ring.
case: eqP => [z|/eqP z]; last by rewrite -e mulrCA divff // mulr1.
rewrite -e z mul0r; apply/esym/le_anti; rewrite rmass_ge0 andbT.
by rewrite -z ler_addl subr_ge0.
Qed.

Lemma bresE w c x : rmass w c * bres w c x = w * p c x - Num.min (w * p c x) (q c x).
Proof.
rewrite -(excessE (fun x => w * p c x)) /bres.
case: eqP => [z|/eqP z]; last by rewrite mulrCA divff // mulr1.
rewrite z mul0r; move/eqP: z; rewrite psumr_eq0 => [/allP/(_ x)|y _]; last exact: excess_ge0.
by rewrite mem_index_enum => /(_ isT) /= /eqP ->.
Qed.

Lemma next_wE w c x : 0 <= w -> q c x * next_w w c x = Num.min (w * p c x) (q c x).
Proof.
move=> w0; have p0 := dist_ge0 (dp c) x; have := dist_ge0 (dq c) x.
rewrite le_eqVlt => /orP[/eqP <-|q0].
  by rewrite mul0r; apply/esym/min_idPr; rewrite mulr_ge0.
by rewrite /next_w minr_pmulr ?ltW // mulr1 mulrCA divff ?gt_eqF // mulr1.
Qed.

Lemma next_w01 w c x : 0 <= w -> 0 <= next_w w c x <= 1.
Proof.
move=> w0; rewrite /next_w le_minl lexx orbT andbT le_minr ler01 andbT.
by rewrite divr_ge0 ?mulr_ge0 // ?(dist_ge0 (dp _)) ?(dist_ge0 (dq _)).
Qed.

(* value of an outcome: complete it with the target to n tokens; a failed
   block is worth v *)
Definition value n c (f : seq T -> R) v (o : option (seq T)) : R :=
  if o is Some ys then
    E (ar p (n - size ys)%N (catrev ys c)) (fun zs => f (take n (ys ++ zs)))
  else v.

(* value of starting with the token x *)
Definition from n c (f : seq T -> R) x :=
  E (ar p n.-1 (x :: c)) (fun zs => f (take n (x :: zs))).

Lemma value1 n c f v y : value n c f v (Some [:: y]) = from n c f y.
Proof. by rewrite /value /= subn1. Qed.

Lemma sum_from n c f : \sum_y p c y * from n c f y = E (ar p n c) f.
Proof.
case: n => [|n].
  under eq_bigr do rewrite /from /=.
  by rewrite -mulr_suml (dist_sum (dp c)) mul1r.
by rewrite -ar_take ar_S.
Qed.

Lemma value_cons n c f v x ys :
  value n c f v (Some (x :: ys)) =
  value n.-1 (x :: c) (fun zs => f (take n (x :: zs))) v (Some ys).
Proof.
rewrite /value /= subnS -subn1 subnAC subn1; apply: E_ext => zs.
by case: n => [|n] //=; rewrite take_take.
Qed.

Definition drafted g w c := bind (ar q g c) (bverify w c).

Lemma draftedS g w c f : E (drafted g.+1 w c) f =
  \sum_x q c x * E (drafted g (next_w w c x) (x :: c)) (fun o =>
    E (if o is Some ys then Ret (Some (x :: ys))
       else Flip (hprob w c)
             (Draw (bres w c) (fun y => Ret (Some [:: y])))
             (Ret None)) f).
Proof.
rewrite /drafted E_bind ar_S; apply: eq_bigr => x _; rewrite E_bind.
by congr (_ * _); apply: E_ext => s; rewrite /= E_bind.
Qed.

(* Key invariant: the outcomes of a block at weight w are a w-scaled copy of
   the target law, and it fails with probability 1 - w. *)
Theorem drafted_value g w c n f v : 0 <= w <= 1 ->
  E (drafted g w c) (value n c f v) = w * E (ar p n c) f + (1 - w) * v.
Proof.
elim: g w c n f v => [|g IH] w c n f v w01.
  rewrite /drafted /= -sum_from; congr (w * _ + _).
  by apply: eq_bigr => y _; rewrite -(value1 n c f v y).
have /andP[w0 w1] := w01.
pose B := \sum_y bres w c y * from n c f y.
pose v1 := hprob w c * B + (1 - hprob w c) * v.
rewrite draftedS.
have step x : E (drafted g (next_w w c x) (x :: c)) (fun o =>
    E (if o is Some ys then Ret (Some (x :: ys))
       else Flip (hprob w c)
             (Draw (bres w c) (fun y => Ret (Some [:: y])))
             (Ret None)) (value n c f v)) =
    next_w w c x * from n c f x + (1 - next_w w c x) * v1.
  rewrite -(IH _ _ _ _ _ (next_w01 c x w0)); apply: E_ext => -[ys|].
    by rewrite -value_cons.
  rewrite /= /v1 /B; congr (_ * _ + _).
  by apply: eq_bigr => y _; rewrite -(value1 n c f v y).
under eq_bigr => x _ do
  rewrite step mulrDr mulrA next_wE // [X in _ + X]mulrA mulrBr mulr1 next_wE //.
rewrite big_split /= -mulr_suml sumrB (dist_sum (dq c)) -/(olap w c).
have -> : (1 - olap w c) * v1 = rmass w c * B + (1 - w) * v.
  have e := hprobE c w01; have e2 := rmassE w c; rewrite e2 in e.
  rewrite e2 /v1; move: (olap w c) (hprob w c) e => o h e.
  have -> : (1 - o) * (h * B + (1 - h) * v) =
            (1 - o) * h * B + (1 - o - (1 - o) * h) * v by ring.
  by rewrite e; ring.
rewrite addrA; congr (_ + _); rewrite -sum_from /B !mulr_sumr -big_split.
apply: eq_bigr => y _ /=.
by rewrite [rmass w c * _]mulrA bresE -mulrDl addrC subrK mulrA.
Qed.

Theorem block_lossless g c : completes p (block g c) c.
Proof.
move=> n f; rewrite /block.
pose v : R := \sum_y bres 1 c y * from n c f y.
transitivity (E (drafted g 1 c) (value n c f v)).
  rewrite !E_bind; apply: E_ext => ds; rewrite E_bind; apply: E_ext => -[ys //|] /=.
  rewrite /v; apply: eq_bigr => y _; rewrite /from subn1.
  by [].
by rewrite drafted_value ?ler01 ?lexx // mul1r subrr mul0r addr0.
Qed.

Lemma bverified_nonempty c ds : outputs (fun ys => 0 < size ys)%N (bverified c ds).
Proof.
apply: (@outputs_bind _ _ _ _ (fun o => if o is Some ys then 0 < size ys else true)%N).
  elim: ds 1 c => [|d ds IH] w {}c //=.
  by apply: (outputs_bind (IH _ _)) => -[ys|].
by case.
Qed.

Lemma block_nonempty g c : outputs (fun ys => 0 < size ys)%N (block g c).
Proof.
apply: (@outputs_bind _ _ _ _ (fun=> True)); first exact: outputs_true.
move=> ds _; exact: bverified_nonempty.
Qed.

(* the number of drafts may depend on the text and on how many tokens are still wanted *)
Theorem block_decode_lossless (g : nat -> ctx -> nat) n c f :
  E (decode (fun n c => block (g n c) c) n n c) f = E (ar p n c) f.
Proof.
apply: decode_lossless => // {}n {}c; [exact: block_lossless | exact: block_nonempty].
Qed.

Corollary block_decode_law (g : nat -> ctx -> nat) c (s : seq T) :
  law (decode (fun n c => block (g n c) c) (size s) (size s) c) s = word_prob p c s.
Proof. by rewrite /law block_decode_lossless -ar_law. Qed.

End Block.
