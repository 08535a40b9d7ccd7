"""Recursive rejection without replacement of two drafts, against the optimum."""

from __future__ import annotations

from specsim.bounds.optimum import optimal_acceptance
from specsim.claims.statements._bank import refuted, smallest
from specsim.claims.statements._verdict import Settled
from specsim.exact.step import acceptance_rate

SOURCE = "arXiv:2402.14160"
STATEMENT = "Often concluded: recursive rejection sampling without replacement is the best use of two distinct drafts."


def settle() -> Settled:
    """Compute the verdict on the statement."""
    case = smallest(
        lambda p, q: (
            acceptance_rate(p, q, rule="recursive_wor", num_drafts=2),
            optimal_acceptance(p, q, num_drafts=2, scheme="without_replacement"),
        )
    )
    return refuted(
        case,
        "with two tokens both accept always, as everything is drafted; three tokens suffice for a gap.",
        "recursive rejection",
        "optimum",
    )
