(* What every theory begins with: algebra, the tactic for rings, names of ordered rings, and how arguments are inferred. *)
From mathcomp Require Export all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Export ring.
Export GRing.Theory Num.Theory Order.TTheory.
#[export] Set Implicit Arguments.
#[export] Unset Strict Implicit.
#[export] Unset Printing Implicit Defensive.
Open Scope ring_scope.
