(* A weighted marriage theorem, and with it strong duality and the realisability of every feasible law of the winner. *)
Require Import prelude prob coupling.

(* ---- rows d with mass a d, to be sent along edges y \in e d into capacities b y ---- *)
Section Marriage.
Variables (R : realFieldType) (T D : finType).
Implicit Types (e : D -> {set T}) (a : D -> R) (b : T -> R) (H : {set T}).

Definition inside e a H := \sum_(d | e d \subset H) a d.
Definition weight b H := \sum_(x in H) b x.
Definition hall e a b := forall H, inside e a H <= weight b H.

Definition shipment e a b (s : D -> T -> R) :=
  [/\ forall d y, 0 <= s d y,
      forall d y, y \notin e d -> s d y = 0,
      forall d, \sum_y s d y = a d
    & forall y, \sum_d s d y <= b y].

Lemma insideE e a H : inside e a H = \sum_d if e d \subset H then a d else 0.
Proof. by rewrite /inside big_mkcond. Qed.

Lemma sum_one (I : finType) (P : pred I) (i0 : I) (t : R) :
  \sum_(i | P i) (i == i0)%:R * t = (P i0)%:R * t.
Proof.
rewrite -mulr_suml; congr (_ * _); case: (boolP (P i0)) => h.
  by rewrite (bigD1 i0) //= eqxx big1 ?addr0 // => i /andP[_ /negbTE ->].
by rewrite big1 // => i Pi; case: eqP => // e0; rewrite e0 (negbTE h) in Pi.
Qed.

Definition drop e d0 y0 d := if d == d0 then e d :\ y0 else e d.
Definition split e H0 d := if e d \subset H0 then e d else e d :\: H0.

Lemma drop_sub e d0 y0 d : drop e d0 y0 d \subset e d.
Proof. by rewrite /drop; case: ifP => // _; rewrite subD1set. Qed.
Lemma split_sub e H0 d : split e H0 d \subset e d.
Proof. by rewrite /split; case: ifP => // _; rewrite subsetDl. Qed.

(* an edge without use may go: its row is empty, or its capacity is *)
Lemma hall_drop e a b d0 y0 : (forall d, 0 <= a d) -> hall e a b ->
  (a d0 == 0) || (b y0 == 0) -> hall (drop e d0 y0) a b.
Proof.
move=> a0 h /orP[/eqP z|/eqP z] H.
  apply: le_trans (h H); rewrite !insideE.
  apply: ler_sum => d _; rewrite /drop; case: (altP (d =P d0)) => [->|//].
  by rewrite z; case: ifP; case: ifP.
apply: le_trans (_ : inside e a (y0 |: H) <= _).
  rewrite !insideE; apply: ler_sum => d _.
  case: ifP => [s|_]; last by case: ifP.
  suff -> : e d \subset y0 |: H by [].
  move: s; rewrite /drop; case: ifP => [_|_ s].
    by rewrite subDset.
  by apply: subset_trans s (subsetUr _ _).
apply: le_trans (h _) _; rewrite /weight.
case: (boolP (y0 \in H)) => yH; first by rewrite (setUidPr _) ?sub1set.
by rewrite big_setU1 //= z add0r.
Qed.

(* a tight set splits the problem in two *)
Lemma hall_split e a b H0 : (forall d, 0 <= a d) -> (forall y, 0 <= b y) ->
  hall e a b -> inside e a H0 = weight b H0 -> hall (split e H0) a b.
Proof.
move=> a0 b0 h tight H.
have -> : weight b H = weight b (H :&: H0) + (weight b (H :|: H0) - weight b H0).
  rewrite /weight (big_setID H0) /=; congr (_ + _).
  have -> : \sum_(y in H :|: H0) b y = \sum_(y in H0) b y + \sum_(y in H :\: H0) b y.
    by rewrite (big_setID H0) /= setIUl setIid (setUidPr (subsetIr H H0)) setDUl setDv setU0.
  by rewrite addrAC subrr add0r.
have low := h (H :&: H0); have up := h (H :|: H0); rewrite -tight.
apply: le_trans (ler_add low (ler_sub up (lexx _))); rewrite addrA ler_subr_addr.
rewrite !insideE -!big_split /=; apply: ler_sum => d _.
rewrite /split subsetI; case: (boolP (e d \subset H0)) => s.
  by rewrite andbT (subset_trans s (subsetUr _ _)).
by rewrite andbF addr0 add0r subDset setUC.
Qed.

Theorem marriage e a b : (forall d, 0 <= a d) -> (forall y, 0 <= b y) ->
  hall e a b -> exists s, shipment e a b s.
Proof.
have [n] := ubnP (\sum_d #|e d|)%N; elim: n e a b => // n IH e a b le_n a0 b0 h.
have [/existsP[d0 /set0Pn[y0 ye]]|] := boolP [exists d, e d != set0]; last first.
  rewrite negb_exists => /forallP none; exists (fun _ _ => 0).
  have z d : a d = 0.
    have := h set0; rewrite /inside /weight big_set0 => le0.
    have: \sum_(d | e d \subset set0) a d == 0.
      by rewrite eq_le le0 sumr_ge0.
    rewrite psumr_eq0 // => /allP/(_ d); rewrite mem_index_enum => /(_ isT).
    by have /negPn/eqP -> := none d; rewrite sub0set => /eqP.
  by split=> // [d|y]; rewrite big1_eq.
(* the most that can be sent along the edge *)
pose P H := (y0 \in H) && ~~ (e d0 \subset H).
pose slack H := if P H then weight b H - inside e a H else a d0.
have slack0 H : 0 <= slack H by rewrite /slack; case: ifP => // _; rewrite subr_ge0.
case: (@Order.TotalTheory.arg_minP _ _ _ set0 predT slack isT) => H0 _ least.
pose t := Num.min (slack H0) (b y0).
have t0 : 0 <= t by rewrite le_minr slack0 b0.
have ta : t <= a d0.
  rewrite le_minl; apply/orP; left; have := least [set: T] isT.
  by rewrite /slack /P subsetT andbF.
have tb : t <= b y0 by rewrite le_minl lexx orbT.
have tP H : P H -> t <= weight b H - inside e a H.
  by move=> PH; have := least H isT; rewrite {2}/slack PH le_minl => ->.
pose a' d := a d - (d == d0)%:R * t; pose b' y := b y - (y == y0)%:R * t.
have a'0 d : 0 <= a' d.
  by rewrite /a'; case: eqP => [->|_]; rewrite ?mul1r ?mul0r ?subr0 // subr_ge0.
have b'0 y : 0 <= b' y.
  by rewrite /b'; case: eqP => [->|_]; rewrite ?mul1r ?mul0r ?subr0 // subr_ge0.
have insE H : inside e a' H = inside e a H - (e d0 \subset H)%:R * t.
  by rewrite /inside sumrB (sum_one (fun d => e d \subset H)).
have weiE H : weight b' H = weight b H - (y0 \in H)%:R * t.
  by rewrite /weight sumrB (sum_one (fun y => y \in H)).
have h' : hall e a' b'.
  move=> H; rewrite insE weiE; case: (boolP (e d0 \subset H)) => s.
    by rewrite (subsetP s) // ler_add2r.
  case: (boolP (y0 \in H)) => yH; last by rewrite !mul0r !subr0.
  have := tP H; rewrite /P yH s => /(_ isT).
  by rewrite mul0r mul1r subr0 ler_subr_addl -ler_subr_addr.
suff [e' [e'e yd he']] : exists e', [/\ forall d, e' d \subset e d, y0 \notin e' d0 & hall e' a' b'].
  have le_n' : (\sum_d #|e' d| < n)%N.
    apply: leq_trans (_ : \sum_d #|e d| <= n)%N; last by rewrite -ltnS.
    rewrite (bigD1 d0) //= [X in (_ < X)%N](bigD1 d0) //= -addSn leq_add //.
      apply: proper_card; rewrite properE e'e /=.
      by apply/negP => /subsetP/(_ _ ye); apply/negP.
    by apply: leq_sum => d _; apply/subset_leq_card.
  have [s [s0 sz rows cols]] := IH e' a' b' le_n' a'0 b'0 he'.
  exists (fun d y => s d y + (d == d0)%:R * ((y == y0)%:R * t)); split.
  - by move=> d y; rewrite addr_ge0 // mulr_ge0 ?ler0n // mulr_ge0 ?ler0n.
  - move=> d y yn; rewrite sz ?add0r; last by apply: contra yn; apply/subsetP.
    case: eqP => [dd|_]; last by rewrite mul0r.
    case: eqP => [yy|_]; last by rewrite mul0r mulr0.
    by rewrite dd yy ye in yn.
  - move=> d; rewrite big_split /= rows -mulr_sumr (sum_one predT) mul1r.
    by rewrite /a' subrK.
  - move=> y; rewrite big_split /= (sum_one predT) mul1r.
    by rewrite -ler_subr_addr; exact: cols.
have [PH0|nP] := boolP (P H0 && (slack H0 <= b y0)).
  case/andP: PH0 => PH0 le_b; have te : t = weight b H0 - inside e a H0.
    by rewrite /t (min_idPl le_b) /slack PH0.
  case/andP: PH0 => yH s; exists (split e H0); split; first exact: split_sub.
    by rewrite /split (negbTE s) inE yH.
  apply: hall_split => //; rewrite insE weiE yH (negbTE s) mul0r mul1r subr0 te.
  by rewrite opprB addrC subrK.
exists (drop e d0 y0); split; first exact: drop_sub.
  by rewrite /drop eqxx !inE eqxx.
apply: hall_drop => //; rewrite /a' /b' !eqxx !mul1r !subr_eq0.
case: (leP (slack H0) (b y0)) nP => [le_b|lt_b _].
  rewrite andbT => /negbTE nP; apply/orP; left; apply/eqP.
  by rewrite /t (min_idPl le_b) /slack nP.
by apply/orP; right; apply/eqP; rewrite /t; apply/esym/min_idPr/ltW.
Qed.

(* equal masses: the capacities are used up *)
Corollary marriage_exact e a b : (forall d, 0 <= a d) -> (forall y, 0 <= b y) ->
  \sum_d a d = \sum_y b y -> hall e a b ->
  exists s, shipment e a b s /\ forall y, \sum_d s d y = b y.
Proof.
move=> a0 b0 ab /(marriage a0 b0)[s ship]; exists s; split=> // y.
have [s0 _ rows cols] := ship.
have: \sum_y (b y - \sum_d s d y) == 0.
  rewrite sumrB subr_eq0 exchange_big /= -ab; apply/eqP.
  by apply: eq_bigr => d _; rewrite rows.
rewrite psumr_eq0 => [/allP/(_ y)|i _]; last by rewrite subr_ge0.
by rewrite mem_index_enum => /(_ isT) /=; rewrite subr_eq0 => /eqP ->.
Qed.

End Marriage.

(* ---- strong duality, for any law of the drafts on any finite type ---- *)
Section Strong.
Variables (R : realFieldType) (T D : finType) (mem_d : T -> D -> bool).
Variables (Qd : D -> R) (p : T -> R).
Hypotheses (dQ : is_dist Qd) (dp : is_dist p).

Lemma sum_option (F : option T -> R) : \sum_o F o = F None + \sum_y F (Some y).
Proof.
rewrite (bigD1 None) //=; congr (_ + _).
rewrite (reindex_omap Some id) => [|[y|]] //=.
by apply: eq_bigl => y; rewrite eqxx.
Qed.

Definition tokens d := [set y | mem_d y d].
Definition loss H := inside tokens Qd H - weight p H.

Lemma all_in_tokens H d : all_in mem_d H d = (tokens d \subset H).
Proof.
apply/forallP/subsetP => h y; first by rewrite inE => yd; have := h y; rewrite yd.
by apply/implyP => yd; apply: h; rewrite inE.
Qed.

Lemma lossE H : mass p H + 1 - draft_mass Qd (all_in mem_d H) = 1 - loss H.
Proof.
have -> : draft_mass Qd (all_in mem_d H) = inside tokens Qd H.
  by apply: eq_bigl => d; exact: all_in_tokens.
by rewrite /loss /weight /mass; ring.
Qed.

Theorem strong_duality : exists (pi : D -> T -> R) (H : {set T}),
  kcoupling Qd p pi /\ acceptance mem_d pi = mass p H + 1 - draft_mass Qd (all_in mem_d H).
Proof.
case: (@Order.TotalTheory.arg_maxP _ _ _ set0 predT loss isT) => H0 _ most.
pose l := loss H0.
have l0 : 0 <= l.
  apply: le_trans (most set0 isT); rewrite /loss /weight big_set0 subr0.
  by apply: sumr_ge0 => d _; exact: dist_ge0.
(* one more token, a draft of every row, takes what the others cannot *)
pose e d : {set option T} := None |: (Some @: tokens d).
pose b (o : option T) := if o is Some y then p y else l.
have h : hall e Qd b.
  move=> H; pose H1 := [set y | Some y \in H].
  have wE : weight b H = (None \in H)%:R * l + weight p H1.
    rewrite /weight big_mkcond sum_option /=; congr (_ + _).
      by case: ifP; rewrite ?mul1r ?mul0r.
    by rewrite [RHS]big_mkcond /=; apply: eq_bigr => y _; rewrite inE.
  have iE d : (e d \subset H) = (None \in H) && (tokens d \subset H1).
    rewrite /e subUset sub1set; congr (_ && _); apply/subsetP/subsetP => k y.
      by move=> yd; rewrite inE; apply: k; exact: imset_f.
    by case/imsetP => z zd ->; have := k z zd; rewrite inE.
  rewrite wE insideE; case: (boolP (None \in H)) => nH.
    have : loss H1 <= l := most H1 isT; rewrite /loss ler_subl_addr mul1r => k.
    apply: le_trans k; rewrite insideE; apply: ler_sum => d _.
    by rewrite iE nH.
  rewrite big1 => [|d _]; last by rewrite iE (negbTE nH).
  by rewrite mul0r add0r; apply: sumr_ge0 => y _; exact: dist_ge0.
have b0 o : 0 <= b o by case: o => //= y; exact: dist_ge0.
have [s [s0 sz rows cols]] := marriage (dist_ge0 dQ) b0 h.
pose z := \sum_d s d None.
pose left y := p y - \sum_d s d (Some y).
have left0 y : 0 <= left y by rewrite subr_ge0; exact: (cols (Some y)).
have sumS : \sum_d \sum_y s d (Some y) = 1 - z.
  rewrite /z -(dist_sum dQ) -sumrB; apply: eq_bigr => d _.
  by rewrite -rows sum_option addrAC subrr add0r.
have sum_left : \sum_y left y = z.
  by rewrite sumrB (dist_sum dp) exchange_big /= sumS opprB addrC subrK.
pose r y := if z == 0 then p y else left y / z.
have sum_r : \sum_y r y = 1.
  rewrite /r; case: eqP => [_|/eqP zn]; first exact: dist_sum.
  by rewrite -mulr_suml sum_left divff.
have zr y : z * r y = left y.
  rewrite /r; case: eqP => [z0|/eqP zn]; last by rewrite mulrCA divff ?mulr1.
  have: \sum_y left y == 0 by rewrite sum_left z0.
  rewrite psumr_eq0 // => /allP/(_ y); rewrite mem_index_enum => /(_ isT) /eqP ->.
  by rewrite z0 mul0r.
have r0 y : 0 <= r y.
  rewrite /r; case: eqP => [_|_]; first exact: dist_ge0.
  by apply: divr_ge0 => //; apply: sumr_ge0.
pose pi d y := s d (Some y) + s d None * r y.
have cpl : kcoupling Qd p pi.
  split=> [d y|d|y]; first by rewrite addr_ge0 // mulr_ge0.
    by rewrite big_split /= -mulr_sumr sum_r mulr1 -rows sum_option addrC.
  by rewrite big_split /= -mulr_suml -/z zr /left addrC subrK.
exists pi, H0; split=> //; apply/le_anti/andP; split.
  by apply: weak_duality' => //; exact: dist_sum.
rewrite lossE; apply: le_trans (_ : 1 - z <= _).
  by rewrite ler_add2l ler_opp2; exact: (cols None).
rewrite -sumS; apply: ler_sum => d _; rewrite [X in _ <= X]big_mkcond /=.
apply: ler_sum => y _; case: ifP => [yd|/negbT yd].
  by rewrite /pi ler_addl mulr_ge0.
rewrite sz // /e !inE /=; apply/negP => /imsetP[x xd [xy]].
by move: xd; rewrite -xy inE (negbTE yd).
Qed.

End Strong.
