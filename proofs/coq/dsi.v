(* T26, part 3: verifying every block on a target of its own is never slower than plain decoding, nor than drafting and
   waiting.  n drafts are kept before the first that is refused, n of any law; means are limits of partial sums. *)
Require Import prelude.

Section Limit.
Variable R : realFieldType.
Implicit Types (u w : nat -> R).

Definition limit u (a : R) := forall e, 0 < e -> exists N, forall n, (N <= n)%N -> `|u n - a| < e.
(* the mean of f over weights P on the numbers *)
Definition mean (P f : nat -> R) (a : R) := limit (fun n => \sum_(i < n) P i * f i) a.

Lemma limit_le u w a b : (forall n, u n <= w n) -> limit u a -> limit w b -> a <= b.
Proof.
move=> uw ua wb; rewrite leNgt; apply/negP => ba.
have e0 : 0 < (a - b) / 2%:R by rewrite divr_gt0 ?subr_gt0 ?ltr0n.
have [N hN] := ua _ e0; have [M hM] := wb _ e0.
have := hN (maxn N M) (leq_maxl _ _); have := hM (maxn N M) (leq_maxr _ _).
rewrite !ltr_distl => /andP[_ w1] /andP[u1 _].
have := lt_le_trans u1 (le_trans (uw _) (ltW w1)); rewrite ltr_subl_addr -addrA -mulrDl.
have -> : (a - b + (a - b)) / 2%:R = a - b by field; rewrite ?pnatr_eq0.
by rewrite addrCA subrr addr0 ltxx.
Qed.

Lemma mean_le P f g a b : (forall n, 0 <= P n) -> (forall n, f n <= g n) -> mean P f a -> mean P g b -> a <= b.
Proof.
move=> P0 fg; apply: limit_le => n; apply: ler_sum => i _; exact: ler_wpmul2l.
Qed.

Lemma mean_add P f g a b : mean P f a -> mean P g b -> mean P (fun n => f n + g n) (a + b).
Proof.
move=> fa gb e e0; have h0 : 0 < e / 2%:R by rewrite divr_gt0 ?ltr0n.
have [N hN] := fa _ h0; have [M hM] := gb _ h0; exists (maxn N M) => n; rewrite geq_max => /andP[Nn Mn].
under eq_bigr do rewrite mulrDr.
rewrite big_split /= opprD addrACA; apply: le_lt_trans (ler_norm_add _ _) _.
have -> : e = e / 2%:R + e / 2%:R by field; rewrite ?pnatr_eq0.
exact: ltr_add (hN n Nn) (hM n Mn).
Qed.

End Limit.

Section Dsi.
Variables (R : realFieldType) (gamma : nat) (c v v' : R).

(* until the refused draft, the n + 1st, is found out: by the plain target, or by the target of its block, after the drafts of
   that block; n %/ gamma blocks are kept whole *)
Definition dsi_time n : R := Num.min n.+1%:R ((n %/ gamma).+1%:R * (gamma%:R * c) + v).
(* drafting gamma tokens and waiting for a pass of time v', as many blocks, each kept whole with a token of the target *)
Definition cycle_time n : R := (n %/ gamma).+1%:R * (gamma%:R * c + v').
Definition dsi_tokens n : R := n.+1%:R.
Definition cycle_tokens n : R := n.+1%:R + (n %/ gamma)%:R.

Variables (P : nat -> R) (A D : R).
Hypotheses (P0 : forall n, 0 <= P n) (meanA : mean P dsi_tokens A) (meanD : mean P dsi_time D).

(* plain decoding has speed 1 *)
Theorem dsi_plain : 0 < D -> 1 <= A / D.
Proof.
move=> D0; rewrite ler_pdivl_mulr // mul1r; apply: (mean_le P0 _ meanD meanA) => n.
by rewrite /dsi_time le_minl lexx.
Qed.

Lemma cycle_slower n : v <= v' -> 1 <= v' -> dsi_time n + (n %/ gamma)%:R <= cycle_time n.
Proof.
move=> vv v1; rewrite /cycle_time; set m := (n %/ gamma)%N.
apply: (@le_trans _ _ ((m.+1%:R * (gamma%:R * c) + v) + m%:R)).
  by rewrite ler_add2r /dsi_time le_minl lexx orbT.
have -> : m.+1%:R * (gamma%:R * c + v') = m.+1%:R * (gamma%:R * c) + v' + m%:R * v'.
  by rewrite -[m.+1]addn1 natrD; ring.
apply: ler_add; first by rewrite ler_add2l.
by rewrite ler_pemulr // ler0n.
Qed.

Theorem dsi_cycle M C : v <= v' -> 1 <= v' -> mean P (fun n => (n %/ gamma)%:R) M ->
  mean P cycle_time C -> 0 < D -> 0 < C -> (A + M) / C <= A / D.
Proof.
move=> vv v1 meanM meanC D0 C0.
have DA : D <= A by apply: (mean_le P0 _ meanD meanA) => n; rewrite /dsi_time le_minl lexx.
have DM : D + M <= C.
  by apply: (mean_le P0 _ (mean_add meanD meanM) meanC) => n; exact: cycle_slower.
have M0 : 0 <= M.
  have z : limit (fun=> 0 : R) 0 by move=> e e0; exists 0%N => n _; rewrite subrr normr0.
  apply: (@limit_le R _ _ _ _ _ z meanM) => n /=; apply: sumr_ge0 => i _.
  by rewrite mulr_ge0 ?P0 ?ler0n.
rewrite ler_pdivr_mulr // mulrAC ler_pdivl_mulr //.
apply: (@le_trans _ _ (A * (D + M))).
  by rewrite mulrDl mulrDr ler_add2l mulrC ler_wpmul2r.
by apply: ler_wpmul2l => //; exact: le_trans (ltW D0) DA.
Qed.

End Dsi.
