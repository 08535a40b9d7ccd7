"""A small model of each architecture, in transformers' classes and in ours."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from helpers import tiny_models as tiny
from real.models.model import LanguageModel, from_hf

VOCAB, CONTEXT = 23, 64
GROUPED = {"layers": 2, "hidden": 16, "heads": 4, "kv_heads": 2, "context": CONTEXT}
PLAIN = {"layers": 2, "hidden": 16, "heads": 4, "context": CONTEXT}
LLAMA3_ROPE = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
}  # fmt: skip
BUILD: dict[str, Any] = {
    "llama": lambda **kw: tiny.tiny_llama(VOCAB, **GROUPED, **kw),
    "llama-biased": lambda **kw: tiny.tiny_llama(
        VOCAB, **GROUPED, attention_bias=True, mlp_bias=True, rope_parameters=LLAMA3_ROPE, **kw
    ),
    "qwen2": lambda **kw: tiny.tiny_qwen2(VOCAB, **GROUPED, **kw),
    "mistral": lambda **kw: tiny.tiny_mistral(VOCAB, **GROUPED, **kw),
    "qwen3": lambda **kw: tiny.tiny_qwen3(VOCAB, **GROUPED, **kw),
    "gpt2": lambda **kw: tiny.tiny_gpt2(VOCAB, **PLAIN, **kw),
    "opt": lambda **kw: tiny.tiny_opt(VOCAB, **PLAIN, **kw),
}


@cache
def hf_model(name: str, dtype: torch.dtype = torch.float64) -> Any:
    return BUILD[name](seed=1, dtype=dtype)


@cache
def wrapped(name: str, fast: bool, dtype: torch.dtype = torch.float64) -> LanguageModel:
    return from_hf(hf_model(name, dtype), fast=fast)
