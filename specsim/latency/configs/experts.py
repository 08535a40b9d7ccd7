"""Experts: how many, how wide, in which layers, and the shared experts that every token reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from specsim.latency.configs.fields import Fields


class Experts(NamedTuple):
    """The experts of one layer.

    number: experts of which each token takes `per_token`. width: of one of them; shared: of all shared experts
    together, which every token takes. gate: weights of a gate in front of the shared experts.
    """

    number: int
    per_token: int
    width: int
    shared: int = 0
    gate: int = 0


NUMBER = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
PER_TOKEN = ("num_experts_per_tok", "num_experts_per_token", "moe_k", "moe_topk")
BESIDE = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert")
# Fields that mean nothing where there are no experts.
OF_EXPERTS = (
    *(*NUMBER, *PER_TOKEN, *BESIDE, "moe_intermediate_size", "shared_expert_intermediate_size"),
    "moe_shared_expert_intermediate_size",
    *("first_k_dense_replace", "moe_layer_freq", "decoder_sparse_step", "mlp_only_layers", "num_dense_layers"),
    *("expert_layer_period", "expert_layer_offset", "mlp_layer_types"),
)

Reader = Callable[[Fields, int], Experts]
Routed = Callable[[Fields, int], list[bool]]


def plain(fields: Fields, hidden: int, *, width: tuple[str, ...] = ("intermediate_size",)) -> Experts:
    """Return experts without shared ones; `width` names the field of their width."""
    number = fields.number(*NUMBER)
    per_token = fields.number(*PER_TOKEN)
    if per_token > number:
        shown = next(name for name in PER_TOKEN if fields.values.get(name) is not None)
        raise ValueError(f"config {fields.name}: {shown} is {per_token}, more than the {number} experts")
    return Experts(number, per_token, fields.number(*width))


def beside(fields: Fields, hidden: int) -> Experts:
    """Return experts with shared ones, each as wide as the others (DeepSeek and its successors)."""
    routed = plain(fields, hidden, width=("moe_intermediate_size",))
    number = fields.number(*BESIDE, default=0)
    wide = fields.number("moe_shared_expert_intermediate_size", default=routed.width)
    return routed._replace(shared=number * wide)


def behind_a_gate(fields: Fields, hidden: int) -> Experts:
    """Return experts with one shared expert of a width of its own, behind a gate (Qwen2-MoE).

    The gate is there even if that width is 0.
    """
    routed = plain(fields, hidden, width=("moe_intermediate_size",))
    shared = fields.number("shared_expert_intermediate_size", default=0)
    return routed._replace(shared=shared, gate=hidden)


def always_one(fields: Fields, hidden: int) -> Experts:
    """Return experts of Llama 4, with a shared one of the same width, which no field names."""
    routed = plain(fields, hidden)
    return routed._replace(shared=routed.width)


def shared_width(fields: Fields, hidden: int) -> Experts:
    """Return experts beside a shared block of a width of its own (Granite, MiniMax)."""
    return plain(fields, hidden)._replace(shared=fields.number("shared_intermediate_size", default=0))


def wide_shared(fields: Fields, hidden: int) -> Experts:
    """Return experts of Nemotron-H, with one shared expert of a width of its own, however many are declared."""
    routed = plain(fields, hidden, width=("moe_intermediate_size",))
    fields.number(*BESIDE, default=0)
    return routed._replace(shared=fields.number("moe_shared_expert_intermediate_size"))


def generic(fields: Fields, hidden: int) -> Experts:
    """Return experts of a config without model_type, with shared ones if the config names some."""
    routed = plain(fields, hidden, width=(fields.first("moe_intermediate_size", "intermediate_size"),))
    shared = fields.number("n_shared_experts", default=0) * routed.width
    return routed._replace(shared=fields.number("shared_expert_intermediate_size", default=shared))


def all_layers(fields: Fields, layers: int) -> list[bool]:
    """Return that every layer has experts."""
    return [True] * layers


def after_dense(fields: Fields, layers: int) -> list[bool]:
    """Return which layers have experts: after the dense layers, one layer in moe_layer_freq."""
    declared = _declared(fields, layers)
    if declared is not None:
        fields.read.update(("first_k_dense_replace", "num_dense_layers", "moe_layer_freq"))
        return declared
    dense = fields.number("first_k_dense_replace", "num_dense_layers", default=0)
    every = fields.get("moe_layer_freq", default=1)
    if isinstance(every, list):
        if len(every) != layers:
            raise ValueError(f"config {fields.name}: moe_layer_freq has {len(every)} entries for {layers} layers")
        return [bool(has_experts) for has_experts in every]
    every = fields.number("moe_layer_freq", default=1)
    if dense >= layers:
        raise ValueError(f"config {fields.name}: first_k_dense_replace is {dense} of {layers} layers")
    return [i >= dense and i % every == 0 for i in range(layers)]


def after_one(fields: Fields, layers: int) -> list[bool]:
    """Return which layers of GLM-4 Lite have experts: all but the first, unless mlp_layer_types names others."""
    declared = _declared(fields, layers)
    dense = fields.number("first_k_dense_replace", default=0)
    if declared is None and dense != 1:
        raise fields.refusal(
            f"has first_k_dense_replace {dense}, which the code of its model_type does not read (1 layer is dense); "
            "give mlp_layer_types"
        )
    return declared or [i >= 1 for i in range(layers)]


def every_step(fields: Fields, layers: int) -> list[bool]:
    """Return which layers of Qwen have experts: every decoder_sparse_step-th, but for those of mlp_only_layers."""
    every = fields.number("decoder_sparse_step", default=1)
    dense = fields.indices("mlp_only_layers", layers=layers) or []
    return [i not in dense and (i + 1) % every == 0 for i in range(layers)]


def interleaved(fields: Fields, layers: int) -> list[bool]:
    """Return which layers of Llama 4 have experts: those of moe_layers, or every interleave_moe_layer_step-th."""
    listed = fields.indices("moe_layers", layers=layers)
    if listed is not None:
        fields.read.add("interleave_moe_layer_step")
        return [i in listed for i in range(layers)]
    every = fields.number("interleave_moe_layer_step", default=1)
    return [(i + 1) % every == 0 for i in range(layers)]


def periodic(fields: Fields, layers: int) -> list[bool]:
    """Return which layers of Jamba have experts: one in expert_layer_period."""
    every, offset = fields.number("expert_layer_period", default=1), fields.number("expert_layer_offset", default=0)
    return [i % every == offset for i in range(layers)]


def between(fields: Fields, layers: int) -> list[bool]:
    """Return which layers of ERNIE have experts: every moe_layer_interval-th between two indices, both included."""
    every = fields.number("moe_layer_interval", default=1)
    start = fields.number("moe_layer_start_index", default=0)
    end = fields.get("moe_layer_end_index", default=-1)
    end = layers - 1 if end == -1 else fields.number("moe_layer_end_index", default=0)
    return [(i + 1) % every == 0 and start <= i <= end for i in range(layers)]


def _declared(fields: Fields, layers: int) -> list[bool] | None:
    """Return for each layer whether it has experts, by mlp_layer_types; None without that field."""
    types = fields.entries("mlp_layer_types")
    if types is None:
        return None
    if len(types) != layers or not set(types) <= {"dense", "sparse"}:
        raise ValueError(f"config {fields.name}: mlp_layer_types must say dense or sparse of each of {layers} layers")
    return [kind == "sparse" for kind in types]


moe_width = partial(plain, width=("moe_intermediate_size",))
