(* The definitions that the theorems are about, on exact rationals, as an OCaml program.
   Laws come as lists of rationals, drafts as lists of token ids. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Coq Require Import ZArith QArith Qcanon.
Require Import prob rejection spechub recursive acceptance iid optimal labels span moves spans loop block tokenwise dominance greedy_block highest renewal kseq traversal tree lifted target_only rationals.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Definition rational (a : Z) (b : positive) : Qc := Q2Qc (Qmake a b).
Definition numerator (x : Qc) : Z := Qnum x.
Definition denominator (x : Qc) : positive := Qden x.
Section Oracle.
Variable n : nat.
Notation T := (ordinal_finType n.+1).
Notation R := Qc_realFieldType.
Definition of_list (l : seq Qc) (i : T) : R := nth (Q2Qc 0) l i.
Definition vocabulary : seq T := map (@inord n) (iota 0 n.+1).
Definition tokens (s : seq nat) : seq T := map (@inord n) s.
Definition token_law (m : prog R T (bool * T)) : seq Qc :=
  map (fun y => E m (fun o => ((eq_op o.2 y)%:R)%R) : Qc) vocabulary.

(* step rules: the law of the token, given the drafts *)
Definition o_rejection (p q : seq Qc) (x : nat) : seq Qc :=
  let P : T -> R := of_list p in let Q : T -> R := of_list q in
  map (fun y => (spec_joint P Q (inord x) y / Q (inord x))%R : Qc) vocabulary.
Definition o_naive (p : seq Qc) (s : seq nat) : seq Qc :=
  map (fun y => E (naive (of_list p : T -> R) (Ret (tokens s))) (fun o => ((eq_op o.2 y)%:R)%R) : Qc) vocabulary.
Definition o_greedy (a : nat) : seq Qc := map (fun y => point R (inord a : T) y : Qc) vocabulary.
Definition o_recursive (p q : seq Qc) (s : seq nat) : seq Qc :=
  token_law (verify (with_repl (of_list q : T -> R)) [::] (of_list p) (tokens s)).
Definition o_recursive_wor (p q : seq Qc) (s : seq nat) : seq Qc :=
  token_law (verify (without_repl (of_list q : T -> R)) [::] (of_list p) (tokens s)).
Definition o_greedy_draft (p q : seq Qc) (top s : seq nat) : seq Qc :=
  token_law (verify (with_repl (without_repl (of_list q : T -> R) (rev (tokens top)))) [::] (of_list p) (tokens s)).
Definition o_spechub (p q : seq Qc) (a : nat) (swapped : bool) (x : nat) : seq Qc :=
  let P : T -> R := of_list p in let Q : T -> R := of_list q in let h : T := inord a in
  let m := if swapped then tested P Q h (rest P Q h) (second Q h) (give2 P Q h) (fail2 P Q h)
           else tested P Q h P (first Q h) (give1 P Q h) (fail1 P Q h) in
  map (fun y => E (m (inord x)) (fun o => ((eq_op o.2 y)%:R)%R) : Qc) vocabulary.
Definition o_kseq (k : nat) (rho : Qc) (p q : seq Qc) (s : seq nat) : seq Qc :=
  token_law (kseq_verify (of_list p : T -> R) (of_list q) (rho : R) (kres (of_list p) (of_list q) (rho : R) k) (tokens s)).
Definition o_clipped (c d : Qc) (p q : seq Qc) : seq Qc :=
  map (fun y => clipped (of_list p : T -> R) (of_list q) (c : R) (d : R) y : Qc) vocabulary.
Definition o_overlap (p q : seq Qc) : Qc := overlap (of_list p : T -> R) (of_list q).

(* the law of the winner of k+1 drafts: row i of move is the law of the label of draft i, places its order *)
Definition o_label_law (k : nat) (q : seq Qc) (move : seq (seq Qc)) (places : seq nat) : seq Qc :=
  map (fun i => label_law (of_list q : T -> R) (fun i l : T => of_list (nth [::] move i) l)
    (fun l : T => nth O places l) (Ret k) i : Qc) vocabulary.

(* the laws of the labels of token 0, 1, ... that the optimal rule gives k+1 drafts *)
Definition o_labels (k : nat) (c d : Qc) (p q : seq Qc) (places : seq nat) : seq Qc :=
  let rank (l : T) := nth O places l in
  let z := mean_slope (of_list q) rank (Ret k) in
  let w := clipped (of_list p : T -> R) (of_list q) (c : R) (d : R) in
  flatten (map (fun i => map (fun l => move rank (of_list q : T -> R) z w i l : Qc) vocabulary) vocabulary).

(* chain rules: the law of (drafts kept, next token), given the drafts and the rows along them *)
Definition along (rows : seq (seq Qc)) (c : seq T) : T -> R := of_list (nth [::] rows (size c)).
Definition block_law (m : prog R T (seq T)) (ds : seq T) : seq Qc :=
  flatten (map (fun k => map (fun y => law m (rcons (take k ds) y) : Qc) vocabulary) (iota 0 (size ds).+1)).
Definition o_tokenwise (p q : seq (seq Qc)) (s : seq nat) : seq Qc :=
  block_law (tverify (along p) (along q) [::] (tokens s)) (tokens s).
Definition o_block (p q : seq (seq Qc)) (s : seq nat) : seq Qc :=
  block_law (bverified (along p) (along q) [::] (tokens s)) (tokens s).

(* the same law for greedy block verification, and that of as many words as there are drafts, its continuation included *)
Definition o_greedy_block (p q : seq (seq Qc)) (s : seq nat) : seq Qc :=
  let m := greedy_verify (along p) (along q) [::] (tokens s) in
  flatten (map (fun k => map (fun y =>
    E m (fun o => ((eq_op o.1 k && eq_op (ohead o.2) (Some y))%:R)%R) : Qc) vocabulary) (iota 0 (size s).+1)).
Definition o_greedy_texts (p q : seq (seq Qc)) (s : seq nat) (words : seq (seq nat)) : seq Qc :=
  let m := greedy_verify (along p) (along q) [::] (tokens s) in
  map (fun w => E m (fun o => ((eq_op (take (size s) (take o.1 (tokens s) ++ o.2)) (tokens w))%:R)%R) : Qc) words.

(* where blocks start along a text, and how many write it *)
Definition o_renewal (gamma : nat) (p q : seq (seq Qc)) (y : seq nat) : seq Qc :=
  rcons (map (fun t => renewal (along p) (along q) gamma [::] (tokens y) t : Qc) (iota 0 (size y)))
    (target_calls (along p) (along q) gamma [::] (tokens y) : Qc).

(* expected tokens, on models whose row depends on the last token (row 0 at the start) *)
Definition markov (rows : seq (seq Qc)) (c : seq T) : T -> R :=
  of_list (nth [::] rows (if c is x :: _ then (x : nat).+1 else 0)).
Definition o_block_tau (g : nat) (p q : seq (seq Qc)) : Qc := weight_sum (markov p) (markov q) g 1%R [::].

(* trees: node 0 is the root, node j + 1 has token j and parent j; of equal siblings the first one counts *)
Section Trees.
Variables (p q : seq (seq Qc)) (step : nat) (parents : seq nat) (s : seq nat).
Definition token_of (j : nat) : T := inord (nth O s j).
Fixpoint firsts used (js : seq nat) : seq nat :=
  if js is j :: js' then
    if token_of j \in used then firsts used js' else j :: firsts (token_of j :: used) js'
  else [::].
Definition step_by (c : seq T) (r : option T -> R) (x : seq T) :=
  let top := take (size x).-1 x in
  match step with
  | O => recursive_step (with_repl (markov q c)) r x
  | S O => recursive_step (without_repl (markov q c)) r x
  | _ => recursive_step (with_repl (without_repl (markov q c) (rev top))) r (drop (size x).-1 x)
  end.
Fixpoint build g (c : seq T) (i : nat) : tree R T :=
  let js := [seq j <- iota 0 (size parents) | eq_op (nth O parents j) i] in
  if g is g'.+1 then
    if js is _ :: _ then
      Node (step_kernel (markov p) (step_by c) c (map token_of js))
        (foldr (fun j fs => Child (token_of j) (build g' (token_of j :: c) j.+1) fs) (@Nil R T) (firsts [::] js))
    else Leaf
  else Leaf.
Definition grown_tree : tree R T := build (size parents) [::] O.
(* the law of (text of a node, next token), node by node *)
Fixpoint text g (i : nat) : seq T :=
  if g is g'.+1 then if i is j.+1 then rcons (text g' (nth O parents j)) (token_of j) else [::] else [::].
Definition text_law (m : prog R T (seq T)) : seq Qc :=
  flatten (map (fun i => map (fun y => law m (rcons (text i.+1 i) y) : Qc) vocabulary) (iota 0 (size parents).+1)).
Definition o_lifted : seq Qc := text_law (lifted (markov p) grown_tree [::]).
Fixpoint build_draws g (i : nat) : traversal.tree T :=
  let js := [seq j <- iota 0 (size parents) | eq_op (nth O parents j) i] in
  traversal.Tree (if g is g'.+1 then
    foldr (fun j fs => traversal.Child (token_of j) (build_draws g' j.+1) fs) (traversal.Nil T) (firsts [::] js)
  else traversal.Nil T).
Definition o_traversal : seq Qc := text_law (traversed (markov p) (markov q) (build_draws (size parents) O) [::]).
(* K paths, one after the other in s; a row of places orders the tokens after that text *)
Definition o_multipath (places : seq (seq nat)) (count : nat) : seq Qc :=
  let rank (c : seq T) (l : T) := nth O (nth [::] places (if c is x :: _ then (x : nat).+1 else O)) l in
  let ss := reshape (nseq count (size s %/ count)) (map (@inord n) s) in
  text_law (bverified (markov p) (highest_model (markov q) rank count [::]) [::] (highest rank [::] ss)).
Definition o_walk : seq Qc := text_law (walk (markov p) grown_tree [::]).
(* the texts of the tree, as contexts *)
Fixpoint texts g c (i : nat) : seq (seq T) :=
  let js := [seq j <- iota 0 (size parents) | eq_op (nth O parents j) i] in
  if g is g'.+1 then
    flatten (map (fun j => (token_of j :: c) :: texts g' (token_of j :: c) j.+1) (firsts [::] js))
  else [::].
Definition o_target_only : seq Qc :=
  let nodes := texts (size parents) [::] O in
  text_law (target_only (markov p) (fun c => (c \in nodes : bool)) (size parents) [::]).
End Trees.
Definition o_target_only_tau (g : nat) (p : seq (seq Qc)) (nodes : seq (seq nat)) : Qc :=
  (1 + tree_mass (markov p) (fun c => (map val (rev c) \in nodes : bool)) g [::])%R.
End Oracle.
Set Extraction AccessOpaque.
Extraction Language OCaml.
Extraction "oracle.ml" rational numerator denominator o_rejection o_naive o_greedy o_recursive o_recursive_wor o_greedy_draft o_spechub o_kseq o_clipped o_label_law o_labels
  o_overlap o_tokenwise o_block o_block_tau o_renewal o_greedy_block o_greedy_texts o_lifted o_multipath o_walk o_traversal
  o_target_only o_target_only_tau.
