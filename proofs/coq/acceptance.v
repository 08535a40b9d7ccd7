(* What recursive rejection accepts, for any proposals; naive and greedy, which look at no draft. *)
Require Import prelude prob rejection recursive.

Section Recursive.
Variables (R : realFieldType) (T : finType) (prop : seq T -> T -> R).
Hypothesis dprop : forall h, is_dist (prop h).
Implicit Types (r p : T -> R) (h s : seq T).

(* all k drafts fail, from the target r on, when h was drawn before *)
Fixpoint rejected k h r : R :=
  if k is k'.+1 then \sum_x excess (prop h) r x * rejected k' (x :: h) (residual r (prop h)) else 1.

Lemma drawn_rejected h r x : is_dist r -> prop h x * (1 - accept_prob r (prop h) x) = excess (prop h) r x.
Proof.
by move=> dr; rewrite mulrBr mulr1 drawn_accepted ?excessE 1?minC //; apply: dist_ge0.
Qed.

Theorem rrs_acceptance k p : is_dist p -> E (rrs k prop p) (fun o => (o.1)%:R) = 1 - rejected k [::] p.
Proof.
rewrite E_bind; elim: k [::] p => [|k IH] h p dp /=.
  by rewrite subrr; apply: big1 => y _; rewrite mulr0.
rewrite -[X in _ = X - _](dist_sum (dprop h)) -sumrB; apply: eq_bigr => x _.
rewrite E_bind /= E_add E_const ?E_scale; last exact: draft_list_wf.
rewrite IH; last exact: residual_dist.
rewrite -(drawn_rejected h x dp); ring.
Qed.

(* a token that is rejected, or has no mass, is never recovered *)
Lemma zero_stays h r s v : r v = 0 -> E (verify prop h r s) (fun o => (~~ o.1 && (o.2 == v))%:R) = 0.
Proof.
elim: s h r => [|x s IH] h r rv /=; first by rewrite (sum_ind r v).
rewrite mulr0 add0r IH ?mulr0 //; rewrite /residual; case: eqP => // _.
by rewrite /excess rv sub0r (max_idPl _) ?mul0r // oppr_le0 dist_ge0.
Qed.

Lemma rejected_zero h r x : is_dist r -> accept_prob r (prop h) x != 1 -> 0 < prop h x ->
  residual r (prop h) x = 0.
Proof.
move=> dr na qx; have lt : r x < prop h x.
  rewrite ltNge; apply: contra na => le; apply/eqP/min_idPl.
  by rewrite ler_pdivl_mulr // mul1r.
rewrite /residual /excess (max_idPl _) ?subr_le0 ?(ltW lt) // mul0r; case: eqP => // z.
have: \sum_y excess r (prop h) y = 0 by exact: z.
rewrite sum_excess (dist_sum dr) => /eqP; rewrite subr_eq0 => /eqP o1.
have: \sum_y excess (prop h) r y = 0.
  rewrite sum_excess (dist_sum (dprop h)) o1 /overlap.
  by under [X in _ - X]eq_bigr do rewrite minC; rewrite subrr.
move/eqP; rewrite psumr_eq0 => [/allP/(_ x)|y _]; last exact: excess_ge0.
rewrite mem_index_enum => /(_ isT) /=; rewrite /excess (max_idPr _) ?subr_ge0 ?(ltW lt) // subr_eq0.
by rewrite gt_eqF.
Qed.

(* so the token is among the drafts just when one of them was accepted *)
Theorem rrs_hit k p : is_dist p ->
  E (bind (draft_list k prop [::]) (fun s => bind (verify prop [::] p s) (fun o => Ret (s, o))))
    (fun o => (~~ o.2.1 && (o.2.2 \in o.1))%:R) = 0.
Proof.
rewrite E_bind; elim: k [::] p => [|k IH] h p dp.
  by rewrite /= big1 // => y _; rewrite mulr0.
have dres := residual_dist (prop h) dp.
rewrite /= big1 // => x _; rewrite E_bind /=.
have [->|ne] := eqVneq (prop h x) 0; first by rewrite mul0r.
have qx : 0 < prop h x by rewrite lt_neqAle eq_sym ne (dist_ge0 (dprop h)).
have wl := draft_list_wf k (x :: h) dprop.
suff -> : E (draft_list k prop (x :: h)) (fun s => accept_prob p (prop h) x * 0 + (1 - accept_prob p (prop h) x) *
    E (bind (verify prop (x :: h) (residual p (prop h)) s) (fun o => Ret (x :: s, o)))
      (fun o => (~~ o.2.1 && (o.2.2 \in o.1))%:R)) = 0 by rewrite mulr0.
rewrite E_add E_const // mulr0 add0r E_scale.
have [->|na] := eqVneq (accept_prob p (prop h) x) 1; first by rewrite subrr mul0r.
rewrite (_ : E _ _ = 0) ?mulr0 //; apply/le_anti/andP; split; last first.
  by apply: E_ge0 => // s; apply: E_ge0 => [|o]; [apply: wf_bind => //; exact: verify_wf | rewrite ler0n].
rewrite -(IH (x :: h) _ dres); apply: E_le => // s; rewrite !E_bind /=.
rewrite -[X in _ <= X]add0r -(zero_stays (x :: h) s (rejected_zero dp na qx)) -E_add.
apply: E_le => [|o]; first exact: verify_wf.
rewrite in_cons; case: o => -[] y /=; first by rewrite addr0.
by case: (y == x); case: (y \in s); rewrite /= ?addr0 ?add0r ?lexx ?ler_addl ?ler01 ?ler0n.
Qed.

End Recursive.

(* with replacement the proposals never change *)
Section Iid.
Variables (R : realFieldType) (T : finType) (p q : T -> R).
Hypotheses (dp : is_dist p) (dq : is_dist q).

Corollary recursive_acceptance k : E (rrs k (with_repl q) p) (fun o => (o.1)%:R) =
  1 - \prod_(j < k) (1 - overlap (iter j (fun r => residual r q) p) q).
Proof.
rewrite (rrs_acceptance (fun=> dq)) //; congr (1 - _).
elim: k [::] p dp => [|k IH] h r dr /=; first by rewrite big_ord0.
transitivity (\sum_x excess q r x *
    \prod_(j < k) (1 - overlap (iter j (fun r => residual r q) (residual r q)) q)).
  by apply: eq_bigr => x _; rewrite IH //; exact: residual_dist.
rewrite big_ord_recl -mulr_suml; congr (_ * _).
  rewrite sum_excess (dist_sum dq) /overlap.
  by congr (_ - _); apply: eq_bigr => x _; rewrite minC.
by apply: eq_bigr => j _; rewrite -iterSr.
Qed.

(* ---- naive: the token is drawn from p, whatever the drafts are ---- *)
Definition naive (A : Type) (m : prog R T A) : prog R T (A * T) := bind m (fun s => Draw p (fun y => Ret (s, y))).

Theorem naive_lossless (A : Type) (m : prog R T A) f : wf m -> E (naive m) (fun o => f o.2) = \sum_x p x * f x.
Proof. by move=> wm; rewrite E_bind /= E_const. Qed.

Lemma missed k h y : E (draft_list k (with_repl q) h) (fun s => (y \notin s)%:R) = (1 - q y) ^+ k.
Proof.
elim: k h => [|k IH] h //=; rewrite exprS.
transitivity (\sum_x q x * ((x != y)%:R * (1 - q y) ^+ k)).
  apply: eq_bigr => x _; congr (_ * _); rewrite E_bind -(IH (x :: h)) -E_scale; apply: E_ext => s /=.
  by rewrite in_cons negb_or eq_sym; case: (x == y); rewrite /= ?mul0r ?mul1r.
under eq_bigr do rewrite mulrA.
rewrite -mulr_suml; congr (_ * _).
rewrite -[X in _ = X - _](dist_sum dq) [in RHS](bigD1 y) //= addrAC subrr add0r [RHS]big_mkcond.
by apply: eq_bigr => x _; case: (x != y); rewrite ?mulr1 ?mulr0.
Qed.

(* a token that is emitted whatever the drafts are is one of them so often *)
Theorem greedy_acceptance a k : E (draft_list k (with_repl q) [::]) (fun s => (a \in s)%:R) = 1 - (1 - q a) ^+ k.
Proof.
have w : wf (draft_list k (with_repl q) [::]) by exact: draft_list_wf.
rewrite -(missed k [::]) -[X in _ = X - _](E_const 1 w) -[X in _ = _ - X]mul1r -mulNr -E_scale -E_add.
by apply: E_ext => s; case: (a \in s); rewrite /= ?mulr0 ?addr0 ?mulN1r ?subrr.
Qed.

Theorem naive_acceptance k : E (naive (draft_list k (with_repl q) [::])) (fun o => (o.2 \in o.1)%:R) =
  \sum_y p y * (1 - (1 - q y) ^+ k).
Proof.
by rewrite E_bind /= E_sum; apply: eq_bigr => y _; rewrite E_scale greedy_acceptance.
Qed.

(* ---- greedy: the token a, whatever the drafts are; its acceptance is above ---- *)
Definition point (a x : T) : R := (x == a)%:R.

Theorem greedy_bias a : tv p (point a) = 1 - p a.
Proof.
have dpt : is_dist (point a).
  by split=> [x|]; [exact: ler0n | rewrite (bigD1 a) //= big1 /point ?eqxx ?addr0 // => x /negbTE ->].
have <- : overlap p (point a) = p a.
  rewrite /overlap (bigD1 a) //= big1 ?addr0 /point ?eqxx => [|x /negbTE ->]; last first.
    by apply/min_idPr; exact: dist_ge0.
  by apply/min_idPl; exact: dist_le1.
by rewrite overlap_tv // opprB addrC subrK.
Qed.

End Iid.
