(* The highest of K independent paths: its law, token by token, is that of a draft, so block verification with this
   law in place of the draft's is lossless (T22). *)
Require Import prelude prob rejection recursive loop block words tokenwise survival dominance block_optimal labels span moves spans.

Section Highest.
Variables (R : realFieldType) (T : finType) (q : seq T -> T -> R).
Hypothesis dq : is_model q.
(* the order of the tokens, which may depend on the text and on nothing else *)
Variable rank : seq T -> T -> nat.
Hypothesis rank_inj : forall c, injective (rank c).
Implicit Types (c s t x : seq T).

(* paths are compared by their first token, then, where equal, by the next *)
Fixpoint higher c s t : bool :=
  match s, t with
  | x :: s', y :: t' => (rank c y < rank c x)%N || (x == y) && higher (x :: c) s' t'
  | _, [::] => s != [::]
  | [::], _ => false
  end.
Definition highest c (ss : seq (seq T)) := foldr (fun s t => if higher c t s then t else s) [::] ss.

Fixpoint paths g k c : prog R T (seq (seq T)) :=
  if k is k'.+1 then bind (ar q g c) (fun s => bind (paths g k' c) (fun ss => Ret (s :: ss))) else Ret [::].

(* the chance that a path is lower than every path that begins with x; and that it is so or begins with x *)
Fixpoint lower c x : R := if x is v :: x' then before (q c) (rank c) v + q c v * lower (v :: c) x' else 0.
Definition upto c x := lower c x + word_prob q c x.

(* the law of the highest of k paths after x, where the block began at c0 *)
Definition begins k c x := upto c x ^+ k - lower c x ^+ k.
Definition of_highest k c x v :=
  if begins k c x == 0 then q (catrev x c) v else begins k c (rcons x v) / begins k c x.
Definition highest_model k c0 c v := of_highest k c0 (rev (take (size c - size c0) c)) v.

(* ---- the order is total ---- *)
Lemma higher_split c s x t : higher c s x -> higher c s t || higher c t x.
Proof.
elim: s c x t => [|a s IH] c [|d x] [|b t] //=; rewrite ?orbT // => h.
case: (ltngtP (rank c b) (rank c a)) => [//|lt|/rank_inj e] /=.
  have -> : (rank c d < rank c b)%N; last by rewrite orbT.
  by case/orP: h => [h|/andP[/eqP <- _] //]; exact: ltn_trans lt.
subst b; rewrite eqxx /=; case/orP: h => [->|/andP[/eqP <-]]; first by rewrite orbT.
by rewrite eqxx /= => /(IH (a :: c) x t)/orP[->|->] //; rewrite !orbT.
Qed.

Lemma higher_asym c s t : higher c s t -> ~~ higher c t s.
Proof.
elim: s c t => [|a s IH] c [|b t] //=; case: (ltngtP (rank c b) (rank c a)) => [lt _|lt|/rank_inj e] /=.
- by rewrite negb_and; case: eqP => // e; rewrite e ltnn in lt.
- by case: eqP => // e; rewrite e ltnn in lt.
by subst b; rewrite eqxx /=; exact: IH.
Qed.

Lemma higher_total c s t : size s = size t -> ~~ higher c s t -> ~~ higher c t s -> s = t.
Proof.
elim: s c t => [|a s IH] c [|b t] //= [e]; case: (ltngtP (rank c b) (rank c a)) => [//|//|/rank_inj ab] /=.
by subst b; rewrite eqxx /= => h h'; rewrite (IH (a :: c) t).
Qed.

(* the highest is lower than x, or not higher, if all are *)
Lemma highest_lower c x ss : higher c x (highest c ss) = higher c x [::] && all (higher c x) ss.
Proof.
elim: ss => [|s ss IH] /=; first by rewrite andbT.
rewrite andbCA -IH; set t := highest c ss; case: ifP => ts.
  case xt: (higher c x t); last by rewrite andbF.
  by have /orP[->|] := higher_split s xt; rewrite // => /higher_asym; rewrite ts.
case xs: (higher c x s) => //=; by have /orP[->|] := higher_split t xs; rewrite ?ts.
Qed.

Lemma highest_above c x ss : ~~ higher c (highest c ss) x = all (fun s => ~~ higher c s x) ss.
Proof.
elim: ss => [|s ss IH] //=; first by case: x.
rewrite -IH; set t := highest c ss; case: ifP => ts.
  case tx: (higher c t x); first by rewrite andbF.
  rewrite andbT; apply/esym; apply: contraFN tx => sx.
  by have /orP[|] := higher_split t sx => //; rewrite (negbTE (higher_asym ts)).
case sx: (higher c s x) => //=; apply/esym; apply: contraFN sx => tx.
by have /orP[|] := higher_split s tx; rewrite ?ts.
Qed.

Lemma highest_size g k c : outputs (fun ss => size (highest c ss) = g /\ (0 < size ss)%N) (paths g k.+1 c).
Proof.
have big ss : all (fun s => size s == g) ss -> (0 < size ss)%N -> size (highest c ss) = g.
  elim: ss => //= s [|s' ss] IH /andP[/eqP sg f] _; first by case: ifP => //; case: (s) sg.
  by case: ifP => // _; apply: IH.
suff : outputs (fun ss => all (fun s => size s == g) ss /\ size ss = k.+1) (paths g k.+1 c).
  elim: (paths g k.+1 c) => [ss [f sz]|r m IH fm x|b m1 IH1 m2 IH2 [f1 f2]].
  - by split; [apply: big|]; rewrite ?sz.
  - exact: IH.
  by split; [exact: IH1 | exact: IH2].
elim: k.+1 => //= n IH; apply: (outputs_bind (ar_size q g c)) => s ss.
by apply: (outputs_bind IH) => ss' [f sz]; rewrite /= ss eqxx sz.
Qed.

(* ---- paths are independent ---- *)
Lemma paths_all g k c P :
  E (paths g k c) (fun ss => (all P ss)%:R) = E (ar q g c) (fun s => (P s)%:R) ^+ k.
Proof.
elim: k => [|k IH]; first by rewrite expr0.
rewrite exprS /= E_bind; set m := E (ar q g c) _; rewrite -IH mulrC -E_scale; apply: E_ext => s.
rewrite E_bind -[X in _ = _ * X]/((P s)%:R) mulrC -E_scale; apply: E_ext => ss /=.
by case: (P s); rewrite ?mul1r ?mul0r.
Qed.

Lemma E_lower g c x : size x = g -> E (ar q g c) (fun s => (higher c x s)%:R) = lower c x.
Proof.
elim: x g c => [|v x IH] [|g] c // [sx]; rewrite ar_S /= /before [X in X + _]big_mkcond /=.
rewrite (bigD1 v) //= [X in _ = X + _](bigD1 v) //= ltnn eqxx /= add0r addrC; congr (_ + _); last first.
  by rewrite -(IH g) //; congr (_ * _); apply: E_ext => s; rewrite eqxx.
apply: eq_bigr => u /negbTE uv; rewrite eq_sym uv /=.
rewrite (@E_ext _ _ _ _ _ (fun=> (rank c u < rank c v)%:R)) => [|s]; last by rewrite orbF.
by rewrite E_const; [case: ltnP => _; rewrite ?mulr1 ?mulr0|exact: ar_wf].
Qed.

Lemma E_upto g c x : size x = g -> E (ar q g c) (fun s => (~~ higher c s x)%:R) = upto c x.
Proof.
move=> sx; rewrite /upto -(E_lower c sx) -ar_law /law sx -E_add.
apply: (E_outputs (ar_size q g c)) => s ss; case: eqP => [->|ne].
  have irr : higher c x x = false by apply/negP => h; have := higher_asym h; rewrite h.
  by rewrite irr add0r.
rewrite addr0; congr ((nat_of_bool _)%:R); apply/idP/idP => [h|]; last exact: higher_asym.
apply: contraT => h'; case: ne; apply: (@higher_total c); [by rewrite ss sx|exact: h|exact: h'].
Qed.

Lemma E_highest g k c x : size x = g ->
  E (paths g k.+1 c) (fun ss => (highest c ss == x)%:R) = begins k.+1 c x.
Proof.
move=> sx; rewrite /begins -(E_upto c sx) -(E_lower c sx) -!paths_all -[X in _ - X]mul1r -mulNr -E_scale -E_add.
apply: (E_outputs (highest_size g k c)) => ss [sh s0]; rewrite -highest_above.
have -> : all (higher c x) ss = higher c x (highest c ss).
  rewrite highest_lower; case: (x) => //=; case: (ss) s0 => //= s ss' _; by case: s.
rewrite mulN1r; case: eqP => [e|ne].
  have irr : higher c x x = false by apply/negP => h; have := higher_asym h; rewrite h.
  by rewrite e irr subr0.
case h: (higher c x (highest c ss)); first by rewrite (higher_asym h) subrr.
case h': (higher c (highest c ss) x); first by rewrite subrr.
by case: ne; apply: (higher_total (c := c)); rewrite ?sh ?sx ?h ?h'.
Qed.

(* ---- the law of the highest path, token by token ---- *)
Lemma lower_rcons c x v : lower c (rcons x v) = lower c x + word_prob q c x * before (q (catrev x c)) (rank (catrev x c)) v.
Proof.
elim: x c => [|u x IH] c /=; first by rewrite mulr0 addr0 add0r mul1r.
by rewrite IH mulrDr addrA mulrA.
Qed.

Lemma upto_rcons c x v : upto c (rcons x v) = lower c x + word_prob q c x * up_to (q (catrev x c)) (rank (catrev x c)) v.
Proof.
rewrite /upto lower_rcons word_prob_rcons -addrA -mulrDr (up_toE _ (@rank_inj _)) //.
Qed.

Lemma lower_ge0 c x : 0 <= lower c x.
Proof.
elim: x c => //= v x IH c; rewrite addr_ge0 ?mulr_ge0 ?(dist_ge0 (dq c)) // sumr_ge0 // => u _.
exact: (dist_ge0 (dq c)).
Qed.

Lemma begins_ge0 k c x : 0 <= begins k c x.
Proof.
rewrite subr_ge0; apply: ler_expn2r; rewrite ?nnegrE ?addr_ge0 ?lower_ge0 ?(word_prob_ge0 dq) //.
by rewrite ler_addl word_prob_ge0.
Qed.

Lemma begins_sum k c x : \sum_v begins k c (rcons x v) = begins k c x.
Proof.
pose F (y : R) := (lower c x + word_prob q c x * y) ^+ k; set d := catrev x c.
transitivity (\sum_v (F (up_to (q d) (rank d) v) - F (before (q d) (rank d) v))).
  by apply: eq_bigr => v _; rewrite /begins upto_rcons lower_rcons.
by rewrite (all_ranks (@rank_inj d)) (dist_sum (dq d)) /F mulr1 mulr0 addr0.
Qed.

Lemma of_highest_dist k c x : is_dist (of_highest k c x).
Proof.
rewrite /of_highest; have [_|z] := eqVneq (begins k c x) 0; first exact: dq.
split=> [v|]; first by rewrite divr_ge0 ?begins_ge0.
by rewrite -mulr_suml begins_sum divff.
Qed.

Lemma highest_is_model k c : is_model (highest_model k c).
Proof. by move=> d; exact: of_highest_dist. Qed.

Lemma beginsE k c x v : begins k c x * of_highest k c x v = begins k c (rcons x v).
Proof.
rewrite /of_highest; case: eqP => [z|/eqP z]; last by rewrite mulrCA divff ?mulr1.
have := begins_sum k c x; rewrite z mul0r => /eqP.
rewrite psumr_eq0 => [/allP/(_ v)|u _]; last exact: begins_ge0.
by rewrite mem_index_enum => /(_ isT) /= /eqP ->.
Qed.

(* the chance that the highest path begins with x, when it is drawn so *)
Lemma begins_word k c x : begins k.+1 c x = word_prob (highest_model k.+1 c) c x.
Proof.
elim/last_ind: x => [|x v IH]; first by rewrite /begins /upto /= add0r expr1n expr0n subr0.
rewrite word_prob_rcons -IH -beginsE; congr (_ * _); rewrite /highest_model.
by rewrite catrevE size_cat size_rev addnK take_size_cat ?size_rev // revK.
Qed.

(* 1 of T22: the highest path is a draft from this law *)
Theorem highest_law g k c f :
  E (paths g k.+1 c) (fun ss => f (highest c ss)) = E (ar (highest_model k.+1 c) g c) f.
Proof.
have pick s : size s = g -> f s = \sum_(x : g.-tuple T) f x * (s == x)%:R.
  move/eqP=> ss; rewrite (bigD1 (Tuple ss)) //= eqxx mulr1 big1 ?addr0 // => x ne.
  by case: eqP => [e|]; rewrite ?mulr0 //; case/negP: ne; apply/eqP/val_inj; rewrite /= e.
rewrite (E_outputs (highest_size g k c) (fun ss h => pick _ h.1)) (E_outputs (ar_size _ g c) pick) !E_sum.
apply: eq_bigr => x _; rewrite !E_scale; congr (_ * _).
by rewrite E_highest ?size_tuple // begins_word -ar_law size_tuple.
Qed.

Corollary highest_begins g k c x : (size x <= g)%N ->
  E (paths g k.+1 c) (fun ss => (take (size x) (highest c ss) == x)%:R) = upto c x ^+ k.+1 - lower c x ^+ k.+1.
Proof.
move=> le; rewrite (highest_law g k c (fun s => (take (size x) s == x)%:R)) ar_prefix //.
  by rewrite -begins_word.
exact: highest_is_model.
Qed.

Lemma highest_one c c0 v : highest_model 1 c0 (c ++ c0) v = q (c ++ c0) v.
Proof.
rewrite /highest_model size_cat addnK take_size_cat // /of_highest catrevE revK.
case: eqP => // /eqP; rewrite /begins !expr1 /upto !(addrC (lower _ _)) !addrK word_prob_rcons catrevE revK => z.
by rewrite mulrAC divff ?mul1r.
Qed.

End Highest.

(* K paths are drawn, and block verification is run on the highest with its law for the draft's *)
Section Verified.
Variables (R : realFieldType) (T : finType) (p q : seq T -> T -> R) (rank : seq T -> T -> nat).
Hypotheses (dp : is_model p) (dq : is_model q) (rank_inj : forall c, injective (rank c)).

Definition multipath g k c : prog R T (seq T) :=
  bind (paths q g k.+1 c) (fun ss => bverified p (highest_model q rank k.+1 c) c (highest rank c ss)).

Theorem multipath_block g k c f :
  E (multipath g k c) f = E (block p (highest_model q rank k.+1 c) g c) f.
Proof.
rewrite /multipath /block E_bind [RHS]E_bind.
exact: (highest_law dq rank_inj g k c (fun s => E (bverified p (highest_model q rank k.+1 c) c s) f)).
Qed.

Theorem multipath_lossless g k c : completes p (multipath g k c) c.
Proof.
by move=> n f; rewrite multipath_block; apply: block_lossless => //; exact: highest_is_model.
Qed.

(* the numbers of paths and of drafts may depend on the text and on how many tokens are still wanted *)
Theorem multipath_decode (g k : nat -> seq T -> nat) n c f :
  E (decode (fun n c => multipath (g n c) (k n c) c) n n c) f = E (ar p n c) f.
Proof.
apply: decode_lossless => // {}n {}c; first exact: multipath_lossless.
apply: (outputs_bind (P := fun=> True)) => [|ss _]; first exact: outputs_true.
exact: bverified_nonempty.
Qed.

End Verified.
