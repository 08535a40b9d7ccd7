(* Where gains grow, a set that is closed under smaller p/q attains the optimum: for drafts without replacement it need
   be sought among prefixes only. *)
Require Import prelude prob.

Section Prefix.
Variables (R : realFieldType) (T : finType) (p q : T -> R) (F : {set T} -> R).
Hypothesis q0 : forall x, 0 < q x.

(* what i adds once j is there, per q i, is no less than what j adds, per q j *)
Definition gains_grow := forall (S : {set T}) i j, i != j -> i \notin S -> j \notin S ->
  (F (j |: S) - F S) / q j <= (F (i |: (j |: S)) - F (j |: S)) / q i.

Definition least (H : {set T}) := \sum_(x in H) p x - F H.

(* every token whose ratio is no larger than that of one in the set is in the set *)
Definition is_prefix (H : {set T}) := forall i j, j \in H -> p i / q i <= p j / q j -> i \in H.

Theorem prefix_attains : gains_grow -> exists2 H, is_prefix H & forall H', least H <= least H'.
Proof.
move=> grow.
case: (@Order.TotalTheory.arg_minP _ _ _ set0 predT least isT) => M _ min.
pose best (H : {set T}) := least H == least M.
case: (@arg_maxnP _ M best (fun H : {set T} => #|H|) (eqxx _)) => H /eqP hb big.
have opt H' : least H <= least H' by rewrite hb; exact: min.
exists H => // i j jH le; apply/negPn/negP => iH.
have ij : i != j by apply: contra iH => /eqP ->.
have HE : j |: (H :\ j) = H by rewrite setD1K.
have a : p j <= F H - F (H :\ j).
  have := opt (H :\ j); rewrite /least (big_setD1 j) //=; set s := \sum_(x in _) p x.
  rewrite -subr_ge0 => h; rewrite -subr_ge0; apply: le_trans h _; rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
have b : F (i |: H) - F H < p i.
  have : least H < least (i |: H).
    rewrite lt_neqAle opt andbT; apply: contraTneq isT => e.
    have := big (i |: H); rewrite /best -e hb eqxx => /(_ isT).
    by rewrite /= cardsU1 iH add1n ltnn.
  rewrite /least big_setU1 //=; set s := \sum_(x in _) p x.
  rewrite -subr_gt0 => h; rewrite -subr_gt0; apply: lt_le_trans h _; rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
have := grow (H :\ j) i j ij; rewrite HE !inE eqxx (negbTE iH) andbF => /(_ isT isT) c.
have : p i / q i < p i / q i; last by rewrite ltxx.
apply: (le_lt_trans le); apply: le_lt_trans (_ : (F (i |: H) - F H) / q i < _).
  by apply: le_trans c; apply: ler_wpmul2r => //; rewrite invr_ge0 ltW.
by rewrite ltr_pmul2r // invr_gt0.
Qed.

(* so a law that gives prefixes what they need gives every set what it needs *)
Corollary prefix_enough : gains_grow ->
  (forall H, is_prefix H -> F H <= \sum_(x in H) p x) -> forall H, F H <= \sum_(x in H) p x.
Proof.
move=> /prefix_attains[H0 pre least0] enough H; rewrite -subr_ge0.
by apply: le_trans (least0 H); rewrite subr_ge0; exact: enough.
Qed.

End Prefix.
