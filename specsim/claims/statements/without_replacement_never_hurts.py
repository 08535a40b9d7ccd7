"""Distinct drafts, against i.i.d. ones, under the optimal rule and under recursive rejection."""

from __future__ import annotations

from fractions import Fraction

from specsim.bounds.optimum import optimal_acceptance
from specsim.claims.statements._bank import pairs, smallest, unless
from specsim.claims.statements._verdict import UNDER, Settled
from specsim.exact.step import acceptance_rate
from specsim.types import Array

SOURCE = "arXiv:2402.14160"
STATEMENT = "Drawing drafts without replacement accepts at least as much as drawing them with replacement."


def settle() -> Settled:
    """Compute the verdict on the statement."""

    def best(p: Array, q: Array) -> tuple[Fraction, Fraction]:
        """The optima of distinct and of i.i.d. drafts."""
        distinct, iid = (optimal_acceptance(p, q, num_drafts=2, scheme=s) for s in ("without_replacement", "iid"))
        return distinct, iid

    def recursive(p: Array, q: Array) -> tuple[Fraction, Fraction]:
        """Acceptance of recursive rejection with distinct and with i.i.d. drafts."""
        distinct, iid = (acceptance_rate(p, q, rule=rule, num_drafts=2) for rule in ("recursive_wor", "recursive"))
        return distinct, iid

    held = Settled(
        UNDER,
        "the optimum by an argument, as the first K different tokens of an i.i.d. stream contain its first K; "
        "recursive rejection of two drafts on every pair of laws (T48, checked by Coq); of three and more it is open.",
        {"pairs of 2 and 3 tokens, denominators to 4": str(len(list(pairs(parts=4))))},
    )
    return unless(smallest(best, parts=4) or smallest(recursive, parts=4), held, "distinct", "i.i.d.")
