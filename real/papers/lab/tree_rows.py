"""Rows of both models along texts, as float64 laws that sum to 1."""

from __future__ import annotations

import numpy as np

from real.decode.score import laws
from real.decode.warp import Warping
from real.papers.lab.texts import Texts
from real.papers.lab.writing import pair
from specsim.types import Array


def rows(told: Texts, each: int) -> tuple[Array, Array]:
    """Laws (n * each, V) of target and draft at T = 1, at `each` positions evenly spaced along each text."""
    both = []
    for prompt, text in zip(told.prompts, told.tokens.tolist(), strict=True):
        chosen = np.linspace(0, len(text) - 1, each).astype(np.int64)
        along = laws(pair().target, pair().draft, prompt, text, Warping())
        both.append([w[chosen].double().numpy() for w in along])
    p, q = (np.concatenate(parts) for parts in zip(*both, strict=True))
    return p / p.sum(axis=-1, keepdims=True), q / q.sum(axis=-1, keepdims=True)
