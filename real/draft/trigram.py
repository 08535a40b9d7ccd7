"""Chimera: a trigram encoder for the nearest tokens, and attention over the target's states.

The encoder reads the three tokens that end at a step. One layer lets it attend to the target's
states before the block and to the block's steps. The head reads the target's state before the block
together with the layer's output.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from real.decode.proposer import Drafter
from real.draft import _rollout, _weights, heads
from real.draft._parts import Attention, Gated, Look, rms, with_tokens
from real.models.model import LanguageModel

NAME = "trigrams and full context"
PAPER = "arXiv:2402.15758"
RECIPES: dict[str, dict[str, Any]] = {
    "trigram": {
        "drafter": "trigram",
        "hidden": 256,
        "rank": 32,
        "inner": 64,
        "gated": 96,
        "starts": 32,
        "unroll": 4,
    }
    | _weights.FITTED,
    "smollm2/trigram": {"drafter": "trigram", "rank": 16, "inner": 48, "gated": 16, "unroll": 4, "steps": 1000}
    | _weights.SMOLLM2,
}
# Networks with equally many parameters, to 1 %: a wider gated layer replaces the part that is left
# out.
VARIANTS: dict[str, dict[str, Any]] = {
    "whole": {},
    "without trigrams": {"near": False, "gated": 309},
    "without context": {"far": False, "gated": 181},
}
LAYERS = heads.LAYERS
reads = heads.reads
lesson = heads.lesson


class Trigram(nn.Module):
    """The network of Chimera.

    Parameters
    ----------
    hidden, rank, inner, gated : int
        Width of the target's states, width inside the trigrams' residual block, widths of the
        layer's attention and of its gated part.
    near, far : bool
        Whether the encoder reads the two tokens before the last, and whether the layer attends to
        the text: see `VARIANTS`.
    """

    steps = None

    def __init__(self, hidden: int, rank: int, inner: int, gated: int, near: bool = True, far: bool = True) -> None:
        super().__init__()
        self.register_buffer("tokens", None)  # of its head; see `with_tokens`
        self.hidden, self.read = hidden, (3 if near else 1) * hidden
        self.squeeze = nn.Parameter(torch.randn(rank, self.read) * self.read**-0.5)
        self.spread = nn.Parameter(torch.zeros(self.read, rank))
        self.encode = nn.Parameter(torch.randn(hidden, self.read) * self.read**-0.5)
        self.attention = Attention(hidden, inner) if far else None
        self.gated = Gated(hidden, gated)
        self.fuse = nn.Parameter(torch.cat([torch.eye(hidden), torch.zeros(hidden, hidden)], 1))

    def keys(self, three: Tensor, before: Tensor) -> Tensor:
        """Return the attention's keys of the target's states; width 0 without context."""
        return before[..., :0] if self.attention is None else self.attention.keys(rms(before))

    def step(self, j: int, three: Tensor, carried: Tensor, block_keys: list[Tensor], look: Look) -> _rollout.Step:
        """Return step j: the encoded trigram that ends there, after attention, joined with `carried`.

        `carried` stays the state before the block.
        """
        # The trigram, or without the near tokens its last token, through a residual block of low
        # rank.
        recent = three[..., 3 * self.hidden - self.read :]
        residual = F.linear(F.silu(F.linear(recent, self.squeeze)), self.spread)
        x = F.linear(recent + residual, self.encode)

        # Attention to the text and the block, and the gated part.
        if self.attention is not None:
            block_keys = [*block_keys, self.attention.keys(rms(x))]
            x = x + self.attention(rms(x), look, block_keys)
        x = x + self.gated(rms(x), rms(x))
        return _rollout.Step(F.linear(torch.cat([carried, x], -1), self.fuse), carried, block_keys)


def network(recipe: dict[str, Any]) -> Trigram:
    """Return the network of a recipe, untrained."""
    options = {name: recipe[name] for name in ("near", "far") if name in recipe}
    sizes = [recipe[name] for name in ("hidden", "rank", "inner", "gated")]
    return with_tokens(Trigram(*sizes, **options), recipe)


def shipped(name: str = "trigram") -> Trigram:
    """Return the trained network; ValueError if its weights are not there."""
    return _weights.load(name, network(RECIPES[name]), RECIPES[name])


def drafter(net: nn.Module, target: LanguageModel) -> Drafter:
    """Return Chimera as a drafter.

    Parameters
    ----------
    net : Trigram
        The network, as `shipped` returns it.
    target : LanguageModel
        The target, whose last states the network reads.

    Returns
    -------
    Drafter
        For blocks of any length.

    Raises
    ------
    ValueError
        The target is not on the fast path, or has states of another width.

    References
    ----------
    Zeng et al. 2024, Chimera, arXiv:2402.15758.

    Examples
    --------
    >>> from real import TINY, Warping, load
    >>> pair = load(TINY / "target", TINY / "draft")
    >>> probabilities = drafter(shipped(), pair.target).along(pair.target, [5, 6], [7, 8, 9], 2, Warping())
    >>> probabilities.q.shape
    (3, 2)
    """
    return _rollout.drafter(net, target)


drafting = drafter
