"""The matrices of a decoder by the names of their modules, so that a quantization may name some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specsim.latency.configs import kinds
from specsim.latency.configs.mixers import Attention, State

ATTENTION, STATE, DENSE, SHARED, EXPERTS = "attention", "state", "mlp", "shared experts", "experts"


class Module(NamedTuple):
    """A matrix of one layer: its part, its names below the layer (it has one of them), and how many weights it has.

    is_whole: the names are those of the block that holds several matrices, which cannot be told apart here.
    """

    layer: int
    part: str
    names: tuple[str, ...]
    weights: int
    is_whole: bool = False


class Modules(NamedTuple):
    """The modules of a decoder, its layers, and the experts of one of them; routers and norms are left out."""

    layers: int = 0
    experts: int = 0
    items: tuple[Module, ...] = ()


# Names of the two or three matrices of a feed-forward block.
_GATE = ("gate_proj", "w1", "gate_up_proj", "input_linear")
_UP = ("up_proj", "w3", "gate_up_proj", "input_linear", "fc1", "c_fc", "dense_h_to_4h", "fc_in")
_DOWN = ("down_proj", "w2", "output_linear", "fc2", "c_proj", "dense_4h_to_h", "fc_out")


class Blocks(NamedTuple):
    """How the code of a model_type calls the attention and the feed-forward block of a layer."""

    attention: str = "self_attn"
    feed: str = "mlp"

    @property
    def dense(self) -> tuple[str, ...]:
        """Names of a dense block."""
        return ("shared_mlp", "mlp") if self.feed == "block_sparse_moe" else (self.feed,)

    @property
    def shared(self) -> tuple[str, ...]:
        """Names of the shared experts."""
        beside = ("shared_mlp",) if self.feed == "block_sparse_moe" else ()
        return (f"{self.feed}.shared_expert", f"{self.feed}.shared_experts", *beside)

    @property
    def experts(self) -> tuple[str, ...]:
        """Names of the experts, of which the first stands for all."""
        return (f"{self.feed}.experts.0", f"{self.feed}.experts")


class Feeds(NamedTuple):
    """Feed-forward blocks: which layers have experts and which a dense block, and the weights of a matrix of each kind.

    matrices: of a block, 2 or 3. number: experts of a layer.
    """

    expert_layers: frozenset[int]
    dense_layers: frozenset[int]
    matrices: int
    dense: int
    shared: int
    experts: int
    number: int


def modules_of(
    layer_kinds: Sequence[str], attention: Attention, state: State, feeds: Feeds, blocks: Blocks, parallel: bool
) -> Modules:
    """Return the modules of all layers; parallel: each layer has attention and a state."""
    items: list[Module] = []
    for i, kind in enumerate(layer_kinds):
        if kind in (kinds.FULL, kinds.WINDOW):
            items += [_module(i, ATTENTION, (blocks.attention,), leaf, count) for leaf, count in attention.leaves]
        if kind == kinds.STATE or parallel:
            items += _states(i, state)
        if i in feeds.dense_layers:
            items += _feed(i, DENSE, blocks.dense, feeds.dense, feeds.matrices)
        if i in feeds.expert_layers:
            items += _feed(i, SHARED, blocks.shared, feeds.shared, feeds.matrices)
            items += _feed(i, EXPERTS, blocks.experts, feeds.experts * feeds.number, feeds.matrices)
    return Modules(len(layer_kinds), feeds.number, tuple(module for module in items if module.weights))


def _states(layer: int, state: State) -> list[Module]:
    """Return the modules of a layer with a state: its matrices, or the block that holds them."""
    if state.leaves:
        return [_module(layer, STATE, state.blocks, leaf, count) for leaf, count in state.leaves]
    return [Module(layer, STATE, state.blocks, state.weights, True)]


def _feed(layer: int, part: str, blocks: Sequence[str], weights: int, matrices: int) -> list[Module]:
    """Return the two or three matrices of a feed-forward block."""
    leaves = (_GATE, _UP, _DOWN) if matrices == 3 else (_UP, _DOWN)
    return [_module(layer, part, blocks, "|".join(names), weights) for names in leaves]


def _module(layer: int, part: str, blocks: Sequence[str], leaf: str, weights: int) -> Module:
    """Return a matrix that is called one of `leaf`, in a block that is called one of `blocks`."""
    return Module(layer, part, tuple(f"{block}.{name}" for block in blocks for name in leaf.split("|")), weights)
