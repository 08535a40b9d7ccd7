"""Throughput by the number of nodes verified, and a search that stops where it first does not rise."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

from specsim.claims.statements._verdict import HOLDS, UNDER, Settled
from specsim.lengths.budgets import DraftBudget, draft_budget

SOURCE = "arXiv:2606.01813"
STATEMENT = "Throughput rises to one peak in the budget of nodes, so a search may stop at the first loss."


def smallest_staircase() -> tuple[list[F], list[F], DraftBudget] | None:
    """Return gains, times and budget of the first staircase of two drafts whose search stops too early.

    Times are 1 without drafts and one level for one or two of them; smallest denominator first.
    """
    for size in range(1, 6):
        for first, second, level in product(range(1, size + 1), range(1, size + 1), range(1, size + 1)):
            gains, times = [F(first, size), F(second, size)], [F(1), *[1 + F(level, size)] * 2]
            if second <= first and level <= size:
                budget = draft_budget(gains, times)
                loses = budget.stopped < 2 and budget.speeds[budget.stopped + 1] < budget.stopped_speed
                if loses and budget.stopped_speed < budget.speed:
                    return gains, times, budget
    return None


def settle() -> Settled:
    """Compute the verdict on the statement."""
    case = smallest_staircase()
    if case is None:
        return Settled(HOLDS, "in every small staircase that was tried.", {})
    gains, times, budget = case
    return Settled(
        UNDER,
        "verification whose cost is convex, as the paper assumes; there it is proved, and checked by Coq (T61). Passes "
        "that are captured as CUDA graphs cost a staircase, on which the released search stops below the best.",
        {
            "gains of two nodes": ", ".join(map(str, gains)),
            "times of 0, 1, 2 nodes": ", ".join(map(str, times)),
            "best nodes and speed": f"{budget.drafts}, {budget.speed}",
            "stopped at, with speed": f"{budget.stopped}, {budget.stopped_speed}",
        },
    )
