"""Full information, as greedy block verification keeps it, with the target unchanged afterwards."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np

from specsim.claims.statements._bank import F, pairs, shown, smallest
from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled
from specsim.discover import find
from specsim.types import Array

SOURCE = "arXiv:2403.10444"
STATEMENT = "Keeping as many drafts as full information would is lossless only if the following target is changed."


def law(p: Array, q: Array, gamma: int) -> dict[tuple[int, ...], Fraction]:
    """The law of gamma + 1 tokens, if the target draws all after the token behind accepted drafts."""
    rule = find("chain", "greedy_block")
    plan = rule.prepare(np.stack([p] * (gamma + 1)), np.stack([q] * gamma))
    chances: dict[tuple[int, ...], Fraction] = {}
    for drafts in product(range(len(q)), repeat=gamma):
        joint = rule.transition(plan, np.array(drafts))
        drawn = math.prod(q[y] for y in drafts)
        for accepted in range(gamma + 1):
            for rest in product(range(len(p)), repeat=gamma + 1 - accepted):
                chance = drawn * joint[accepted, rest[0]] * math.prod(p[y] for y in rest[1:])
                text = (*drafts[:accepted], *rest)
                chances[text] = chances.get(text, F(0)) + chance
    return chances


def bias(p: Array, q: Array, gamma: int) -> Fraction:
    """Total variation of that law from the target's."""
    chances = law(p, q, gamma)
    return sum((abs(chance - math.prod(p[y] for y in text)) for text, chance in chances.items()), F(0)) / 2


def settle() -> Settled:
    """Compute the verdict on the statement."""
    bias_of_one = max(bias(p, q, 1) for p, q in pairs((2,), 4))
    case = smallest(lambda p, q: (-bias(p, q, 2), F(0)), (2,), 4)
    if case is None or bias_of_one:
        return Settled(REFUTED, "the target need not change.", {"bias, 1 draft": str(bias_of_one)})
    return Settled(
        HOLDS,
        "with one draft it is lossless as it is; with two it is not, unless the token after the next one is drawn "
        "from a changed target, too (T18).",
        {"target": shown(case.p), "draft": shown(case.q), "bias without, 2 drafts": str(-case.value)},
    )
