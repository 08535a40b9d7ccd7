"""Llama, Qwen2 and Mistral (without window) run by hand, to make one call cheap.

Speculative decoding makes many calls on few tokens, and there the time goes into calls, not arithmetic.
Here the projections are fused, keys and values are written in place into preallocated tensors, and attention
reads them as a view.  Arithmetic is done in the model's own dtype, norms included: Hugging Face rounds norms
to float32 even in a float64 model, which would hide errors below 1e-7 in the cached positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_CLASSES = {"LlamaForCausalLM", "Qwen2ForCausalLM", "MistralForCausalLM"}
_FIXED_ROPE = {"default", "linear", "llama3", "yarn"}  # frequencies do not depend on the sequence length
_FIRST_CAPACITY = 256


class _Layer(NamedTuple):
    """Weights of one decoder layer; a bias is None where the model has none."""

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


def _layer(block: Any) -> _Layer:
    attention, mlp = block.self_attn, block.mlp
    return _Layer(
        block.input_layernorm.weight.detach(),
        *_fused(attention.q_proj, attention.k_proj, attention.v_proj),
        *_fused(attention.o_proj),
        block.post_attention_layernorm.weight.detach(),
        *_fused(mlp.gate_proj, mlp.up_proj),
        *_fused(mlp.down_proj),
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
        [_layer(block) for block in decoder.layers],
        decoder.norm.weight.detach(),
        *_fused(model.lm_head),
        config.rms_norm_eps,
        cos.contiguous(),
        torch.cat([-sin[..., : sin.shape[-1] // 2], sin[..., sin.shape[-1] // 2 :]], dim=-1),
        config.num_attention_heads,
        config.num_key_value_heads,
    )


class Store:
    """Keys and values of one sequence.

    It has no length of its own: `append` is told where to write, rows from there on are dead, and taking
    tokens back is nothing but a smaller `start` in the next call.

    Parameters
    ----------
    model : Weights
        The model that fills it.
    """

    def __init__(self, model: Weights) -> None:
        self._model = model
        # (keys or values, layer, head, position, head_dim); positions are added by doubling
        self._kv = model.cos.new_empty(2, len(model.layers), model.kv_heads, 0, model.cos.shape[-1])

    def append(self, tokens: Tensor, start: int, rows: int) -> Tensor:
        """Run tokens and store their keys and values, as `real.model.Store` says.

        Parameters
        ----------
        tokens : Tensor, shape (m,), int64
            Token ids, on the model's device.
        start : int
            Number of positions before them, all stored by earlier calls.
        rows : int
            How many of the last positions to return logits for.

        Returns
        -------
        Tensor, shape (rows, vocab)
            Logits; an ordinary tensor, free to be changed in place.
        """
        with torch.inference_mode():
            hidden = self._hidden(tokens, start, rows)
        return F.linear(hidden, self._model.head, self._model.head_bias)

    def _hidden(self, tokens: Tensor, start: int, rows: int) -> Tensor:
        """Final hidden states of the last `rows` positions, normed; shape (rows, hidden)."""
        model, eps = self._model, self._model.eps
        m, end = tokens.shape[0], start + tokens.shape[0]
        if end > self._kv.shape[3]:
            self._grow(start, end)
        cos, sin = model.cos[start:end], model.sin[start:end]
        head_dim = cos.shape[-1]
        rotated = model.heads + model.kv_heads
        keys, values = self._kv[..., :end, :].unbind()
        # One query sees everything; of several, query i sees the positions up to start + i.
        mask = None if m == 1 else cos.new_full((m, end), -torch.inf).triu_(start + 1)

        x = F.embedding(tokens, model.embedding)
        width = x.shape[1:]
        for w, key, value in zip(model.layers, keys.unbind(), values.unbind(), strict=True):
            h = F.linear(F.rms_norm(x, width, w.norm_in, eps), w.qkv, w.qkv_bias)
            qk, v = h.view(m, -1, head_dim).tensor_split((rotated,), dim=1)
            qk = torch.addcmul(qk * cos, qk.roll(head_dim // 2, -1), sin)
            q, k = qk.tensor_split((model.heads,), dim=1)
            key[:, start:].copy_(k.transpose(0, 1))
            value[:, start:].copy_(v.transpose(0, 1))
            h = F.scaled_dot_product_attention(
                q.transpose(0, 1)[None], key[None], value[None], attn_mask=mask, enable_gqa=True
            )
            h = h[0].transpose(0, 1).reshape(m, -1)
            x = x + F.linear(h, w.out, w.out_bias)
            gate, up = F.linear(F.rms_norm(x, width, w.norm_mlp, eps), w.gate_up, w.gate_up_bias).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, w.down, w.down_bias)
        return F.rms_norm(x[m - rows :], width, model.norm, eps)

    def _grow(self, start: int, end: int) -> None:
        """Make room for `end` positions, keeping the first `start`."""
        context = self._model.cos.shape[0]
        capacity = min(context, max(_FIRST_CAPACITY, 1 << (end - 1).bit_length()))
        old = self._kv
        self._kv = old.new_empty(*old.shape[:3], capacity, old.shape[4])
        self._kv[..., :start, :] = old[..., :start, :]
