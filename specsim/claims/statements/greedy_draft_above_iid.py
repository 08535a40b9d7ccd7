"""The greedy drafts of Hu et al., against i.i.d. drafts, each with its optimal rule."""

from __future__ import annotations

from specsim.bounds.optimum import optimal_acceptance
from specsim.claims.statements._bank import refuted, smallest
from specsim.claims.statements._verdict import Settled

SOURCE = "arXiv:2502.18779"
STATEMENT = "Often concluded: greedy drafts, with the last one random, accept more than drafts that are sampled."


def settle() -> Settled:
    """Compute the verdict on the statement."""
    case = smallest(
        lambda p, q: (
            optimal_acceptance(p, q, num_drafts=2, scheme="greedy"),
            optimal_acceptance(p, q, num_drafts=2),
        )
    )
    return refuted(
        case,
        "the paper says so of measured pairs, not of all: where the draft's likeliest token is not the one that the "
        "target wants, sampled drafts accept more.",
        "optimum of greedy drafts",
        "optimum of i.i.d. drafts",
    )
