"""Recursive rejection of i.i.d. drafts, against the optimal transport."""

from __future__ import annotations

from specsim.bounds.optimum import optimal_acceptance
from specsim.claims.statements._bank import refuted, smallest
from specsim.claims.statements._verdict import Settled
from specsim.exact.step import acceptance_rate

SOURCE = "arXiv:2305.09781"
STATEMENT = (
    "Often concluded: multi-step speculative sampling (recursive rejection) makes the most of several i.i.d. drafts."
)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    case = smallest(
        lambda p, q: (
            acceptance_rate(p, q, rule="recursive", num_drafts=2),
            optimal_acceptance(p, q, num_drafts=2),
        )
    )
    return refuted(
        case,
        "two tokens and two drafts suffice.",
        "recursive rejection",
        "optimum",
    )
