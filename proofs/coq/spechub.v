(* SpecHub: one of two drafts is a, the likeliest token of q; what a pair leaves over goes to a.
   It is lossless, and hits as often as any lossless rule for its pairs. *)
Require Import prelude prob rejection coupling duality.

Section SpecHub.
Variables (R : realFieldType) (T : finType) (p q : T -> R) (a : T).
Hypotheses (dp : is_dist p) (dq : is_dist q) (qa : q a < 1).

(* mass of the pairs (x, a) and (a, x) *)
Definition first x := if x == a then 0 else q x.
Definition second x := if x == a then 0 else q a * q x / (1 - q a).
Definition rest x := p x - Num.min (p x) (first x).
(* q without a: x, which stands first or, where the coin says so, second *)
Definition without_a x := first x / (1 - q a).
Definition fail1 := \sum_x (first x - Num.min (p x) (first x)).
Definition fail2 := \sum_x (second x - Num.min (rest x) (second x)).
Definition give2 := Num.min (p a) fail2.
Definition give1 := Num.min (p a - give2) fail1.
Definition ratio (x y : R) := if y == 0 then 0 else x / y.
Definition left_over x := if x == a then 0 else rest x - Num.min (rest x) (second x).
Definition recovered x := let z := \sum_y left_over y in if z == 0 then p x else left_over x / z.

(* the draft x beside a, tested for r against its mass m; of what fails, g of f goes to a *)
Definition tested r m g f x : prog R T (T * T) :=
  Flip (accept_prob r m x) (Ret (x, x))
    (Flip (ratio g f) (Ret (x, a)) (Draw recovered (fun y => Ret (x, y)))).
Definition spechub : prog R T (T * T) :=
  Draw without_a (fun x => Flip (1 - q a) (tested p first give1 fail1 x) (tested rest second give2 fail2 x)).

Lemma q0 x : 0 <= q x. Proof. exact: dist_ge0. Qed.
Lemma p0 x : 0 <= p x. Proof. exact: dist_ge0. Qed.
Lemma b0 : 0 < 1 - q a. Proof. by rewrite subr_gt0. Qed.
Lemma first_ge0 x : 0 <= first x. Proof. by rewrite /first; case: ifP => // _; exact: q0. Qed.
Lemma second_ge0 x : 0 <= second x.
Proof. by rewrite /second; case: ifP => // _; rewrite divr_ge0 ?mulr_ge0 ?q0 // ltW ?b0. Qed.
Lemma rest_ge0 x : 0 <= rest x. Proof. by rewrite subr_ge0 le_minl lexx. Qed.

Lemma first_draw x : without_a x * (1 - q a) = first x.
Proof. by rewrite mulfVK // gt_eqF // b0. Qed.
Lemma second_draw x : without_a x * q a = second x.
Proof. by rewrite /without_a /second /first; case: ifP => _; rewrite ?mul0r // mulrAC [q x * _]mulrC. Qed.

Lemma sum_first : \sum_x first x = 1 - q a.
Proof.
rewrite -[X in X - _](dist_sum dq) [in RHS](bigD1 a) //= addrAC subrr add0r [RHS]big_mkcond.
by apply: eq_bigr => x _; rewrite /first; case: eqP.
Qed.
Lemma without_a_dist : is_dist without_a.
Proof.
split=> [x|]; first by rewrite divr_ge0 ?first_ge0 // ltW ?b0.
by rewrite -mulr_suml sum_first divff // gt_eqF // b0.
Qed.
Lemma sum_second : \sum_x second x = q a.
Proof. by under eq_bigr do rewrite -second_draw; rewrite -mulr_suml (dist_sum without_a_dist) mul1r. Qed.

Lemma fail1_ge0 : 0 <= fail1.
Proof. by apply: sumr_ge0 => x _; rewrite subr_ge0 le_minl lexx orbT. Qed.
Lemma fail2_ge0 : 0 <= fail2.
Proof. by apply: sumr_ge0 => x _; rewrite subr_ge0 le_minl lexx orbT. Qed.
Lemma left_over_ge0 x : 0 <= left_over x.
Proof. by rewrite /left_over; case: ifP => // _; rewrite subr_ge0 le_minl lexx. Qed.

(* what passes, x by x, and what is left *)
Definition passed x := Num.min (p x) (first x) + Num.min (rest x) (second x).
Lemma passed_a : passed a = 0.
Proof.
rewrite /passed /first /second !eqxx (min_idPr (p0 a)) add0r; apply/min_idPr; exact: rest_ge0.
Qed.
Lemma left_overE x : x != a -> left_over x = p x - passed x.
Proof. by move=> /negbTE xa; rewrite /left_over xa /rest /passed opprD addrA. Qed.

Lemma fails : fail1 + fail2 = 1 - \sum_x passed x.
Proof.
rewrite /fail1 /fail2 !sumrB sum_first sum_second /passed big_split /=.
by move: (\sum_x Num.min (p x) _) (\sum_x Num.min (rest x) _) (q a) => u v b; ring.
Qed.

Lemma sum_left_over : \sum_x left_over x = fail1 + fail2 - p a.
Proof.
rewrite fails (bigD1 a) //= {1}/left_over eqxx add0r.
rewrite (eq_bigr (fun x => p x - passed x)) => [|x xa]; last exact: left_overE.
have sp : 1 = p a + \sum_(x | x != a) p x by rewrite -(dist_sum dp) (bigD1 a).
have sq : \sum_x passed x = \sum_(x | x != a) passed x by rewrite (bigD1 a) //= passed_a add0r.
by rewrite sumrB sq sp; move: (\sum_(x | _) p x) (\sum_(x | _) passed x) (p a) => u v b; ring.
Qed.

(* 2 of T13: all that the target gives a is given *)
Lemma given : give1 + give2 = p a.
Proof.
have le : p a <= fail1 + fail2.
  by rewrite -subr_ge0 -sum_left_over sumr_ge0 // => x _; exact: left_over_ge0.
rewrite /give1 /give2; case: (leP (p a) fail2) => h; first by rewrite subrr (min_idPl fail1_ge0) add0r.
by rewrite (min_idPl _) ?subrK // ler_subl_addr.
Qed.

Lemma recovered_dist : is_dist recovered.
Proof.
rewrite /recovered; case: eqP => [//|/eqP z]; split=> [x|]; last by rewrite -mulr_suml divff.
by rewrite divr_ge0 ?left_over_ge0 // sumr_ge0 // => y _; exact: left_over_ge0.
Qed.

Lemma ratioE x y : 0 <= x <= y -> y * ratio x y = x.
Proof.
move=> /andP[x0 xy]; rewrite /ratio; case: eqP => [e|/eqP ne]; last by rewrite mulrCA divff ?mulr1.
by rewrite mulr0; apply/le_anti; rewrite x0 -e xy.
Qed.
Lemma give2_fail : 0 <= give2 <= fail2.
Proof. by rewrite /give2 le_minr p0 fail2_ge0 le_minl lexx orbT. Qed.
Lemma give1_fail : 0 <= give1 <= fail1.
Proof. by rewrite /give1 le_minr fail1_ge0 le_minl lexx orbT !andbT subr_ge0 /give2 le_minl lexx. Qed.

Theorem spechub_lossless f : E spechub (fun o => f o.2) = \sum_x p x * f x.
Proof.
rewrite /spechub /tested /=; set B := \sum_y recovered y * f y.
pose G1 := ratio give1 fail1 * f a + (1 - ratio give1 fail1) * B.
pose G2 := ratio give2 fail2 * f a + (1 - ratio give2 fail2) * B.
have step x : without_a x * ((1 - q a) * (accept_prob p first x * f x + (1 - accept_prob p first x) * G1) +
    (1 - (1 - q a)) * (accept_prob rest second x * f x + (1 - accept_prob rest second x) * G2)) =
    passed x * f x + ((first x - Num.min (p x) (first x)) * G1 + (second x - Num.min (rest x) (second x)) * G2).
  have e (k b u v F G H : R) : k * ((1 - b) * (u * F + (1 - u) * G) + (1 - (1 - b)) * (v * F + (1 - v) * H)) =
    (k * (1 - b) * u + k * b * v) * F + ((k * (1 - b) - k * (1 - b) * u) * G + (k * b - k * b * v) * H) by ring.
  by rewrite e first_draw second_draw !drawn_accepted ?p0 ?first_ge0 ?second_ge0 ?rest_ge0.
rewrite (eq_bigr _ (fun x _ => step x)) !big_split /= -!mulr_suml -/fail1 -/fail2.
have -> : fail1 * G1 + fail2 * G2 = p a * f a + (fail1 + fail2 - p a) * B.
  have e (k l u v F H : R) : k * (u * F + (1 - u) * H) + l * (v * F + (1 - v) * H) =
    (k * u + l * v) * F + (k + l - (k * u + l * v)) * H by ring.
  by rewrite /G1 /G2 e (ratioE give1_fail) (ratioE give2_fail) given.
have -> : (fail1 + fail2 - p a) * B = \sum_x left_over x * f x.
  rewrite -sum_left_over /B mulr_sumr; apply: eq_bigr => x _; rewrite mulrA; congr (_ * _).
  rewrite /recovered; case: eqP => [z|/eqP z]; last by rewrite mulrCA divff ?mulr1.
  move/eqP: (z); rewrite psumr_eq0 => [/allP/(_ x)|y _]; last exact: left_over_ge0.
  by rewrite mem_index_enum => /(_ isT) /= /eqP ->; rewrite z mul0r.
rewrite addrCA -big_split /= [RHS](bigD1 a) //= [X in _ + X](bigD1 a) //=.
rewrite passed_a {1}/left_over eqxx !mul0r !add0r; congr (_ + _); apply: eq_bigr => x xa.
by rewrite left_overE // -mulrDl addrC subrK.
Qed.

(* ---- 1, 4 and 5 of T13: the pairs, and that no rule hits them more often ---- *)
Definition hub_pairs (d : T * T) := first d.1 * (d.2 == a)%:R + second d.2 * (d.1 == a)%:R.
Definition in_pair (y : T) (d : T * T) := (y == d.1) || (y == d.2).
Definition hub_value := p a + \sum_(x | x != a) Num.min (p x) (without_a x).

Lemma first_second x : first x + second x = without_a x.
Proof. by rewrite -first_draw -second_draw -mulrDr subrK mulr1. Qed.

Lemma sum_hub_pairs (c : T * T -> R) :
  \sum_d hub_pairs d * c d = \sum_x first x * c (x, a) + \sum_x second x * c (a, x).
Proof.
transitivity (\sum_i \sum_j hub_pairs (i, j) * c (i, j)).
  by rewrite pair_bigA; apply: eq_bigr => -[].
rewrite /hub_pairs /=.
have e i j : (first i * (j == a)%:R + second j * (i == a)%:R) * c (i, j) =
    first i * c (i, j) * (j == a)%:R + second j * c (i, j) * (i == a)%:R by ring.
under eq_bigr do under eq_bigr do rewrite e.
under eq_bigr do rewrite big_split /= sum_ind.
by rewrite big_split exchange_big /=; congr (_ + _); apply: eq_bigr => j _; rewrite sum_ind.
Qed.

Lemma hub_pairs_dist : is_dist hub_pairs.
Proof.
split=> [d|]; first by rewrite addr_ge0 // mulr_ge0 ?ler0n ?first_ge0 ?second_ge0.
under eq_bigr do rewrite -[hub_pairs _]mulr1; rewrite (sum_hub_pairs (fun=> 1)).
under eq_bigr do rewrite mulr1; under [X in _ + X]eq_bigr do rewrite mulr1.
by rewrite sum_first sum_second subrK.
Qed.

Lemma hub_pairs_first x : \sum_y hub_pairs (x, y) = q x.
Proof.
rewrite /hub_pairs /= big_split /= -mulr_suml -mulr_sumr sum_second (bigD1 a) //= eqxx big1 => [|y /negbTE -> //].
rewrite addr0 mulr1 /first; case: eqP => [->|_]; first by rewrite mulr1 add0r.
by rewrite mulr0 addr0.
Qed.

Lemma in_pair_mass x : x != a -> \sum_(d | in_pair x d) hub_pairs d = without_a x.
Proof.
move=> /negbTE xa; rewrite big_mkcond -first_second.
under eq_bigr do rewrite -mulrb -mulr_natr.
rewrite (sum_hub_pairs (fun d => (in_pair x d)%:R)) /in_pair /= xa /=.
by under eq_bigr do rewrite orbF eq_sym; under [X in _ + X]eq_bigr do rewrite eq_sym; rewrite !sum_ind.
Qed.

Theorem spechub_optimal pi : kcoupling hub_pairs p pi -> acceptance in_pair pi <= hub_value.
Proof.
move=> [pi0 rows cols]; rewrite /acceptance.
under eq_bigr do rewrite big_mkcond /=; rewrite exchange_big /= (bigD1 a) //=; apply: ler_add.
  by rewrite -cols; apply: ler_sum => d _; case: ifP => // _; exact: pi0.
apply: ler_sum => x xa; rewrite le_minr; apply/andP; split.
  by rewrite -cols; apply: ler_sum => d _; case: ifP => // _; exact: pi0.
rewrite -in_pair_mass // [X in _ <= X]big_mkcond; apply: ler_sum => d _; case: ifP => // _.
by rewrite -rows (bigD1 x) //= ler_addl sumr_ge0.
Qed.

(* the rule returns the draft beside a and the token: a hit is that draft or a *)
Definition hub_hit (o : T * T) := (o.2 == o.1) || (o.2 == a).

Lemma ratio01 x y : 0 <= x <= y -> 0 <= ratio x y <= 1.
Proof.
move=> /andP[x0 xy]; rewrite /ratio; case: eqP => [_|/eqP ne]; first by rewrite lexx ler01.
have y0 : 0 < y by rewrite lt_neqAle eq_sym ne (le_trans x0 xy).
by rewrite divr_ge0 ?(ltW y0) // ler_pdivr_mulr // mul1r.
Qed.

Lemma spechub_wf : wf spechub.
Proof.
have w := recovered_dist; split=> [|x]; first exact: without_a_dist.
split; first by rewrite ltW ?b0 //= ler_subl_addr ler_addl q0.
  by split=> //; [rewrite accept_prob01 ?p0 ?first_ge0|split=> //; exact: ratio01 give1_fail].
by split=> //; [rewrite accept_prob01 ?rest_ge0 ?second_ge0|split=> //; exact: ratio01 give2_fail].
Qed.

Lemma spechub_beside x : E spechub (fun o => (o.1 == x)%:R) = without_a x.
Proof.
rewrite -[RHS](sum_ind without_a); apply: eq_bigr => z _ /=; congr (_ * _).
by rewrite -mulr_suml (dist_sum recovered_dist); ring.
Qed.

(* 4 of T13 *)
Theorem spechub_acceptance : E spechub (fun o => (hub_hit o)%:R) = hub_value.
Proof.
have law y : E spechub (fun o => (o.2 == y)%:R) = p y.
  by rewrite (spechub_lossless (fun z => (z == y)%:R)) sum_ind.
apply/le_anti/andP; split.
  pose own x (o : T * T) : R := ((o.1 == x) && (o.2 == x))%:R.
  apply: le_trans (_ : E spechub (fun o => (o.2 == a)%:R + \sum_(x | x != a) own x o) <= _).
    apply: E_le => [|[x y]]; first exact: spechub_wf.
    rewrite /hub_hit /own /=; case: (eqVneq y a) => [->|ya] /=.
      by rewrite orbT ler_addl sumr_ge0 // => z _; exact: ler0n.
    rewrite orbF add0r (bigD1 y) //= eqxx andbT [y == x]eq_sym ler_addl.
    by rewrite sumr_ge0 // => z _; exact: ler0n.
  rewrite E_add law /hub_value ler_add2l.
  under E_ext do rewrite big_mkcond /=.
  rewrite E_sum [X in _ <= X]big_mkcond; apply: ler_sum => x _.
  case: ifP => xa; last by rewrite (E_const 0 spechub_wf).
  rewrite le_minr -{1}(law x) -(spechub_beside x); apply/andP.
  by split; apply: E_le spechub_wf _ => o; rewrite /own ler_nat; case: eqP => //; case: eqP.
pose kept := \sum_x passed x + (fail1 * ratio give1 fail1 + fail2 * ratio give2 fail2).
have -> : hub_value = kept.
  rewrite /kept (ratioE give1_fail) (ratioE give2_fail) given addrC /hub_value; congr (_ + _).
  rewrite [RHS](bigD1 a) //= passed_a add0r; apply: eq_bigr => x xa; rewrite -first_second /passed /rest.
  have := first_ge0 x; have := second_ge0 x; move: (p x) (first x) (second x) => u v w w0 v0.
  case: (leP u v) => uv; first by rewrite subrr (min_idPl w0) addr0; apply/min_idPl; rewrite -[u]addr0 ler_add.
  by rewrite -[X in Num.min X _](subrK v) [v + w]addrC -addr_minl addrC.
have /andP[_ r1] := ratio01 give1_fail; have /andP[_ r2] := ratio01 give2_fail.
rewrite /kept /spechub /tested /=; move: (ratio give1 _) (ratio give2 _) r1 r2 => F H r1 r2.
rewrite /fail1 /fail2 !mulr_suml -!big_split /=; apply: ler_sum => x _.
pose S := \sum_y recovered y * (hub_hit (x, y))%:R; have S0 : 0 <= S.
  by apply: sumr_ge0 => y _; rewrite mulr_ge0 ?ler0n // (dist_ge0 recovered_dist).
rewrite -/S /hub_hit /= !eqxx orbT.
have e (k b u v : R) :
    k * ((1 - b) * (u * 1 + (1 - u) * (F * 1 + (1 - F) * S)) + (1 - (1 - b)) * (v * 1 + (1 - v) * (H * 1 + (1 - H) * S))) =
    (k * (1 - b) * u + k * b * v) + ((k * (1 - b) - k * (1 - b) * u) * F + (k * b - k * b * v) * H) +
    ((k * (1 - b) - k * (1 - b) * u) * (1 - F) + (k * b - k * b * v) * (1 - H)) * S by ring.
rewrite e first_draw second_draw !drawn_accepted ?p0 ?first_ge0 ?second_ge0 ?rest_ge0 // ler_addl.
by rewrite mulr_ge0 // addr_ge0 // mulr_ge0 ?subr_ge0 // le_minl lexx orbT.
Qed.

End SpecHub.
