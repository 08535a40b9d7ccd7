"""Throughput by the number of nodes verified, and a search that stops where it first does not rise."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import accumulate, combinations_with_replacement, product

from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled
from specsim.lengths.budgets import DraftBudget, draft_budget

SOURCE = "arXiv:2606.01813"
STATEMENT = (
    "Under a verification cost that is convex in the nodes, throughput rises to one peak in their number, so a search "
    "may stop at the first loss."
)


def convex_cases() -> list[tuple[list[F], list[F]]]:
    """Return gains of three nodes that do not rise, and times of 0 to 3 nodes whose steps do not fall; in thirds."""
    rising = list(combinations_with_replacement([F(k, 3) for k in range(4)], 3))
    return [(list(gains[::-1]), list(accumulate(steps, initial=F(1)))) for gains, steps in product(rising, repeat=2)]


def has_one_peak(gains: list[F], times: list[F]) -> bool:
    """Whether a search that stops at the first loss ends at the greatest speed, and speeds do not rise after it."""
    budget = draft_budget(gains, times)
    later = list(budget.speeds[budget.stopped :])
    return bool(budget.stopped_speed == budget.speed) and later == sorted(later, reverse=True)


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
    cases = convex_cases()
    holds = all(has_one_peak(gains, times) for gains, times in cases)
    numbers = {"convex cases of 3 nodes, in thirds": str(len(cases))}
    staircase = smallest_staircase()
    if staircase is not None:
        gains, times, budget = staircase
        numbers |= {
            "gains of two nodes": ", ".join(map(str, gains)),
            "times of 0, 1, 2 nodes, not convex": ", ".join(map(str, times)),
            "best nodes and speed": f"{budget.drafts}, {budget.speed}",
            "stopped at, with speed": f"{budget.stopped}, {budget.stopped_speed}",
        }
    return Settled(
        HOLDS if holds else REFUTED,
        "for gains that do not rise, as those of a heap's tree do not, it is proved, and checked by Coq (T61). Where "
        "the cost is not convex it fails: passes that are captured as CUDA graphs cost a staircase, on which the "
        "search can stop below the best. The paper was read as its abstract.",
        numbers,
    )
