"""Recursive rejection without replacement, its drafts tried in the order drawn or in another."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from specsim.claims.statements._bank import F, pairs, shown, smallest
from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled
from specsim.discover import find
from specsim.types import Array

SOURCE = "arXiv:2402.14160"
STATEMENT = "Drafts without replacement are to be tried in the order drawn."


def bias(p: Array, q: Array, most_likely_first: bool) -> Fraction:
    """Total variation of the output from the target, with two drafts in this order."""
    rule, law = find("step", "recursive_wor"), 0 * p
    plan, chance = rule.prepare(p, q, 2), find("draft", "without_replacement").probability
    for x in np.ndindex(len(q), len(q)):
        if x[0] != x[1]:
            drafts = np.array(sorted(x, key=lambda token: (-q[token], token)) if most_likely_first else x)
            law = law + chance(q, np.array(x), 2) * rule.transition(plan, drafts)
    return sum(abs(law - p), F(0)) / 2


def settle() -> Settled:
    """Compute the verdict on the statement."""
    case = smallest(lambda p, q: (-bias(p, q, True), F(0)))
    drawn = max(bias(p, q, False) for p, q in pairs(parts=4))
    if case is None or drawn:
        return Settled(REFUTED, "another order is as good, or this one is none.", {"bias, as drawn": str(drawn)})
    return Settled(
        HOLDS,
        "the order of a sample says which law each draft had (T09); put the likelier of two first, and it is lossy.",
        {
            "bias, as drawn": str(drawn),
            "target": shown(case.p),
            "draft": shown(case.q),
            "bias, likelier first": str(-case.value),
        },
    )
