"""The guarantee of K-SEQ, against the exact optimum."""

from __future__ import annotations

from fractions import Fraction

from specsim.bounds.optimum import optimal_acceptance
from specsim.claims.statements._bank import pairs
from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled
from specsim.exact.step import acceptance_rate

SOURCE = "arXiv:2310.15141"
STATEMENT = "K-SEQ accepts at least 1 - (1 - 1/K)^K, hence 1 - 1/e, of what the optimal transport does."
# Slack for the root rho of K-SEQ, which is known to the last bit only.
SLACK = Fraction(1, 10**9)
DRAFTS = (2, 3)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    # The lowest share of the optimum among small pairs, and the bound.
    lowest = {
        k: min(
            acceptance_rate(p, q, rule="kseq", num_drafts=k) / optimal_acceptance(p, q, num_drafts=k)
            for p, q in pairs((2,), 6)
        )
        for k in DRAFTS
    }
    bound = {k: 1 - (1 - Fraction(1, k)) ** k for k in DRAFTS}
    holds = all(lowest[k] >= bound[k] - SLACK for k in DRAFTS)
    return Settled(
        HOLDS if holds else REFUTED,
        "T11 proves it; among pairs of two tokens the lowest share stays far above the bound.",
        {f"lowest share, {k} drafts": f"{float(lowest[k]):.4f}" for k in DRAFTS}
        | {f"bound, {k} drafts": f"{float(bound[k]):.4f}" for k in DRAFTS},
    )
