"""Drafts of a batch that are verified in the order of their survival, by confidences that may be wrong."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import numpy as np

from specsim.claims.statements._bank import shown
from specsim.claims.statements._verdict import REFUTED, UNDER, Settled
from specsim.lengths.budgets import batch_budget, budget_loss

SOURCE = "arXiv:2607.05147"
STATEMENT = "Drafts of a batch verified by largest product of confidences, as many as is fastest, give most tokens."


def _best_by_hand(survival: list[list[F]], times: list[F]) -> F:
    """Return the greatest speed of all choices of lengths."""
    choices = product(range(3), repeat=len(survival))
    return max(
        (len(survival) + sum(sum(row[:k], F(0)) for row, k in zip(survival, ks, strict=True))) / times[sum(ks)]
        for ks in choices
    )


def settle() -> Settled:
    """Compute the verdict on the statement."""
    # Every pair of requests of two drafts with confidences in thirds, at two curves of times.
    thirds = [F(k, 3) for k in range(4)]
    rows = [[a, a * b] for a, b in product(thirds, repeat=2)]
    curves = [[F(n) for n in (6, 7, 8, 9, 10)], [F(n) for n in (6, 8, 8, 8, 11)]]
    holds = all(
        batch_budget([first, second], curve).speed == _best_by_hand([first, second], curve)
        for first, second in product(rows, repeat=2)
        for curve in curves
    )
    # Each confidence c stated as (1 + c)/2: an increasing function, which changes the order of products.
    confidences = np.array([[F(1, 2), F(1, 2)], [F(6, 25), F(0)]])
    true, stated = confidences.cumprod(axis=1), ((1 + confidences) / 2).cumprod(axis=1)
    times = [F(n) for n in (1, 1, 1, 4, 4)]
    lost = budget_loss(stated, true, times)
    return Settled(
        UNDER if holds else REFUTED,
        "confidences that are true: the choice is optimal, since survivals fall along a request (T61). Coq has that "
        "lengths which one price explains keep the most, and that each length of one request has such a price; that "
        "the drafts of largest survival share a price, and that the choice loses where numbers rise, is by hand. "
        "Confidences that only keep the order of single drafts change the order of products. The paper was read as its "
        "abstract and by its use in engines.",
        {
            "pairs of requests, in thirds": str(len(rows) ** 2),
            "true survivals": "; ".join(map(shown, true)),
            "survivals, c stated as (1 + c)/2": "; ".join(map(shown, stated)),
            "times of 0, 1, ... drafts": ", ".join(map(str, times)),
            "verified, true confidences": ", ".join(map(str, lost.best.lengths)),
            "verified, c stated as (1 + c)/2": ", ".join(map(str, lost.chosen.lengths)),
            "speed lost": str(lost.loss),
        },
    )
