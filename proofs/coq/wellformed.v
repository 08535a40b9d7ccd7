(* The block and K-SEQ programs only ever use genuine distributions. *)
Require Import prelude prob rejection recursive loop block tokenwise kseq.

Section WfBlock.
Variables (R : realFieldType) (T : finType).
Variables (p q : seq T -> T -> R).
Hypotheses (dp : is_model p) (dq : is_model q).

Lemma bres_dist w c : is_dist (bres p q w c).
Proof.
rewrite /bres; have [z|z] := eqVneq (rmass p q w c) 0; first exact: dp.
split=> [x|]; last by rewrite -mulr_suml -/(rmass p q w c) divff.
by apply: divr_ge0; [exact: excess_ge0 | exact: rmass_ge0].
Qed.

Lemma hprob01 w c : 0 <= w <= 1 -> 0 <= hprob p q w c <= 1.
Proof.
move=> /andP[w0 w1]; rewrite /hprob; case: eqP => [_|/eqP z]; first by rewrite ler01 lexx.
have r0 := rmass_ge0 p q w c; have w1' : 0 <= 1 - w by rewrite subr_ge0.
have s0 : 0 < rmass p q w c + (1 - w) by rewrite lt_neqAle eq_sym z addr_ge0.
by rewrite divr_ge0 ?(ltW s0) //= ler_pdivr_mulr // mul1r ler_addl.
Qed.

Lemma block_wf g c : wf (block p q g c).
Proof.
have bv ds w c' : 0 <= w <= 1 -> wf (bverify p q w c' ds).
  elim: ds w c' => [|d ds IH] w c' w01 /=; first by split=> //; split.
  have /andP[w0 _] := w01.
  apply: wf_bind => [|[ys|] //=]; first by apply/IH/next_w01.
  by split; [exact: hprob01 | split=> //; exact: bres_dist |].
apply: wf_bind => [|ds]; first exact: ar_wf.
apply: wf_bind => [|[ys|] //=]; last by split=> //; exact: bres_dist.
by apply: bv; rewrite ler01 lexx.
Qed.
End WfBlock.

Section WfKseq.
Variables (R : realFieldType) (T : finType) (p q : T -> R) (rho : R).
Hypotheses (dp : is_dist p) (dq : is_dist q) (rho0 : 0 < rho).
Lemma kseq_wf k : valid p q rho k -> wf (kseq p q rho k).
Proof.
move=> vk; apply: wf_bind => [|s]; first by apply: draft_list_wf => h.
elim: s => [|x s IH] /=; first by split=> //; exact: kres_dist.
split=> //; rewrite le_minl lexx /= andbT le_minr ler01 /=.
apply: divr_ge0; first exact: (dist_ge0 dp).
by apply: mulr_ge0; [exact: ltW | exact: (dist_ge0 dq)].
Qed.
End WfKseq.
