(* The law found by forking is the law of the sampler under every measure that gives boxes of the cube their volume, and
   single values of a uniform none.  It need be finitely additive only, so nothing here uses real analysis. *)
Require Import prelude forking.

Section Law.
Variables (R : realFieldType) (I : finType) (Z : eqType).
Notation point := (I -> R).
Notation box := (I -> R * R).
Notation sampler := (sampler R I Z).

Definition in_box (x : box) (u : point) := [forall i, ((x i).1 <= u i) && (u i < (x i).2)].

(* the law of independent uniforms, on the sets that are events, as far as it is used: it is finitely additive, boxes in
   [0, 1) with ends in P have their volume, single values have none; the Lebesgue measure is one, for every P *)
Record product_of_uniforms (P : R -> Prop) (event : (point -> bool) -> Prop) (mu : (point -> bool) -> R) : Prop :=
  Uniforms {
  event_none : event (fun=> false);
  event_same : forall X Y, X =1 Y -> event X -> event Y /\ mu X = mu Y;
  event_below : forall i t, P t -> event (fun u => u i < t);
  event_not : forall X, event X -> event (fun u => ~~ X u);
  event_both : forall X Y, event X -> event Y -> event (fun u => X u && Y u);
  mu_ge0 : forall X, event X -> 0 <= mu X;
  mu_add : forall X Y, event X -> event Y -> (forall u, ~~ (X u && Y u)) -> mu (fun u => X u || Y u) = mu X + mu Y;
  mu_box : forall x, (forall i, [/\ P (x i).1, P (x i).2, 0 <= (x i).1, (x i).1 < (x i).2 & (x i).2 <= 1]) ->
    mu (in_box x) = volume x;
  mu_value : forall i t, P t -> event (fun u => u i == t) /\ mu (fun u => u i == t) = 0 }.

Variables (P : R -> Prop) (event : (point -> bool) -> Prop) (mu : (point -> bool) -> R).
Hypotheses (P0 : P 0) (P1 : P 1) (U : product_of_uniforms P event mu).

Lemma event_const a : event (fun=> a).
Proof. by case: a; [exact: (event_not U (X := fun=> false) (event_none U)) | exact: (event_none U)]. Qed.

Lemma event_if X Y Y' : event X -> event Y -> event Y' -> event (fun u => if X u then Y u else Y' u).
Proof.
move=> eX eY eY'.
have yes := event_not U (event_both U eX eY); have no := event_not U (event_both U (event_not U eX) eY').
by apply: (proj1 (event_same U _ (event_not U (event_both U yes no)))) => u; case: (X u); case: (Y u); case: (Y' u).
Qed.

Lemma mu_false : mu (fun=> false) = 0.
Proof.
have := mu_add U (event_none U) (event_none U) (fun=> isT).
have [_ ->] := event_same U (Y := fun=> false) (fun=> erefl) (event_none U).
by move=> e; apply: (addrI (mu (fun=> false))); rewrite addr0.
Qed.

Lemma mu_split X Y : event X -> event Y -> mu X = mu (fun u => X u && Y u) + mu (fun u => X u && ~~ Y u).
Proof.
move=> eX eY; rewrite -(mu_add U (event_both U eX eY) (event_both U eX (event_not U eY))).
  by apply: (proj2 (event_same U _ eX)) => u; case: (X u); case: (Y u).
by move=> u; case: (X u); case: (Y u).
Qed.

(* events that differ only where one uniform has one value *)
Lemma mu_almost i t X Y : P t -> event X -> event Y -> (forall u, u i != t -> X u = Y u) -> mu X = mu Y.
Proof.
move=> Pt eX eY off; have [ev v0] := mu_value U i Pt.
have none W : event W -> mu (fun u => W u && (u i == t)) = 0.
  move=> eW; have e1 := event_both U eW ev; have e2 := event_both U ev (event_not U eW).
  apply/le_anti; rewrite (mu_ge0 U e1) andbT -v0 (mu_split ev eW).
  rewrite (proj2 (event_same U (fun u => andbC (u i == t) (W u)) (event_both U ev eW))).
  by rewrite ler_addl (mu_ge0 U e2).
rewrite (mu_split eX ev) (mu_split eY ev) !none // !add0r.
apply: (proj2 (event_same U _ (event_both U eX (event_not U ev)))).
by move=> u; case: (boolP (u i == t)) => [|/off ->]; rewrite ?andbF ?andbT.
Qed.

Lemma event_box x : (forall i, P (x i).1 /\ P (x i).2) -> event (in_box x).
Proof.
move=> Px; pose f (s : seq I) u := all (fun i => ((x i).1 <= u i) && (u i < (x i).2)) s.
have e s : event (f s).
  elim: s => [|i s IH]; first exact: event_const.
  have [lo hi] := Px i; have e1 : event (fun u => (x i).1 <= u i).
    by apply: (proj1 (event_same U _ (event_not U (event_below U i lo)))) => u; rewrite leNgt.
  exact (event_both U (event_both U e1 (event_below U i hi)) IH).
apply: (proj1 (event_same U _ (e (enum I)))) => u; apply/allP/forallP => h i; last by [].
by apply: h; rewrite mem_enum.
Qed.

Lemma event_passes strict i c b : 0 <= c -> (c != 0 -> P (b / c)) -> event (fun u => passes strict c b (u i)).
Proof.
rewrite le_eqVlt eq_sym => /predU1P[->|c0] Pb.
  by apply: (proj1 (event_same U _ (event_const (passes strict 0 b 0)))) => u; rewrite /passes !mul0r.
have {}Pb := Pb (lt0r_neq0 c0); have lt := event_below U i Pb.
case: strict; first by apply: (proj1 (event_same U _ lt)) => u; rewrite ltr_pdivl_mulr // mulrC.
have [eq _] := mu_value U i Pb.
apply: (proj1 (event_same U _ (event_if lt (event_const true) eq))) => u.
by rewrite /passes [c * _]mulrC -ler_pdivl_mulr // [RHS]le_eqVlt; case: ltP; rewrite ?orbT ?orbF.
Qed.

Lemma event_run (t : sampler) z : scales_ge0 t -> cuts_in P t -> event (fun u => run t u == z).
Proof.
elim: t => [z'|strict i c b yes IHy no IHn] /=; first by move=> _ _; exact: event_const.
move=> /and3P[c0 sy sn] [Pb cy cn].
apply: (proj1 (event_same U _ (event_if (event_passes strict i c0 Pb) (IHy sy cy) (IHn sn cn)))) => u.
by case: passes.
Qed.

(* what a test says where the cell decides, but for the cut *)
Lemma decided strict (c b : R) cell a x : 0 <= c -> decide strict c b cell = Some a ->
  cell.1 <= x < cell.2 -> (c != 0 -> x != b / c) -> passes strict c b x = a.
Proof.
move=> c0; rewrite /decide /passes; case: eqP => [-> [<-] _ _|/eqP cn]; first by rewrite mul0r.
have cp : 0 < c by rewrite lt_neqAle eq_sym cn.
have e : passes strict c b x = if strict then x < b / c else x <= b / c.
  by rewrite /passes ltr_pdivl_mulr // ler_pdivl_mulr // mulrC.
rewrite -/(passes strict c b x) e => d /andP[lo hi] /(_ isT) ne.
have [le|gt] := leP (b / c) cell.1; rewrite ?le in d.
  case: d => <-; have := le_trans le lo; rewrite le_eqVlt eq_sym (negbTE ne) /= => lt.
  by rewrite leNgt lt ltNge (ltW lt) if_same.
move: d; rewrite leNgt gt /=; case: ltP => // le [<-].
by rewrite (lt_le_trans hi le) (ltW (lt_le_trans hi le)) if_same.
Qed.

Lemma in_put x i lo hi u : (x i).1 <= lo -> hi <= (x i).2 ->
  in_box (put x i (lo, hi)) u = in_box x u && ((lo <= u i) && (u i < hi)).
Proof.
move=> l h; apply/forallP/andP => [inp|[/forallP inx /andP[a c]] j].
  have := inp i; rewrite put_same /= => /andP[a c]; split; last by rewrite a c.
  apply/forallP => j; have [->|ji] := eqVneq j i; first by rewrite (le_trans l a) (lt_le_trans c h).
  by have := inp j; rewrite /put (negbTE ji).
by rewrite /put; have [->|_] := eqVneq j i; [rewrite /= a c | exact: inx].
Qed.

Lemma leaves_law (t : sampler) z x : scales_ge0 t -> cuts_in P t ->
  (forall i, [/\ P (x i).1, P (x i).2, 0 <= (x i).1, (x i).1 < (x i).2 & (x i).2 <= 1]) ->
  mu (fun u => in_box x u && (run t u == z)) = \sum_(r <- leaves t x | r.1 == z) volume r.2.
Proof.
have ebox y : (forall i, [/\ P (y i).1, P (y i).2, 0 <= (y i).1, (y i).1 < (y i).2 & (y i).2 <= 1]) -> event (in_box y).
  by move=> g; apply: event_box => i; have [] := g i.
elim: t x => [z'|strict i c b yes IHy no IHn] x.
  move=> _ _ good /=; rewrite big_mkcond big_seq1; have eb := ebox x good; case: eqP => _.
    rewrite -(mu_box U good); apply/esym; apply: (proj2 (event_same U _ eb)) => u; by rewrite andbT.
  by rewrite -mu_false; apply/esym; apply: (proj2 (event_same U _ (event_none U))) => u; rewrite andbF.
move=> st ct good; have [/= /and3P[c0 sy sn] [Pb cy cn]] := (st, ct).
have eb := ebox x good; have er := event_run z st ct.
have e : event (fun u => in_box x u && (run (Test strict i c b yes no) u == z)) := event_both U eb er.
have sub (s : sampler) y : scales_ge0 s -> cuts_in P s ->
    (forall i, [/\ P (y i).1, P (y i).2, 0 <= (y i).1, (y i).1 < (y i).2 & (y i).2 <= 1]) ->
    event (fun u => in_box y u && (run s u == z)).
  by move=> ss cs gy; exact (event_both U (ebox _ gy) (event_run z ss cs)).
case d: (decide strict c b (x i)) => [a|].
(* the cell decides *)
  have -> : mu (fun u => in_box x u && (run (Test strict i c b yes no) u == z)) =
      mu (fun u => in_box x u && (run (if a then yes else no) u == z)).
    have es : event (fun u => in_box x u && (run (if a then yes else no) u == z)) by case: (a); exact: sub.
    have agree u : (c != 0 -> u i != b / c) -> in_box x u && (run (Test strict i c b yes no) u == z) =
        in_box x u && (run (if a then yes else no) u == z).
      move=> ne; case: (boolP (in_box x u)) => //= /forallP/(_ i) iu.
      by rewrite /= (decided c0 d iu ne); case: (a).
    have [cz|cn0] := eqVneq c 0; last by exact (mu_almost (Pb cn0) e es (fun u ne => agree u (fun=> ne))).
    by apply: (proj2 (event_same U _ e)) => u; apply: agree; rewrite cz eqxx.
  by case: (a); [exact: IHy | exact: IHn].
(* it is split *)
have [cn0 lo hi] := split_between d; have {}Pb := Pb cn0; have [Pl Ph l0 _ h1] := good i.
have cp : 0 < c by rewrite lt_neqAle eq_sym cn0.
have gl j : [/\ P (put x i ((x i).1, b / c) j).1, P (put x i ((x i).1, b / c) j).2, 0 <= (put x i ((x i).1, b / c) j).1,
    (put x i ((x i).1, b / c) j).1 < (put x i ((x i).1, b / c) j).2 & (put x i ((x i).1, b / c) j).2 <= 1].
  by rewrite /put; case: eqP => [_|_ //]; split=> //=; exact: le_trans (ltW hi) h1.
have gh j : [/\ P (put x i (b / c, (x i).2) j).1, P (put x i (b / c, (x i).2) j).2, 0 <= (put x i (b / c, (x i).2) j).1,
    (put x i (b / c, (x i).2) j).1 < (put x i (b / c, (x i).2) j).2 & (put x i (b / c, (x i).2) j).2 <= 1].
  by rewrite /put; case: eqP => [_|_ //]; split=> //=; exact: le_trans l0 (ltW lo).
rewrite big_cat /= -IHy // -IHn // (mu_split e (event_below U i Pb)); congr (_ + _).
  have e1 := event_both U e (event_below U i Pb).
  apply: (proj2 (event_same U _ e1)) => u; rewrite in_put ?(ltW hi) // -!andbA.
  case: (boolP (in_box x u)) => //= /forallP/(_ i)/andP[-> _] /=; rewrite andbC.
  case: ltP => //= lt; rewrite (_ : passes strict c b (u i)) //; rewrite ltr_pdivl_mulr // mulrC in lt.
  by rewrite /passes; case: (strict) => //; exact: ltW.
apply: (mu_almost (i := i) Pb) => [||u ne].
- exact (event_both U e (event_not U (event_below U i Pb))).
- exact: sub.
rewrite in_put ?(ltW lo) // -!andbA; case: (boolP (in_box x u)) => //= /forallP/(_ i)/andP[_ ->] /=.
rewrite andbC -leNgt; case: leP => //= le; rewrite (_ : passes strict c b (u i) = false) //.
have {le ne} lt : b / c < u i by rewrite lt_neqAle eq_sym ne.
rewrite ltr_pdivr_mulr // mulrC in lt.
by rewrite /passes; case: (strict); [rewrite ltNge (ltW lt) | rewrite leNgt lt].
Qed.

(* the theorem *)
Theorem forking_exact (t : sampler) z : scales_ge0 t -> cuts_in P t ->
  mu (fun u => in_box (@whole R I) u && (run t u == z)) = forked_law t z.
Proof.
move=> st ct; rewrite forked_lawE; apply: leaves_law => // i.
by split; rewrite //= ?lexx ?ltr01.
Qed.

End Law.
