"""The residual of speculative decoding and a draw from it, as authors write them, for subjects of tests."""

from __future__ import annotations

from typing import Any

from specsim.types import Array


def rest(p: Array, q: Array) -> Array:
    """Return the normalised positive part of p - q, both (V,); p where nothing is left."""
    law = (p - q).clip(0)
    return law / law.sum() if law.sum() > 1e-12 else p


def drawn(random: Any, law: Array) -> int:
    """Return a token drawn from a law (V,), which is normalised first."""
    return int(random.choice(len(law), p=law / law.sum()))
