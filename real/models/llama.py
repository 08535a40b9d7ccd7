"""Llama, Qwen2, Qwen3 and Mistral (without window) run by hand, to make one call cheap.

Speculative decoding makes many calls on few tokens, and there the time goes into calls, not arithmetic.
Here the projections are fused, keys and values are written in place into preallocated tensors, and attention
reads them as a view.  Arithmetic is done in the model's own dtype, norms included: Hugging Face rounds norms
to float32 even in a float64 model, which would hide errors below 1e-7 in the cached positions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_CLASSES = {"LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM", "MistralForCausalLM"}
_PACKED_FROM = 1 << 16  # entries; below, a call costs more than the layout saves
_FIXED_ROPE = {"default", "linear", "llama3", "yarn"}  # frequencies do not depend on the sequence length


class _Layer(NamedTuple):
    """Weights of one decoder layer; a bias or norm is None where the model has none."""

    norm_in: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    out: Tensor
    out_bias: Tensor | None
    norm_mlp: Tensor
    gate_up: Tensor
    gate_up_bias: Tensor | None
    down: Tensor
    down_bias: Tensor | None
    qk_norm: Tensor | None = None  # (query and key heads, head_dim)


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights in the layout of the fast path; shared by the caches of all sequences.

    Parameters
    ----------
    embedding : Tensor, shape (embedding rows, hidden)
        Token embeddings.
    layers : list
        Weights of each decoder layer.
    norm : Tensor, shape (hidden,)
        Scale of the last norm.
    head : Tensor, shape (vocab, hidden)
        Output projection.
    head_bias : Tensor, shape (vocab,), or None
        Its bias.
    eps : float
        Added to the variance in norms.
    cos, sin : Tensor, shape (context, 1, head_dim)
        Rope of every position; the first half of `sin` is negated, so that rotating x is
        x * cos + roll(x) * sin.
    heads, kv_heads : int
        Number of query heads, and of key and value heads.
    """

    embedding: Tensor
    layers: list[_Layer]
    norm: Tensor
    head: Tensor
    head_bias: Tensor | None
    eps: float
    cos: Tensor
    sin: Tensor
    heads: int
    kv_heads: int

    def packed(self) -> Weights:
        """The same weights, projections in the layout of `pack`."""
        names = ("qkv", "out", "gate_up", "down")
        layers = [layer._replace(**{n: pack(getattr(layer, n)) for n in names}) for layer in self.layers]
        return replace(self, layers=layers, head=pack(self.head))


def supports(model: Any) -> bool:
    """Whether this path computes exactly what the model's own forward computes.

    Parameters
    ----------
    model : PreTrainedModel
        A causal language model.

    Returns
    -------
    bool
        False for another architecture, activation, or rope whose frequencies change with the length, for a
        sliding window, and for projections that were replaced (quantised, adapted).
    """
    config = model.config
    if type(model).__name__ not in _CLASSES or config.hidden_act != "silu":
        return False
    if getattr(config, "sliding_window", None) is not None:
        return False
    if config.rope_parameters["rope_type"] not in _FIXED_ROPE:
        return False
    projections = [module for name, module in model.named_modules() if name.endswith(("_proj", "lm_head"))]
    return all(type(module) is nn.Linear for module in projections)


def _fused(*projections: nn.Linear) -> tuple[Tensor, Tensor | None]:
    """Weight and bias of several projections of one input, as one projection."""
    biases = [p.bias.detach() for p in projections if p.bias is not None]
    return torch.cat([p.weight.detach() for p in projections]), torch.cat(biases) if biases else None


def _layer(block: Any, heads: int, kv_heads: int) -> _Layer:
    attention, mlp = block.self_attn, block.mlp
    norms = [getattr(attention, name).weight.detach() for name in ("q_norm", "k_norm") if hasattr(attention, name)]
    counts = (heads, kv_heads)
    return _Layer(
        block.input_layernorm.weight.detach(),
        *_fused(attention.q_proj, attention.k_proj, attention.v_proj),
        *_fused(attention.o_proj),
        block.post_attention_layernorm.weight.detach(),
        *_fused(mlp.gate_proj, mlp.up_proj),
        *_fused(mlp.down_proj),
        torch.cat([norm.expand(n, -1) for norm, n in zip(norms, counts, strict=True)]) if norms else None,
    )


@torch.no_grad()
def weights(model: Any) -> Weights:
    """Copy the weights of a supported model into the layout of this path.

    Parameters
    ----------
    model : PreTrainedModel
        A model for which `supports` is true.  Later changes to its projections are not seen here.

    Returns
    -------
    Weights
        Its weights, and the rope of every position as the model's own module computes it.
    """
    config, decoder = model.config, model.model
    embedding = decoder.embed_tokens.weight.detach()
    positions = torch.arange(config.max_position_embeddings, device=embedding.device)
    cos, sin = (table[0, :, None] for table in decoder.rotary_emb(embedding, positions[None]))
    return Weights(
        embedding,
        [_layer(block, config.num_attention_heads, config.num_key_value_heads) for block in decoder.layers],
        decoder.norm.weight.detach(),
        *_fused(model.lm_head),
        config.rms_norm_eps,
        cos.contiguous(),
        torch.cat([-sin[..., : sin.shape[-1] // 2], sin[..., sin.shape[-1] // 2 :]], dim=-1),
        config.num_attention_heads,
        config.num_key_value_heads,
    ).packed()


def pack(weight: Tensor) -> Tensor:
    """A projection in the layout that oneDNN runs fastest, where there is one; else as it is.

    On a CPU the ordinary layout reaches a third of the memory's speed on a few tokens, in bfloat16 as in float32, and
    costs twice as much for two tokens as for one in float32: a slow baseline, and a wrong t(m).
    """
    ops, kind = torch.ops.mkldnn, weight.dtype
    there = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if weight.device.type != "cpu" or weight.numel() < _PACKED_FROM or not there:
        return weight
    if kind == torch.float32 or (kind == torch.bfloat16 and ops._is_mkldnn_bf16_supported()):
        packed: Tensor = ops._reorder_linear_weight(weight, None)
        return packed
    return weight


def rms_norm(x: Tensor, scale: Tensor, eps: float) -> Tensor:
    """x over its root mean square, times a scale; half types in float32 between, as torch's own does."""
    if x.is_cuda or x.dtype.itemsize < 4:
        return F.rms_norm(x, x.shape[-1:], None, eps) * scale
    size = torch.linalg.vector_norm(x, dim=-1, keepdim=True)  # half the time of torch's own on a CPU, few calls
    return x * torch.rsqrt(torch.addcmul(x.new_tensor(eps), size, size, value=1 / x.shape[-1])) * scale


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W' + b for a weight that may be packed."""
    if weight.is_mkldnn:
        out: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
        return out
    return F.linear(x, weight, bias)


class Place(NamedTuple):
    """Where the tokens of one call go, and what they may look at.

    With `at` None they stand in one slab, at the same positions of neighbouring sequences, and are copied there as
    a slice; otherwise `at` holds (sequences (b, 1), positions (b, m)), and `take` (b,) the sequences, if not all.
    """

    cos: Tensor  # (b or 1, m, 1, head_dim)
    sin: Tensor
    mask: Tensor | None  # (b or 1, 1, m, span), added to the scores
    at: tuple[Tensor, Tensor] | None = None
    take: Tensor | None = None


def forward(
    model: Weights,
    seen: list[tuple[Tensor, Tensor]],
    new: list[tuple[Tensor, Tensor]],
    place: Place,
    tokens: Tensor,
    rows: int,
) -> Tensor:
    """Final hidden states of the last `rows` tokens of each sequence, normed.

    Parameters
    ----------
    model : Weights
        The model.
    seen : list of (keys, values), each of shape (b or batch, kv heads, span, head_dim)
        For each layer, a view of what the tokens may look at, their own places included.
    new : list of (keys, values)
        For each layer, where their own go: the slab itself, or with `place.at` the tensors to index,
        (batch, positions, kv heads, head_dim).
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
    eps, (b, m), head_dim = model.eps, tokens.shape, model.cos.shape[-1]
    cos, sin, mask, at, take = place
    x = F.embedding(tokens, model.embedding)
    rotated = model.heads + model.kv_heads
    for w, (keys, values), (new_keys, new_values) in zip(model.layers, seen, new, strict=True):
        h = linear(rms_norm(x, w.norm_in, eps), w.qkv, w.qkv_bias)
        qk, v = h.view(b, m, -1, head_dim).tensor_split((rotated,), dim=2)
        if w.qk_norm is not None:
            qk = rms_norm(qk, w.qk_norm, eps)
        qk = torch.addcmul(qk * cos, qk.roll(head_dim // 2, -1), sin)
        q, k = qk.tensor_split((model.heads,), dim=2)
        if at is None:
            new_keys.copy_(k.transpose(1, 2))
            new_values.copy_(v.transpose(1, 2))
        else:
            new_keys[at] = k
            new_values[at] = v
            if take is not None:
                keys, values = keys[take], values[take]
        x = x + linear(_attend(q, keys, values, mask), w.out, w.out_bias)
        gate, up = linear(rms_norm(x, w.norm_mlp, eps), w.gate_up, w.gate_up_bias).chunk(2, -1)
        x = x + linear(F.silu(gate) * up, w.down, w.down_bias)
    return rms_norm(x[:, m - rows :], model.norm, eps)


def _attend(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Attention of queries (b, m, heads, head_dim); heads that share keys become rows of one, which any kernel takes.

    Told of grouped heads beside a mask, a GPU would fall back on a kernel that copies keys and values for each.
    """
    (b, m, heads, width), kv_heads = q.shape, keys.shape[1]
    group = heads // kv_heads
    rows = q.transpose(1, 2).reshape(b, kv_heads, group * m, width)
    if mask is not None and group > 1:
        mask = mask.repeat(1, 1, group, 1)
    h = F.scaled_dot_product_attention(rows, keys, values, attn_mask=mask)
    return h.view(b, heads, m, width).transpose(1, 2).reshape(b, m, -1)


def ragged(model: Weights, positions: Tensor, sequences: Tensor, span: int) -> Place:
    """Place of tokens at positions (b, m) of sequences (b, 1), among the first `span` positions."""
    held = torch.arange(span, device=positions.device)
    hidden = held > positions[:, None, :, None]
    mask = torch.zeros(hidden.shape, dtype=model.cos.dtype, device=positions.device).masked_fill_(hidden, -torch.inf)
    known = positions.clamp(max=model.cos.shape[0] - 1)  # a sequence that waits may stand past the context
    return Place(model.cos[known], model.sin[known], mask, (sequences, positions))
