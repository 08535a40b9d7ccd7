"""Speculative Jacobi decoding, and the sampler that was shipped with Lumina-mGPT 2.0."""

from __future__ import annotations

import numpy as np

from specsim.claims.statements._bank import DRAFT, TARGET, F
from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled
from specsim.exact.process_law import fill, text_law
from specsim.types import Array

SOURCE = "arXiv:2410.01699"
STATEMENT = "Speculative Jacobi decoding keeps the target's law."


def model(text: tuple[int, ...]) -> Array:
    """The law after a text: one of two, by the parity of its tokens' sum."""
    return TARGET if sum(text) % 2 else DRAFT


def settle() -> Settled:
    """Compute the verdict on the statement."""
    uniform = np.array([F(1, 2), F(1, 2)])
    runs = [
        fill(model, "jacobi", length=3, rule=rule, draft=uniform, params={"window": 2})
        for rule in ("tokenwise", "block")
    ]
    holds = all(run.law == text_law(model, length=3) for run in runs)
    return Settled(
        HOLDS if holds else REFUTED,
        "the law of whole texts is the target's with ==, under token and block verification, carried drafts included "
        "(T28); the sampler released with Lumina-mGPT 2.0, which falls back on p, is another rule, and lossy.",
        {"passes for 3 tokens, window 2": str(runs[0].passes)},
    )
