"""A decoder as its config declares it: every layer's mixer and feed-forward block, counted."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, NamedTuple

from specsim.latency.configs import kinds
from specsim.latency.configs.defaults import defaults_of
from specsim.latency.configs.experts import NUMBER, OF_EXPERTS, Experts
from specsim.latency.configs.families import FAMILIES, Family
from specsim.latency.configs.fields import Fields, check_nested, unread
from specsim.latency.configs.mixers import Attention, State
from specsim.latency.configs.model_types import model_type
from specsim.latency.configs.modules import Feeds, Modules, modules_of


class Decoder(NamedTuple):
    """Weights and cache of a decoder's layers; weights are counts of parameters.

    attention_layers: layers that cache keys and values; windowed: those among them that cache the last `window` tokens
    only. state_layers: layers that keep a state. feed_layers: layers with a feed-forward block; moe_layers: those with
    experts. body: parameters of all layers, every expert included; expert: those of one expert. unread: fields that
    were not understood, and change nothing that is counted as far as their names say. assumed: fields that were left
    out, each with the value that the code of the model_type takes then. notes: how its model_type was found, where the
    file does not say it plainly. modules: its matrices by their names.
    """

    layers: int
    hidden: int
    vocab: int
    attention: Attention
    attention_layers: int
    windowed: int
    window: int
    state_layers: int
    state: State
    feed_layers: int
    body: int
    experts: int
    per_token: int
    expert: int
    moe_layers: int
    unread: tuple[str, ...]
    assumed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    modules: Modules = Modules()


def read_decoder(values: dict[str, Any], name: str, extra: frozenset[str] = frozenset()) -> Decoder:
    """Return the decoder of a config; ValueError for layers that are not counted here.

    extra: fields that the caller reads.
    """
    # The fields, and sizes that all families have.
    fields, family, note = _family(values, name)
    hidden = fields.number("hidden_size", "n_embd", "d_model")
    vocab = fields.number("vocab_size")
    if fields.get("word_embed_proj_dim", default=hidden) != hidden:
        raise fields.refusal("has embeddings narrower than its layers (word_embed_proj_dim), which are not counted")
    layers = _layers(fields)

    # Which layer is of which kind.
    layer_kinds = family.kinds(fields, layers)
    attending = sum(kind in (kinds.FULL, kinds.WINDOW) for kind in layer_kinds)
    windowed = layer_kinds.count(kinds.WINDOW)
    window = 0
    if windowed:
        size_field = fields.first("sliding_window", "sliding_window_size", "attention_chunk_size")
        window = fields.number(size_field)
    if not attending:
        raise fields.refusal("has no layer with attention, so nothing is cached per token: not counted here")

    # What mixes tokens.
    attention = family.attention(fields, hidden)
    with_state = layers if family.parallel else layer_kinds.count(kinds.STATE)
    if with_state and family.state is None:
        raise fields.refusal("has layers with a state, which its model_type does not have")
    state = family.state(fields, hidden) if family.state is not None else State(0, 0)
    mixed = attending * (attention.queries + attention.output) + with_state * state.weights

    # Which layers have a feed-forward block of experts, and which a dense block.
    moe_layer, routed = _experts(family, fields, hidden, layer_kinds)
    if family.has_single_blocks:
        expert_layers = frozenset(_indices(layer_kinds, kinds.EXPERTS))
        dense_layers = frozenset(_indices(layer_kinds, kinds.MLP))
    else:
        expert_layers = frozenset(_indices(routed, True))
        dense_layers = frozenset(range(layers)) - expert_layers
    moe, dense = len(expert_layers), len(dense_layers)

    # Parameters of one dense block and of one expert. Experts may read a narrower latent vector.
    width = family.width(fields, hidden) if dense else 0
    fields.read.add("intermediate_size")
    latent = 0 if fields.get("moe_latent_size") is None else fields.number("moe_latent_size")
    dense_block = family.matrices * hidden * width
    expert = family.matrices * (latent or hidden) * moe_layer.width

    # Parameters beside the experts of a layer: shared experts, the router, a gate, and two products
    # that make the latent vector and lead back.
    shared, router = family.matrices * hidden * moe_layer.shared, hidden * moe_layer.number
    beside = shared + router + moe_layer.gate + 2 * hidden * latent
    body = mixed + dense * dense_block + moe * (beside + moe_layer.number * expert)
    if not moe:
        moe_layer, expert = Experts(0, 0, 0), 0

    # The matrices by name, which a quantization may name.
    feeds = Feeds(
        expert_layers,
        dense_layers,
        family.matrices,
        dense=hidden * width,
        shared=hidden * moe_layer.shared,
        experts=(latent or hidden) * moe_layer.width,
        number=moe_layer.number,
    )
    modules = modules_of(layer_kinds, attention, state, feeds, family.blocks, family.parallel)

    # What the file leaves out and its code fills in; then what is not understood.
    taken = sorted(key for key in fields.left_out if fields.left_out[key] and fields.values[key] is not False)
    assumed = tuple(f"{key} {fields.values[key]}" for key in taken)
    fields.read.update(family.known, extra, fields.left_out)
    return Decoder(
        layers=layers,
        hidden=hidden,
        vocab=vocab,
        attention=attention,
        attention_layers=attending,
        windowed=windowed,
        window=window,
        state_layers=with_state,
        state=state,
        feed_layers=dense + moe,
        body=body,
        experts=moe_layer.number,
        per_token=moe_layer.per_token,
        expert=expert,
        moe_layers=moe,
        unread=(*unread(fields), *_outside(values, fields)),
        assumed=assumed,
        notes=(note,) if note else (),
        modules=modules,
    )


def _indices(values: Sequence[object], wanted: object) -> list[int]:
    """Return the indices at which a list has the wanted value."""
    return [i for i, value in enumerate(values) if value == wanted]


def _outside(values: dict[str, Any], fields: Fields) -> tuple[str, ...]:
    """Return the fields beside a nested decoder that describe decoders and that the nested one lacks."""
    if not values.get("text_config"):
        return ()
    inner = values["text_config"]
    beside = {key for key in fields.read if key not in inner and values.get(key) not in (None, False, [], {}, 0)}
    return tuple(f"{key} (beside text_config)" for key in sorted(beside - {"text_config", "quantization_config"}))


def _family(values: dict[str, Any], name: str) -> tuple[Fields, Family, str]:
    """Return the decoder's fields, its family, and a note on how the family was found.

    values: of the file, in which a decoder may be nested as "text_config".
    """
    inner = values.get("text_config")
    if inner is not None and not isinstance(inner, dict):
        raise ValueError(f"config {name}: text_config holds a {type(inner).__name__}, not an object")
    kind, note = model_type(values, inner or {})
    is_named = bool((inner or {}).get("model_type") or values.get("model_type"))
    if inner:
        check_nested(values, inner, name)
        values = inner
    fields = Fields(values, name, set(), {})
    if values.get("is_encoder_decoder"):
        raise fields.refusal("has an encoder (is_encoder_decoder is True), which is not counted")
    # The family, by the model_type.
    if kind not in FAMILIES:
        near_kinds = difflib.get_close_matches(kind, list(FAMILIES), n=4, cutoff=0.5)
        shown = f"near ones that are: {', '.join(near_kinds)}" if near_kinds else f"among those that are: {_SOME}"
        named = f"model_type {kind!r}" if is_named else f"no model_type, but architectures of {kind}"
        raise fields.refusal(f"has {named}, whose layers are not counted here ({shown})")
    family = FAMILIES[kind]
    if values.get("add_cross_attention"):
        raise fields.refusal("has cross-attention (add_cross_attention is True), which is not counted")
    # The file's values, and defaults of fields that it leaves out, which no reader has taken yet.
    # Fields that are null and have no default are kept by name.
    present = {key: value for key, value in values.items() if value is not None}
    defaults = defaults_of(kind, values)
    merged = {**family.defaults, **defaults, **present}
    not_taken = dict.fromkeys(defaults, False)
    nulls = frozenset(values) - frozenset(merged)
    return Fields(merged, name, read=set(), left_out=not_taken, nulls=nulls), family, note


# More layers than any model has: each one is read.
_MOST_LAYERS = 10_000
_SOME = "llama, qwen3, qwen3_moe, gemma3_text, mistral, gpt_oss, deepseek_v3, glm4_moe, qwen3_next"


def _layers(fields: Fields) -> int:
    """Return the number of layers; Nemotron-H may give it by the length of a list alone."""
    listed = fields.entries("layers_block_type")
    count = fields.number(
        "num_hidden_layers", "n_layer", "n_layers", "num_layers", default=len(listed) if listed else None
    )
    if count > _MOST_LAYERS:
        raise ValueError(f"config {fields.name}: num_hidden_layers is {count}; it must be at most {_MOST_LAYERS}")
    return count


def _experts(family: Family, fields: Fields, hidden: int, layer_kinds: list[str]) -> tuple[Experts, list[bool]]:
    """Return the experts, and for each layer whether it has them.

    Where no layer has any, the fields of experts mean nothing and are noted as read.
    """
    layers = len(layer_kinds)
    no_experts = Experts(0, 0, 0), [False] * layers
    if family.experts is None:
        return no_experts
    # A dense config of a family with experts.
    is_dense = family.has_single_blocks and kinds.EXPERTS not in layer_kinds
    if is_dense or fields.number(*NUMBER, default=0) < family.min_experts:
        fields.read.update(OF_EXPERTS)
        return no_experts
    return family.experts(fields, hidden), family.routed(fields, layers)
