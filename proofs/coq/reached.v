(* The race of labels.v with all its drafts kept, each behind its label; and what can come out of a program with
   positive probability. *)
Require Import prelude prob labels.

(* ---- outputs of positive probability ---- *)
Section Reached.
Variables (R : realFieldType) (T : finType).
Notation prog := (prog R T).

Fixpoint reached A (P : A -> Prop) (m : prog A) : Prop :=
  match m with
  | Ret a => P a
  | Draw p c => forall x, p x != 0 -> reached P (c x)
  | Flip b m1 m2 => (b != 0 -> reached P m1) /\ (1 - b != 0 -> reached P m2)
  end.

Lemma E_reached A (P : A -> Prop) (m : prog A) f g :
  reached P m -> (forall a, P a -> f a = g a) -> E m f = E m g.
Proof.
move=> Pm fg; elim: m Pm => /= [a /fg //|p c IH Pc|b m1 IH1 m2 IH2 [P1 P2]].
  by apply: eq_bigr => x _; have [->|px] := eqVneq (p x) 0; rewrite ?mul0r // (IH x) //; exact: Pc.
congr (_ + _).
  by have [->|b0] := eqVneq b 0; rewrite ?mul0r // IH1 //; exact: P1.
by have [->|b0] := eqVneq (1 - b) 0; rewrite ?mul0r // IH2 //; exact: P2.
Qed.

Lemma reached_bind A B (P : A -> Prop) (Q : B -> Prop) (m : prog A) k :
  reached P m -> (forall a, P a -> reached Q (k a)) -> reached Q (bind m k).
Proof.
move=> Pm PQ; elim: m Pm => /= [a /PQ //|p c IH Pc x px|b m1 IH1 m2 IH2 [P1 P2]].
  by apply: IH; exact: Pc.
by split=> b0; [apply: IH1; exact: P1|apply: IH2; exact: P2].
Qed.

Lemma reached_true A (P : A -> Prop) (m : prog A) : (forall a, P a) -> reached P m.
Proof. by move=> Pa; elim: m => //= b m1 IH1 m2 IH2; split. Qed.
End Reached.

(* ---- the race with all its drafts, each behind its label ---- *)
Section Labelled.
Variables (R : realFieldType) (T : finType) (q : T -> R) (move : T -> T -> R) (rank : T -> nat).

Fixpoint labelled k : prog R T (seq (T * T)) :=
  if k is k'.+1 then
    Draw q (fun i => Draw (move i) (fun l => bind (labelled k') (fun s => Ret ((l, i) :: s))))
  else Ret [::].
(* the first of the last label *)
Definition best := foldl (fun b (o : T * T) => if better rank b o.1 then Some o else b).

Lemma race_labelled k b f : E (race q move rank k b) f = E (labelled k) (fun s => f (best b s)).
Proof.
elim: k b => //= k IH b; apply: eq_bigr => i _; congr (_ * _); apply: eq_bigr => l _; congr (_ * _).
by rewrite IH E_bind.
Qed.

Definition possible s := all (fun o : T * T => (q o.2 != 0) && (move o.2 o.1 != 0)) s.

Lemma labelled_possible k : reached (fun s => possible s /\ size s = k) (labelled k).
Proof.
elim: k => //= k IH i qi l ml; apply: (reached_bind IH) => s [sp ss] /=.
by rewrite qi ml sp ss.
Qed.

Lemma best_last s b : if best b s is Some o then
    [/\ Some o = b \/ o \in s, all (fun o' => rank o'.1 <= rank o.1)%N s
      & if b is Some o' then (rank o'.1 <= rank o.1)%N else true]
  else s = [::] /\ b = None.
Proof.
elim: s b => [|o s IH] b /=; first by case: b => [o'|] //=; split=> //; left.
have := IH (if better rank b o.1 then Some o else b).
case: b => [o'|] /=; last first.
  case: (best _ s) => [o2|] [] //= [[->]|os] -> le; rewrite ?le.
    by split=> //; right; rewrite inE eqxx.
  by split=> //; right; rewrite inE os orbT.
case: ltnP => h; case: (best _ s) => [o2|] [] //= [[->]|os] -> le; rewrite ?le ?(leq_trans h le) //=.
- by split=> //; [right; rewrite inE eqxx | exact: ltnW].
- by split=> //; [right; rewrite inE os orbT | exact: leq_trans (ltnW h) le].
- by split=> //; left.
by split=> //; right; rewrite inE os orbT.
Qed.
End Labelled.
