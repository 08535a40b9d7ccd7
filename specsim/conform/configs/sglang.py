"""SGLang: the arguments of its server, on a command line or as the fields of a file.

Fields are those of python/sglang/srt/server_args.py (stored version of 2026); what they do is as in
120affb, sgl-kernel/csrc/speculative/speculative_sampling.cuh, and 0c23aa8, reject_sampling.py.
"""

from __future__ import annotations

from specsim.conform.configs.reading import Content
from specsim.conform.configs.record import Config, Field, Law, flag, number, unknown_fields, whole
from specsim.conform.configs.values import Kinds, check_values, unknown_word

NAME = "SGLang"
SINGLE, ACC = "speculative_accept_threshold_single", "speculative_accept_threshold_acc"
REJECTION = "speculative_use_rejection_sampling"
TOPK = "speculative_eagle_topk"
# Fields about where drafts come from, how many there are, and what runs where.
_NEUTRAL = (
    "speculative_algorithm speculative_draft_model_path speculative_draft_model speculative_draft_model_revision "
    "speculative_draft_load_format speculative_num_steps speculative_eagle_topk speculative_num_draft_tokens "
    "speculative_dflash_block_size speculative_dspark_block_size speculative_dspark_sps_table_path "
    "speculative_dspark_confidence_sts_path speculative_dspark_align_verify_tokens_to_graph_tier "
    "speculative_token_map speculative_attention_mode speculative_draft_attention_backend "
    "speculative_dsa_topk_backend speculative_draft_kv_cache_dtype speculative_draft_window_size "
    "speculative_moe_runner_backend speculative_moe_a2a_backend speculative_draft_model_quantization "
    "speculative_skip_dp_mlp_sync speculative_adaptive speculative_adaptive_config"
)
NEUTRAL = frozenset(_NEUTRAL.split())
# Fields of drafters that look tokens up begin with these.
LOOKING_UP = ("speculative_ngram_", "speculative_lookahead_")
_COUNTS = (
    "speculative_num_draft_tokens speculative_eagle_topk speculative_dflash_block_size speculative_dspark_block_size "
    "speculative_draft_window_size"
)
SIMULATED = "SGLANG_SIMULATE_ACC_LEN"
# How the set rate is kept, and which tokens are written, which matter only with the length.
SIMULATION = {SIMULATED, "SGLANG_SIMULATE_ACC_METHOD", "SGLANG_SIMULATE_ACC_TOKEN_MODE"}
# Drafters whose drafts are verified in the common way; SGLang reads their names in any case.
ALGORITHMS = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "DFLASH", "DSPARK", "FROZEN_KV_MTP", "LOOKAHEAD")
_LOOKED_UP = (
    "min_match_window_size max_match_window_size min_bfs_breadth max_bfs_breadth capacity branch_length "
    "max_trie_depth external_sam_budget external_corpus_max_tokens"
)
KINDS = Kinds(
    wholes={
        "speculative_num_steps": 0,
        **dict.fromkeys(_COUNTS.split(), 1),
        **{f"{drafter}{name}": 0 for drafter in LOOKING_UP for name in _LOOKED_UP.split()},
    },
    numbers=frozenset([SINGLE, ACC]),
    texts=frozenset(["speculative_draft_model_path", "speculative_draft_model", "speculative_draft_model_revision"]),
)


def is_written_for(content: Content) -> bool:
    """True if a field is one of SGLang's about speculation."""
    return bool((NEUTRAL | {SINGLE, ACC} | SIMULATION) & set(content))


def names_read(content: Content) -> set[str]:
    """Return the names that are read: options about speculation, and the variables of simulated acceptance."""
    return {name for name in content if name.startswith("speculative_")} | SIMULATION


def judged(content: Content, place: str) -> Config:
    """Return what the fields switch on; fields about other things than speculation are passed over."""
    options = {name: value for name, value in content.items() if name.startswith("speculative_")}
    drafting = {name: value for name, value in options.items() if not name.startswith(LOOKING_UP)}
    fields = unknown_fields(drafting, NEUTRAL | {SINGLE, ACC, REJECTION}, NAME)
    check_values(options, KINDS, place)
    named = {name: str(value).upper() for name, value in options.items() if value is not None}
    fields += unknown_word(named, "speculative_algorithm", ALGORITHMS, "how its drafts are verified")
    if number(content, SIMULATED, -1, place) > 0:
        reason = "accepts drafts at a set rate, whatever they are: for benchmarks only"
        fields.append(Field(SIMULATED, content[SIMULATED], "lossy", reason))
    thresholds = {name: number(options, name, 1.0, place) for name in (SINGLE, ACC)}
    # What does not read the thresholds.
    if options.get("speculative_algorithm") is None:
        return Config(NAME, (*fields, *_idle(options, "speculative_algorithm is not given: there are no drafts")))
    if flag(options, REJECTION, False, place):
        reason = f"not read: with {REJECTION} drafts are tested against p/q by another kernel"
        return Config(NAME, (*fields, *_idle(options, reason)))
    topk = whole(options, TOPK, 1, place, 1)
    # SGLang chooses the siblings by the model where they are not given: 1, or 4 as for Llama.
    note = "" if options.get(TOPK) is not None else f"; {TOPK} is not given, the price is that of 1"
    fields += _judged_thresholds(thresholds, note)
    is_priced = any(field.name in thresholds and field.effect == "lossy" for field in fields)
    law = None
    # Where acceptance is simulated, the thresholds are not what accepts.
    is_priced = is_priced and all(field.name != SIMULATED for field in fields)
    if is_priced and thresholds[ACC] <= 1:
        params = {
            "threshold_single": min(1.0, max(0.0, thresholds[SINGLE])),
            "threshold_acc": max(0.0, thresholds[ACC]),
        }
        law = Law("accept_threshold", params, "greedy", "sampling", children=topk)
    return Config(NAME, tuple(fields), law)


def _judged_thresholds(thresholds: dict[str, float], note: str) -> list[Field]:
    """Each threshold that is not 1, its default, at which both are lossless (T51); `note` ends the reasons."""
    found = []
    if thresholds[SINGLE] < 1:
        reason = f"a draft of at least this target probability is always accepted (at temperatures above 0; T51{note})"
        found.append(Field(SINGLE, thresholds[SINGLE], "lossy", reason))
    elif thresholds[SINGLE] > 1:
        found.append(Field(SINGLE, thresholds[SINGLE], "note", "no probability is as large: it never acts"))
    if thresholds[ACC] != 1:
        more = "more" if thresholds[ACC] < 1 else "less"
        reason = f"a draft is accepted with {more} than its target probability (at temperatures above 0; T51{note})"
        found.append(Field(ACC, thresholds[ACC], "lossy", reason))
    return found


def _idle(options: Content, reason: str) -> list[Field]:
    """Thresholds that nothing reads."""
    return [Field(name, options[name], "note", reason) for name in (SINGLE, ACC) if name in options]
