"""Exponential variates that fork at every comparison: the exact law of a sampler that runs races.

What a race asks of its variates is which of a E_i and b E_j is smaller. A run on symbols splits there; at its end the
variates lie in a cone {E_i > c E_j, ...}, whose probability under independent exponentials is a rational number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from specsim.forking.paths import Walk
from specsim.types import Array

Constraint = tuple[int, Fraction, int]  # (i, c, j): E_i > c E_j
ONE = Fraction(1)


class Race:
    """One run: the answers given so far, and what they say of the variates."""

    def __init__(self, walk: Walk) -> None:
        self._walk, self.cone = walk, frozenset[Constraint]()
        walk.start()

    def below(self, one: Arrival, other: Arrival) -> bool:
        """Return whether one arrives before the other; where both can be, by the answer of this path."""
        if one.place == other.place:
            return one.scale < other.scale
        if not one.scale or not other.scale:  # one stands for 0
            return bool(one.scale < other.scale)
        earlier = (other.place, one.scale / other.scale, one.place)
        later = (one.place, other.scale / one.scale, other.place)
        if earlier in self.cone or later in self.cone:
            return earlier in self.cone
        is_earlier = self._walk.choose((earlier, later)) == 0
        self.cone |= {earlier if is_earlier else later}
        return is_earlier

    def variates(self, *shape: int) -> Array:
        """Independent exponential variates, as symbols."""
        found = np.empty(math.prod(shape), dtype=object)
        found[:] = [Arrival(self, place) for place in range(found.size)]
        return found.reshape(shape)


class Arrival:
    """A variate times a number: it is divided and compared, and nothing else."""

    __slots__ = ("place", "race", "scale")

    def __init__(self, race: Race, place: int, scale: Fraction = ONE) -> None:
        self.race, self.place, self.scale = race, place, scale

    def __truediv__(self, rate: Any) -> Arrival:
        if isinstance(rate, np.ndarray):
            return NotImplemented
        return Arrival(self.race, self.place, self.scale / Fraction(rate))

    def __mul__(self, factor: Any) -> Arrival:
        if isinstance(factor, np.ndarray):
            return NotImplemented
        return Arrival(self.race, self.place, self.scale * Fraction(factor))

    __rmul__ = __mul__

    def __lt__(self, other: Any) -> bool:
        if isinstance(other, Arrival):
            return self.race.below(self, other)
        if other == math.inf:
            return True
        raise TypeError(f"a variate was compared with {other}; compare it with another one")

    def __gt__(self, other: Any) -> bool:
        return not self < other  # two of them are equal with probability 0

    __le__, __ge__ = __lt__, __gt__


def law(program: Callable[[Race], Any]) -> dict[Any, Fraction]:
    """The exact law of what a program returns that asks its race for `variates`, once.

    >>> print(law(lambda race: int((race.variates(2) / np.array([1, 2])).argmin()))[1])
    2/3
    """
    out: dict[Any, Fraction] = {}
    walk, is_more = Walk(), True
    while is_more:
        race = Race(walk)
        result, mass = program(race), cone(race.cone)
        # Answers that cannot hold together leave an empty cone.
        if mass:
            out[result] = out.get(result, Fraction(0)) + mass
        is_more = walk.advance()
    return out


def cone(constraints: frozenset[Constraint]) -> Fraction:
    """The probability of {E_i > c E_j for all (i, c, j)} under independent exponentials of mean 1."""
    places = sorted({place for i, _, j in constraints for place in (i, j)})
    return _cone(constraints, tuple((place, ONE) for place in places))


@lru_cache(maxsize=1 << 16)
def _cone(constraints: frozenset[Constraint], rates: tuple[tuple[int, Fraction], ...]) -> Fraction:
    """The integral over the cone of exp(-sum rate E), variate by variate.

    The last variate lies between the largest of its lower and the least of its upper bounds. For each choice of the
    two that is one difference of exponentials, in the others, on the cone where these are the bounds.
    """
    if not rates:
        return ONE
    (place, rate), rest = rates[-1], dict(rates[:-1])
    lower = [(c, j) for i, c, j in constraints if i == place]
    upper = [(1 / c, i) for i, c, j in constraints if j == place]
    others = [one for one in constraints if place not in (one[0], one[2])]
    total = Fraction(0)
    lows: list[Any] = [*lower] or [None]  # None: 0
    highs: list[Any] = [*upper] or [None]  # None: no bound
    for low in lows:
        for high in highs:
            found = set(others)
            asked = [(low, one) for one in lower if low and one != low]  # the first is to exceed the second
            asked += [(one, high) for one in upper if high and one != high]
            asked += [(high, low)] if low and high else []
            if not all(_added(found, large, small) for large, small in asked):
                continue
            for end, sign in ((low, 1), (high, -1)):
                if end is None and sign < 0:
                    continue
                moved = dict(rest)
                if end is not None:
                    moved[end[1]] += rate * end[0]
                total += sign * _cone(frozenset(found), tuple(moved.items())) / rate
    return total


def _added(found: set[Constraint], large: Any, small: Any) -> bool:
    """Demand large > small of two (factor, place); False if that never holds."""
    (a, i), (b, j) = large, small
    if i == j:
        return bool(a > b)
    found.add((i, b / a, j))
    return True
