"""Exponential variates that fork at every comparison: the exact law of a sampler that runs races.

A race asks of its variates which of a E_i and b E_j is smaller. A run on symbols splits there; at
its end the variates lie in a cone {E_i > c E_j, ...}, whose probability under independent
exponentials is a rational number.
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

# (i, c, j): E_i > c E_j.
Constraint = tuple[int, Fraction, int]
ONE = Fraction(1)


class Race:
    """One run: the answers so far, and the cone of variates that they leave."""

    def __init__(self, walk: Walk) -> None:
        self._walk, self.cone = walk, frozenset[Constraint]()
        walk.start()

    def below(self, first: Arrival, second: Arrival) -> bool:
        """Return whether the first arrives before the second; where both can be, by the answer of this path."""
        if first.place == second.place:
            return first.scale < second.scale
        # A scale of 0 stands for the number 0.
        if not first.scale or not second.scale:
            return bool(first.scale < second.scale)
        # The two answers as constraints; one of them may be known already.
        earlier = (second.place, first.scale / second.scale, first.place)
        later = (first.place, second.scale / first.scale, second.place)
        if earlier in self.cone or later in self.cone:
            return earlier in self.cone
        is_earlier = self._walk.choose((earlier, later)) == 0
        self.cone |= {earlier if is_earlier else later}
        return is_earlier

    def variates(self, *shape: int) -> Array:
        """Return independent exponential variates, as symbols."""
        symbols = np.empty(math.prod(shape), dtype=object)
        symbols[:] = [Arrival(self, place) for place in range(symbols.size)]
        return symbols.reshape(shape)


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
        # Two variates are equal with probability 0.
        return not self < other

    __le__, __ge__ = __lt__, __gt__


def law(program: Callable[[Race], Any]) -> dict[Any, Fraction]:
    """Return the exact law of the result of a program that asks its race for `variates`, once.

    >>> print(law(lambda race: int((race.variates(2) / np.array([1, 2])).argmin()))[1])
    2/3
    """
    masses: dict[Any, Fraction] = {}
    walk, is_more = Walk(), True
    while is_more:
        race = Race(walk)
        result, mass = program(race), cone(race.cone)
        # Answers that cannot hold together leave an empty cone.
        if mass:
            masses[result] = masses.get(result, Fraction(0)) + mass
        is_more = walk.advance()
    return masses


def cone(constraints: frozenset[Constraint]) -> Fraction:
    """Return the probability of {E_i > c E_j for all (i, c, j)} under independent exponentials of mean 1."""
    places = sorted({place for i, _, j in constraints for place in (i, j)})
    return _cone(constraints, tuple((place, ONE) for place in places))


@lru_cache(maxsize=1 << 16)
def _cone(constraints: frozenset[Constraint], rates: tuple[tuple[int, Fraction], ...]) -> Fraction:
    """Return the integral over the cone of exp(-sum rate E), variate by variate.

    The last variate E, of rate r, lies between the largest of its lower bounds, c E_j, and the
    least of its upper bounds, d E_k. For each choice of the two, on the cone where these are the
    bounds, the integral of exp(-r E) over it is

        (exp(-r c E_j) - exp(-r d E_k)) / r.

    Either term raises the rate of one other variate: an integral over one variate fewer remains.
    """
    if not rates:
        return ONE
    # Bounds (factor, place) of the last variate by the others; constraints without it stay.
    (place, rate), rest = rates[-1], dict(rates[:-1])
    lower = [(c, j) for i, c, j in constraints if i == place]
    upper = [(1 / c, i) for i, c, j in constraints if j == place]
    others = [constraint for constraint in constraints if place not in (constraint[0], constraint[2])]
    total = Fraction(0)
    # None stands for the lower bound 0, or for no upper bound.
    lows: list[Any] = [*lower] or [None]
    highs: list[Any] = [*upper] or [None]
    for low in lows:
        for high in highs:
            # Where these two are the bounds: `low` exceeds the other lower bounds, the other upper
            # bounds exceed `high`, and `high` exceeds `low`.
            ordered = [(low, bound) for bound in lower if low and bound != low]
            ordered += [(bound, high) for bound in upper if high and bound != high]
            ordered += [(high, low)] if low and high else []
            implied = set(others)
            if not all(_add_constraint(implied, large, small) for large, small in ordered):
                continue
            # exp(-rate low) - exp(-rate high), each an integral over one variate fewer; without an
            # upper bound the second term is 0.
            for end, sign in ((low, 1), (high, -1)):
                if end is None and sign < 0:
                    continue
                raised = dict(rest)
                if end is not None:
                    factor, other = end
                    raised[other] += rate * factor
                total += sign * _cone(frozenset(implied), tuple(raised.items())) / rate
    return total


def _add_constraint(constraints: set[Constraint], large: Any, small: Any) -> bool:
    """Add the constraint large > small of two (factor, place); return False if it never holds."""
    (a, i), (b, j) = large, small
    if i == j:
        return bool(a > b)
    constraints.add((i, b / a, j))
    return True
