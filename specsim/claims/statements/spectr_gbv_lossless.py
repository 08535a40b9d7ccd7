"""The law of what SpecTr-GBV released writes, against the target's."""

from __future__ import annotations

from fractions import Fraction

from specsim.claims.statements._bank import DRAFT, TARGET, F, shown, smallest
from specsim.claims.statements._verdict import REFUTED, UNDER, Settled
from specsim.exact.tree import continued_law, expected_kept, kept_law
from specsim.trees import enumerate_trees, paths
from specsim.types import Array
from specsim.verify.lossy_tree import spectr_gbv

SOURCE = "arXiv:2604.25925"
STATEMENT = "SpecTr-GBV keeps the target's law."


def bias(p: Array, q: Array, num_paths: int, gamma: int) -> Fraction:
    """Total variation from the target over gamma + 1 tokens, one law each in every context."""
    drawn = enumerate_trees(lambda text: q, paths(num_paths, gamma), scheme="paths")
    law = kept_law(spectr_gbv, lambda text: p, drawn)
    return sum((abs(actual - wanted) for _, actual, wanted in continued_law(law, lambda text: p, gamma + 1)), F(0)) / 2


def settle() -> Settled:
    """Compute the verdict on the statement."""
    # The smallest pair with a bias, and accepted drafts of two shapes on the example.
    case = smallest(lambda p, q: (-bias(p, q, 2, 1) if tuple(p) != tuple(q) else F(0), F(0)), (2,), 4)
    numbers = {
        f"kept, {count} of {length}": str(
            expected_kept(TARGET, DRAFT, rule=spectr_gbv, scheme="paths", parents=paths(count, length))
        )
        for count, length in ((1, 2), (2, 1))
    }
    if case is None:
        return Settled(UNDER, "the small laws that were tried, which have no counterexample.", numbers)
    return Settled(
        REFUTED,
        "the engine released beside it, run exactly, is lossy for two paths of one draft, where no later target can "
        "make up for it: of two different drafts that pass only the first is kept, and equal ones are tested twice "
        "(T41). What the paper's own text says was not at hand.",
        {"target": shown(case.p), "draft": shown(case.q), "bias, 2 of 1": str(-case.value)}
        | {"bias, 1 of 2": str(bias(TARGET, DRAFT, 1, 2))}
        | numbers,
    )
