"""Traversal verification, against walking down the same tree."""

from __future__ import annotations

from fractions import Fraction

from specsim.claims.statements._bank import refuted, smallest
from specsim.claims.statements._verdict import Settled
from specsim.exact.tree import expected_kept
from specsim.types import Array

SOURCE = "arXiv:2505.12398"
STATEMENT = "Traversal verification keeps at least as many drafts as token-level verification of the same tree."


# One draft, two below it, and one below the second of these.
SHAPE = (-1, 0, 0, 2)


def mean_accepted(p: Array, q: Array, rule: str, step: str | None) -> Fraction:
    """Expected number of accepted drafts of a tree of this shape."""
    accepted: Fraction = expected_kept(p, q, rule=rule, scheme="without_replacement", step=step, parents=SHAPE)
    return accepted


def settle() -> Settled:
    """Compute the verdict on the statement."""

    def values(p: Array, q: Array) -> tuple[Fraction, Fraction]:
        """Accepted drafts of traversal verification, and of the walk."""
        walk = mean_accepted(p, q, "tokenwise", "recursive_wor")
        return mean_accepted(p, q, "traversal", None), walk

    case = smallest(values, (2,), 3)
    return refuted(
        case,
        "in most trees it does, but not in all: on four nodes without replacement, a tree that gives its second branch "
        "one draft more, a walk by recursive rejection keeps more (T21).",
        "traversal",
        "walk",
    )
