"""Acceptance in the number of drafts, for rules that are shipped."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from specsim.claims.statements._bank import F, smallest
from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled
from specsim.exact.step import acceptance_rate
from specsim.types import Array

SOURCE = "arXiv:2305.09781, arXiv:2410.18234"
STATEMENT = "Often concluded: more drafts never accept less, whatever the rule."


def settle() -> Settled:
    """Compute the verdict on the statement."""

    def recursive(p: Array, q: Array) -> tuple[Fraction, Fraction]:
        """Acceptance of recursive rejection with three and with two drafts."""
        with_three, with_two = (acceptance_rate(p, q, rule="recursive", num_drafts=k) for k in (3, 2))
        return with_three, with_two

    # Importance sampling on one large pair, recursive rejection on all small ones.
    p = np.array([F(1, 100)] * 98 + [F(2, 100)])
    q = np.array([F(2, 100)] + [F(1, 100)] * 98)
    with_one, with_three = (acceptance_rate(p, q, rule="importance", num_drafts=k) for k in (1, 3))
    loss = smallest(recursive, parts=4)
    words = "loses, too" if loss else "never loses on any pair tried"
    return Settled(
        REFUTED if with_three < with_one or loss else HOLDS,
        "for importance sampling of drafts, as this project carries it on to three, it is false: over 99 tokens three "
        f"drafts accept less than one; recursive rejection {words}.",
        {"importance, 1 draft": f"{float(with_one):.4f}", "importance, 3 drafts": f"{float(with_three):.4f}"},
    )
