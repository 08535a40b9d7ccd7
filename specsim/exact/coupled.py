"""Exact laws of the drafts and the token of a coupled rule, by running it on exponentials that fork."""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType

import numpy as np

from specsim.forking import rational_races
from specsim.types import Array


def sampled(rule: ModuleType, p: Array, q: Array, num_drafts: int) -> dict[tuple[tuple[int, ...], int], Fraction]:
    """Return the exact law of (drafts, token) of a coupled rule; p and q are Fractions (V,)."""

    def program(race: rational_races.Race) -> tuple[tuple[int, ...], int]:
        """Run the rule on exponential variates that fork."""
        e = race.variates(rule.races(num_drafts), len(p))
        drafts = rule.propose(q, e, num_drafts)
        return tuple(map(int, drafts)), int(rule.verify(p, drafts, e))

    return rational_races.law(program)


def lossless(rule: ModuleType, p: Array, q: Array, num_drafts: int) -> bool:
    """Return whether the token of a coupled rule has law p, by running it on symbols."""
    return all(token_law(rule, p, q, num_drafts) == p)


def token_law(rule: ModuleType, p: Array, q: Array, num_drafts: int) -> Array:
    """Return the exact law (V,) of the token of a coupled rule."""
    law = np.full(len(p), Fraction(0), dtype=object)
    for (_, token), mass in sampled(rule, p, q, num_drafts).items():
        law[token] += mass
    return law
