"""Early exit: the target's first layers, an attention block on top, and the target's own head.

The block has two norms and no feed-forward part. With it the first layers are a language model like any other, whose
caches, batches and fixed shapes are those of `real.models`. It reads the text by itself: that verification goes on from
the states it made, so that the first layers run once, is a question of cost, which this drafter does not answer yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from real.decode.draft import LMDraft
from real.decode.given_text import Along
from real.decode.proposer import Drafter, Draw
from real.decode.warp import Warping
from real.draft import _rollout, _weights, lm, restricted
from real.draft._parts import frozen, with_tokens
from real.models import llama, store
from real.models.model import LanguageModel
from real.models.quantised import Quantised
from real.models.weights import Layer, Weights, pack

NAME = "early exit"
PAPER = "arXiv:2404.18911"
LAYERS = ()
RECIPES: dict[str, dict[str, Any]] = {
    f"exit_{after}": {"drafter": "exit", "after": after, "hidden": 256, "width": 768} | _weights.FITTED | {"batch": 6}
    for after in range(4)
} | {
    f"smollm2/exit_{after}": {"drafter": "exit", "after": after, "width": 960, "steps": steps} | _weights.SMOLLM2
    for after, steps in ((2, 2000), (5, 1500), (10, 1500))
}


class Block(nn.Module):
    """What is trained: attention with a norm before it, and the norm that the head reads through.

    Parameters
    ----------
    hidden : int
        Width of the target's states.
    width : int
        Of queries, keys and values together.
    inner : int, optional
        Of the queries; `hidden` by default.
    """

    def __init__(self, hidden: int, width: int, inner: int | None = None) -> None:
        super().__init__()
        self.register_buffer("tokens", None)  # of its head; see `with_tokens`
        inner = hidden if inner is None else inner
        self.norm_in = nn.Parameter(torch.ones(hidden))
        self.qkv = nn.Parameter(0.05 * torch.randn(width, hidden))
        self.out = nn.Parameter(0.005 * torch.randn(hidden, inner))
        self.norm = nn.Parameter(torch.ones(hidden))  # times the target's own


class Shipped(NamedTuple):
    """A block that was trained, and after how many layers of the target it stands."""

    block: Block
    after: int


def network(recipe: dict[str, Any]) -> Block:
    """The block of a recipe, untrained; its first weights come from torch's generator."""
    return with_tokens(Block(recipe["hidden"], recipe["width"]), recipe)


def reads(recipe: dict[str, Any]) -> tuple[int, ...]:
    """Layers of the target that it is trained on, -1 for the last."""
    return (recipe["after"], -1)


def lesson(block: nn.Module, target: LanguageModel, recipe: dict[str, Any]) -> Callable[..., Tensor]:
    """The loss to train on: cross-entropy with the target's own rows.

    Parameters
    ----------
    block : Block
        The learner.
    target : LanguageModel
        The frozen target, on the fast path.
    recipe : dict
        Of the exit.

    Returns
    -------
    callable
        (tokens (b, m), states (b, m, 2, hidden) of `reads`, a generator, weight (b, m) of each place, by default all
        the same) -> nats a token.
    """
    weights = _known(target, recipe["after"], block)
    ends = frozen(target, recipe["hidden"], block.tokens)  # type: ignore[arg-type]

    def loss(tokens: Tensor, states: Tensor, rng: torch.Generator, weight: Tensor | None = None) -> Tensor:
        return _rollout.crossed(ends, states[:, :, 1], on_states(weights, block, states[:, :, 0]), weight)

    return loss


def on_states(weights: Weights, block: nn.Module, states: Tensor) -> Tensor:
    """What the head reads (b, m, hidden), from whole texts' states (b, m, hidden) where the exit is; differentiable."""
    b, m, hidden = states.shape
    size = (b, weights.kv_heads, m, weights.cos.shape[-1])
    mask = states.new_full((m, m), -torch.inf).triu_(1)[None, None]
    alone = replace(_behind(weights, block, 0, lambda w: w), embedding=states.reshape(-1, hidden))
    rows = torch.arange(b * m, device=states.device).view(b, m)  # each place is a token of its own
    seen = [(states.new_zeros(size), states.new_zeros(size))]
    return llama.forward(alone, seen, seen, llama.Place(weights.cos[:m], weights.sin[:m], mask), rows, m)


def shipped(name: str) -> Shipped:
    """The block of this name; ValueError if its weights are not there."""
    recipe = RECIPES[name]
    return Shipped(_weights.load(name, network(recipe), recipe), recipe["after"])


def drafting(found: Shipped, target: LanguageModel) -> Drafter:
    """The drafter of what `shipped` gave."""
    return drafter(*found)


def drafter(block: nn.Module, after: int) -> Drafter:
    """The target's first layers as a draft.

    Parameters
    ----------
    block : Block
        What stands behind them.
    after : int
        How many layers, below the target's.

    Returns
    -------
    Drafter
        It may stop after any draft; its `start` and `along` raise ValueError for a target that has no such layer, or
        states of another width.

    References
    ----------
    Liu et al. 2024, Kangaroo, arXiv:2404.18911.

    Examples
    --------
    >>> from real import TINY, load
    >>> pair = load(TINY / "target", TINY / "draft")
    >>> found = drafter(*shipped("exit_1")).along(pair.target, [5, 6], [7, 8, 9], 2, Warping())
    >>> found.q.shape
    (3, 2)
    """
    return Drafter(
        (), partial(_start, block, after), partial(_along, block, after), partial(_rows, block, after), stepwise=True
    )


def model_of(target: LanguageModel, block: nn.Module, after: int) -> LanguageModel:
    """The target's first layers, the block and the target's head as a language model; arguments of `drafter`."""
    weights = _behind(_known(target, after, block), block, after, pack)
    read = [w for layer in weights.layers for w in layer if isinstance(w, (Tensor, Quantised))]
    size = sum(w.nbytes for w in [*read, weights.norm, weights.head])

    # The target's embedding and head are not counted, as in `real.draft.lowrank`.
    first = [w for layer in weights.layers[:after] for w in layer if isinstance(w, (Tensor, Quantised))]
    parameters = sum(w.numel() for w in [*first, *block.parameters()])
    model = replace(
        target, weights=weights, new_store=partial(store.Llama, weights), weight_bytes=size, parameters=parameters
    )
    tokens = getattr(block, "tokens", None)
    return model if tokens is None else restricted.trimmed(model, tokens.tolist())


def _known(target: LanguageModel, after: int = 0, block: nn.Module | None = None) -> Weights:
    """The target's weights; ValueError if there is no exit where it is asked for."""
    weights = target.weights
    if weights is None:
        raise ValueError("an exit needs a target on the fast path, and this one runs its own forward")
    if not 0 <= after < len(weights.layers):
        raise ValueError(f"after={after} is no exit: the target has {len(weights.layers)} layers, so it is below that")
    there = len(weights.norm)
    here = there if block is None else len(dict(block.named_parameters())["norm"])
    if here != there:
        raise ValueError(f"the exit reads states of width {here}, and the target's have {there}")
    return weights


def _behind(weights: Weights, block: Any, after: int, packed: Callable[[Tensor], Tensor]) -> Weights:
    """Weights whose layers are the first ones and the block: a layer with a feed-forward part of width 0."""
    kind = weights.norm
    held = {name: w.to(kind) for name, w in block.named_parameters()}
    none = kind.new_zeros(0, len(kind))
    last = Layer(
        *(held["norm_in"], packed(held["qkv"]), None, packed(held["out"]), None),
        *(torch.ones_like(kind), none, None, none.T, None),
    )
    return replace(weights, layers=[*weights.layers[:after], last], norm=weights.norm * held["norm"])


def _start(
    block: nn.Module,
    after: int,
    target: LanguageModel,
    warping: Warping,
    draw: Draw,
    batch: int,
    mark: Callable[[str], None],
) -> LMDraft:
    with torch.no_grad():
        return LMDraft(model_of(target, block, after), warping, draw, batch, mark)


def _along(
    block: nn.Module,
    after: int,
    target: LanguageModel,
    prompt: list[int],
    text: list[int],
    gamma: int,
    warping: Warping,
) -> Along:
    with torch.no_grad():
        return lm.drafter(model_of(target, block, after)).along(target, prompt, text, gamma, warping)


def _rows(
    block: nn.Module, after: int, target: LanguageModel, prompt: list[int], text: list[int], warping: Warping
) -> Tensor:
    with torch.no_grad():
        rows = lm.drafter(model_of(target, block, after)).rows
        assert rows is not None
        return rows(target, prompt, text, warping)
