"""Tiny random models of three architectures, whose laws are far from flat and depend on the whole text."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config

# Architectures: qwen2 has biases, qwen3 has norms of queries and keys.
KINDS = {"llama": LlamaConfig, "qwen2": Qwen2Config, "qwen3": Qwen3Config}
_HIDDEN = 16


def random_tiny(
    kind: str,
    vocab: int,
    seed: int,
    *,
    near: int | None = None,
    layers: int = 2,
    kv_heads: int = 1,
    dtype: torch.dtype = torch.float64,
) -> Any:
    """Return a model on the CPU, with the same weights in every dtype up to rounding.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    vocab, seed : int
        Tokens, and seed of the weights.
    near : int, optional
        Seed of a model that this one resembles, for a draft that is often accepted.
    layers, kv_heads : int
        Layers, and heads of keys and values, which two heads of queries share.
    dtype : torch.dtype
        Of the weights.

    Returns
    -------
    PreTrainedModel
        For `real.models.model.from_hf`.
    """
    config = KINDS[kind](
        vocab_size=vocab,
        num_hidden_layers=layers,
        hidden_size=_HIDDEN,
        num_attention_heads=2,
        head_dim=_HIDDEN // 2,
        num_key_value_heads=kv_heads,
        intermediate_size=2 * _HIDDEN,
        max_position_embeddings=64,
        bos_token_id=None,
        eos_token_id=None,
    )
    # transformers draws weights of its own, which are replaced: torch's generator stays as it was.
    with torch.random.fork_rng(devices=[]):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)

    # Random weights. With `near` they are mostly those of that seed: 0.99² + 0.14² = 1, so that the
    # variance stays.
    generator = torch.Generator().manual_seed(seed)
    near_generator = torch.Generator().manual_seed(seed if near is None else near)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = _noise(name, weight, generator)
            near_noise = _noise(name, weight, near_generator)
            weight.copy_(noise if near is None else 0.99 * near_noise + 0.14 * noise)
    return model.eval()


def _noise(name: str, weight: Tensor, generator: torch.Generator) -> Tensor:
    """Return random weights in the shape of the parameter `name`, in float64.

    Embedding and head have variance 1, projections keep the variance of what they read, norms are
    near 1 and biases near 0.
    """
    noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
    if weight.ndim == 1:
        center = 1 if "norm" in name else 0
        return center + 0.1 * noise
    if "embed" in name or "head" in name:
        return noise
    num_inputs: int = weight.shape[1]
    return noise / math.sqrt(num_inputs)
