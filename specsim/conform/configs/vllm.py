"""vLLM: `speculative_config`, as JSON, in a YAML file of `vllm serve`, or on its command line.

Fields are those of vllm/config/speculative.py at f19b16d, of the documentation up to September 2026
(docs/features/speculative_decoding, FLy as in 1719fb1), and of versions before 1.0.
"""

from __future__ import annotations

import math
from typing import Any

from specsim.conform.configs.reading import Content, nested
from specsim.conform.configs.record import NO_RULE, Config, Field, Law, number, unknown_fields, whole
from specsim.conform.configs.values import Kinds, check_lists_of_numbers, check_values, unknown_word

NAME = "vLLM"
# Fields about where drafts come from, how many there are, and what runs where: verification is the
# same whatever they say.
_NEUTRAL = (
    "enforce_eager num_speculative_tokens model method draft_tensor_parallel_size tensor_parallel_size quantization "
    "max_model_len revision code_revision disable_by_batch_size disable_padded_drafter_batch prompt_lookup_max "
    "prompt_lookup_min speculative_token_tree parallel_drafting suffix_decoding_max_tree_depth "
    "suffix_decoding_max_cached_requests suffix_decoding_max_spec_factor suffix_decoding_min_token_prob "
    "draft_load_config draft_sample_method use_local_argmax_reduction attention_backend moe_backend kv_cache_dtype "
    "enable_adaptive_verification disable_logprobs disable_log_stats disable_mqa_scorer ngram_prompt_lookup_max "
    "ngram_prompt_lookup_min use_heterogeneous_vocab num_speculative_tokens_per_batch_size"
)
NEUTRAL = frozenset(_NEUTRAL.split())
# Fields that say how drafts are verified.
_VERIFYING = (
    "rejection_sample_method synthetic_acceptance_rates synthetic_acceptance_length fly_window_size "
    "fly_entropy_threshold fly_entropy_top_k acceptance_method posterior_threshold posterior_alpha"
)
VERIFYING = frozenset(_VERIFYING.split())
# Drafters whose drafts are verified in the common way; heads for several tokens are named by their model, too.
_DRAFTERS = (
    "ngram ngram_gpu medusa mlp_speculator draft_model suffix eagle eagle3 dflash dspark mtp deepseek_mtp "
    "dots3_note_mtp mimo_mtp mimo_v2_mtp glm4_moe_mtp glm4_moe_lite_mtp glm_ocr_mtp glm5_next_mtp ernie_mtp "
    "nemotron_h_mtp exaone_moe_mtp exaone4_5_mtp qwen3_next_mtp qwen3_5_mtp longcat_flash_mtp bailing_hybrid_mtp "
    "bailing_hybrid_v3_mtp minimax_m3_mtp kimi_k3_mtp pangu_ultra_moe_mtp step3p5_mtp hy_v3_mtp hy_v4_mtp "
    "gemma4_mtp inkling_mtp"
)
DRAFTERS = tuple(_DRAFTERS.split())
# How a draft model's tokens are chosen.
DRAFT_SAMPLE_METHODS = ("greedy", "probabilistic", "gumbel")
BY_BATCH = "num_speculative_tokens_per_batch_size"
_NUMBERS = (
    "suffix_decoding_max_spec_factor suffix_decoding_min_token_prob synthetic_acceptance_length fly_window_size "
    "fly_entropy_threshold fly_entropy_top_k posterior_threshold posterior_alpha"
)
KINDS = Kinds(
    wholes={
        **dict.fromkeys(["num_speculative_tokens", "draft_tensor_parallel_size", "tensor_parallel_size"], 1),
        **dict.fromkeys(["max_model_len", "disable_by_batch_size", "prompt_lookup_max", "prompt_lookup_min"], 1),
        **dict.fromkeys(["ngram_prompt_lookup_max", "ngram_prompt_lookup_min", "suffix_decoding_max_tree_depth"], 1),
        # -1: without a limit.
        "suffix_decoding_max_cached_requests": -1,
    },
    numbers=frozenset(_NUMBERS.split()),
    texts=frozenset(["model", "revision", "code_revision", "quantization"]),
)
LOSSLESS_METHODS = ("standard", "block", "strict", "probabilistic")
FLY = (
    "keeps a refused draft where the target's entropy is high and the drafts after it pass: the law of the output is "
    "another one (T52)"
)
MISSING = "num_speculative_tokens is missing, by which FLy's window is limited: add it"
SYNTHETIC = "accepts drafts at a set rate, whatever they are: for benchmarks only"
TYPICAL = "accepts a draft that is likely enough, whatever the draft's law was; a refused one becomes the argmax"


def is_written_for(content: Content) -> bool:
    """True for a speculative_config that is not TensorRT-LLM's, alone or inside of a file."""
    inner = content.get("speculative_config", content.get("sc"))
    if inner is not None:
        return not (isinstance(inner, dict) and "decoding_type" in inner)
    return bool({"num_speculative_tokens", "method", "rejection_sample_method"} & set(content))


def names_read(content: Content) -> set[str]:
    """Return the names that are read at the top: those of the configuration, or all of a configuration alone."""
    return {"speculative_config", "sc"} & set(content) or set(content)


def judged(content: Content, place: str) -> Config:
    """Return what the fields switch on."""
    if "speculative_config" in content and "sc" in content:
        raise ValueError(f"{place}: speculative_config and sc are one option; give it once")
    inner = content.get("speculative_config", content.get("sc", content))
    told = nested(inner, f"{place}: speculative_config")
    fields = unknown_fields(told, NEUTRAL | VERIFYING, NAME)
    _check(told, place)
    fields += unknown_word(told, "method", DRAFTERS, "how its drafts are verified")
    fields += unknown_word(told, "draft_sample_method", DRAFT_SAMPLE_METHODS, "the law of its drafts")
    method = told.get("rejection_sample_method")
    law, unpriced = None, NO_RULE
    if method == "fly":
        drafts = whole(told, "num_speculative_tokens", 0, place, 1)
        fly = _fly(told, drafts, place)
        fields.append(fly)
        if drafts == 0:
            unpriced = MISSING
        elif fly.effect == "lossy":
            law = _fly_law(told, drafts, place)
    elif method == "synthetic":
        fields.append(Field("rejection_sample_method", method, "lossy", SYNTHETIC))
    elif method is not None and method not in LOSSLESS_METHODS:
        fields.append(Field("rejection_sample_method", method, "unknown", "no method of vLLM that is known here"))
    fields += _idle(told, method)
    fields += _of_old_versions(told)
    return Config(NAME, tuple(fields), law, unpriced)


def _check(told: Content, place: str) -> None:
    """Raise ValueError for values of which vLLM could mean nothing."""
    check_values(told, KINDS, place)
    check_lists_of_numbers(told, "synthetic_acceptance_rates", place)
    ranges = told.get(BY_BATCH)
    if ranges is None:
        return
    if not isinstance(ranges, list):
        raise ValueError(f"{place}: {BY_BATCH} must be a list of [first batch, last batch, drafts], got {ranges!r:.60}")
    for i, entry in enumerate(ranges):
        name = f"{BY_BATCH}[{i}]"
        if not isinstance(entry, list) or len(entry) != 3 or None in entry:
            raise ValueError(f"{place}: {name} must be [first batch, last batch, drafts], got {entry!r:.60}")
        for value, low in zip(entry, (1, 1, 0), strict=True):
            whole({name: value}, name, low, place, low)


def _fly(told: Content, drafts: int, place: str) -> Field:
    """FLy, which never acts if its threshold is above every entropy."""
    threshold, top_k = number(told, "fly_entropy_threshold", 0.3, place), whole(told, "fly_entropy_top_k", 3, place, 1)
    if threshold < 0:
        raise ValueError(f"{place}: fly_entropy_threshold must be at least 0, got {threshold:g}")
    # The largest sum of -p log p of k probabilities: each 1/e, or 1/k if these would exceed 1.
    most = top_k / math.e if top_k <= math.e else math.log(top_k)
    if threshold > most:
        reason = f"no entropy of {top_k:g} probabilities reaches {threshold:g}: FLy never acts"
        return Field("fly_entropy_threshold", threshold, "note", reason)
    if drafts == 1:
        return Field("num_speculative_tokens", drafts, "note", "FLy needs two drafts or more: vLLM refuses this")
    window = _window(told, drafts, place)
    if 0 < drafts <= window:
        return Field("fly_window_size", window, "note", "no window fits into a block: vLLM refuses this")
    # The window must lie inside the block, so that its last drafts are never kept so.
    note = f"; of a block of {drafts} drafts the first {drafts - window} can be kept so" if drafts else ""
    return Field("rejection_sample_method", "fly", "lossy", FLY + note)


def _window(told: Content, drafts: int, place: str) -> int:
    """Return FLy's window, by default the largest up to 6 that fits into a block."""
    return whole(told, "fly_window_size", min(6, drafts - 1), place, 1)


def _fly_law(told: Content, drafts: int, place: str) -> Law:
    """FLy's parameters, with vLLM's defaults."""
    params: dict[str, Any] = {
        "fly_window_size": _window(told, drafts, place),
        "fly_entropy_threshold": number(told, "fly_entropy_threshold", 0.3, place),
        "fly_entropy_top_k": whole(told, "fly_entropy_top_k", 3, place, 1),
    }
    is_sampled = told.get("draft_sample_method") == "probabilistic"
    return Law("fly", params, "sampled" if is_sampled else "greedy", "sampling")


def _idle(told: Content, method: Any) -> list[Field]:
    """Fields of a method that is not chosen."""
    found = []
    for prefix in ("fly", "synthetic"):
        if method != prefix:
            reason = f"not read: rejection_sample_method is not {prefix}"
            idle_names = [name for name in sorted(VERIFYING & set(told)) if name.startswith(f"{prefix}_")]
            found += [Field(name, told[name], "note", reason) for name in idle_names]
    return found


def _of_old_versions(told: Content) -> list[Field]:
    """The acceptance method of versions before 1.0."""
    method = told.get("acceptance_method")
    if method == "typical_acceptance_sampler":
        return [Field("acceptance_method", method, "lossy", TYPICAL)]
    if method not in (None, "rejection_sampler"):
        return [Field("acceptance_method", method, "unknown", "no method of vLLM that is known here")]
    reason = "not read: acceptance_method is not typical_acceptance_sampler"
    return [
        Field(name, told[name], "note", reason) for name in ("posterior_threshold", "posterior_alpha") if name in told
    ]
