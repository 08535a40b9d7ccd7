(* Recursive rejection sampling with k drafts, any (history-dependent)
   proposals; with and without replacement are instances. *)
Require Import prelude prob rejection.

Section RRS.
Variables (R : realFieldType) (T : finType).
Implicit Types (p r : T -> R) (prop : seq T -> T -> R) (h : seq T).

(* prop h = law of the next draft given the drafts h already drawn,
   most recent first *)
Fixpoint draft_list k prop h : prog R T (seq T) :=
  if k is k'.+1 then
    Draw (prop h) (fun x => bind (draft_list k' prop (x :: h))
                                 (fun s => Ret (x :: s)))
  else Ret [::].

(* verification of already drawn drafts s; r = current residual target.
   returns (accepted?, output) *)
Fixpoint verify prop h r (s : seq T) : prog R T (bool * T) :=
  if s is x :: s' then
    Flip (accept_prob r (prop h) x)
      (Ret (true, x))
      (verify prop (x :: h) (residual r (prop h)) s')
  else Draw r (fun y => Ret (false, y)).

Definition rrs k prop p : prog R T (bool * T) :=
  bind (draft_list k prop [::]) (fun s => verify prop [::] p s).

Lemma draft_list_wf k prop h : (forall h, is_dist (prop h)) ->
  wf (draft_list k prop h).
Proof.
move=> dprop; elim: k h => //= k IH h; split=> // x.
by apply: wf_bind => // s.
Qed.

Lemma verify_wf prop h r s : (forall h, is_dist (prop h)) -> is_dist r ->
  wf (verify prop h r s).
Proof.
move=> dprop; elim: s h r => [|x s IH] h r dr /=; first by split.
split=> //; first by apply: accept_prob01; apply: dist_ge0.
by apply: IH; exact: residual_dist.
Qed.

Theorem rrs_lossless k prop p : (forall h, is_dist (prop h)) -> is_dist p ->
  forall f, E (rrs k prop p) (fun o => f o.2) = \sum_x p x * f x.
Proof.
move=> dprop dp f; rewrite E_bind.
elim: k [::] p dp => [//|k IH] h p dp /=.
have d := dprop h.
have step x : E (bind (draft_list k prop (x :: h)) (fun s => Ret (x :: s)))
      (fun a => E (verify prop h p a) (fun o => f o.2)) =
    accept_prob p (prop h) x * f x + (1 - accept_prob p (prop h) x) *
      \sum_y residual p (prop h) y * f y.
  rewrite E_bind /= E_add E_const; last exact: draft_list_wf.
  by rewrite E_scale IH //; exact: residual_dist.
under eq_bigr do rewrite step.
rewrite -(spec_lossless dp d f) /spec E_bind /=.
by [].
Qed.

(* the drafts really are what the proposer says: k = number of drafts *)
Lemma draft_list_size k prop h : outputs (fun s => size s = k) (draft_list k prop h).
Proof.
elim: k h => //= k IH h x; apply: (outputs_bind (IH (x :: h))) => s /= -> //.
Qed.

(* --- instances --- *)
Definition with_repl (q : T -> R) : seq T -> T -> R := fun _ => q.

(* a law without one token; itself, if it has no other *)
Definition without (w : T -> R) (v x : T) : R :=
  let z := \sum_(y | y != v) w y in
  if z == 0 then w x else if x == v then 0 else w x / z.

(* without replacement; beyond the support of q the last token repeats *)
Definition without_repl (q : T -> R) h : T -> R := foldr (fun v w => without w v) q h.

Lemma without_dist w v : is_dist w -> is_dist (without w v).
Proof.
move=> dw; rewrite /without; case: eqP => [//|/eqP z0]; split=> [x|].
  case: ifP => // _; apply: divr_ge0; first exact: dist_ge0.
  by apply: sumr_ge0 => y _; exact: dist_ge0.
rewrite (bigD1 v) //= eqxx add0r.
under eq_bigr => x /negbTE -> do [].
by rewrite -mulr_suml divff.
Qed.

Lemma without_repl_dist q h : is_dist q -> is_dist (without_repl q h).
Proof. by move=> dq; elim: h => //= v h; exact: without_dist. Qed.

Corollary rrs_with_replacement k q p : is_dist q -> is_dist p ->
  forall f, E (rrs k (with_repl q) p) (fun o => f o.2) = \sum_x p x * f x.
Proof. by move=> dq; apply: rrs_lossless. Qed.

Corollary rrs_without_replacement k q p : is_dist q -> is_dist p ->
  forall f, E (rrs k (without_repl q) p) (fun o => f o.2) = \sum_x p x * f x.
Proof. by move=> dq; apply: rrs_lossless => h; exact: without_repl_dist. Qed.

End RRS.
