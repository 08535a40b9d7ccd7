"""What networks on a target's states are made of: attention that may begin anywhere, a gated layer, frozen ends."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from real.models.model import LanguageModel
from real.models.weights import Weights, plain


class Frozen(NamedTuple):
    """The target's ends: embedding (ids, hidden) of mean square 1 and head (V, hidden), with its bias if it has one."""

    embedding: Tensor
    head: Tensor
    bias: Tensor | None

    def logits(self, hidden: Tensor) -> Tensor:
        """What the target's head makes of (..., hidden)."""
        return F.linear(hidden, self.head, self.bias)

    def three(self, tokens: Tensor) -> Tensor:
        """Embeddings (..., 3 hidden) of three tokens each (..., 3), oldest first; zeros where an id is negative."""
        found = F.embedding(tokens.clamp(min=0), self.embedding)
        return torch.where(tokens[..., None] < 0, 0, found).flatten(-2)


def weights_of(target: LanguageModel) -> Weights:
    """The target's weights; ValueError for one that is not on the fast path."""
    if target.weights is None:
        raise ValueError("a drafter that reads the target's states needs one on the fast path")
    return target.weights


def frozen(target: LanguageModel, hidden: int) -> Frozen:
    """The ends of a target; ValueError unless its states have the width that is read."""
    weights = weights_of(target)
    there = weights.embedding.shape[1]
    if there != hidden:
        raise ValueError(f"the drafter reads states of width {hidden}, and the target's have {there}")
    scaled = weights.embedding / weights.embedding.double().square().mean().sqrt().to(weights.embedding.dtype)
    return Frozen(scaled, plain(weights.head)[: target.vocab_size], weights.head_bias)


class Look(NamedTuple):
    """What blocks see of the text before them: keys (b, n, w) of every position, those up to `at` (b or 1, k) shown."""

    held: Tensor
    at: Tensor


class Attention(nn.Module):
    """Attention of a block's steps to the text before the block and to the block's own steps.

    Blocks begin at k places at once: the keys of the text are shared, and each block sees those up to its own place; a
    step of a block sees that block's steps alone. Distances are told by a slope for each head (ALiBi).

    Parameters
    ----------
    hidden, inner, heads : int
        Width of what is read, of queries, keys and values, and how many heads share it.
    """

    def __init__(self, hidden: int, inner: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Parameter(0.05 * torch.randn(inner, hidden))
        self.both = nn.Parameter(0.05 * torch.randn(2 * inner, hidden))
        self.out = nn.Parameter(0.005 * torch.randn(hidden, inner))

    def keys(self, x: Tensor) -> Tensor:
        """Keys and values (..., 2 inner) of (..., hidden)."""
        return F.linear(x, self.both)

    def forward(self, x: Tensor, look: Look, own: list[Tensor]) -> Tensor:
        """What steps (b, k, hidden) find: `own` holds keys (b, k, 2 inner) of the blocks' steps, theirs the last."""
        wide = _split(F.linear(x, self.query), self.heads)
        keys, values = _split(look.held, 2, self.heads).unbind(-3)
        slope = 0.5 ** torch.arange(1, self.heads + 1, device=x.device).to(x.dtype)[:, None, None]
        places = torch.arange(look.held.shape[1], device=x.device)
        behind = (look.at[:, :, None] - places)[:, None]  # (b or 1, 1, k, n)
        scores = torch.einsum("bkhd,bnhd->bhkn", wide, keys) / wide.shape[-1] ** 0.5
        scores = (scores - slope * (behind + len(own))).masked_fill(behind < 0, -torch.inf)
        if own:
            mine, worth = _split(torch.stack(own, 2), 2, self.heads).unbind(-3)  # (b, k, steps, h, d)
            ages = torch.arange(len(own) - 1, -1, -1, device=x.device).to(x.dtype)
            near = torch.einsum("bkhd,bkshd->bhks", wide, mine) / wide.shape[-1] ** 0.5 - slope * ages
            share = torch.cat([scores, near], -1).softmax(-1)
            found = torch.einsum("bhkn,bnhd->bkhd", share[..., : len(places)], values)
            found = found + torch.einsum("bhks,bkshd->bkhd", share[..., len(places) :], worth)
        else:
            found = torch.einsum("bhkn,bnhd->bkhd", scores.softmax(-1), values)
        return F.linear(found.flatten(-2), self.out)


def _split(x: Tensor, *sizes: int) -> Tensor:
    """The last axis as several, the last of them what is left."""
    return x.reshape(*x.shape[:-1], *sizes, -1)


class Gated(nn.Module):
    """down(silu(gate(a)) * up(b)), which begins near zero.

    Parameters
    ----------
    hidden, inner : int
        Width of what is read, and inside.
    out : int, optional
        Width of what comes out; `hidden` by default.
    """

    def __init__(self, hidden: int, inner: int, out: int | None = None) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.randn(inner, hidden) * hidden**-0.5)
        self.up = nn.Parameter(torch.randn(inner, hidden) * hidden**-0.5)
        self.down = nn.Parameter(0.01 * torch.randn(out or hidden, inner))

    def forward(self, gate: Tensor, value: Tensor) -> Tensor:
        """(..., out) of two inputs (..., hidden)."""
        return F.linear(F.silu(F.linear(gate, self.gate)) * F.linear(value, self.up), self.down)


def rms(x: Tensor) -> Tensor:
    """x over its root mean square."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
