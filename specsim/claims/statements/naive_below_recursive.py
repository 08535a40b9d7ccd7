"""Accepting a fresh target token that was drafted, against recursive rejection."""

from __future__ import annotations

from fractions import Fraction

from specsim.claims.statements._bank import DRAFT, TARGET, smallest, unless
from specsim.claims.statements._verdict import HOLDS, Settled
from specsim.exact.step import acceptance_rate
from specsim.types import Array

SOURCE = "arXiv:2305.09781"
STATEMENT = "Multi-step speculative sampling rejects at most as often as naive sampling (theorem 4.3)."


def settle() -> Settled:
    """Compute the verdict on the statement."""

    def values(p: Array, q: Array) -> tuple[Fraction, Fraction]:
        """Acceptance of recursive rejection and of naive sampling, with two drafts."""
        recursive, naive = (acceptance_rate(p, q, rule=r, num_drafts=2) for r in ("recursive", "naive"))
        return recursive, naive

    toy = (acceptance_rate(TARGET, DRAFT, rule=r, num_drafts=2) for r in ("naive", "recursive"))
    held = Settled(
        HOLDS,
        "on every pair of laws and for every number of drafts (T48, checked by Coq); here with two, in rationals.",
        dict(zip(("naive, example", "recursive, example"), map(str, toy), strict=True)),
    )
    return unless(smallest(values), held, "recursive", "naive")
