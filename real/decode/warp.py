"""Logits to laws: the one function that drafting and verification both use."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from real.decode.warping import Warping as Warping
from specsim.laws.warp import apply


def check_vocabulary(warping: Warping, vocab_size: int) -> None:
    """ValueError for a biased token outside the vocabulary 0..vocab_size-1, or a bias that excludes all of it."""
    for token, _ in warping.logit_bias:
        if token >= vocab_size:
            raise ValueError(f"logit_bias names token {token}, outside the vocabulary 0..{vocab_size - 1}")
    if sum(bias == -float("inf") for _, bias in warping.logit_bias) == vocab_size:
        raise ValueError(f"logit_bias excludes every one of the {vocab_size} tokens")


def probabilities(logits: Tensor, warping: Warping, seen: Tensor | None = None) -> Tensor:
    """Laws (..., V) in float32, or float64 for a float64 model: half types are too coarse to verify in.

    `seen` (..., V), bool, tells which tokens the context at each position holds; only a repetition penalty reads it.
    """
    wide = logits if logits.dtype == torch.float64 else logits.to(torch.float32)
    bias = _dense_bias(warping, wide.shape[-1], wide.device, wide.dtype) if warping.logit_bias else None
    law: Tensor = apply(
        wide,
        temperature=warping.temperature,
        top_k=warping.top_k,
        top_p=warping.top_p,
        min_p=warping.min_p,
        repetition_penalty=warping.repetition_penalty,
        seen=seen,
        logit_bias=bias,
    )
    return law


@lru_cache(maxsize=8)
def _dense_bias(warping: Warping, vocab_size: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """The bias as a vector (V,), copied to the device once and not at every token."""
    check_vocabulary(warping, vocab_size)
    tokens, biases = zip(*warping.logit_bias, strict=True)
    dense = torch.zeros(vocab_size, dtype=dtype)
    dense[list(tokens)] = torch.tensor(biases, dtype=dtype)
    return dense.to(device)


def seen_rows(seen: Tensor, tokens: Tensor) -> Tensor:
    """Whether the context holds each token of the vocabulary, after each of the tokens.

    Parameters
    ----------
    seen : Tensor, shape (b, V), bool
        Tokens of the context before.
    tokens : Tensor, shape (b, m), int64
        Tokens that follow it.

    Returns
    -------
    Tensor, shape (b, m, V), bool
        Row i: everything in `seen` and in tokens[:, : i + 1].
    """
    m = tokens.shape[1]
    # Row i marks tokens 0..i; the places beyond i in its list name token i again, which changes nothing.
    earlier = torch.ones(m, m, dtype=torch.bool, device=tokens.device).tril()
    named = torch.where(earlier, tokens[:, None, :], tokens[:, :, None])
    return seen[:, None].expand(-1, m, -1).scatter(-1, named, True)
