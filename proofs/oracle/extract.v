(* The definitions that the theorems are about, on exact rationals, as an OCaml program.
   Laws come as lists of rationals, drafts as lists of token ids. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Coq Require Import ZArith QArith Qcanon.
Require Import prob rejection recursive iid optimal labels loop block tokenwise dominance kseq target_only rationals.
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
Definition o_recursive (p q : seq Qc) (s : seq nat) : seq Qc :=
  token_law (verify (with_repl (of_list q : T -> R)) [::] (of_list p) (tokens s)).
Definition o_recursive_wor (p q : seq Qc) (s : seq nat) : seq Qc :=
  token_law (verify (without_repl (of_list q : T -> R)) [::] (of_list p) (tokens s)).
Definition o_greedy_draft (p q : seq Qc) (top s : seq nat) : seq Qc :=
  token_law (verify (with_repl (without_repl (of_list q : T -> R) (tokens top))) [::] (of_list p) (tokens s)).
Definition o_kseq (k : nat) (rho : Qc) (p q : seq Qc) (s : seq nat) : seq Qc :=
  token_law (kseq_verify (of_list p : T -> R) (of_list q) (rho : R) (kres (of_list p) (of_list q) (rho : R) k) (tokens s)).
Definition o_clipped (c d : Qc) (p q : seq Qc) : seq Qc :=
  map (fun y => clipped (of_list p : T -> R) (of_list q) (c : R) (d : R) y : Qc) vocabulary.
Definition o_overlap (p q : seq Qc) : Qc := overlap (of_list p : T -> R) (of_list q).

(* the law of the winner of k+1 drafts: row i of move is the law of the label of draft i, places its order *)
Definition o_label_law (k : nat) (q : seq Qc) (move : seq (seq Qc)) (places : seq nat) : seq Qc :=
  map (fun i => label_law (of_list q : T -> R) (fun i l : T => of_list (nth [::] move i) l)
    (fun l : T => nth O places l) k i : Qc) vocabulary.

(* chain rules: the law of (drafts kept, next token), given the drafts and the rows along them *)
Definition along (rows : seq (seq Qc)) (c : seq T) : T -> R := of_list (nth [::] rows (size c)).
Definition block_law (m : prog R T (seq T)) (ds : seq T) : seq Qc :=
  flatten (map (fun k => map (fun y => law m (rcons (take k ds) y) : Qc) vocabulary) (iota 0 (size ds).+1)).
Definition o_tokenwise (p q : seq (seq Qc)) (s : seq nat) : seq Qc :=
  block_law (tverify (along p) (along q) [::] (tokens s)) (tokens s).
Definition o_block (p q : seq (seq Qc)) (s : seq nat) : seq Qc :=
  block_law (bverified (along p) (along q) [::] (tokens s)) (tokens s).

(* expected tokens, on models whose row depends on the last token (row 0 at the start) *)
Definition markov (rows : seq (seq Qc)) (c : seq T) : T -> R :=
  of_list (nth [::] rows (if c is x :: _ then (x : nat).+1 else 0)).
Definition o_block_tau (g : nat) (p q : seq (seq Qc)) : Qc := weight_sum (markov p) (markov q) g 1%R [::].
Definition o_target_only_tau (g : nat) (p : seq (seq Qc)) (nodes : seq (seq nat)) : Qc :=
  (1 + tree_mass (markov p) (fun c => (map val (rev c) \in nodes : bool)) g [::])%R.
End Oracle.
Set Extraction AccessOpaque.
Extraction Language OCaml.
Extraction "oracle.ml" rational numerator denominator o_recursive o_recursive_wor o_greedy_draft o_kseq o_clipped o_label_law
  o_overlap o_tokenwise o_block o_block_tau o_target_only_tau.
