"""The expected length that SpecTr-GBV claims, against the optimum of one path."""

from __future__ import annotations

from fractions import Fraction

from specsim.bounds.optimum import optimal_acceptance
from specsim.claims.statements._bank import DRAFT, TARGET, F, refuted, smallest
from specsim.claims.statements._verdict import Settled
from specsim.claims.statements.block_optimal import most
from specsim.types import Array

SOURCE = "arXiv:2604.25925"
STATEMENT = (
    "SpecTr-GBV attains the largest expected length of K i.i.d. paths (abstract), by its formula the sum over texts x "
    "of P (1 - (1 - min(1, Q/P))^K)."
)


def claimed(p: Array, q: Array, paths: int, gamma: int) -> Fraction:
    """The expected number of accepted drafts by the printed formula."""
    # For each text of a length: its probabilities under target and draft.
    total, level = F(0), [(F(1), F(1))]
    for _ in range(gamma):
        level = [(above * p[y], below * q[y]) for above, below in level for y in range(len(p))]
        total += sum(above * (1 - (1 - min(F(1), below / above)) ** paths) for above, below in level)
    return total


def settle() -> Settled:
    """Compute the verdict on the statement."""
    case = smallest(lambda p, q: (claimed(p, q, 2, 1), optimal_acceptance(p, q, num_drafts=2)))
    verdict = refuted(
        case,
        "for two paths of one draft the formula is below the optimum already. For one path of two it is the "
        "full-information value, above what any lossless verifier keeps that continues from the target (T17).",
        "claimed, 2 paths of 1 draft",
        "optimum",
    )
    numbers = {"claimed, 1 path of 2": str(claimed(TARGET, DRAFT, 1, 2)), "optimum there": str(most(TARGET, DRAFT, 2))}
    return verdict._replace(numbers=verdict.numbers | numbers)
