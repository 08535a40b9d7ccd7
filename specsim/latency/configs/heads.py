"""Drafters by their config: EAGLE heads, block drafters, and how they differ from a decoder of its own."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from specsim.base import check
from specsim.latency.configs.fields import WAY_ON, Fields

# Fields that EAGLE heads have and decoders do not, with or without the word in their architecture.
_EAGLE3 = ("draft_vocab_size", "eagle_aux_hidden_state_layer_ids", "use_aux_hidden_state", "norm_before_residual")
_EAGLE = ("eagle_config", "target_hidden_size", "norm_before_fc", "use_input_layernorm_in_first_layer")
_PARALLEL = ("pard_token", "ptd_token_id", "parallel_drafting")
_DECODER = re.compile(r"(ForCausalLM|LMHeadModel|ForConditionalGeneration|(?<!Draft)(?<!Medusa)Model)$")
_OTHER = re.compile(
    r"medusa|mlp_?speculator|lookahead|hydra|nextn|mtp|dspark|draft|speculat|diffusion|dream|llada", re.I
)

# Fields of these heads that are read here, or that say nothing of their layers.
FIELDS = frozenset({
    *_EAGLE3, *_EAGLE, *_PARALLEL, "dflash_config", "block_size", "num_target_layers", "target_layer_ids",
    "aux_hidden_state_layer_ids", "mask_token_id", "speculators_model_type", "transformer_layer_config",
    "speculators_config", "has_no_defaults_at_init", "num_aux_hidden_states", "fusion_bias", "layernorms",
    "has_lm_head", "target_model_type",
})  # fmt: skip


class Head(NamedTuple):
    """The kind of drafter: "eagle", "eagle3", "peagle", "dflash", "parallel" (fills masks in one pass), or "".

    scored: tokens that a head of its own scores, 0 for all. target_hidden: width of the target's states, 0 for its own.
    block: tokens of a block that is made in one pass, the known one included; 0 elsewhere. joined: layers of the target
    whose states are joined once a cycle.
    """

    kind: str = ""
    scored: int = 0
    target_hidden: int = 0
    block: int = 0
    joined: int = 0


def read_head(values: dict[str, Any], name: str) -> tuple[Head, dict[str, Any]]:
    """The drafter, and the fields of its decoder; ValueError for a drafter of another kind."""
    # The decoder may be nested.
    inner = values.get("transformer_layer_config")
    outer = values
    if isinstance(inner, dict):
        values = {"draft_vocab_size": values.get("draft_vocab_size"), **inner}
    kind = _kind({**values, **outer}, name)
    fields = Fields({**values, **outer}, name, set(), {})
    if not kind:
        return Head(), values
    # Heads of some makers draft several tokens in one step.
    eagle = outer.get("eagle_config")
    at_once = eagle.get("parallel_draft_step", 1) if isinstance(eagle, dict) else 1
    if kind in ("eagle", "eagle3") and at_once not in (None, 1):
        raise fields.refusal(f"drafts {at_once} tokens in a step (parallel_draft_step), which is not counted")
    scored = fields.number("draft_vocab_size", default=0)
    target_hidden = fields.number("target_hidden_size", default=0)
    if kind != "dflash":
        return Head(kind, scored, target_hidden, joined=0 if kind in ("eagle", "parallel") else 3), values
    # A block drafter: the layers of the target that it reads, and the size of its blocks.
    block_config = outer.get("dflash_config")
    block_config = block_config if isinstance(block_config, dict) else {}
    places = (
        block_config.get("target_layer_ids"),
        outer.get("target_layer_ids"),
        outer.get("aux_hidden_state_layer_ids"),
    )
    listed = next((ids for ids in places if isinstance(ids, list)), None)
    joined = fields.number("num_hidden_layers") if listed is None else len(listed)
    block = block_config.get("block_size") if outer.get("block_size") is None else outer["block_size"]
    if block is None:
        raise fields.refusal("drafts a block in one pass, but has no block_size")
    size = check.integer(block, f"config {name}: block_size", 2)
    return Head(kind, scored, target_hidden, size, joined), values


def _kind(values: dict[str, Any], name: str) -> str:
    """The kind of drafter that architecture, model_type and fields name; "" for a decoder of its own."""
    named = values.get("architectures")
    architectures = [str(word) for word in named] if isinstance(named, list) else []
    speculator = str(values.get("speculators_model_type") or "")
    described = " ".join([*architectures, speculator, str(values.get("model_type") or "")]).lower()
    if "dflash" in described or isinstance(values.get("dflash_config"), dict):
        return "dflash"
    if "eagle" in described:
        if "peagle" in described or values.get("parallel_drafting"):
            return "peagle"
        marked = "eagle3" in described or any(values.get(field) is not None for field in _EAGLE3)
        return "eagle3" if marked else "eagle"
    # Heads that no name marks, by their fields.
    if any(values.get(field) not in (None, False) for field in _EAGLE3):
        return "eagle3"
    if any(values.get(field) not in (None, False, {}) for field in _EAGLE):
        return "eagle"
    if any(values.get(field) not in (None, False) for field in _PARALLEL):
        return "parallel"
    # A decoder, or a drafter of another kind.
    strange = [word for word in architectures if not _DECODER.search(word) or _OTHER.search(word)]
    strange = strange or [word for word in (speculator,) if word]
    kind = str(values.get("model_type") or "")
    if not strange and _OTHER.search(kind):
        raise ValueError(
            f"config {name} has model_type {kind}, that of a drafter which is not known here (a target is the model "
            f"that it drafts for); {WAY_ON}"
        )
    if strange:
        raise ValueError(f"config {name} has architecture {strange[0]}, which is not known here; {WAY_ON}")
    return ""
