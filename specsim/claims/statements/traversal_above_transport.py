"""Traversal verification, against walks whose steps solve the optimal transport."""

from __future__ import annotations

from fractions import Fraction

from specsim.claims.statements._bank import shown, smallest
from specsim.claims.statements._verdict import HOLDS, REFUTED, UNDER, Settled
from specsim.exact.tree import expected_kept
from specsim.types import Array

SOURCE = "arXiv:2602.16994"
STATEMENT = "On trees of i.i.d. paths traversal verification is consistently ahead of verifiers by optimal transport."

# Two paths of two drafts.
_PATHS = (-1, -1, 0, 1)


def _kept(p: Array, q: Array) -> tuple[Fraction, Fraction]:
    """Return the expected drafts that traversal keeps, and a walk with the optimal step rule."""
    traversal: Fraction = expected_kept(p, q, rule="traversal", parents=_PATHS)
    transport: Fraction = expected_kept(p, q, rule="tokenwise", step="optimal", parents=_PATHS)
    return traversal, transport


def settle() -> Settled:
    """Compute the verdict on the statement."""
    behind = smallest(_kept, (2,))
    ahead = smallest(lambda p, q: _kept(p, q)[::-1], (2,))
    if behind is None:
        return Settled(HOLDS, "in every small pair that was tried.", {})
    if ahead is None:
        numbers = behind.numbers("traversal", "transport")
        return Settled(REFUTED, "no small pair that was tried is for it.", numbers)
    return Settled(
        UNDER,
        "traversal tests whole paths, transport chooses better among siblings: either is ahead on some pairs of laws "
        "with two tokens and two paths of two drafts. The paper compares measured runs; it was read as its abstract.",
        {
            "behind: target; draft": f"{shown(behind.p)}; {shown(behind.q)}",
            "behind: traversal, transport": f"{behind.value}, {behind.stated}",
            "ahead: target; draft": f"{shown(ahead.p)}; {shown(ahead.q)}",
            "ahead: traversal, transport": f"{ahead.stated}, {ahead.value}",
        },
    )
