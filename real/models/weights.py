"""Weights of Llama, Qwen2, Qwen3 and Mistral in the layout of `real.models.llama`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from real.models.quantised import Quantised, quantise

Projection = Tensor | Quantised

# Architectures that the fast path runs.
_CLASSES = {"LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM", "MistralForCausalLM"}
# Entries from which on a projection is packed: below, a call costs more than the layout saves.
_PACKED_FROM = 1 << 16
_PROJECTIONS = ("qkv", "out", "gate_up", "down")
# Kinds of rope whose frequencies do not depend on the sequence length.
_FIXED_ROPE = {"default", "linear", "llama3", "yarn"}


class Layer(NamedTuple):
    """Weights of one decoder layer; a bias or norm is None where the model has none."""

    norm_in: Tensor
    qkv: Projection
    qkv_bias: Tensor | None
    out: Projection
    out_bias: Tensor | None
    norm_mlp: Tensor
    gate_up: Projection
    gate_up_bias: Tensor | None
    down: Projection
    down_bias: Tensor | None
    # Scales (query and key heads, head_dim) of the norms of queries and keys.
    qk_norm: Tensor | None = None
    # Whether the layer looks no further back than the model's window.
    windowed: bool = False


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
    window : int, optional
        Positions that a layer with a window sees, its own included.
    """

    embedding: Tensor
    layers: list[Layer]
    norm: Tensor
    head: Tensor
    head_bias: Tensor | None
    eps: float
    cos: Tensor
    sin: Tensor
    heads: int
    kv_heads: int
    window: int | None = None

    def packed(self) -> Weights:
        """Return these weights with their projections in the layout of `pack`."""
        layers = []
        for layer in self.layers:
            packed: dict[str, Any] = {name: pack(getattr(layer, name)) for name in _PROJECTIONS}
            layers.append(layer._replace(**packed))
        return replace(self, layers=layers, head=pack(self.head))

    def quantised(self, kind: str) -> Weights:
        """Return these weights with the projections of layers rounded to "int8" or "int4".

        The head stays, as logits need it.
        """
        layers = []
        for i, layer in enumerate(self.layers):
            rounded: dict[str, Any] = {
                name: quantise(plain(getattr(layer, name)), kind, f"{name} of layer {i}") for name in _PROJECTIONS
            }
            layers.append(layer._replace(**rounded))
        return replace(self, layers=layers)

    def projection_bytes(self) -> int:
        """Return the bytes of the projections of all layers."""
        return sum(getattr(layer, name).nbytes for layer in self.layers for name in _PROJECTIONS)


def supports(model: Any) -> bool:
    """Return whether this path computes exactly what the model's own forward computes.

    Parameters
    ----------
    model : PreTrainedModel
        A causal language model.

    Returns
    -------
    bool
        False for another architecture, activation, or rope whose frequencies change with the
        length, and for projections that were replaced (quantised, adapted).
    """
    config = model.config
    if type(model).__name__ not in _CLASSES or config.hidden_act != "silu":
        return False
    if config.rope_parameters["rope_type"] not in _FIXED_ROPE:
        return False
    ends = ("_proj", "lm_head")
    projections = [module for name, module in model.named_modules() if name.endswith(ends)]
    return all(type(module) is nn.Linear for module in projections)


def _fused(*projections: nn.Linear) -> tuple[Tensor, Tensor | None]:
    """Return weight and bias of several projections of one input, as one projection."""
    biases = [p.bias.detach() for p in projections if p.bias is not None]
    return torch.cat([p.weight.detach() for p in projections]), torch.cat(biases) if biases else None


def _windowed(model: Any) -> list[bool]:
    """Return whether each layer attends only to a window of the last positions.

    All layers of a Mistral do, those of a Qwen whose type says so, and none of a Llama.
    """
    config, name = model.config, type(model).__name__
    if name == "LlamaForCausalLM" or config.sliding_window is None:
        return [False] * config.num_hidden_layers
    if name == "MistralForCausalLM":
        return [True] * config.num_hidden_layers
    return [kind == "sliding_attention" for kind in config.layer_types]


def _layer(block: Any, heads: int, kv_heads: int, windowed: bool) -> Layer:
    """Return the weights of one decoder layer of Hugging Face's."""
    attention, mlp = block.self_attn, block.mlp
    # Scales of the norms of queries and keys, a row for each head, in models that have them.
    qk_norm = None
    if hasattr(attention, "q_norm"):
        q_scale, k_scale = attention.q_norm.weight.detach(), attention.k_norm.weight.detach()
        qk_norm = torch.cat([q_scale.expand(heads, -1), k_scale.expand(kv_heads, -1)])
    return Layer(
        block.input_layernorm.weight.detach(),
        *_fused(attention.q_proj, attention.k_proj, attention.v_proj),
        *_fused(attention.o_proj),
        block.post_attention_layernorm.weight.detach(),
        *_fused(mlp.gate_proj, mlp.up_proj),
        *_fused(mlp.down_proj),
        qk_norm,
        windowed,
    )


@torch.no_grad()
def from_model(model: Any) -> Weights:
    """Copy the weights of a supported model into the layout of this path.

    Parameters
    ----------
    model : PreTrainedModel
        A model for which `supports` is true. Later changes to its projections are not seen here.

    Returns
    -------
    Weights
        Its weights, and the rope of every position as the model's own module computes it.
    """
    # The rope of every position, the first half of the sines negated.
    config, decoder = model.config, model.model
    embedding = decoder.embed_tokens.weight.detach()
    positions = torch.arange(config.max_position_embeddings, device=embedding.device)
    cos, sin = (table[0, :, None] for table in decoder.rotary_emb(embedding, positions[None]))
    half = sin.shape[-1] // 2
    signed_sin = torch.cat([-sin[..., :half], sin[..., half:]], dim=-1)

    # The layers, each with the window that it has or has not.
    heads = (config.num_attention_heads, config.num_key_value_heads)
    windowed = _windowed(model)
    return Weights(
        embedding,
        [_layer(block, *heads, has_window) for block, has_window in zip(decoder.layers, windowed, strict=True)],
        decoder.norm.weight.detach(),
        *_fused(model.lm_head),
        config.rms_norm_eps,
        cos.contiguous(),
        signed_sin,
        *heads,
        config.sliding_window if any(windowed) else None,
    ).packed()


def pack(weight: Tensor) -> Tensor:
    """Return a projection in the layout that oneDNN runs fastest, where there is such a layout.

    On a CPU the ordinary layout reaches a third of the memory's speed on a few tokens, in bfloat16
    as in float32, and costs twice as much for two tokens as for one in float32: a slow baseline,
    and a wrong t(m).
    """
    ops, kind = torch.ops.mkldnn, weight.dtype
    is_available = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if weight.device.type != "cpu" or weight.numel() < _PACKED_FROM or not is_available:
        return weight
    if kind == torch.float32 or (kind == torch.bfloat16 and ops._is_mkldnn_bf16_supported()):
        packed: Tensor = ops._reorder_linear_weight(weight, None)
        return packed
    return weight


def plain(weight: Projection) -> Tensor:
    """Return a projection in the ordinary layout, for other uses than `llama.linear`."""
    if isinstance(weight, Quantised):
        return weight.dense()
    return weight.to_dense() if weight.is_mkldnn else weight
