(* Running a sampler on forking uniforms: each run is afresh, in a box of cells, and ends in a box whose volume is its
   weight.  The runs are the leaves of a tree; their weights are positive and sum to 1. *)
Require Import prelude.

Section Sampler.
Variables (R : realFieldType) (I : finType) (Z : eqType).

(* a program that has read its inputs: it tests c * u_i < b, or <= where the test is not strict, for numbers c and b
   that the answers before decide, and stops with z *)
Inductive sampler :=
| Stop of Z
| Test (strict : bool) (i : I) (c b : R) (yes no : sampler).

Definition passes (strict : bool) (c b x : R) := if strict then c * x < b else c * x <= b.

(* what it returns, given the uniforms *)
Fixpoint run t (u : I -> R) : Z :=
  match t with
  | Stop z => z
  | Test strict i c b yes no => if passes strict c b (u i) then run yes u else run no u
  end.

Fixpoint scales_ge0 t : bool :=
  match t with
  | Stop _ => true
  | Test _ _ c _ yes no => [&& 0 <= c, scales_ge0 yes & scales_ge0 no]
  end.

(* every test cuts a uniform at a number of which P holds *)
Fixpoint cuts_in (P : R -> Prop) t : Prop :=
  match t with
  | Stop _ => True
  | Test _ _ c b yes no => [/\ c != 0 -> P (b / c), cuts_in P yes & cuts_in P no]
  end.

(* ---- forking: a uniform is a cell [low, high), a run has a box of them ---- *)
Notation box := (I -> R * R).
Definition whole : box := fun=> (0, 1).
Definition put (x : box) i (cell : R * R) : box := fun j => if j == i then cell else x j.
Definition volume (x : box) := \prod_i ((x i).2 - (x i).1).

(* the answer that holds everywhere in a cell, if there is one *)
Definition decide (strict : bool) (c b : R) (cell : R * R) : option bool :=
  if c == 0 then Some (if strict then 0 < b else 0 <= b)
  else if b / c <= cell.1 then Some false
  else if b / c < cell.2 then None else Some true.

(* one run goes on below each cut, and leaves what is above for later *)
Fixpoint follow t (x : box) (later : seq box) : (Z * box) * seq box :=
  match t with
  | Stop z => ((z, x), later)
  | Test strict i c b yes no =>
      match decide strict c b (x i) with
      | Some true => follow yes x later
      | Some false => follow no x later
      | None => follow yes (put x i ((x i).1, b / c)) (put x i (b / c, (x i).2) :: later)
      end
  end.

(* n runs at most, each of the whole program, in the box that was left behind last *)
Fixpoint runs t n (later : seq box) : seq (Z * box) :=
  match n, later with
  | n'.+1, x :: rest => (follow t x rest).1 :: runs t n' (follow t x rest).2
  | _, _ => [::]
  end.

Fixpoint ends t : nat := if t is Test _ _ _ _ yes no then ends yes + ends no else 1.

Definition forked_law t z := \sum_(r <- runs t (ends t) [:: whole] | r.1 == z) volume r.2.

(* ---- the runs are the leaves of a tree ---- *)
Fixpoint leaves t (x : box) : seq (Z * box) :=
  match t with
  | Stop z => [:: (z, x)]
  | Test strict i c b yes no =>
      match decide strict c b (x i) with
      | Some true => leaves yes x
      | Some false => leaves no x
      | None => leaves yes (put x i ((x i).1, b / c)) ++ leaves no (put x i (b / c, (x i).2))
      end
  end.

Definition part (y x : box) := forall i, [/\ (x i).1 <= (y i).1, (y i).1 < (y i).2 & (y i).2 <= (x i).2].
Definition arrives t s (x : box) := forall y later, part y x -> follow t y later = follow s y later.

Lemma put_same x i cell : put x i cell i = cell.  Proof. by rewrite /put eqxx. Qed.

(* where a cell is split *)
Lemma split_between strict c b cell : decide strict c b cell = None ->
  [/\ c != 0, cell.1 < b / c & b / c < cell.2].
Proof.
rewrite /decide; case: eqP => // _; case: leP => // lo; by case: ltP.
Qed.

Lemma decide_part strict c b cell cell' a : cell.1 <= cell'.1 -> cell'.1 < cell'.2 -> cell'.2 <= cell.2 ->
  decide strict c b cell = Some a -> decide strict c b cell' = Some a.
Proof.
move=> lo mid hi; rewrite /decide; case: eqP => // _; have [le|_] := leP (b / c) cell.1.
  by rewrite (le_trans le lo).
have [//|le] := ltP (b / c) cell.2; have up := lt_le_trans mid (le_trans hi le).
by rewrite leNgt up /= ltNge (le_trans hi le).
Qed.

Lemma decide_below strict c b cell : c != 0 -> cell.1 < cell.2 -> cell.2 <= b / c ->
  decide strict c b cell = Some true.
Proof.
move=> /negbTE c0 mid hi; rewrite /decide c0 leNgt (lt_le_trans mid hi) /=.
by rewrite ltNge hi.
Qed.

Lemma decide_above strict c b cell : c != 0 -> b / c <= cell.1 -> decide strict c b cell = Some false.
Proof. by move=> /negbTE c0 lo; rewrite /decide c0 lo. Qed.

Lemma part_low x i t : (forall j, (x j).1 < (x j).2) -> (x i).1 < t -> t < (x i).2 -> part (put x i ((x i).1, t)) x.
Proof.
move=> fine lo hi j; rewrite /put; have [->|_] := eqVneq j i; first by split=> //; exact: ltW.
by split.
Qed.

Lemma part_high x i t : (forall j, (x j).1 < (x j).2) -> (x i).1 < t -> t < (x i).2 -> part (put x i (t, (x i).2)) x.
Proof.
move=> fine lo hi j; rewrite /put; have [->|_] := eqVneq j i; first by split=> //; exact: ltW.
by split.
Qed.

Lemma part_trans x y z : part z y -> part y x -> part z x.
Proof.
move=> zy yx i; have [a b c] := zy i; have [a' _ c'] := yx i.
by split=> //; [exact: le_trans a' a | exact: le_trans c c'].
Qed.

Lemma leaves_some t x : (0 < size (leaves t x))%N.
Proof.
elim: t x => //= strict i c b yes IHy no IHn x; case: decide => [[]|] //.
by rewrite size_cat ltn_addr.
Qed.

Lemma leaves_few t x : (size (leaves t x) <= ends t)%N.
Proof.
elim: t x => //= strict i c b yes IHy no IHn x; case: decide => [[]|].
- exact: leq_trans (IHy x) (leq_addr _ _).
- exact: leq_trans (IHn x) (leq_addl _ _).
- by rewrite size_cat leq_add.
Qed.

Lemma runs_from t s x : (forall i, (x i).1 < (x i).2) -> arrives t s x -> forall n rest,
  runs t (size (leaves s x) + n) (x :: rest) = leaves s x ++ runs t n rest.
Proof.
elim: s x => [z|strict i c b yes IHy no IHn] x fine arr n rest.
  by rewrite /= arr // => i.
have self : part x x by move=> j.
rewrite /=; case d: decide => [a|].
  have next : arrives t (if a then yes else no) x.
    by move=> y later yx; have [l m h] := yx i; rewrite arr //= (decide_part l m h d); case: (a).
  by case: a d next => d next; [exact: IHy | exact: IHn].
have [c0 lo hi] := split_between d.
have pl := part_low fine lo hi; have ph := part_high fine lo hi.
set low := put x i ((x i).1, b / c) in pl *; set high := put x i (b / c, (x i).2) in ph *.
have fl j : (low j).1 < (low j).2 by have [] := pl j.
have fh j : (high j).1 < (high j).2 by have [] := ph j.
have al : arrives t yes low.
  move=> y later yl; rewrite (arr _ _ (part_trans yl pl)) /=; have [_ m h] := yl i.
  by rewrite decide_below //; apply: le_trans h _; rewrite /low put_same.
have ah : arrives t no high.
  move=> y later yh; rewrite (arr _ _ (part_trans yh ph)) /=; have [l _ _] := yh i.
  by rewrite decide_above //; apply: le_trans l; rewrite /high put_same.
rewrite size_cat -catA -(IHn _ fh ah) -addnA -(IHy _ fl al).
have := leaves_some yes low; case: size => // k _; rewrite addSn /=.
by rewrite (arr _ _ self) /= d al //; move=> j; have [] := pl j.
Qed.

Theorem runs_leaves t n : (ends t <= n)%N -> runs t n [:: whole] = leaves t whole.
Proof.
move=> le; have few := leaves_few t whole.
have over k : runs t k [::] = [::] by case: k.
by rewrite -(subnKC (leq_trans few le)) runs_from ?over ?cats0 // => i; exact: ltr01.
Qed.

Lemma forked_lawE t z : forked_law t z = \sum_(r <- leaves t whole | r.1 == z) volume r.2.
Proof. by rewrite /forked_law runs_leaves. Qed.

(* ---- weights are positive and sum to 1 ---- *)
Lemma volume_put x i lo hi : volume (put x i (lo, hi)) = (hi - lo) * \prod_(j | j != i) ((x j).2 - (x j).1).
Proof.
rewrite /volume (bigD1 i) //= put_same; congr (_ * _).
by apply: eq_bigr => j /negbTE ji; rewrite /put ji.
Qed.

Lemma volume_split x i t : volume (put x i ((x i).1, t)) + volume (put x i (t, (x i).2)) = volume x.
Proof.
rewrite !volume_put -mulrDl [RHS](bigD1 i) //=; congr (_ * _); ring.
Qed.

Lemma leaves_volume t x : \sum_(r <- leaves t x) volume r.2 = volume x.
Proof.
elim: t x => [z|strict i c b yes IHy no IHn] x /=; first by rewrite big_seq1.
by case: decide => [[]|//]; rewrite // big_cat /= IHy IHn volume_split.
Qed.

Lemma volume_whole : volume whole = 1.
Proof. by rewrite /volume big1 // => i _; rewrite subr0. Qed.

Theorem weights_sum t : \sum_(r <- runs t (ends t) [:: whole]) volume r.2 = 1.
Proof. by rewrite runs_leaves // leaves_volume volume_whole. Qed.

Lemma leaves_positive t x : (forall i, (x i).1 < (x i).2) -> all (fun r => 0 < volume r.2) (leaves t x).
Proof.
elim: t x => [z|strict i c b yes IHy no IHn] x fine /=.
  by rewrite andbT; apply: prodr_gt0 => i _; rewrite subr_gt0.
case d: decide => [[]|]; [exact: IHy | exact: IHn |].
have [_ lo hi] := split_between d.
by rewrite all_cat IHy ?IHn // => j; [have [] := part_high fine lo hi j | have [] := part_low fine lo hi j].
Qed.

Theorem weights_positive t : all (fun r => 0 < volume r.2) (runs t (ends t) [:: whole]).
Proof. by rewrite runs_leaves //; apply: leaves_positive => i; exact: ltr01. Qed.

End Sampler.
