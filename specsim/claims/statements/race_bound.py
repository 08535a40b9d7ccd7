"""Shared exponential races, against the bound for coupling without communication."""

from __future__ import annotations

from fractions import Fraction

from specsim.claims.statements._bank import DRAFT, TARGET, F, smallest, unless
from specsim.claims.statements._verdict import HOLDS, Settled
from specsim.laws.make import total_variation
from specsim.types import Array

SOURCE = "arXiv:2408.07978"
STATEMENT = (
    "With shared randomness and no communication draft and target agree with probability at least (1 - "
    "TV) / (1 + TV), and no protocol promises more."
)


def agreement(p: Array, q: Array) -> Fraction:
    """The exact probability that the same token wins both races."""
    tokens = range(len(p))
    return sum((1 / sum(max(p[i] / p[j], q[i] / q[j]) for i in tokens) for j in tokens), F(0))


def settle() -> Settled:
    """Compute the verdict on the statement."""

    def below(p: Array, q: Array) -> tuple[Fraction, Fraction]:
        """The agreement, and the bound that it must not be below."""
        distance = total_variation(p, q)
        return agreement(p, q), (1 - distance) / (1 + distance)

    held = Settled(
        HOLDS,
        "the exact probability is at least the bound on every pair tried. "
        "That no protocol promises more is the paper's theorem, and is not computed.",
        {"agreement, example": str(agreement(TARGET, DRAFT)), "bound, example": str(F(2, 3) / F(4, 3))},
    )
    return unless(smallest(below), held, "agreement", "bound")
