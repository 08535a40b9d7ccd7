"""K-SEQ, against recursive rejection."""

from __future__ import annotations

from fractions import Fraction

from specsim.claims.statements._bank import pairs, smallest, unless
from specsim.claims.statements._verdict import HOLDS, Settled
from specsim.exact.step import acceptance_rate
from specsim.types import Array

SOURCE = "arXiv:2310.15141"
STATEMENT = "Often concluded: K-SEQ, which comes with a guarantee, accepts at least as much as recursive rejection."


def both(p: Array, q: Array) -> tuple[Fraction, Fraction]:
    """Acceptance of K-SEQ and of recursive rejection, with two drafts."""
    # The root rho of K-SEQ is known to the last bit only: round to a simple fraction.
    kseq, recursive = (acceptance_rate(p, q, rule=rule, num_drafts=2) for rule in ("kseq", "recursive"))
    return kseq.limit_denominator(10**9), recursive


def settle() -> Settled:
    """Compute the verdict on the statement."""
    acceptances = [both(p, q) for p, q in pairs()]
    held = Settled(
        HOLDS,
        "at the root of its parameter, on every pair of laws, for any number of drafts (T48, checked by Coq); here "
        "with two.",
        {
            "pairs of 2 and 3 tokens, denominators to 5": str(len(acceptances)),
            "of these K-SEQ accepts more in": str(sum(kseq > recursive for kseq, recursive in acceptances)),
        },
    )
    return unless(smallest(both), held, "K-SEQ", "recursive")
