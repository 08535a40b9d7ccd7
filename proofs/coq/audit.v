(* What the statements say: every headline theorem; what they assume beyond their hypotheses, which is nothing; then the
   notions that they are stated in.  The rules themselves are compared with the Python by the oracle. *)
From mathcomp Require Import all_ssreflect all_algebra.
Require Import prob rejection spechub recursive acceptance coupling duality iid optimal winner labels span moves spans reached refused loop block words tokenwise survival traversal tree controller policy target_best stops dsi kseq_rho ratios dominance block_optimal text_bound greedy_block highest paths_bound flow_rule renewal kseq lifted robust price neighbours replaced prefix target_only wellformed rationals forced frontier accepts_more.
Require Import texts lossy_optimum frontier_met one_pass one_place one_pass_ceiling.
Require budget.
Set Printing Width 100.
Check E_const.
Check samples_law.
Check law_samples.
Check overlap_tv.
Check spec_lossless.
Check spec_law.
Check spec_acceptance.
Check spec_is_coupling.
Check coupling_bound.
Check spec_maximal.
Check given.
Check spechub_lossless.
Check first_second.
Check hub_pairs_dist.
Check hub_pairs_first.
Check spechub_acceptance.
Check spechub_optimal.
Check rrs_lossless.
Check rrs_with_replacement.
Check rrs_without_replacement.
Check rrs_acceptance.
Check rrs_hit.
Check recursive_acceptance.
Check naive_lossless.
Check naive_acceptance.
Check greedy_bias.
Check greedy_acceptance.
Check weak_duality'.
Check marriage.
Check marriage_exact.
Check strong_duality.
Check prefix_optimal.
Check below_prefix.
Check convex_power.
Check iid_dist.
Check iid_inside.
Check clipped_acceptance.
Check clipped_feasible.
Check optimal_rule.
Check iid_optimum.
Check slopeE.
Check race_law.
Check labels_select.
Check label_law_dist.
Check labels_lossless.
Check labels_acceptance.
Check move_mean.
Check spans_labels.
Check spans_select.
Check spans_lossless.
Check spans_acceptance.
Check draft_iff_kept.
Check spans_hit.
Check labels_rule_lossless.
Check winner_lossless.
Check winner_acceptance.
Check greedy_draft_acceptance.
Check greedy_draft_certificate.
Check greedy_draft_optimal.
Check ar_law.
Check decode_lossless.
Check chain_lossless.
Check tree_decode_law.
Check block_lossless.
Check block_decode_law.
Check token_lossless.
Check token_decode_lossless.
Check token_length.
Check token_survival.
Check block_survival.
Check survival_lowest.
Check grown_value.
Check walk_lossless.
Check walk_decode.
Check block_dominates.
Check kept_bound.
Check block_optimal.
Check kept_text_bound.
Check length_bound.
Check greedy_lossless.
Check greedy_block_text.
Check greedy_kept.
Check greedy_length.
Check highest_law.
Check highest_begins.
Check highest_one.
Check multipath_lossless.
Check multipath_decode.
Check kept_flow.
Check flow_bound.
Check prices_bound.
Check flow_lossless.
Check flow_kept.
Check token_block_law.
Check blocks_text.
Check blocks_law.
Check renewalE.
Check renewal_starts.
Check calls_given.
Check calls_mean.
Check kseq_lossless.
Check kseq_acceptance.
Check kseq_hit.
Check kseq_approx.
Check kseq_approx_below.
Check valid_k.
Check valid_ge1.
Check valid_up.
Check root_unique.
Check root_acceptance.
Check root_hit.
Check kseq_lossy.
Check kseq_lossless_if.
Check tv_test.
Check robust_draws.
Check robust_block.
Check robust_rejection.
Check tv_attained.
Check biased_bound.
Check robust_kernel.
Check price_bound.
Check price_line.
Check price_residual.
Check price_lenience.
Check price_judge.
Check price_lantern.
Check replaced_bias.
Check typical_output.
Check typical_bias.
Check typical_hits.
Check typical_one_hot.
Check lumina_output.
Check lumina_bias.
Check lumina_one_hot.
Check lumina_quarter.
Check prefix_attains.
Check prefix_enough.
Check lantern_hit.
Check lift_value.
Check lifted_lossless.
Check lifted_decode.
Check step_fits.
Check recursive_fits.
Check one_child.
Check visit_value.
Check traversal_lossless.
Check traversal_decode.
Check mean_time_bound.
Check mean_time_reached.
Check controller_bound.
Check fixed_length_time.
Check one_step_best.
Check one_step_speed.
Check same_law_falls.
Check convex_mixture.
Check mixed_inside.
Check idle_token.
Check shortest_prefix.
Check shortest_prefix_iid.
Check length_tv.
Check stop_lossless.
Check token_stop_lossless.
Check dsi_plain.
Check dsi_cycle.
Check target_only_lossless.
Check target_only_decode.
Check target_only_length.
Check target_only_survival.
Check target_only_best.
Check target_only_most.
Check greedy_decode.
Check block_wf.
Check kseq_wf.
Check balanced_least.
Check balanced_sum.
Check balanced_value.
Check tail_understated.
Check budget.budget_best.
Check budget.falling_priced.
Check budget.rising_loses.
Check budget.stops_stay.
Check budget.stop_best.
Check nearest.
Check nearest_tv.
Check nearest_square.
Check frontier_bound.
Check clipped_emitted.
Check clipped_accepted.
Check naive_below_recursive.
Check recursive_below_kseq.
Check two_without_replacement.
Check token_keeps.
Check token_drafts.
Check block_keeps.
Check block_drafts.
Check dearest_best.
Check dearest_exists.
Check place_best.
Check ceiling_bound.
Check ceiling_half.
Check ceiling_two.
Check ceiling_two_met.
Check lossy_tv_bound.
Check lossy_tv_met.
Check cap_level.
Check floor_level.
Check clip_levels.
Check frontier_met.
Check certificate.
Check certificate_tight.
Check lenience_no_closer.
Check Qc_realFieldType.
(* one term that needs them all: what it assumes is what any of them does *)
Definition headlines := (
  @E_const, @samples_law, @law_samples, @overlap_tv, @spec_lossless, @spec_law, @spec_acceptance, @spec_is_coupling,
  @coupling_bound, @spec_maximal, @given, @spechub_lossless, @first_second, @hub_pairs_dist, @hub_pairs_first,
  @spechub_acceptance, @spechub_optimal, @rrs_lossless, @rrs_with_replacement, @rrs_without_replacement,
  @rrs_acceptance, @rrs_hit, @recursive_acceptance, @naive_lossless, @naive_acceptance, @greedy_bias,
  @greedy_acceptance, @weak_duality', @marriage, @marriage_exact, @strong_duality, @prefix_optimal, @below_prefix,
  @convex_power, @iid_dist, @iid_inside, @clipped_acceptance, @clipped_feasible, @optimal_rule, @iid_optimum, @slopeE,
  @race_law, @labels_select, @label_law_dist, @labels_lossless, @labels_acceptance, @move_mean, @spans_labels,
  @spans_select, @spans_lossless, @spans_acceptance, @draft_iff_kept, @spans_hit, @labels_rule_lossless,
  @winner_lossless, @winner_acceptance, @greedy_draft_acceptance, @greedy_draft_certificate, @greedy_draft_optimal,
  @ar_law, @decode_lossless, @chain_lossless, @tree_decode_law, @block_lossless, @block_decode_law, @token_lossless,
  @token_decode_lossless, @token_length, @token_survival, @block_survival, @survival_lowest, @grown_value,
  @walk_lossless, @walk_decode, @block_dominates, @kept_bound, @block_optimal, @kept_text_bound, @length_bound,
  @greedy_lossless, @greedy_block_text, @greedy_kept, @greedy_length, @highest_law, @highest_begins, @highest_one,
  @multipath_lossless, @multipath_decode, @kept_flow, @flow_bound, @prices_bound, @flow_lossless, @flow_kept,
  @token_block_law, @blocks_text, @blocks_law, @renewalE, @renewal_starts, @calls_given, @calls_mean, @kseq_lossless,
  @kseq_acceptance, @kseq_hit, @kseq_approx, @kseq_approx_below, @valid_k, @valid_ge1, @valid_up, @root_unique,
  @root_acceptance, @root_hit, @kseq_lossy, @kseq_lossless_if, @tv_test, @robust_draws, @robust_block,
  @robust_rejection, @tv_attained, @biased_bound, @robust_kernel, @price_bound, @price_line, @price_residual,
  @price_lenience, @price_judge, @price_lantern, @replaced_bias, @typical_output, @typical_bias, @typical_hits,
  @typical_one_hot, @lumina_output, @lumina_bias, @lumina_one_hot, @lumina_quarter, @prefix_attains, @prefix_enough,
  @lantern_hit, @lift_value, @lifted_lossless, @lifted_decode, @step_fits, @recursive_fits, @one_child, @visit_value,
  @traversal_lossless, @traversal_decode, @mean_time_bound, @mean_time_reached, @controller_bound, @fixed_length_time,
  @one_step_best, @one_step_speed, @same_law_falls, @convex_mixture, @mixed_inside, @idle_token, @shortest_prefix,
  @shortest_prefix_iid, @length_tv, @stop_lossless, @token_stop_lossless, @dsi_plain, @dsi_cycle,
  @target_only_lossless, @target_only_decode, @target_only_length, @target_only_survival, @target_only_best,
  @target_only_most, @greedy_decode, @block_wf, @kseq_wf, @balanced_least, @balanced_sum, @balanced_value, @tail_understated,
  @budget.budget_best, @budget.falling_priced, @budget.rising_loses, @budget.stops_stay, @budget.stop_best, @nearest, @nearest_tv, @nearest_square, @frontier_bound, @clipped_emitted, @clipped_accepted,
  @naive_below_recursive, @recursive_below_kseq, @two_without_replacement,
  @token_keeps, @token_drafts, @block_keeps, @block_drafts, @dearest_best, @dearest_exists, @place_best,
  @ceiling_bound, @ceiling_half, @ceiling_two, @ceiling_two_met,
  @lossy_tv_bound, @lossy_tv_met, @cap_level, @floor_level, @clip_levels, @frontier_met, @certificate,
  @certificate_tight, @lenience_no_closer, @Qc_realFieldType).
Print Assumptions headlines.
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
Print coupling.all_in.
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
Print labelled.
Print best.
Print winning.
Print all_drafts.
Print labels_rule.
Print is_draft.
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
Print writing.
Print mean_time.
Print controlled.
Print policy.drafted.
Print policy.verified.
Print policy.all_kept.
Print block_tokens.
Print block_time.
Print is_policy.
Print policy.gain.
Print one_step.
Print mixture.
Print mixed.
Print mixed_drawn.
Print first_tokens.
Print toll.
Print level_mass.
Print in_tree.
Print keeps_a_text.
Print till_stop.
Print ar_stop.
Print decode_stop.
Print dsi.limit.
Print dsi.mean.
Print dsi_time.
Print cycle_time.
Print played.
Print text.
Print text_lossless.
Print keeps_text.
Print kept_text.
Print met.
Print verifies.
Print flow.
Print net.
Print most.
Print begins_kept.
Print choose.
Print beginnings.
Print kept_from.
Print stays.
Print after_kept.
Print flow_verifier.
Print blocks.
Print starts.
Print sigma.
Print capped.
Print jump.
Print step.
Print renewals.
Print renewal.
Print target_calls.
Print started.
Print jumps.
Print higher.
Print highest.
Print paths.
Print lower.
Print upto.
Print begins.
Print of_highest.
Print highest_model.
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
Print rising.
Print balanced.
Print beyond.
Print budget.kept.
Print budget.batch_kept.
Print budget.falls.
Print budget.priced.
Print budget.gains_fall.
Print budget.cost_convex.
Print clip.
Print tangent.
Print divergence.
Print drafts_kept.
Print shared_mass.
Print split_prob.
Print least_split.
Print mean_overlap.
Print weight_above.
Print weight_reaching.
Print takes_dearest.
Print one_pass.
Print overlap_at.
Print keeps_to.
Print left_of.
