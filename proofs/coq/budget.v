(* T61: a budget of drafts over a batch. Rows that fall: what a price takes is best for what it takes; the
   inequality by which the choice by size loses on a row that rises. Where gains fall and costs are convex, a speed that has stopped
   growing does not grow again. *)
Require Import prelude.

Section Budget.
Variable R : realFieldType.
Implicit Types (s : nat -> R) (rows : seq (nat -> R)) (k : seq nat).

(* what the first n drafts of a row with survivals s 0, s 1, ... keep on average *)
Definition kept s n := \sum_(0 <= i < n) s i.
(* what a batch keeps that verifies k_j drafts of row j *)
Definition batch_kept rows k := \sum_(x <- zip rows k) kept x.1 x.2.

Definition falls s := forall i, s i.+1 <= s i.
(* all drafts above the price are verified, and none below it *)
Definition priced price s n := (forall i, (i < n)%N -> price <= s i) /\ (forall i, (n <= i)%N -> s i <= price).

(* a row: no other number of drafts gains more than the price of the further drafts *)
Lemma row_bound price s n m : priced price s n -> kept s m <= kept s n + (m%:R - n%:R) * price.
Proof.
move=> [above below]; rewrite /kept; case: (leqP n m) => [le|lt].
  rewrite (@big_cat_nat _ _ _ n) //= ler_add2l -natrB //.
  have -> : (m - n)%:R * price = \sum_(n <= i < m) price by rewrite sumr_const_nat mulr_natl.
  rewrite !big_nat; apply: ler_sum => i /andP [lo _]; exact: below.
rewrite [X in _ <= X + _](@big_cat_nat _ _ _ m) ?(ltnW lt) //= -addrA ler_addl.
have -> : (m%:R - n%:R) * price = - \sum_(m <= i < n) price.
  by rewrite sumr_const_nat -(mulr_natl price (n - m)%N) natrB ?(ltnW lt) // -mulNr opprB.
rewrite subr_ge0 !big_nat; apply: ler_sum => i /andP [_ hi]; exact: above.
Qed.

(* the batch: with as many drafts or fewer nothing keeps more, if the price is not negative *)
Theorem budget_best price rows k m : 0 <= price -> size k = size rows -> size m = size rows ->
  (forall j, (j < size rows)%N -> priced price (nth (fun=> 0) rows j) (nth 0%N k j)) ->
  (sumn m <= sumn k)%N -> batch_kept rows m <= batch_kept rows k.
Proof.
move=> price_ge0 sk sm ok le.
have main : batch_kept rows m <= batch_kept rows k + ((sumn m)%:R - (sumn k)%:R) * price.
  elim: rows k m sk sm ok {le} => [|s rows IH] [|n k] // [|l m] //; rewrite /batch_kept.
    by rewrite !big_nil subrr mul0r addr0.
  move=> [sk] [sm] ok; rewrite /= !big_cons /= !natrD.
  have head := row_bound l (ok 0%N isT).
  have tail := IH k m sk sm (fun j lt => ok j.+1 lt).
  have -> : kept s n + \sum_(x <- zip rows k) kept x.1 x.2 + (l%:R + (sumn m)%:R - (n%:R + (sumn k)%:R)) * price =
    (kept s n + (l%:R - n%:R) * price) + (batch_kept rows k + ((sumn m)%:R - (sumn k)%:R) * price).
    by rewrite /batch_kept; move: (\sum_(x <- zip rows k) kept x.1 x.2) (kept s n) => a b; ring.
  exact: ler_add.
apply: le_trans main _; rewrite ger_addl; apply: mulr_le0_ge0 => //.
by rewrite subr_le0 ler_nat.
Qed.

(* a row that falls can be priced at every length *)
Theorem falling_priced s n : falls s -> priced (s n) s n.
Proof.
move=> down; have mono i j : (i <= j)%N -> s j <= s i.
  by move/subnK <-; elim: (j - i)%N => [|d IH] //=; rewrite addSn; exact: le_trans (down _) IH.
by split=> i lt; apply: mono => //; exact: ltnW.
Qed.

(* two drafts from a row that rises, or by size: first a rival between the two, then the first of the row *)
Theorem rising_loses s i rival : s i < rival -> rival < s i.+1 -> rival + s i < s i + s i.+1.
Proof. by move=> _ lt; rewrite addrC ltr_add2l. Qed.

(* the speed after n drafts *)
Definition gains_fall (g : nat -> R) := forall n, g n.+2 - g n.+1 <= g n.+1 - g n.
Definition cost_convex (c : nat -> R) := forall n, c n.+1 - c n <= c n.+2 - c n.+1.

(* tokens g in time c, the speed of n is g n / c n; without quotients: if one draft more gains no speed, none does *)
Lemma stops_stay (g c : nat -> R) n : (forall m, 0 < c m) -> (forall m, 0 <= g m) ->
  gains_fall g -> cost_convex c -> g n.+1 * c n <= g n * c n.+1 -> g n.+2 * c n.+1 <= g n.+1 * c n.+2.
Proof.
move=> cpos gpos fall conv stop.
have first : (g n.+1 - g n) * c n.+1 <= g n.+1 * (c n.+1 - c n).
  rewrite mulrBl mulrBr ler_add2l ler_opp2; exact: stop.
have less : (g n.+2 - g n.+1) * c n.+1 <= (g n.+1 - g n) * c n.+1.
  by rewrite ler_wpmul2r // ltW.
have more : g n.+1 * (c n.+1 - c n) <= g n.+1 * (c n.+2 - c n.+1) by rewrite ler_wpmul2l.
have := le_trans less (le_trans first more).
by rewrite mulrBl mulrBr [g n.+1 * c n.+1]mulrC ler_add2r.
Qed.

(* the first n at which one draft more gains nothing has the greatest speed of all *)
Theorem stop_best (g c : nat -> R) n m : (forall i, 0 < c i) -> (forall i, 0 <= g i) ->
  gains_fall g -> cost_convex c -> (forall i, (i < n)%N -> g i * c i.+1 <= g i.+1 * c i) ->
  g n.+1 * c n <= g n * c n.+1 -> g m * c n <= g n * c m.
Proof.
move=> cpos gpos fall conv rise stop.
have step i j a : g j * c i <= g i * c j -> g a * c j <= g j * c a -> g a * c i <= g i * c a.
  move=> ij ja; rewrite -(ler_pmul2r (cpos j)).
  have -> : g a * c i * c j = (g a * c j) * c i by ring.
  have -> : g i * c a * c j = (g i * c j) * c a by ring.
  apply: le_trans (_ : (g j * c a) * c i <= _); first by rewrite ler_wpmul2r // ltW.
  have -> : g j * c a * c i = (g j * c i) * c a by ring.
  by rewrite ler_wpmul2r // ltW.
case: (leqP n m) => [le|lt].
  have later (k : nat) : g (n + k).+1 * c (n + k)%N <= g (n + k)%N * c (n + k).+1.
    elim: k => [|k IH]; first by rewrite addn0.
    by rewrite addnS; apply: stops_stay.
  rewrite -(subnKC le); elim: (m - n)%N => [|k IH]; first by rewrite addn0.
  by rewrite addnS; apply: step IH (later k).
have down (k : nat) : (k <= n)%N -> g (n - k)%N * c n <= g n * c (n - k)%N.
  elim: k => [|k IH] le; first by rewrite subn0.
  have back : (n - k)%N = (n - k.+1).+1 by rewrite subnSK.
  apply: step (IH (ltnW le)) _; rewrite back; apply: rise.
  by rewrite -back leq_subr.
have := down (n - m)%N (leq_subr _ _); by rewrite subKn // ltnW.
Qed.
End Budget.
