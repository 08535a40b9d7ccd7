"""TensorRT-LLM: `speculative_config` of its YAML file, with its `decoding_type`.

Fields are those of tensorrt_llm/llmapi/llm_args.py as documented for 1.3 and 1.4; what relaxed
acceptance does is as in 3585984, cpp/tensorrt_llm/kernels/speculativeDecoding/mtpKernels.cu.
"""

from __future__ import annotations

from specsim.conform.configs.reading import Content, nested
from specsim.conform.configs.record import NO_RULE, Config, Field, Law, flag, number, unknown_fields, whole
from specsim.conform.configs.values import Kinds, check_values, unknown_word

NAME = "TensorRT-LLM"
RELAXED = "use_relaxed_acceptance_for_thinking"
# Fields about where drafts come from, how many there are, and what runs where. Rejection sampling
# and exact match, between which `use_rejection_sampling` chooses, are both lossless.
_NEUTRAL = (
    "decoding_type max_draft_len max_total_draft_tokens speculative_model speculative_model_dir moe_backend "
    "moe_tactic max_concurrency draft_len_schedule load_format acceptance_rate_window_size acceptance_rate_threshold "
    "acceptance_window acceptance_length_threshold use_rejection_sampling allow_advanced_sampling enable_penalty "
    "use_mtp_vanilla use_dynamic_tree dynamic_tree_max_topK draft_lm_head_dtype draft_moe_dtype sa_config "
    "num_nextn_predict_layers num_nextn_predict_layers_from_model_config begin_thinking_phase_token "
    "end_thinking_phase_token BEGIN_THINKING_PHASE_TOKEN END_THINKING_PHASE_TOKEN mtp_eagle_one_model eagle_choices "
    "num_eagle_layers max_non_leaves_per_layer eagle3_one_model eagle3_layers_to_capture eagle3_model_arch "
    "max_window_size max_ngram_size max_verification_set_size max_matching_ngram_size is_keep_all is_use_oldest "
    "is_public_pool pytorch_weights_path prompt_lookup_num_tokens enable_global_pool global_pool_size"
)
NEUTRAL = frozenset(_NEUTRAL.split())
VERIFYING = frozenset(
    [RELAXED, "relaxed_topk", "relaxed_delta", "greedy_sampling", "posterior_threshold", "advanced_sampling_mode"]
)
# The variable that forces the mean number of accepted drafts; 0 forces nothing.
FORCED = "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"
_COUNTS = (
    "max_draft_len max_total_draft_tokens max_concurrency acceptance_rate_window_size acceptance_window "
    "num_nextn_predict_layers num_eagle_layers max_non_leaves_per_layer max_window_size max_ngram_size "
    "max_verification_set_size prompt_lookup_num_tokens dynamic_tree_max_topK global_pool_size"
)
KINDS = Kinds(
    # A matching length of -1 is the longest there is.
    wholes={**dict.fromkeys(_COUNTS.split(), 0), "max_matching_ngram_size": -1},
    numbers=frozenset(
        ["acceptance_rate_threshold", "acceptance_length_threshold", "posterior_threshold", "relaxed_delta"]
    ),
    texts=frozenset(["speculative_model", "speculative_model_dir", "pytorch_weights_path"]),
)
UNPRICED_TYPICAL = "typical acceptance has two thresholds, and how TensorRT-LLM sets both is not known here"
# Ways to draft whose verification is the common one.
DECODING_TYPES = ("MTP", "Eagle", "Eagle3", "NGram", "DraftTarget", "Draft_Target", "PARD", "SA", "AUTO", "DFlash")


def is_written_for(content: Content) -> bool:
    """True if acceptance is forced, or a decoding_type is given, alone or inside of a speculative_config."""
    inner = content.get("speculative_config")
    return FORCED in content or "decoding_type" in (inner if isinstance(inner, dict) else content)


def names_read(content: Content) -> set[str]:
    """Return the names that are read at the top: that of the configuration, or all of a configuration alone."""
    is_alone = "decoding_type" in content and "speculative_config" not in content
    return set(content) if is_alone else {"speculative_config", FORCED}


def judged(content: Content, place: str) -> Config:
    """Return what the fields switch on."""
    fields = []
    if number(content, FORCED, 0.0, place) > 0:
        fields.append(
            Field(FORCED, content[FORCED], "lossy", "accepts so many drafts, whatever they are: for benchmarks")
        )
    # The variable may stand alone: the drafter is then in another file.
    if "speculative_config" not in content and "decoding_type" not in content:
        return Config(NAME, tuple(fields))
    alone = {name: value for name, value in content.items() if name != FORCED}
    told = nested(content.get("speculative_config", alone), f"{place}: speculative_config")
    fields += unknown_fields(told, NEUTRAL | VERIFYING, NAME)
    check_values(told, KINDS, place)
    named = {"decoding_type": told.get("decoding_type") or "none"}
    fields += unknown_word(named, "decoding_type", DECODING_TYPES, "how it verifies")
    if told.get("advanced_sampling_mode") not in (None, "FULL", "full"):
        reason = "which filters of a request are applied is then not known here"
        fields.append(Field("advanced_sampling_mode", told["advanced_sampling_mode"], "unknown", reason))
    relaxed, typical = _relaxed(told, place), _typical(told, place)
    fields += [*relaxed, *typical]
    law, unpriced = None, NO_RULE
    if any(field.effect == "lossy" for field in relaxed):
        topk, delta = whole(told, "relaxed_topk", 1, place, 1), number(told, "relaxed_delta", 0.0, place)
        law = Law("relaxed", {"relaxed_topk": topk, "relaxed_delta": delta}, "greedy", "greedy")
    elif any(field.effect == "lossy" for field in typical):
        unpriced = UNPRICED_TYPICAL
    if any(field.name == FORCED for field in fields):
        law, unpriced = None, NO_RULE
    return Config(NAME, tuple(fields), law, unpriced)


def _relaxed(told: Content, place: str) -> list[Field]:
    """Relaxed acceptance, and its parameters where it is off."""
    topk, delta = whole(told, "relaxed_topk", 1, place, 1), number(told, "relaxed_delta", 0.0, place)
    if not flag(told, RELAXED, False, place):
        names = [name for name in ("relaxed_topk", "relaxed_delta") if name in told]
        return [Field(name, told[name], "note", f"not read: {RELAXED} is not true") for name in names]
    if topk <= 1:
        return [Field("relaxed_topk", topk, "note", "the likeliest token alone passes: verification is strict")]
    if delta <= 0:
        reason = "only tokens that tie with the likeliest pass: verification is strict but for ties"
        return [Field("relaxed_delta", delta, "note", reason)]
    reason = (
        f"while the model thinks, a draft passes among the {topk:g} likeliest tokens, within {delta:g} of the best "
        "probability (T50)"
    )
    return [Field(RELAXED, True, "lossy", reason)]


def _typical(told: Content, place: str) -> list[Field]:
    """Typical acceptance of the Eagle decoder, and its threshold where it is off."""
    if not flag(told, "greedy_sampling", True, place):
        reason = "drafts are accepted by typical acceptance, whatever the draft's law was (T27)"
        return [Field("greedy_sampling", False, "lossy", reason)]
    if told.get("posterior_threshold") is None:
        return []
    return [Field("posterior_threshold", told["posterior_threshold"], "note", "not read: greedy_sampling is not false")]
