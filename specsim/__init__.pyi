"""The public names and their homes; `__init__.py` reads them here and imports each when it is first used."""

from specsim.base.uniforms import keyed_uniforms
from specsim.bounds.curves import acceptance_curves
from specsim.bounds.frontier import lossy_optimum, nearest_output
from specsim.bounds.one_pass import OnePassBound, OnePassCeiling, one_pass_bound, one_pass_ceiling
from specsim.bounds.one_pass_enclosure import OnePassEnclosure, one_pass_enclosure
from specsim.bounds.optimum import optimal_acceptance, optimum
from specsim.bounds.paths import path_bound, path_optimum
from specsim.bounds.temperature import best_draft_temperature
from specsim.bounds.transport import optimal_coupling
from specsim.bounds.vocabulary import SharedTokens, shared_tokens, translated_draft, vocabulary_bound
from specsim.claims.check import Claim, check_claim
from specsim.continuous import gaussian_overlap, gaussian_step
from specsim.exact.chain import expected_tokens
from specsim.exact.drift import DriftBounds, TextDrift, drift_bounds, text_drift
from specsim.exact.guarantee import guarantee
from specsim.exact.masked_acceptance import masked_acceptance
from specsim.exact.one_pass import one_pass_draft, one_pass_tokens, product_draft
from specsim.exact.posterior import hit_posterior, tree_survival
from specsim.exact.process_law import fill, text_law
from specsim.exact.step import acceptance_rate, output_law
from specsim.exact.tokenizers.law import AcrossTokenizers, across_tokenizers
from specsim.exact.tokenizers.proposals import TokenModel
from specsim.exact.tokenizers.tokenizer import Tokenizer, small_tokenizer
from specsim.exact.tree import expected_kept
from specsim.latency import (
    LatencyModel,
    ModelShape,
    PassTimes,
    expected_experts,
    from_measurements,
    from_pass_times,
    memory_bound,
    read_pass_times,
    roofline,
)
from specsim.laws.make import dense_law, normalize, one_hot_law, residual, top_k_law, total_variation
from specsim.laws.masks import masked_law
from specsim.laws.penalty import penalize
from specsim.laws.warp import warp
from specsim.lengths.blocks import accepted_length_law, block_efficiency, renewal
from specsim.lengths.budgets import BatchBudget, BudgetLoss, DraftBudget, batch_budget, budget_loss, draft_budget
from specsim.lengths.calibration import (
    Calibration,
    ConfidenceCalibration,
    ConfidenceLog,
    confidence_calibration,
    read_confidences,
)
from specsim.lengths.given_texts import tree_posterior
from specsim.lengths.hazard_files import HazardCurves, read_hazards
from specsim.lengths.hazards import HazardEstimate, estimate_hazards, mixture_length_law, pool_texts
from specsim.lengths.measures import convert_acceptance, survival_hazards
from specsim.lengths.request_comparison import RecordComparison, compare_records
from specsim.lengths.request_estimates import RequestEstimates, request_estimates
from specsim.lengths.request_mixture import RequestMixture, request_mixture
from specsim.lengths.request_record import AcceptanceRecord, RequestAcceptance, request_of_blocks
from specsim.lengths.requests import BatchTokens, InterToken, RequestLaw, batch_tokens, inter_token_law, request_law
from specsim.lengths.shorter import shorter_tau
from specsim.lengths.tau_curve import concave_curve, curve_faults
from specsim.logs.measures import LogAcceptance, log_acceptance
from specsim.logs.read import read_log
from specsim.logs.record import EngineLog
from specsim.simulation import (
    Automaton,
    BlockChain,
    Trace,
    block_chain,
    conditional_tau,
    context_free,
    markov,
    merge_traces,
    mixture,
    ngram,
    recorded,
    simulate,
    stationary,
    stationary_tau,
)
from specsim.speed.boundary import context_boundary
from specsim.speed.diagnosis import Diagnosis, diagnose
from specsim.speed.grid import batch_schedule, sweep
from specsim.speed.load.choices import serve_by_choice
from specsim.speed.load.closed import RequestTimes, request_times, stable_rate
from specsim.speed.load.events import simulate_requests
from specsim.speed.load.rates import harmful_rate, largest_rate
from specsim.speed.load.service import Service, service_costs
from specsim.speed.log_costs import LogCosts, log_costs
from specsim.speed.methods import Speed, draft_then_verify, early_exit, multi_token_heads
from specsim.speed.parallel import dsi, pearl
from specsim.speed.plan import break_even_alpha, plan
from specsim.speed.prediction import Prediction, predict
from specsim.speed.ratio import RelativeCosts, operations_factor, optimal_gamma, relative_costs, speedup
from specsim.speed.replanning import Replanner, replanner
from specsim.speed.shapes import FastestShapes, fastest_shapes
from specsim.speed.ssd import cache_hits, cached_drafts, ssd
from specsim.speed.stopping import Stopping, optimal_stopping
from specsim.trees import (
    beam_tree,
    draw_tree,
    eagle2_tree,
    heap_tree,
    optimal_tree,
    sequoia_tree,
    speed_of_light,
    tree_value,
)
from specsim.trees.engine_shape import engine_tree
from specsim.types import Draws, Law, TokenTree
from specsim.verify.lookup import algorithms
from specsim.verify.sample_chain import verify_chain
from specsim.verify.sample_step import verify_step
from specsim.verify.sample_tree import verify_tree

__version__: str

__all__ = [
    "AcceptanceRecord",
    "AcrossTokenizers",
    "Automaton",
    "BatchBudget",
    "BatchTokens",
    "BlockChain",
    "BudgetLoss",
    "Calibration",
    "Claim",
    "ConfidenceCalibration",
    "ConfidenceLog",
    "Diagnosis",
    "DraftBudget",
    "Draws",
    "DriftBounds",
    "EngineLog",
    "FastestShapes",
    "HazardCurves",
    "HazardEstimate",
    "InterToken",
    "LatencyModel",
    "Law",
    "LogAcceptance",
    "LogCosts",
    "ModelShape",
    "OnePassBound",
    "OnePassCeiling",
    "OnePassEnclosure",
    "PassTimes",
    "Prediction",
    "RecordComparison",
    "RelativeCosts",
    "Replanner",
    "RequestAcceptance",
    "RequestEstimates",
    "RequestLaw",
    "RequestMixture",
    "RequestTimes",
    "Service",
    "SharedTokens",
    "Speed",
    "Stopping",
    "TextDrift",
    "TokenModel",
    "TokenTree",
    "Tokenizer",
    "Trace",
    "acceptance_curves",
    "acceptance_rate",
    "accepted_length_law",
    "across_tokenizers",
    "algorithms",
    "batch_budget",
    "batch_schedule",
    "batch_tokens",
    "beam_tree",
    "best_draft_temperature",
    "block_chain",
    "block_efficiency",
    "break_even_alpha",
    "budget_loss",
    "cache_hits",
    "cached_drafts",
    "check_claim",
    "compare_records",
    "concave_curve",
    "conditional_tau",
    "confidence_calibration",
    "context_boundary",
    "context_free",
    "convert_acceptance",
    "curve_faults",
    "dense_law",
    "diagnose",
    "draft_budget",
    "draft_then_verify",
    "draw_tree",
    "drift_bounds",
    "dsi",
    "eagle2_tree",
    "early_exit",
    "engine_tree",
    "estimate_hazards",
    "expected_experts",
    "expected_kept",
    "expected_tokens",
    "fastest_shapes",
    "fill",
    "from_measurements",
    "from_pass_times",
    "gaussian_overlap",
    "gaussian_step",
    "guarantee",
    "harmful_rate",
    "heap_tree",
    "hit_posterior",
    "inter_token_law",
    "keyed_uniforms",
    "largest_rate",
    "log_acceptance",
    "log_costs",
    "lossy_optimum",
    "markov",
    "masked_acceptance",
    "masked_law",
    "memory_bound",
    "merge_traces",
    "mixture",
    "mixture_length_law",
    "multi_token_heads",
    "nearest_output",
    "ngram",
    "normalize",
    "one_hot_law",
    "one_pass_bound",
    "one_pass_ceiling",
    "one_pass_draft",
    "one_pass_enclosure",
    "one_pass_tokens",
    "operations_factor",
    "optimal_acceptance",
    "optimal_coupling",
    "optimal_gamma",
    "optimal_stopping",
    "optimal_tree",
    "optimum",
    "output_law",
    "path_bound",
    "path_optimum",
    "pearl",
    "penalize",
    "plan",
    "pool_texts",
    "predict",
    "product_draft",
    "read_confidences",
    "read_hazards",
    "read_log",
    "read_pass_times",
    "recorded",
    "relative_costs",
    "renewal",
    "replanner",
    "request_estimates",
    "request_law",
    "request_mixture",
    "request_of_blocks",
    "request_times",
    "residual",
    "roofline",
    "sequoia_tree",
    "serve_by_choice",
    "service_costs",
    "shared_tokens",
    "shorter_tau",
    "simulate",
    "simulate_requests",
    "small_tokenizer",
    "speed_of_light",
    "speedup",
    "ssd",
    "stable_rate",
    "stationary",
    "stationary_tau",
    "survival_hazards",
    "sweep",
    "text_drift",
    "text_law",
    "top_k_law",
    "total_variation",
    "translated_draft",
    "tree_posterior",
    "tree_survival",
    "tree_value",
    "verify_chain",
    "verify_step",
    "verify_tree",
    "vocabulary_bound",
    "warp",
]
