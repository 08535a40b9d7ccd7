"""Logits to laws: the one function that drafting and verification both use."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from specsim.warp import apply, check_settings


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters, applied to target and draft alike (see `specsim.warp`).

    Attributes
    ----------
    temperature : float
        0 is greedy decoding.
    top_k : int
        0 keeps every token.
    top_p, min_p : float
        1 and 0 keep every token.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        check_settings(**vars(self))


def probabilities(logits: Tensor, sampling: Sampling) -> Tensor:
    """Laws (..., V) in float32, or float64 for a float64 model: half types are too coarse to verify in."""
    wide = logits if logits.dtype == torch.float64 else logits.to(torch.float32)
    law: Tensor = apply(wide, **vars(sampling))
    return law
