(* What the statements say: every headline theorem with what it assumes beyond its hypotheses, which is nothing; then the
   notions that they are stated in.  The rules themselves are compared with the Python by the oracle. *)
From mathcomp Require Import all_ssreflect all_algebra.
Require Import prob rejection spechub recursive acceptance duality iid optimal winner labels spans loop block tokenwise survival traversal tree
  dominance block_optimal text_bound kseq lifted robust price replaced prefix target_only wellformed rationals.
Set Printing Width 100.
Check E_const.
Print Assumptions E_const.
Check samples_law.
Print Assumptions samples_law.
Check law_samples.
Print Assumptions law_samples.
Check overlap_tv.
Print Assumptions overlap_tv.
Check spec_lossless.
Print Assumptions spec_lossless.
Check spec_law.
Print Assumptions spec_law.
Check spec_acceptance.
Print Assumptions spec_acceptance.
Check spec_is_coupling.
Print Assumptions spec_is_coupling.
Check coupling_bound.
Print Assumptions coupling_bound.
Check spec_maximal.
Print Assumptions spec_maximal.
Check given.
Print Assumptions given.
Check spechub_lossless.
Print Assumptions spechub_lossless.
Check first_second.
Print Assumptions first_second.
Check hub_pairs_dist.
Print Assumptions hub_pairs_dist.
Check hub_pairs_first.
Print Assumptions hub_pairs_first.
Check spechub_acceptance.
Print Assumptions spechub_acceptance.
Check spechub_optimal.
Print Assumptions spechub_optimal.
Check rrs_lossless.
Print Assumptions rrs_lossless.
Check rrs_with_replacement.
Print Assumptions rrs_with_replacement.
Check rrs_without_replacement.
Print Assumptions rrs_without_replacement.
Check rrs_acceptance.
Print Assumptions rrs_acceptance.
Check rrs_hit.
Print Assumptions rrs_hit.
Check recursive_acceptance.
Print Assumptions recursive_acceptance.
Check naive_lossless.
Print Assumptions naive_lossless.
Check naive_acceptance.
Print Assumptions naive_acceptance.
Check greedy_bias.
Print Assumptions greedy_bias.
Check greedy_acceptance.
Print Assumptions greedy_acceptance.
Check weak_duality'.
Print Assumptions weak_duality'.
Check marriage.
Print Assumptions marriage.
Check marriage_exact.
Print Assumptions marriage_exact.
Check strong_duality.
Print Assumptions strong_duality.
Check prefix_optimal.
Print Assumptions prefix_optimal.
Check below_prefix.
Print Assumptions below_prefix.
Check convex_power.
Print Assumptions convex_power.
Check iid_dist.
Print Assumptions iid_dist.
Check iid_inside.
Print Assumptions iid_inside.
Check clipped_acceptance.
Print Assumptions clipped_acceptance.
Check clipped_feasible.
Print Assumptions clipped_feasible.
Check optimal_rule.
Print Assumptions optimal_rule.
Check iid_optimum.
Print Assumptions iid_optimum.
Check slopeE.
Print Assumptions slopeE.
Check race_law.
Print Assumptions race_law.
Check labels_select.
Print Assumptions labels_select.
Check label_law_dist.
Print Assumptions label_law_dist.
Check labels_lossless.
Print Assumptions labels_lossless.
Check labels_acceptance.
Print Assumptions labels_acceptance.
Check move_mean.
Print Assumptions move_mean.
Check spans_labels.
Print Assumptions spans_labels.
Check spans_select.
Print Assumptions spans_select.
Check spans_lossless.
Print Assumptions spans_lossless.
Check spans_acceptance.
Print Assumptions spans_acceptance.
Check winner_lossless.
Print Assumptions winner_lossless.
Check winner_acceptance.
Print Assumptions winner_acceptance.
Check greedy_draft_acceptance.
Print Assumptions greedy_draft_acceptance.
Check greedy_draft_certificate.
Print Assumptions greedy_draft_certificate.
Check greedy_draft_optimal.
Print Assumptions greedy_draft_optimal.
Check ar_law.
Print Assumptions ar_law.
Check decode_lossless.
Print Assumptions decode_lossless.
Check chain_lossless.
Print Assumptions chain_lossless.
Check tree_decode_law.
Print Assumptions tree_decode_law.
Check block_lossless.
Print Assumptions block_lossless.
Check block_decode_law.
Print Assumptions block_decode_law.
Check token_lossless.
Print Assumptions token_lossless.
Check token_decode_lossless.
Print Assumptions token_decode_lossless.
Check token_length.
Print Assumptions token_length.
Check token_survival.
Print Assumptions token_survival.
Check block_survival.
Print Assumptions block_survival.
Check survival_lowest.
Print Assumptions survival_lowest.
Check grown_value.
Print Assumptions grown_value.
Check walk_lossless.
Print Assumptions walk_lossless.
Check walk_decode.
Print Assumptions walk_decode.
Check block_dominates.
Print Assumptions block_dominates.
Check kept_bound.
Print Assumptions kept_bound.
Check block_optimal.
Print Assumptions block_optimal.
Check kept_text_bound.
Print Assumptions kept_text_bound.
Check length_bound.
Print Assumptions length_bound.
Check kseq_lossless.
Print Assumptions kseq_lossless.
Check kseq_acceptance.
Print Assumptions kseq_acceptance.
Check kseq_hit.
Print Assumptions kseq_hit.
Check kseq_approx.
Print Assumptions kseq_approx.
Check tv_test.
Print Assumptions tv_test.
Check robust_draws.
Print Assumptions robust_draws.
Check robust_block.
Print Assumptions robust_block.
Check robust_rejection.
Print Assumptions robust_rejection.
Check tv_attained.
Print Assumptions tv_attained.
Check biased_bound.
Print Assumptions biased_bound.
Check robust_kernel.
Print Assumptions robust_kernel.
Check price_bound.
Print Assumptions price_bound.
Check price_line.
Print Assumptions price_line.
Check price_residual.
Print Assumptions price_residual.
Check price_lenience.
Print Assumptions price_lenience.
Check price_judge.
Print Assumptions price_judge.
Check price_lantern.
Print Assumptions price_lantern.
Check replaced_bias.
Print Assumptions replaced_bias.
Check typical_output.
Print Assumptions typical_output.
Check typical_bias.
Print Assumptions typical_bias.
Check typical_hits.
Print Assumptions typical_hits.
Check typical_one_hot.
Print Assumptions typical_one_hot.
Check lumina_output.
Print Assumptions lumina_output.
Check lumina_bias.
Print Assumptions lumina_bias.
Check lumina_one_hot.
Print Assumptions lumina_one_hot.
Check lumina_quarter.
Print Assumptions lumina_quarter.
Check prefix_attains.
Print Assumptions prefix_attains.
Check prefix_enough.
Print Assumptions prefix_enough.
Check lantern_hit.
Print Assumptions lantern_hit.
Check lift_value.
Print Assumptions lift_value.
Check lifted_lossless.
Print Assumptions lifted_lossless.
Check lifted_decode.
Print Assumptions lifted_decode.
Check step_fits.
Print Assumptions step_fits.
Check recursive_fits.
Print Assumptions recursive_fits.
Check one_child.
Print Assumptions one_child.
Check visit_value.
Print Assumptions visit_value.
Check traversal_lossless.
Print Assumptions traversal_lossless.
Check traversal_decode.
Print Assumptions traversal_decode.
Check target_only_lossless.
Print Assumptions target_only_lossless.
Check target_only_decode.
Print Assumptions target_only_decode.
Check target_only_length.
Print Assumptions target_only_length.
Check greedy_decode.
Print Assumptions greedy_decode.
Check block_wf.
Print Assumptions block_wf.
Check kseq_wf.
Print Assumptions kseq_wf.
Check Qc_realFieldType.
Print Assumptions Qc_realFieldType.
Print is_dist.
Print overlap.
Print tv.
Print prob.prog.
Print bind.
Print E.
Print wf.
Print outputs.
Print law.
Print samples.
Print coupling.
Print first.
Print second.
Print without_a.
Print hub_pairs.
Print in_pair.
Print hub_value.
Print hub_hit.
Print kcoupling.
Print acceptance.
Print mass.
Print draft_mass.
Print duality.all_in.
Print inside.
Print weight.
Print hall.
Print shipment.
Print duality.tokens.
Print convex.
Print below.
Print iid.value.
Print iid.
Print drawn.
Print spans.all_in.
Print selects.
Print is_model.
Print ar.
Print word_prob.
Print completes.
Print decode.
Print step_lossless.
Print continued.
Print survival.kept.
Print keeps.
Print block_optimal.kept.
Print played.
Print text.
Print text_lossless.
Print keeps_text.
Print kept_text.
Print scaled.
Print is_kernel.
Print leaves.
Print tree.expand.
Print fits.
Print grown.
Print law_at.
Print snoc.
Print traversal.expand.
Print traversal.grown.
Print excess.
Print residual.
Print accept_prob.
Print price.output.
Print hits.
Print relaxed.
Print judged.
Print raised.
Print moved.
Print lantern.
Print replaced.
Print half.
Print gains_grow.
Print least.
Print is_prefix.
