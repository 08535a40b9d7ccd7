"""Llama, Qwen2, Qwen3 and Mistral run by hand, to make one call cheap.

Speculative decoding makes many calls on few tokens, and there the time goes into calls, not
arithmetic. Here the projections are fused, keys and values are written in place into preallocated
tensors, and attention reads them as a view. Arithmetic is done in the model's own dtype, norms
included: Hugging Face rounds norms to float32 even in a float64 model, which would hide errors
below 1e-7 in the cached positions.

A layer with a sliding window keeps its keys and values whole, too, and masks what the window has
left: taking tokens back stays a smaller length.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from real.models.quantised import Quantised
from real.models.weights import Projection, Weights


def rms_norm(x: Tensor, scale: Tensor, eps: float) -> Tensor:
    """Return x over its root mean square, times a scale.

    Half types are computed in float32, as torch's own function does.
    """
    if x.is_cuda and scale.ndim == 1:
        return F.rms_norm(x, x.shape[-1:], scale, eps)
    if x.is_cuda or x.dtype.itemsize < 4:
        return F.rms_norm(x, x.shape[-1:], None, eps) * scale
    # On a CPU these few calls take half the time of torch's own function. The mean square is
    # eps + norm^2 / n.
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    mean_square = torch.addcmul(_number(eps, x.dtype), norm, norm, value=1 / x.shape[-1])
    return x * torch.rsqrt(mean_square) * scale


@cache
def _number(value: float, dtype: torch.dtype) -> Tensor:
    """Return a number as a tensor on the CPU, made once: making it takes as long as the arithmetic.

    It is made outside of inference mode, so that code in any mode may use it.
    """
    with torch.inference_mode(False):
        return torch.tensor(value, dtype=dtype)


def linear(x: Tensor, weight: Projection, bias: Tensor | None) -> Tensor:
    """Return x W' + b for a weight W that may be packed or quantised."""
    if isinstance(weight, Quantised):
        return weight.product(x) if bias is None else weight.product(x) + bias
    if weight.is_mkldnn:
        out: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
        return out
    return F.linear(x, weight, bias)


class Place(NamedTuple):
    """The places of one call's tokens, and the positions that they may look at.

    With `at` None they stand in one slab, at the same positions of neighbouring sequences, and are
    copied there as a slice; otherwise `at` holds (sequences (b, 1), positions (b, m)), and `take`
    (b,) the sequences, if not all.
    """

    # Rotations of the tokens' positions, (b or 1, m, 1, head_dim).
    cos: Tensor
    sin: Tensor
    # Added to the scores, (b or 1, 1, m, span).
    mask: Tensor | None
    at: tuple[Tensor, Tensor] | None = None
    take: Tensor | None = None
    # The mask of layers with a window, of `nearby`.
    near: Tensor | None = None


def forward(
    model: Weights,
    seen: list[tuple[Tensor, Tensor]],
    new: list[tuple[Tensor, Tensor]],
    place: Place,
    tokens: Tensor,
    rows: int,
) -> Tensor:
    """Return the final hidden states of the last `rows` tokens of each sequence, normed.

    Parameters
    ----------
    model : Weights
        The model.
    seen : list of (keys, values), each of shape (b or batch, kv heads, span, head_dim)
        For each layer, a view of what the tokens may look at, their own places included.
    new : list of (keys, values)
        For each layer, where their own go: the slab itself, or with `place.at` the tensors to
        index, (batch, positions, kv heads, head_dim).
    place : Place
        Rotations, mask and places.
    tokens : Tensor, shape (b, m), int64
        Token ids.
    rows : int
        How many of the last positions to return.

    Returns
    -------
    Tensor, shape (b, rows, hidden)
        Hidden states.
    """
    # The deque keeps the states after the last layer alone.
    (x,) = deque(through(model, seen, new, place, tokens), maxlen=1)
    return rms_norm(x[:, tokens.shape[1] - rows :], model.norm, model.eps)


def states(
    model: Weights,
    seen: list[tuple[Tensor, Tensor]],
    new: list[tuple[Tensor, Tensor]],
    place: Place,
    tokens: Tensor,
    layers: tuple[int, ...],
) -> tuple[Tensor, list[Tensor]]:
    """Return the final hidden states (b, m, hidden) of all tokens, normed, and those after each of `layers`.

    Parameters are those of `forward`; `layers` counts from 0, the embedding, to the last, which is
    normed, too.
    """
    final = len(seen)
    after = {n: x for n, x in enumerate(through(model, seen, new, place, tokens)) if n in layers or n == final}
    after[final] = rms_norm(after[final], model.norm, model.eps)
    return after[final], [after[n] for n in layers]


def through(
    model: Weights,
    seen: list[tuple[Tensor, Tensor]],
    new: list[tuple[Tensor, Tensor]],
    place: Place,
    tokens: Tensor,
) -> Iterator[Tensor]:
    """Yield hidden states (b, m, hidden): the embedding, then those after each layer.

    Parameters are those of `forward`.
    """
    eps, (b, m), head_dim = model.eps, tokens.shape, model.cos.shape[-1]
    cos, sin, mask, at, take, near = place
    first_keys, _ = seen[0]
    span = first_keys.shape[2]
    if model.window is not None and near is None and span > model.window:
        raise ValueError(f"place.near is missing: the model has layers with a window of {model.window} positions")

    # Masks for the rows of a group of heads, made once for all layers.
    group = model.heads // model.kv_heads
    wide_mask = _shared(mask, group)
    wide_near = wide_mask if near is mask else _shared(near, group)
    x = F.embedding(tokens, model.embedding)
    yield x

    num_rotated = model.heads + model.kv_heads
    for w, (keys, values), (new_keys, new_values) in zip(model.layers, seen, new, strict=True):
        # Queries, keys and values; the first two are normed if the model does so, then rotated.
        h = linear(rms_norm(x, w.norm_in, eps), w.qkv, w.qkv_bias)
        qk, v = h.view(b, m, -1, head_dim).tensor_split((num_rotated,), dim=2)
        if w.qk_norm is not None:
            qk = rms_norm(qk, w.qk_norm, eps)
        # x cos + roll(x) sin, as `Weights` says of `sin`.
        qk = torch.addcmul(qk * cos, qk.roll(head_dim // 2, -1), sin)
        q, k = qk.tensor_split((model.heads,), dim=2)

        # Write the new keys and values, so that the tokens see each other.
        if at is None:
            new_keys.copy_(k.transpose(1, 2))
            new_values.copy_(v.transpose(1, 2))
        else:
            new_keys[at] = k
            new_values[at] = v
            if take is not None:
                keys, values = keys[take], values[take]

        # Attention and the feed-forward part, each added to the states.
        attended = _attend(q, keys, values, wide_near if w.windowed else wide_mask)
        x = x + linear(attended, w.out, w.out_bias)
        gate, up = linear(rms_norm(x, w.norm_mlp, eps), w.gate_up, w.gate_up_bias).chunk(2, -1)
        x = x + linear(F.silu(gate) * up, w.down, w.down_bias)
        yield x


def _attend(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Return the attention (b, m, heads * head_dim) of queries (b, m, heads, head_dim).

    Query heads that share keys become rows of one head, which any kernel takes: for grouped heads
    beside a mask, a GPU would fall back on a kernel that copies keys and values for each head. The
    mask has those rows (see `_shared`).
    """
    (b, m, heads, width), kv_heads = q.shape, keys.shape[1]
    group = heads // kv_heads
    rows = q.transpose(1, 2).reshape(b, kv_heads, group * m, width)
    h = F.scaled_dot_product_attention(rows, keys, values, attn_mask=mask)
    # The order of h in memory is the kernel's own: some kernels of a GPU write positions before
    # heads.
    return h.reshape(b, kv_heads, group, m, width).permute(0, 3, 1, 2, 4).reshape(b, m, -1)


def _shared(mask: Tensor | None, group: int) -> Tensor | None:
    """Return a mask (b or 1, 1, m, span) as (b or 1, 1, group * m, span), for the rows of a group of heads.

    It is made once a pass. On a GPU its rows begin at multiples of 8 numbers: attention would copy
    any other mask, in every layer.
    """
    if mask is None:
        return None
    span = mask.shape[-1]
    if group > 1:
        mask = mask.repeat(1, 1, group, 1)
    if mask.is_cuda and span % 8:
        return F.pad(mask, (0, -span % 8)).narrow(-1, 0, span)
    return mask


def nearby(model: Weights, mask: Tensor | None, positions: Tensor, held: Tensor) -> Tensor | None:
    """Return the mask of layers with a window, which also hides the positions that the window has left.

    Parameters
    ----------
    model : Weights
        The model; without windows the mask stays.
    mask : Tensor, shape (b or 1, 1, m, span), or None
        That of the other layers; None hides nothing.
    positions : Tensor, shape (b or 1, m)
        Of the tokens that look.
    held : Tensor, shape (span,) or (b, 1, 1, span)
        Positions of the keys they may look at.

    Returns
    -------
    Tensor, shape (b or 1, 1, m, span), or None
        Added to the scores.
    """
    if model.window is None:
        return mask
    behind = held <= positions[:, None, :, None] - model.window
    if mask is None:
        mask = torch.zeros(behind.shape, dtype=model.cos.dtype, device=behind.device)
    return mask.masked_fill(behind, -torch.inf)


def ragged(model: Weights, positions: Tensor, sequences: Tensor, span: int) -> Place:
    """Return the place of tokens at positions (b, m) of sequences (b, 1), among the first `span` positions."""
    # A token sees the keys up to its own position. Of keys (b, 1, m, span) the others are hidden.
    key_positions = torch.arange(span, device=positions.device)
    is_hidden = key_positions > positions[:, None, :, None]
    mask = torch.zeros(is_hidden.shape, dtype=model.cos.dtype, device=positions.device)
    mask.masked_fill_(is_hidden, -torch.inf)

    # A sequence that waits may stand past the context, for which there are no rotations.
    in_context = positions.clamp(max=model.cos.shape[0] - 1)
    near = nearby(model, mask, positions, key_positions)
    return Place(model.cos[in_context], model.sin[in_context], mask, (sequences, positions), near=near)
