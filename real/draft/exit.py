"""Early exit: the target's first layers, an attention block on top, and the target's own head.

The block has two norms and no feed-forward part. With it the first layers are a language model like
any other, whose caches, batches and fixed shapes are those of `real.models`. The model reads the
text by itself. Verification could go on from the states that it made, so that the first layers run
once; that would save time, and this drafter does not do it yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """The part that is trained: attention with a norm before it, and the norm before the head.

    Parameters
    ----------
    hidden : int
        Width of the target's states.
    width : int
        Width of queries, keys and values together.
    inner : int, optional
        Width of the queries; `hidden` by default.
    """

    def __init__(self, hidden: int, width: int, inner: int | None = None) -> None:
        super().__init__()
        # Tokens of its head; see `with_tokens`.
        self.register_buffer("tokens", None)
        inner = hidden if inner is None else inner
        self.norm_in = nn.Parameter(torch.ones(hidden))
        self.qkv = nn.Parameter(0.05 * torch.randn(width, hidden))
        self.out = nn.Parameter(0.005 * torch.randn(hidden, inner))
        # It is multiplied by the scale of the target's own norm.
        self.norm = nn.Parameter(torch.ones(hidden))


class Shipped(NamedTuple):
    """A block that was trained, and the number of the target's layers before it."""

    block: Block
    after: int


def network(recipe: dict[str, Any]) -> Block:
    """Return the block of a recipe, untrained; its first weights come from torch's generator."""
    return with_tokens(Block(recipe["hidden"], recipe["width"]), recipe)


def reads(recipe: dict[str, Any]) -> tuple[int, ...]:
    """Layers of the target that the block is trained on, -1 for the last."""
    return (recipe["after"], -1)


def lesson(block: nn.Module, target: LanguageModel, recipe: dict[str, Any]) -> Callable[..., Tensor]:
    """Return the loss to train on: cross-entropy with the target's own rows.

    Parameters
    ----------
    block : Block
        The learner.
    target : LanguageModel
        The frozen target, on the fast path.
    recipe : dict
        The exit's recipe.

    Returns
    -------
    callable
        (tokens (b, m), states (b, m, 2, hidden) of `reads`, a generator, weight (b, m) of each
        place, by default all the same) -> nats a token.
    """
    weights = _checked_weights(target, recipe["after"], block)
    ends = frozen(target, recipe["hidden"], block.tokens)  # type: ignore[arg-type]

    def loss(
        tokens: Tensor,
        states: Tensor,
        rng: torch.Generator,
        weight: Tensor | None = None,
    ) -> Tensor:
        """Return the cross-entropy of the exit's laws with the target's along whole texts."""
        at_exit, last = states.unbind(2)
        return _rollout.crossed(ends, last, on_states(weights, block, at_exit), weight)

    return loss


def on_states(weights: Weights, block: nn.Module, states: Tensor) -> Tensor:
    """Return the head's input (b, m, hidden), from states (b, m, hidden) of whole texts at the exit.

    It is differentiable in the block's parameters.
    """
    # The block alone as a model: each place is a token of its own, whose embedding is its state.
    b, m, hidden = states.shape
    block_alone = _with_block(weights, block, 0, lambda w: w)
    block_alone = replace(block_alone, embedding=states.reshape(-1, hidden))
    token_ids = torch.arange(b * m, device=states.device).view(b, m)

    # Room for keys and values, and a mask (1, 1, m, m) under which no place sees a later one.
    size = (b, weights.kv_heads, m, weights.cos.shape[-1])
    keys_values = [(states.new_zeros(size), states.new_zeros(size))]
    mask = states.new_full((1, 1, m, m), -torch.inf).triu_(1)
    place = llama.Place(weights.cos[:m], weights.sin[:m], mask)
    return llama.forward(block_alone, keys_values, keys_values, place, token_ids, m)


def shipped(name: str) -> Shipped:
    """Return the block of this name; ValueError if its weights are not there."""
    recipe = RECIPES[name]
    return Shipped(_weights.load(name, network(recipe), recipe), recipe["after"])


def drafting(exit_block: Shipped, target: LanguageModel) -> Drafter:
    """Return the drafter of a block that `shipped` returned."""
    return drafter(*exit_block)


def drafter(block: nn.Module, after: int) -> Drafter:
    """Return the target's first layers as a draft.

    Parameters
    ----------
    block : Block
        The block behind the first layers.
    after : int
        How many first layers, fewer than the target has.

    Returns
    -------
    Drafter
        It may stop after any draft; its `start` and `along` raise ValueError for a target that has
        no such layer, or states of another width.

    References
    ----------
    Liu et al. 2024, Kangaroo, arXiv:2404.18911.

    Examples
    --------
    >>> from real import TINY, load
    >>> pair = load(TINY / "target", TINY / "draft")
    >>> exit_drafter = drafter(*shipped("exit_1"))
    >>> exit_drafter.along(pair.target, [5, 6], [7, 8, 9], 2, Warping()).q.shape
    (3, 2)
    """
    return Drafter(
        (),
        start=partial(_start, block, after),
        along=partial(_along, block, after),
        rows=partial(_rows, block, after),
        stepwise=True,
    )


def model_of(target: LanguageModel, block: nn.Module, after: int) -> LanguageModel:
    """Return the target's first layers, the block and the target's head as a language model.

    The arguments `block` and `after` are those of `drafter`.
    """
    # The model's weights, and the bytes of them that a pass reads.
    weights = _with_block(_checked_weights(target, after, block), block, after, pack)
    size = sum(w.nbytes for w in [*_matrices(weights.layers), weights.norm, weights.head])

    # The target's embedding and head are not counted as parameters, as in `real.draft.lowrank`.
    first = _matrices(weights.layers[:after])
    parameters = sum(w.numel() for w in [*first, *block.parameters()])

    # The target's record with these weights; a block with a head of few tokens gives logits of
    # those.
    model = replace(
        target, weights=weights, new_store=partial(store.Llama, weights), weight_bytes=size, parameters=parameters
    )
    tokens = getattr(block, "tokens", None)
    return model if tokens is None else restricted.trimmed(model, tokens.tolist())


def _matrices(layers: Sequence[Layer]) -> list[Tensor | Quantised]:
    """Return the weights of layers, without the parts that they lack."""
    return [w for layer in layers for w in layer if isinstance(w, (Tensor, Quantised))]


def _checked_weights(target: LanguageModel, after: int = 0, block: nn.Module | None = None) -> Weights:
    """Return the target's weights; ValueError if it has no layer `after`, or states of another width."""
    weights = target.weights
    if weights is None:
        raise ValueError("an exit needs a target on the fast path, and this one runs its own forward")
    if not 0 <= after < len(weights.layers):
        raise ValueError(f"after={after} is no exit: the target has {len(weights.layers)} layers, so it is below that")

    # The block's norm has one number for each entry of the states that it reads.
    target_width = len(weights.norm)
    block_width = target_width if block is None else len(dict(block.named_parameters())["norm"])
    if block_width != target_width:
        raise ValueError(f"the exit reads states of width {block_width}, and the target's have {target_width}")
    return weights


def _with_block(weights: Weights, block: Any, after: int, pack_matrix: Callable[[Tensor], Tensor]) -> Weights:
    """Return a target's weights with other layers: the first `after` of them, then the block.

    `pack_matrix` brings the block's matrices into the form in which a pass multiplies them.
    """
    # The block as a layer like any other, without biases and with a feed-forward part of width 0.
    norm = weights.norm
    parts = {name: w.to(norm) for name, w in block.named_parameters()}
    empty = norm.new_zeros(0, len(norm))
    layer = Layer(
        norm_in=parts["norm_in"],
        qkv=pack_matrix(parts["qkv"]),
        qkv_bias=None,
        out=pack_matrix(parts["out"]),
        out_bias=None,
        norm_mlp=torch.ones_like(norm),
        gate_up=empty,
        gate_up_bias=None,
        down=empty.T,
        down_bias=None,
    )
    return replace(weights, layers=[*weights.layers[:after], layer], norm=norm * parts["norm"])


def _start(
    block: nn.Module,
    after: int,
    target: LanguageModel,
    warping: Warping,
    draw: Draw,
    batch: int,
    mark: Callable[[str], None],
) -> LMDraft:
    """Start the exit as a draft model: `Drafter.start` of the block after `after` layers."""
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
    """Return the probabilities of the text's tokens: `Drafter.along` of the block after `after` layers."""
    with torch.no_grad():
        as_draft = lm.drafter(model_of(target, block, after))
        return as_draft.along(target, prompt, text, gamma, warping)


def _rows(
    block: nn.Module,
    after: int,
    target: LanguageModel,
    prompt: list[int],
    text: list[int],
    warping: Warping,
) -> Tensor:
    """Return the laws (T, V) along a text: `Drafter.rows` of the block after `after` layers."""
    with torch.no_grad():
        rows = lm.drafter(model_of(target, block, after)).rows
        assert rows is not None
        return rows(target, prompt, text, warping)
