"""Drafters by their config: EAGLE heads, block drafters, and what tells them from a complete decoder."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from specsim.base import check
from specsim.latency.configs.fields import WAY_ON, Fields

# Fields that drafters of a kind have and decoders do not, whether or not their architecture names
# the kind.
_EAGLE3 = ("draft_vocab_size", "eagle_aux_hidden_state_layer_ids", "use_aux_hidden_state", "norm_before_residual")
_EAGLE = ("eagle_config", "target_hidden_size", "norm_before_fc", "use_input_layernorm_in_first_layer")
_PARALLEL = ("pard_token", "ptd_token_id", "parallel_drafting")
# Names of architectures of complete decoders, and words in names of drafters that are not read
# here.
_DECODER = re.compile(r"(ForCausalLM|LMHeadModel|ForConditionalGeneration|(?<!Draft)(?<!Medusa)Model)$")
_OTHER = re.compile(
    r"medusa|mlp_?speculator|lookahead|hydra|nextn|mtp|dspark|draft|speculat|diffusion|dream|llada", re.I
)

# Fields of drafters that are read here, or that say nothing of their layers.
FIELDS = frozenset({
    *_EAGLE3, *_EAGLE, *_PARALLEL, "dflash_config", "block_size", "num_target_layers", "target_layer_ids",
    "aux_hidden_state_layer_ids", "mask_token_id", "speculators_model_type", "transformer_layer_config",
    "speculators_config", "has_no_defaults_at_init", "num_aux_hidden_states", "fusion_bias", "layernorms",
    "has_lm_head", "target_model_type",
})  # fmt: skip


class Head(NamedTuple):
    """What a config says of a drafter beside its decoder.

    kind: "eagle", "eagle3", "peagle", "dflash", "parallel" (fills masks in one pass), or "" for a complete decoder.
    scored: tokens that its head scores, 0 for all. target_hidden: width of the target's states, 0 for the drafter's.
    block: tokens of a block that is made in one pass, the known one included; 0 elsewhere. joined: layers of the target
    whose states are joined once a cycle.
    """

    kind: str = ""
    scored: int = 0
    target_hidden: int = 0
    block: int = 0
    joined: int = 0


def read_head(values: dict[str, Any], name: str) -> tuple[Head, dict[str, Any]]:
    """Return what a config says of the drafter, and the fields of its decoder.

    ValueError for a drafter of a kind that is not known here.
    """
    # The decoder, which may be nested, and the fields of both.
    outer, decoder = values, values
    inner = values.get("transformer_layer_config")
    if isinstance(inner, dict):
        decoder = {"draft_vocab_size": values.get("draft_vocab_size"), **inner}
    kind = _kind({**decoder, **outer}, name)
    fields = Fields({**decoder, **outer}, name, set(), {})
    if not kind:
        return Head(), decoder

    # Heads of some makers draft several tokens in one step.
    eagle = outer.get("eagle_config")
    at_once = eagle.get("parallel_draft_step", 1) if isinstance(eagle, dict) else 1
    if kind in ("eagle", "eagle3") and at_once not in (None, 1):
        raise fields.refusal(f"drafts {at_once} tokens in a step (parallel_draft_step), which is not counted")

    # EAGLE-3 and its kin join the states of three layers of the target.
    scored = fields.number("draft_vocab_size", default=0)
    target_hidden = fields.number("target_hidden_size", default=0)
    if kind != "dflash":
        return Head(kind, scored, target_hidden, joined=0 if kind in ("eagle", "parallel") else 3), decoder

    # A block drafter: the layers of the target whose states it reads, and the size of its blocks.
    block_config = outer.get("dflash_config")
    block_config = block_config if isinstance(block_config, dict) else {}
    candidates = (
        block_config.get("target_layer_ids"),
        outer.get("target_layer_ids"),
        outer.get("aux_hidden_state_layer_ids"),
    )
    layer_ids = next((ids for ids in candidates if isinstance(ids, list)), None)
    joined = fields.number("num_hidden_layers") if layer_ids is None else len(layer_ids)
    block = block_config.get("block_size") if outer.get("block_size") is None else outer["block_size"]
    if block is None:
        raise fields.refusal("drafts a block in one pass, but has no block_size")
    size = check.integer(block, f"config {name}: block_size", 2)
    return Head(kind, scored, target_hidden, size, joined), decoder


def _kind(values: dict[str, Any], name: str) -> str:
    """Return the kind of drafter that architecture, model_type and fields name; "" for a complete decoder."""
    # By words in the names.
    names = values.get("architectures")
    architectures = [str(word) for word in names] if isinstance(names, list) else []
    speculator = str(values.get("speculators_model_type") or "")
    described = " ".join([*architectures, speculator, str(values.get("model_type") or "")]).lower()
    if "dflash" in described or isinstance(values.get("dflash_config"), dict):
        return "dflash"
    if "eagle" in described:
        if "peagle" in described or values.get("parallel_drafting"):
            return "peagle"
        marked = "eagle3" in described or any(values.get(field) is not None for field in _EAGLE3)
        return "eagle3" if marked else "eagle"

    # By fields, where no name tells the kind.
    if any(values.get(field) not in (None, False) for field in _EAGLE3):
        return "eagle3"
    if any(values.get(field) not in (None, False, {}) for field in _EAGLE):
        return "eagle"
    if any(values.get(field) not in (None, False) for field in _PARALLEL):
        return "parallel"

    # A complete decoder, or a drafter of a kind that is not known here.
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
