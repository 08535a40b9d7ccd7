"""SpecHub's sparse transport, against the optimum of its own drafts."""

from __future__ import annotations

from specsim.bounds.optimum import optimal_acceptance
from specsim.claims.statements._bank import refuted, smallest
from specsim.claims.statements._verdict import Settled
from specsim.exact.step import acceptance_rate

SOURCE = "arXiv:2411.05289"
STATEMENT = (
    "Often concluded: SpecHub's transport through one hub token keeps the acceptance of the optimal transport "
    "of two drafts."
)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    case = smallest(
        lambda p, q: (
            acceptance_rate(p, q, rule="spechub", num_drafts=2),
            optimal_acceptance(p, q, num_drafts=2),
        )
    )
    return refuted(
        case,
        "two tokens do not separate them, three do, against the optimum of i.i.d. drafts, which it is to come near to.",
        "SpecHub",
        "optimum",
    )
