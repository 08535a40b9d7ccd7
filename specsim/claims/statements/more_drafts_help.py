"""Acceptance in the number of drafts, for rules that are shipped."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from specsim.claims.statements._bank import F, smallest
from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled
from specsim.exact.step import acceptance_rate
from specsim.types import Array

SOURCE = "arXiv:2305.09781, arXiv:2410.18234"
STATEMENT = "More drafts never accept less."


def settle() -> Settled:
    def recursive(p: Array, q: Array) -> tuple[Fraction, Fraction]:
        three, two = (acceptance_rate(p, q, rule="recursive", num_drafts=k) for k in (3, 2))
        return three, two

    p = np.array([F(1, 100)] * 98 + [F(2, 100)])
    q = np.array([F(2, 100)] + [F(1, 100)] * 98)
    one, three = (acceptance_rate(p, q, rule="importance", num_drafts=k) for k in (1, 3))
    less = smallest(recursive, parts=4)
    return Settled(
        REFUTED if three < one or less else HOLDS,
        "for importance sampling of drafts it is false: over 99 tokens three drafts accept less than one; recursive "
        f"rejection {'loses, too' if less else 'never loses on any pair tried'}.",
        {"importance, 1 draft": f"{float(one):.4f}", "importance, 3 drafts": f"{float(three):.4f}"},
    )
