(* Block verification never yields fewer tokens per iteration, in expectation,
   than token-by-token verification. *)
Require Import prelude prob rejection recursive loop block tokenwise.

Section Dominance.
Variables (R : realFieldType) (T : finType).
Notation model := (seq T -> T -> R).
Variables (p q : model).
Hypotheses (dp : is_model p) (dq : is_model q).

(* sum over prefixes of the drafted block of the running weight *)
Fixpoint weight_sum g w c : R :=
  if g is g'.+1 then w + \sum_x q c x * weight_sum g' (next_w p q w c x) (x :: c)
  else w.

Definition osize (v : R) (o : option (seq T)) : R :=
  if o is Some ys then (size ys)%:R else v.

Lemma drafted_size g w c v : 0 <= w <= 1 ->
  E (drafted p q g w c) (osize v) = weight_sum g w c + (1 - w) * v.
Proof.
elim: g w c v => [|g IH] w c v w01.
  rewrite /drafted /=; congr (_ + _).
  by under eq_bigr do rewrite mulr1; rewrite (dist_sum (dp c)) mulr1.
have /andP[w0 w1] := w01.
have bd : \sum_y bres p q w c y = 1.
  rewrite /bres; have [z|z] := eqVneq (rmass p q w c) 0; first exact: (dist_sum (dp c)).
  by rewrite -mulr_suml -/(rmass p q w c) divff.
rewrite draftedS.
pose h := hprob p q w c.
have step x : E (drafted p q g (next_w p q w c x) (x :: c)) (fun o =>
    E (if o is Some ys then Ret (Some (x :: ys))
       else Flip (hprob p q w c)
             (Draw (bres p q w c) (fun y => Ret (Some [:: y])))
             (Ret None)) (osize v)) =
    weight_sum g (next_w p q w c x) (x :: c) + next_w p q w c x
      + (1 - next_w p q w c x) * (h + (1 - h) * v).
  pose w' := next_w p q w c x; pose v1 := h + (1 - h) * v.
  have w'01 : 0 <= w' <= 1 by exact: next_w01.
  transitivity (E (drafted p q g w' (x :: c)) (fun o => 1 + osize (v1 - 1) o)).
    apply: E_ext => -[ys|] /=; first by rewrite -add1n natrD.
    under eq_bigr do rewrite mulr1.
    by rewrite bd mulr1 /v1 -/h; ring.
  have E1 : E (drafted p q g w' (x :: c)) (fun=> 1) = 1.
    transitivity (E (drafted p q g w' (x :: c)) (value p 0 (x :: c) (fun=> 1) 1)).
      by apply: E_ext => -[ys|].
    by rewrite (drafted_value dp dq) //=; ring.
  rewrite E_add E1 IH // /w' /v1; ring.
have mix (a b u v' : R) : a * (b + u + (1 - u) * v') = a * b + a * u + (a - a * u) * v' by ring.
under eq_bigr => x _ do rewrite step mix (next_wE dp dq) //.
rewrite !big_split /=.
rewrite -mulr_suml sumrB (dist_sum (dq c)).
have -> : \sum_x Num.min (w * p c x) (q c x) = olap p q w c by [].
have e1 := hprobE q dp c w01; have e2 := rmassE q dp w c.
rewrite -/h in e1; move: e1; rewrite e2; clear step bd.
move: (olap p q w c) (\sum_i _) h => o W h' e1.
have -> : (1 - o) * (h' + (1 - h') * v) = (1 - o) * h' + (1 - o - (1 - o) * h') * v by ring.
by rewrite e1; ring.
Qed.

Theorem block_length g c :
  E (block p q g c) (fun ys => (size ys)%:R) = weight_sum g 1 c.
Proof.
transitivity (E (drafted p q g 1 c) (osize 1)); last first.
  by rewrite drafted_size ?ler01 ?lexx // subrr mul0r addr0.
rewrite !E_bind; apply: E_ext => ds; rewrite E_bind; apply: E_ext => -[//|] /=.
under eq_bigr do rewrite mulr1.
rewrite /bres; have [z|z] := eqVneq (rmass p q 1 c) 0; first exact: (dist_sum (dp c)).
by rewrite -mulr_suml -/(rmass p q 1 c) divff.
Qed.

(* more weight, more tokens; and clipping later beats clipping at each step *)
Lemma token_le_weight g w c : 0 <= w <= 1 ->
  w * E (token_block p q g c) (fun ys => (size ys)%:R) <= weight_sum g w c.
Proof.
elim: g w c => [|g IH] w c w01.
  rewrite /token_block /=; under eq_bigr do rewrite mulr1.
  by rewrite (dist_sum (dp c)) mulr1.
have /andP[w0 w1] := w01.
rewrite token_blockS //=.
have len x : E (token_block p q g (x :: c)) (fun ys => (size (x :: ys))%:R) =
    1 + E (token_block p q g (x :: c)) (fun ys => (size ys)%:R).
  have -> : E (token_block p q g (x :: c)) (fun ys => (size (x :: ys))%:R) =
            E (token_block p q g (x :: c)) (fun ys => 1 + (size ys)%:R).
    by apply: E_ext => ys /=; rewrite -add1n natrD.
  by rewrite E_add E_const //; exact: token_block_wf.
under eq_bigr do rewrite len mulrDr mulr1.
rewrite big_split /= -/(overlap (p c) (q c)).
under [X in (1 - _) * X]eq_bigr do rewrite mulr1.
rewrite (dist_sum (residual_dist _ (dp c))) mulr1.
set S := \sum_x _ * _; have -> : overlap (p c) (q c) + S + (1 - overlap (p c) (q c)) = 1 + S by ring.
rewrite mulrDr mulr1 ler_add2l /S mulr_sumr; apply: ler_sum => x _.
have L0 : 0 <= E (token_block p q g (x :: c)) (fun ys => (size ys)%:R).
  by apply: E_ge0 => [|ys]; [exact: token_block_wf | exact: ler0n].
apply: le_trans (ler_wpmul2l (dist_ge0 (dq c) x) (IH (next_w p q w c x) (x :: c) (next_w01 dp dq c x w0))).
rewrite !mulrA (next_wE dp dq) //; apply: ler_wpmul2r => //.
rewrite minr_pmulr // le_minr !le_minl lexx /= orbC.
by rewrite ler_pimull // ?(dist_ge0 (dq c)).
Qed.

Theorem block_dominates g c :
  E (token_block p q g c) (fun ys => (size ys)%:R) <=
  E (block p q g c) (fun ys => (size ys)%:R).
Proof.
rewrite block_length -[X in X <= _]mul1r; apply: token_le_weight.
by rewrite ler01 lexx.
Qed.

End Dominance.
