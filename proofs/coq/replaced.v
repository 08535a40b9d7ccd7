(* What is refused is drawn from the target: the output, the bias and the hits of typical acceptance, where a set of
   tokens is kept, and of Lumina's rule, where min(p, q) is. *)
Require Import prelude prob price neighbours.

Section Replaced.
Variables (R : realFieldType) (T : finType) (p q : T -> R).
Hypotheses (dp : is_dist p) (dq : is_dist q).

(* x is kept with probability a x, and else replaced by a draw from p *)
Definition replaced (a : T -> R) := relaxed a (fun _ => p).

Definition half (f : T -> R) : R := 2%:R^-1 * \sum_x `|f x|.

Lemma replaced_output a y :
  output q (replaced a) y = q y * a y + (1 - \sum_x q x * a x) * p y.
Proof.
rewrite /replaced outputE; congr (_ + _); rewrite -mulr_suml; congr (_ * _).
rewrite -[X in X - _](dist_sum dq) -sumrB; apply: eq_bigr => x _; by rewrite mulrBr mulr1.
Qed.

Theorem replaced_bias a :
  tv (output q (replaced a)) p = half (fun y => q y * a y - (\sum_x q x * a x) * p y).
Proof.
rewrite /tv /half; congr (_ * _); apply: eq_bigr => y _; rewrite replaced_output; congr `|_|; ring.
Qed.

Lemma replaced_hits a : hits q (replaced a) = \sum_x q x * a x + \sum_x q x * (1 - a x) * p x.
Proof.
rewrite -big_split; apply: eq_bigr => x _ /=.
by rewrite /replaced /relaxed eqxx mulr1 mulrDr mulrA.
Qed.

(* half the distance of two functions of one sum, from above the one *)
Lemma half_positive (f g : T -> R) : \sum_x f x = \sum_x g x ->
  half (fun x => f x - g x) = \sum_(x | g x < f x) (f x - g x).
Proof.
move=> s; have z : \sum_x (f x - g x) = 0 by rewrite sumrB s subrr.
have e : \sum_x `|f x - g x| = 2%:R * \sum_(x | g x < f x) (f x - g x).
  rewrite (bigID (fun x => g x < f x)) /=.
  have -> : \sum_(x | g x < f x) `|f x - g x| = \sum_(x | g x < f x) (f x - g x).
    by apply: eq_bigr => x h; rewrite ger0_norm // subr_ge0 ltW.
  have -> : \sum_(x | ~~ (g x < f x)) `|f x - g x| = - (\sum_(x | ~~ (g x < f x)) (f x - g x)).
    by rewrite -sumrN; apply: eq_bigr => x; rewrite -leNgt => h; rewrite ler0_norm // subr_le0.
  have -> : - (\sum_(x | ~~ (g x < f x)) (f x - g x)) = \sum_(x | g x < f x) (f x - g x).
    by apply/eqP; rewrite eq_sym -addr_eq0; move: z; rewrite (bigID (fun x => g x < f x)) /= => ->.
  by rewrite mulr_natl mulr2n.
by rewrite /half e mulKf // pnatr_eq0.
Qed.

(* ---- typical acceptance: the tokens of A are kept ---- *)
Section Typical.
Variable A : {set T}.
Let among x : R := (x \in A)%:R.
Let mass := \sum_(x in A) q x.

Lemma mass_among : \sum_x q x * among x = mass.
Proof. by rewrite /mass [RHS]big_mkcond; apply: eq_bigr => x _; rewrite /among; case: ifP; rewrite ?mulr1 ?mulr0. Qed.

Theorem typical_output y : output q (replaced among) y = q y * (y \in A)%:R + (1 - mass) * p y.
Proof. by rewrite replaced_output mass_among. Qed.

Lemma mass_ge0 : 0 <= mass.
Proof. by apply: sumr_ge0 => x _; exact: dist_ge0. Qed.

Theorem typical_bias :
  [/\ tv (output q (replaced among)) p = half (fun y => q y * (y \in A)%:R - mass * p y),
      tv (output q (replaced among)) p <= mass &
      tv (output q (replaced among)) p = 0 <-> mass = 0 \/ forall y, q y * (y \in A)%:R = mass * p y].
Proof.
have b : tv (output q (replaced among)) p = half (fun y => q y * (y \in A)%:R - mass * p y).
  by rewrite replaced_bias mass_among.
have qA0 y : 0 <= q y * (y \in A)%:R by rewrite mulr_ge0 ?ler0n ?(dist_ge0 dq).
have mp0 y : 0 <= mass * p y by rewrite mulr_ge0 ?mass_ge0 ?(dist_ge0 dp).
split=> //; rewrite b.
  rewrite half_positive; last by rewrite -mulr_sumr (dist_sum dp) mulr1 mass_among.
  apply: le_trans (_ : \sum_(x | mass * p x < q x * (x \in A)%:R) q x * (x \in A)%:R <= _).
    by apply: ler_sum => x _; rewrite ler_subl_addr ler_addl.
  rewrite -[X in _ <= X]mass_among [X in _ <= X](bigID (fun x => mass * p x < q x * (x \in A)%:R)) /= ler_addl.
  apply: sumr_ge0 => x _; exact: qA0.
split=> [/eqP|].
  rewrite /half mulf_eq0 invr_eq0 pnatr_eq0 /= psumr_eq0 // => /allP h; right=> y.
  have := h y; rewrite mem_index_enum => /(_ isT) /=; rewrite normr_eq0 subr_eq0.
  by move/eqP.
case=> [m0|h]; rewrite /half big1 ?mulr0 // => y _; apply/eqP; rewrite normr_eq0 subr_eq0; last by rewrite h.
rewrite m0 mul0r; move: m0; rewrite /mass => /eqP; rewrite psumr_eq0 => [/allP/(_ y)|x _]; last exact: dist_ge0.
by rewrite mem_index_enum => /(_ isT) /=; case: (y \in A); rewrite /= ?mulr1 ?mulr0.
Qed.

Theorem typical_hits :
  hits q (replaced among) = mass + \sum_(x | x \notin A) q x * p x /\
  hits q (replaced among) <= 1 - tv p q + tv (output q (replaced among)) p.
Proof.
split.
  rewrite replaced_hits mass_among; congr (_ + _); rewrite [RHS]big_mkcond; apply: eq_bigr => x _.
  by rewrite /among; case: (x \in A); rewrite ?subrr ?mulr0 ?mul0r ?subr0 ?mulr1.
have d x : is_dist (replaced among x).
  split=> [y|].
    by rewrite /replaced /relaxed /among; case: (x \in A);
      rewrite ?subrr ?mul0r ?addr0 ?mul1r ?subr0 ?add0r ?mul1r ?ler0n ?(dist_ge0 dp).
  rewrite /replaced /relaxed big_split /= -!mulr_sumr (dist_sum dp) mulr1.
  rewrite (bigD1 x) //= eqxx big1 ?addr0; last by move=> y /negbTE; rewrite eq_sym => ->.
  by rewrite mulr1 addrC subrK.
by have [h1 h2] := price_bound dp dq d; apply: le_trans h2.
Qed.

End Typical.

(* a target of one token keeps its law, and no rule hits more often *)
Theorem typical_one_hot b : p b = 1 ->
  tv (output q (replaced (fun x => (x \in [set b])%:R))) p = 0 /\
  hits q (replaced (fun x => (x \in [set b])%:R)) = overlap p q.
Proof.
move=> pb; have p0 y : y != b -> p y = 0.
  move=> ne; apply/le_anti; rewrite (dist_ge0 dp) andbT.
  rewrite -(ler_add2l (p b)) addr0 [X in _ <= X]pb -(dist_sum dp) (bigD1 b) //= ler_add2l (bigD1 y) //= ler_addl.
  by apply: sumr_ge0 => x _; exact: dist_ge0.
have mb : \sum_(x in [set b]) q x = q b by rewrite big_set1.
split.
  have [_ _ h] := typical_bias [set b]; apply/h; right=> y; rewrite mb inE.
  by case: (eqVneq y b) => [->|ne]; rewrite ?pb ?mulr1 // p0 ?mulr0.
have [-> _] := typical_hits [set b]; rewrite mb big1 ?addr0 => [|x]; last by rewrite inE => /p0 ->; rewrite mulr0.
rewrite /overlap (bigD1 b) //= big1 => [|x ne]; last by rewrite p0 // (min_idPl _) // (dist_ge0 dq).
by rewrite pb addr0; apply/esym/min_idPr; exact: dist_le1.
Qed.

(* ---- Lumina without a clamp: min(p, q) is kept ---- *)
Let kept := accept_prob p q.
Let M := overlap p q.

Lemma kept_mass : \sum_x q x * kept x = M.
Proof. by apply: eq_bigr => x _; apply: drawn_accepted; exact: dist_ge0. Qed.

Lemma kept_min x : q x * kept x = Num.min (p x) (q x).
Proof. by apply: drawn_accepted; exact: dist_ge0. Qed.

Theorem lumina_output y : output q (replaced kept) y = Num.min (p y) (q y) + (1 - M) * p y.
Proof. by rewrite replaced_output kept_mass kept_min. Qed.

Theorem lumina_bias : tv (output q (replaced kept)) p <= M * (1 - M) /\ M * (1 - M) <= 4%:R^-1.
Proof.
split.
  rewrite replaced_bias kept_mass half_positive; last by rewrite kept_mass -mulr_sumr (dist_sum dp) mulr1.
  pose S x := M * p x < q x * kept x; pose P := \sum_(x | S x) p x; pose Q := \sum_(x | S x) q x * kept x.
  have M0 : 0 <= M by apply: overlap_ge0; [case: dp | case: dq].
  have M1 : M <= 1 by apply: overlap_le1; exact: dist_sum.
  have QP : Q <= P by apply: ler_sum => x _; rewrite kept_min le_minl lexx.
  have QM : Q <= M.
    rewrite -kept_mass [X in _ <= X](bigID S) /= ler_addl; apply: sumr_ge0 => x _; rewrite kept_min.
    by rewrite minr_ge0 ?(dist_ge0 dp) ?(dist_ge0 dq).
  have e : \sum_(x | S x) (q x * kept x - M * p x) = Q - M * P by rewrite sumrB -mulr_sumr.
  apply: le_trans (_ : Q - M * P <= _); first by rewrite -e; exact: lexx.
  case: (leP P M) => h.
    apply: le_trans (_ : P - M * P <= _); first by rewrite ler_add2r.
    by rewrite -[X in X - _]mul1r -mulrBl mulrC; apply: ler_wpmul2r => //; rewrite subr_ge0.
  apply: le_trans (_ : M - M * P <= _); first by rewrite ler_add2r.
  by rewrite mulrBr mulr1 ler_add2l ler_opp2; apply: ler_wpmul2l => //; exact: ltW.
rewrite -subr_ge0; have -> : 4%:R^-1 - M * (1 - M) = (M - 2%:R^-1) ^+ 2.
  by field.
exact: sqr_ge0.
Qed.

Theorem lumina_one_hot b : p b = 1 -> tv (output q (replaced kept)) p = 0.
Proof.
move=> pb; have p0 y : y != b -> p y = 0.
  move=> ne; apply/le_anti; rewrite (dist_ge0 dp) andbT.
  rewrite -(ler_add2l (p b)) addr0 [X in _ <= X]pb -(dist_sum dp) (bigD1 b) //= ler_add2l (bigD1 y) //= ler_addl.
  by apply: sumr_ge0 => x _; exact: dist_ge0.
have m0 y : y != b -> Num.min (p y) (q y) = 0 by move=> /p0 ->; apply/min_idPl; exact: dist_ge0.
have MM : M = Num.min (p b) (q b) by rewrite /M /overlap (bigD1 b) //= big1 ?addr0.
rewrite replaced_bias kept_mass /half big1 ?mulr0 // => y _; apply/eqP; rewrite normr_eq0 subr_eq0 kept_min.
by case: (eqVneq y b) => [->|ne]; rewrite ?pb ?mulr1 ?MM ?pb // m0 // p0 // mulr0.
Qed.

End Replaced.

(* and no smaller bound holds for all p and q *)
Theorem lumina_quarter (R : realFieldType) :
  let p : bool -> R := fun _ => 2%:R^-1 in let q : bool -> R := fun b => b%:R in
  tv (output q (replaced p (accept_prob p q))) p = 4%:R^-1.
Proof.
move=> p q; have two : (2%:R : R) != 0 by rewrite pnatr_eq0.
have dp : is_dist p.
  split=> [x|]; first by rewrite /p invr_ge0 ler0n.
  by rewrite big_bool /p /=; field; rewrite ?pnatr_eq0.
have dq : is_dist q by split=> [x|]; [rewrite /q ler0n | rewrite big_bool /q /= addr0].
have h1 : Num.min (2%:R^-1) 1 = 2%:R^-1 :> R.
  by apply/min_idPl; rewrite invf_le1 ?ler1n ?ltr0n.
have h0 : Num.min (2%:R^-1) 0 = 0 :> R by apply/min_idPr; rewrite invr_ge0 ler0n.
rewrite replaced_bias // (kept_mass dp dq) /half /overlap !big_bool /= !(kept_min dp dq) /p /q /= h1 h0.
rewrite addr0 sub0r normrN.
have -> : 2%:R^-1 - 2%:R^-1 * 2%:R^-1 = 4%:R^-1 :> R by field.
have -> : 2%:R^-1 * 2%:R^-1 = 4%:R^-1 :> R by field.
by rewrite ger0_norm ?invr_ge0 ?ler0n //; field.
Qed.
