"""The greedy drafts of Hu et al. with their own rule."""

from __future__ import annotations

from fractions import Fraction

from specsim.bounds.optimum import optimal_acceptance
from specsim.claims.statements._bank import pairs, smallest, unless
from specsim.claims.statements._verdict import HOLDS, Settled
from specsim.exact.step import acceptance_rate
from specsim.types import Array

SOURCE = "arXiv:2502.18779"
STATEMENT = (
    "With the likeliest tokens and one drawn among the others, the paper's rule reaches the optimal "
    "transport of such drafts."
)


def settle() -> Settled:
    """Compute the verdict on the statement."""

    def values(p: Array, q: Array) -> tuple[Fraction, Fraction]:
        """Acceptance of the paper's rule, and the optimum of its drafts."""
        acceptance: Fraction = acceptance_rate(p, q, rule="greedy_draft", num_drafts=2)
        return acceptance, optimal_acceptance(p, q, num_drafts=2, scheme="greedy")

    held = Settled(
        HOLDS,
        "with == on every pair of laws tried; T12 proves it.",
        {"pairs of 2 and 3 tokens, denominators to 5": str(len(list(pairs(parts=5))))},
    )
    return unless(smallest(values), held, "the rule", "optimum")
