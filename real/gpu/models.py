"""Tiny random models of three architectures, whose laws are far from flat and depend on the whole text."""

from __future__ import annotations

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
    """Make a model on the CPU; the same weights in every dtype, up to rounding.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    vocab, seed : int
        Tokens, and seed of the weights.
    near : int, optional
        Seed of a model that it resembles, for a draft that is often accepted.
    layers, kv_heads : int
        Layers, and key and value heads for two query heads.
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
    with torch.random.fork_rng(devices=[]):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)

    # Random weights; the variances of the two parts of a model with `near` add up to 1.
    generator = torch.Generator().manual_seed(seed)
    near_generator = torch.Generator().manual_seed(seed if near is None else near)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = _noise(name, weight, generator)
            resembled = _noise(name, weight, near_generator)
            weight.copy_(noise if near is None else 0.99 * resembled + 0.14 * noise)
    return model.eval()


def _noise(name: str, weight: Tensor, generator: torch.Generator) -> Tensor:
    """Random weights: unit variance in embedding and head, projections that keep it, norms near 1."""
    noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
    if weight.ndim == 1:
        return 0.1 * noise + ("norm" in name)
    return noise if "embed" in name or "head" in name else noise / weight.shape[1] ** 0.5
