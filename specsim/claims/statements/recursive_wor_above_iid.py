"""Recursive rejection of distinct drafts, against the optimum of i.i.d. ones."""

from __future__ import annotations

from specsim.bounds.optimum import optimal_acceptance
from specsim.claims.statements._bank import refuted, smallest
from specsim.claims.statements._verdict import Settled
from specsim.exact.step import acceptance_rate

SOURCE = "arXiv:2402.14160"
STATEMENT = "Often concluded: recursive rejection without replacement accepts more than any rule for i.i.d. drafts can."


def settle() -> Settled:
    """Compute the verdict on the statement."""
    case = smallest(
        lambda p, q: (
            acceptance_rate(p, q, rule="recursive_wor", num_drafts=2),
            optimal_acceptance(p, q, num_drafts=2),
        )
    )
    return refuted(case, "three tokens and two drafts suffice.", "recursive, distinct", "optimum, i.i.d.")
