"""Parts of networks that read a target's states: attention, a gated layer, the target's embedding and head."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from real.models.model import LanguageModel
from real.models.weights import Weights, plain

Module = TypeVar("Module", bound=nn.Module)


class Frozen(NamedTuple):
    """The target's ends, which are not trained: its embedding (ids, hidden), scaled to mean square 1, and its head.

    The head (k, hidden), with its bias (k,), has a row for each of `tokens` (k,); where these are
    None, for all of the `vocabulary`.
    """

    embedding: Tensor
    head: Tensor
    bias: Tensor | None
    vocabulary: int
    tokens: Tensor | None = None

    def rows(self, hidden: Tensor) -> Tensor:
        """Return logits (..., k) of the head's own tokens."""
        return F.linear(hidden, self.head, self.bias)

    def logits(self, hidden: Tensor) -> Tensor:
        """Return logits (..., V), -inf for tokens that the head lacks."""
        rows = self.rows(hidden)
        if self.tokens is None:
            return rows
        logits = rows.new_full((*rows.shape[:-1], self.vocabulary), -torch.inf)
        logits[..., self.tokens] = rows
        return logits

    def three(self, tokens: Tensor) -> Tensor:
        """Return the embeddings (..., 3 hidden) of three tokens (..., 3), oldest first.

        They are zeros where an id is negative.
        """
        embedded = F.embedding(tokens.clamp(min=0), self.embedding)
        is_missing = tokens[..., None] < 0
        return torch.where(is_missing, 0, embedded).flatten(-2)


def weights_of(target: LanguageModel) -> Weights:
    """Return the target's weights; ValueError for one that is not on the fast path."""
    if target.weights is None:
        raise ValueError("a drafter that reads the target's states needs one on the fast path")
    return target.weights


def frozen(target: LanguageModel, hidden: int, tokens: Tensor | None = None) -> Frozen:
    """Return the ends of a target, with a head for these `tokens` (k,) alone, or for all.

    Raises
    ------
    ValueError
        The target's states have another width than `hidden`, or a token is outside its vocabulary.
    """
    weights = weights_of(target)
    width = weights.embedding.shape[1]
    if width != hidden:
        raise ValueError(f"the drafter reads states of width {hidden}, and the target's have {width}")

    # The embedding over its root mean square, and the whole head.
    embedding = weights.embedding
    root_mean_square = embedding.double().square().mean().sqrt().to(embedding.dtype)
    scaled = embedding / root_mean_square
    head, bias = plain(weights.head)[: target.vocab_size], weights.head_bias
    if tokens is None:
        return Frozen(scaled, head, bias, target.vocab_size)

    # The head's rows of the tokens.
    tokens = tokens.to(head.device, torch.int64)
    if int(tokens.max()) >= target.vocab_size:
        raise ValueError(f"the drafter knows token {int(tokens.max())}, and the target's last is {len(head) - 1}")
    return Frozen(scaled, head[tokens], None if bias is None else bias[tokens], target.vocab_size, tokens)


def with_tokens(net: Module, recipe: dict[str, Any]) -> Module:
    """Return the network with a buffer `tokens`, for the tokens of its head; None if the head has all.

    Their number is `recipe["tokens"]`. Training fills the buffer with the most frequent tokens of
    the texts that the network learns from, and it is saved with the weights.
    """
    count = recipe.get("tokens")
    net.register_buffer("tokens", torch.arange(count, dtype=torch.int32) if count else None)
    return net


class Look(NamedTuple):
    """The text that blocks see.

    held: keys (b, n, w) of every place of the text. at: the last place that each block sees,
    (b or 1, k).
    """

    held: Tensor
    at: Tensor


class Attention(nn.Module):
    """Attention of a block's steps to the text before the block and to the block's own steps.

    Blocks begin at k places at once: the keys of the text are shared, and each block sees those up
    to its own place; a step of a block sees that block's steps alone. Each head lowers its scores
    by a slope times the distance (ALiBi).

    Parameters
    ----------
    hidden, inner, heads : int
        Width of what is read, width of all queries (of all keys, of all values), and the number of
        heads that share the latter.
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

    def forward(self, x: Tensor, look: Look, block_keys: list[Tensor]) -> Tensor:
        """Return the attention's output (b, k, hidden) at steps `x` (b, k, hidden) of the blocks.

        `block_keys` holds keys and values (b, k, 2 inner) of each step of the blocks so far, the
        last those of `x`.
        """
        # Scores (b, heads, k, n) of the text's places; a block sees none after its start.
        queries = _split(F.linear(x, self.query), self.heads)
        keys, values = _split(look.held, 2, self.heads).unbind(-3)
        powers = torch.arange(1, self.heads + 1, device=x.device).to(x.dtype)
        slope = (0.5**powers).view(-1, 1, 1)
        places = torch.arange(look.held.shape[1], device=x.device)
        # How far each place is before the block's last known place, (b or 1, 1, k, n).
        distance = (look.at[:, :, None] - places).unsqueeze(1)
        scores = torch.einsum("bkhd,bnhd->bhkn", queries, keys) / queries.shape[-1] ** 0.5
        scores = (scores - slope * (distance + len(block_keys))).masked_fill(distance < 0, -torch.inf)

        # Blocks without steps of their own attend to the text alone.
        if not block_keys:
            attended = torch.einsum("bhkn,bnhd->bkhd", scores.softmax(-1), values)
            return F.linear(attended.flatten(-2), self.out)

        # Scores (b, heads, k, steps) of the block's steps; the step itself is at distance 0.
        stacked = torch.stack(block_keys, 2)
        # Both have the shape (b, k, steps, heads, width of a head).
        step_keys, step_values = _split(stacked, 2, self.heads).unbind(-3)
        ages = torch.arange(len(block_keys) - 1, -1, -1, device=x.device).to(x.dtype)
        step_scores = torch.einsum("bkhd,bkshd->bhks", queries, step_keys)
        step_scores = step_scores / queries.shape[-1] ** 0.5 - slope * ages

        # One softmax over the text's places and the block's steps together.
        shares = torch.cat([scores, step_scores], -1).softmax(-1)
        attended = torch.einsum("bhkn,bnhd->bkhd", shares[..., : len(places)], values)
        attended = attended + torch.einsum("bhks,bkshd->bkhd", shares[..., len(places) :], step_values)
        return F.linear(attended.flatten(-2), self.out)


def _split(x: Tensor, *sizes: int) -> Tensor:
    """Split the last axis into axes of these sizes and a last one of the rest."""
    return x.reshape(*x.shape[:-1], *sizes, -1)


class Gated(nn.Module):
    """down(silu(gate(a)) * up(b)), which begins near zero.

    Parameters
    ----------
    hidden, inner : int
        Width of what is read, and width inside.
    out : int, optional
        Width of the result; `hidden` by default.
    """

    def __init__(self, hidden: int, inner: int, out: int | None = None) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.randn(inner, hidden) * hidden**-0.5)
        self.up = nn.Parameter(torch.randn(inner, hidden) * hidden**-0.5)
        self.down = nn.Parameter(0.01 * torch.randn(out or hidden, inner))

    def forward(self, gate: Tensor, value: Tensor) -> Tensor:
        """Return the layer's output (..., out) of its two inputs (..., hidden)."""
        inside = F.silu(F.linear(gate, self.gate)) * F.linear(value, self.up)
        return F.linear(inside, self.down)


def rms(x: Tensor) -> Tensor:
    """Return x over its root mean square, along the last axis."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
