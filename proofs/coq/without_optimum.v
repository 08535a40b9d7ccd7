(* The optimum of drafts without replacement, over all couplings with p: a prefix of the order of p/q attains it, and it
   is no smaller than that of as many i.i.d. drafts. *)
Require Import prelude prob recursive coupling duality iid prefix without_replacement.

Section Optimum.
Variables (R : realFieldType) (T : finType) (p q : T -> R) (k : nat).
Hypotheses (dp : is_dist p) (dq : is_dist q) (q0 : forall x, 0 < q x).
Notation within := (within q).

Definition listed (y : T) (d : k.-tuple T) := y \in d.
Definition without_drafts (d : k.-tuple T) : R := law (draft_list k (without_repl q) [::]) (val d).

Lemma without_drafts_mean (f : seq T -> R) :
  \sum_d without_drafts d * f d = E (draft_list k (without_repl q) [::]) f.
Proof.
transitivity (E (draft_list k (without_repl q) [::]) (fun s => \sum_(d : k.-tuple T) f d * (s == val d)%:R)).
  by rewrite E_sum; apply: eq_bigr => d _; rewrite E_scale mulrC.
apply: E_outputs (draft_list_size k (without_repl q) [::]) _ => s sk.
have sk' : size s == k by apply/eqP.
rewrite (bigD1 (Tuple sk')) //= eqxx mulr1 big1 ?addr0 // => d ne.
by rewrite (_ : s == val d = false) ?mulr0 //; apply: contraNF ne => /eqP e; apply/eqP/val_inj.
Qed.

Lemma without_drafts_dist : is_dist without_drafts.
Proof.
have w := draft_list_wf k [::] (fun g => without_repl_dist g dq).
split=> [d|]; first by apply: E_ge0 => // s; exact: ler0n.
transitivity (\sum_d without_drafts d * 1); first by apply: eq_bigr => d _; rewrite mulr1.
by rewrite (without_drafts_mean (fun=> 1)) E_const.
Qed.

Lemma without_drafts_inside H : draft_mass without_drafts (all_in listed H) = within k H.
Proof.
rewrite /within -without_drafts_mean /draft_mass big_mkcond; apply: eq_bigr => d _.
rewrite (_ : all_in listed H d = all (mem H) d); first by case: all; rewrite ?mulr1 ?mulr0.
by apply/forallP/allP => h x; [move=> xd; have := h x; rewrite /listed xd | apply/implyP; exact: h].
Qed.

(* part 3: a prefix attains the optimum, which some rule reaches and none exceeds *)
Theorem without_optimum : exists2 H, is_prefix p q H & let v := 1 + weight p H - within k H in
  (exists pi, kcoupling without_drafts p pi /\ acceptance listed pi = v) /\
  (forall pi, kcoupling without_drafts p pi -> acceptance listed pi <= v).
Proof.
have [H pre most] := prefix_attains p q0 (without_grows dq q0 k); exists H => // v.
have above pi : kcoupling without_drafts p pi -> acceptance listed pi <= v.
  move=> c; apply: le_trans (@weak_duality' _ _ _ listed _ _ _ H (dist_sum without_drafts_dist) c) _.
  by rewrite without_drafts_inside [mass p H + 1]addrC.
split=> //; have [pi [H' [c e]]] := strong_duality listed without_drafts_dist dp.
exists pi; split=> //; apply/le_anti; rewrite above //= e without_drafts_inside [mass p H' + 1]addrC.
by have := most H'; rewrite /least -(ler_add2l 1) !addrA.
Qed.

(* part 6: some rule accepts at least as often as every rule for i.i.d. drafts *)
Theorem without_above_iid pi' : kcoupling (@iid R T q k) p pi' ->
  exists pi, kcoupling without_drafts p pi /\ acceptance (@drawn T k) pi' <= acceptance listed pi.
Proof.
move=> c'; have [pi [H [c e]]] := strong_duality listed without_drafts_dist dp; exists pi; split=> //.
apply: le_trans (@weak_duality' _ _ _ (@drawn T k) _ _ _ H (dist_sum (iid_dist k dq)) c') _.
rewrite e without_drafts_inside ler_add2l ler_opp2; apply: le_trans (without_below_iid dq q0 k H) _.
by rewrite -iid_inside le_eqVlt; apply/orP; left; apply/eqP/eq_bigl => d; rewrite all_in_tokens.
Qed.

End Optimum.
