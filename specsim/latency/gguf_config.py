"""A GGUF file's metadata as a config.json, with the names of Hugging Face."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from specsim.latency.gguf_header import GgufHeader

# Architectures of GGUF files that are read, and Hugging Face's model_type and class for each.
ARCHITECTURES = {
    "llama": ("llama", "LlamaForCausalLM"),
    "qwen2": ("qwen2", "Qwen2ForCausalLM"),
    "qwen3": ("qwen3", "Qwen3ForCausalLM"),
}
# Factors by which Llama 3.1 and 3.2 stretch slow rotations; both name 8,192 positions as the original length.
LLAMA3_FACTORS = (8.0, 32.0)
LLAMA3_ORIGINAL = 8192
# The tensor that holds them, by rotation.
ROPE_FACTORS = "rope_freqs.weight"


def gguf_config(header: GgufHeader, rope_factors: np.ndarray | None = None) -> dict[str, Any]:
    """Return the config of the model in a GGUF file.

    Parameters
    ----------
    header : GgufHeader
        Of the file.
    rope_factors : array, optional
        The tensor `rope_freqs.weight`, where the file has it.

    Returns
    -------
    dict
        As a config.json holds it.

    Raises
    ------
    ValueError
        Another architecture, a missing or impossible field (named), or a rotation that is not read.
    """
    architecture = header.metadata.get("general.architecture")
    if architecture not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise ValueError(
            f"{header.path} holds architecture {architecture!r:.60}; of GGUF files these are read: {known}. Give the "
            "model's Hugging Face folder instead (config.json, *.safetensors)"
        )
    model_type, name = ARCHITECTURES[architecture]

    # Sizes.
    layers, hidden = _size(header, "block_count"), _size(header, "embedding_length")
    heads = _size(header, "attention.head_count")
    kv_heads = _size(header, "attention.head_count_kv", heads)
    head_dim = _size(header, "attention.key_length", hidden // heads)
    embedding = header.tensors.get("token_embd.weight")
    if embedding is None:
        raise ValueError(f"{header.path} lacks the tensor token_embd.weight")
    if len(embedding.shape) != 2 or embedding.shape[1] != hidden:
        raise ValueError(f"{header.path}: token_embd.weight has shape {embedding.shape}, not (tokens, {hidden})")

    # Experts would be other tensors than those that are read.
    if header.metadata.get(f"{architecture}.expert_count"):
        raise ValueError(f"{header.path} holds a mixture of experts, which is not read")

    # Special tokens have other names than in a config.
    ids = {"bos": "bos_token_id", "eos": "eos_token_id", "padding": "pad_token_id"}
    tokens = {name: header.metadata.get(f"tokenizer.ggml.{gguf_name}_token_id") for gguf_name, name in ids.items()}

    return {
        "architectures": [name],
        "model_type": model_type,
        "vocab_size": embedding.shape[0],
        "hidden_size": hidden,
        "intermediate_size": _size(header, "feed_forward_length"),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "max_position_embeddings": _size(header, "context_length"),
        "rms_norm_eps": _number(header, "attention.layer_norm_rms_epsilon"),
        "rope_theta": _number(header, "rope.freq_base", 10_000.0),
        "rope_scaling": _scaling(header, head_dim, rope_factors),
        "tie_word_embeddings": "output.weight" not in header.tensors,
        "attention_bias": "blk.0.attn_q.bias" in header.tensors,
        "hidden_act": "silu",
        **{ours: token for ours, token in tokens.items() if token is not None},
    }


def stored_bits(header: GgufHeader) -> dict[str, Any]:
    """Return in how many bits a parameter of layers and head is stored, as a config's quantization_config."""
    head = header.tensors.get("output.weight", header.tensors["token_embd.weight"])
    layers = [tensor for name, tensor in header.tensors.items() if name.startswith("blk.") and len(tensor.shape) > 1]
    if not layers:
        raise ValueError(f"{header.path} holds no layers")
    return {
        "quant_method": "gguf",
        "layer_bits": 8 * sum(tensor.size for tensor in layers) / sum(math.prod(tensor.shape) for tensor in layers),
        "head_bits": 8 * head.size / math.prod(head.shape),
    }


def _field(header: GgufHeader, field: str, default: Any) -> Any:
    """Return a value of the architecture's own metadata."""
    return header.metadata.get(f"{header.metadata['general.architecture']}.{field}", default)


def _size(header: GgufHeader, field: str, default: int | None = None) -> int:
    """Return a positive whole number; one for every layer must be the same for all."""
    value = _field(header, field, default)
    if isinstance(value, np.ndarray) and len(value) and (value == value[0]).all():
        value = value[0].item()
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{header.path}: {field} must be a positive whole number, got {value!r:.60}")
    return value


def _number(header: GgufHeader, field: str, default: float | None = None) -> float:
    """Return a positive finite number."""
    value = _field(header, field, default)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise ValueError(f"{header.path}: {field} must be a positive number, got {value!r:.60}")
    return float(value)


def _scaling(header: GgufHeader, head_dim: int, rope_factors: np.ndarray | None) -> dict[str, Any] | None:
    """Return how rotations are stretched, as a config's rope_scaling; None where they are not."""
    # The factors of Llama 3 are a tensor; other kinds are metadata.
    kind = _field(header, "rope.scaling.type", "none")
    if ROPE_FACTORS in header.tensors:
        return _llama3(header, head_dim, rope_factors)
    if kind == "none":
        return None
    if kind == "linear":
        return {"rope_type": "linear", "factor": _number(header, "rope.scaling.factor")}
    if kind == "yarn":
        original = _size(header, "rope.scaling.original_context_length")
        return {
            "rope_type": "yarn",
            "factor": _number(header, "rope.scaling.factor"),
            "original_max_position_embeddings": original,
        }
    raise ValueError(f"{header.path}: rope.scaling.type {kind!r:.60} is not read; read are none, linear, yarn")


def _llama3(header: GgufHeader, head_dim: int, rope_factors: np.ndarray | None) -> dict[str, Any]:
    """Return the scaling of Llama 3 whose factors the file has; without them the smallest is taken for granted."""
    scalings = [
        {
            "rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": LLAMA3_ORIGINAL,
        }
        for factor in LLAMA3_FACTORS
    ]  # fmt: skip
    if rope_factors is None:
        return scalings[0]
    theta = _number(header, "rope.freq_base", 10_000.0)
    for scaling in scalings:
        if np.allclose(llama3_factors(theta, head_dim, scaling), rope_factors, rtol=1e-4):
            return scaling
    raise ValueError(f"{header.path}: {ROPE_FACTORS} is not the scaling of Llama 3.1 or 3.2, and is not read")


def llama3_factors(theta: float, head_dim: int, scaling: dict[str, Any]) -> np.ndarray:
    """Return by how much Llama 3 divides the frequency of each rotation, an array (head_dim / 2,)."""
    frequencies = theta ** (-np.arange(0, head_dim, 2) / head_dim)
    wavelengths = 2 * math.pi / frequencies
    original, factor = scaling["original_max_position_embeddings"], scaling["factor"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    # Slow rotations are divided by the whole factor, fast ones by 1, and those between by a mean of both.
    smooth = np.clip((original / wavelengths - low) / (high - low), 0, 1)
    return np.asarray(1 / ((1 - smooth) / factor + smooth))
