"""A uniform that forks at every comparison: the exact law of the sampler that runs.

`verify` runs on numbers that remember an interval instead of a value. Where a comparison's outcome
depends on where in the interval the uniform lies, the interval is split at that point, and one run
follows each half. The weight of a run is a product of interval lengths, so the law of the *code*
comes out in exact rationals, with no sampling.

A path is a box of such intervals, and no list of answers as in `specsim.forking.paths`: rows that
run together ask more or fewer questions as their company does, and a box holds whatever is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from specsim.types import Array

# An interval [low, high) for every uniform.
Box = tuple[tuple[Fraction, Fraction], ...]
ONE = Fraction(1)
# The interval of a uniform that no comparison has cut.
WHOLE = (Fraction(0), ONE)


class Uniform:
    """A uniform on [0, 1), known to lie in one cell of a run's box, seen through a non-negative scale.

    Supports what samplers do with a uniform: multiply it by a non-negative number, divide it by a
    positive one, compare it with numbers. Arrays are left to NumPy, which comes back with their
    entries one by one.
    """

    __slots__ = ("_fork", "_place", "_scale")

    def __init__(self, fork: Fork, place: int, scale: Fraction = ONE) -> None:
        self._fork, self._place, self._scale = fork, place, scale

    def __mul__(self, factor: Any) -> Uniform:
        if _is_array(factor):
            return NotImplemented
        number = _number(factor)
        scale = number if self._scale is ONE else self._scale * number
        if scale.numerator < 0:
            raise ValueError(f"a forking uniform was multiplied by {factor}; weights must be non-negative")
        return Uniform(self._fork, self._place, scale)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Uniform:
        if _is_array(divisor):
            return NotImplemented
        if _number(divisor) <= 0:
            raise ValueError(f"a forking uniform was divided by {divisor}; divisors must be positive")
        return self * (1 / _number(divisor))

    def _refuse(self, other: Any) -> NoReturn:
        """Refuse an operation that leaves no interval."""
        raise TypeError("a uniform was added, subtracted or divided by; multiply it and compare it (1 - u has u's law)")

    __add__ = __radd__ = __sub__ = __rsub__ = __rtruediv__ = _refuse

    def _is_below(self, bound: Any) -> bool:
        """Return whether scale * u < bound, forking if the cell holds both answers."""
        # NumPy's searchsorted compares its first key with itself: then the scales decide.
        if isinstance(bound, Uniform) and bound._place == self._place:
            return self._scale < bound._scale
        if not self._scale:
            return bool(bound > 0)
        # A bound outside [0, scale) decides for a uniform that no comparison has cut: no division.
        cut, cell = _number(bound), self._fork.box[self._place]
        if cell is WHOLE and (cut.numerator <= 0 or cut >= self._scale):
            return cut.numerator > 0

        # u < bound / scale, the cut. The cell of u lies on one side of it, or is split there, and
        # this run goes on below it.
        cut = cut if self._scale is ONE else cut / self._scale
        if cut <= cell[0]:
            return False
        if cut < cell[1]:
            self._fork.split(self._place, cut)
        return True

    def __lt__(self, bound: Any) -> bool:
        return NotImplemented if _is_array(bound) else self._is_below(bound)

    def __ge__(self, bound: Any) -> bool:
        return NotImplemented if _is_array(bound) else not self._is_below(bound)

    def __le__(self, bound: Any) -> bool:
        # At a positive scale <= differs from < on a set of measure zero.
        if _is_array(bound):
            return NotImplemented
        return bool(bound >= 0) if self._scale == 0 else self._is_below(bound)

    def __gt__(self, bound: Any) -> bool:
        return NotImplemented if _is_array(bound) else not self <= bound


def _is_array(value: Any) -> bool:
    """Return whether a value is an array of one dimension or more; NumPy wraps single numbers in 0-d arrays."""
    return isinstance(value, np.ndarray) and value.ndim > 0


def _number(value: Any) -> Fraction:
    """Return a number as an exact rational; NumPy wraps single entries of object arrays in 0-d arrays."""
    value = value.item() if isinstance(value, np.ndarray) else value
    if type(value) is Fraction:
        return value
    if isinstance(value, Uniform):
        raise TypeError("a uniform was compared with or multiplied by a uniform; compare it with one number at a time")
    return Fraction(value)


class Fork:
    """Hands uniforms to one run, which stays in a box: a cell for each; and weighs it at the end.

    The first uniforms lie in the box that the run starts with, those after them anywhere in [0, 1).
    """

    def __init__(self, box: Box, later: list[Box]) -> None:
        self.box, self._later, self._used = list(box), later, 0

    def uniforms(self, *shape: int) -> Array:
        """Return an object array of fresh forking uniforms."""
        first, self._used = self._used, self._used + math.prod(shape)
        self.box += [WHOLE] * (self._used - len(self.box))
        uniforms = np.empty(self._used - first, dtype=object)
        uniforms[:] = [Uniform(self, place) for place in range(first, self._used)]
        return uniforms.reshape(shape)

    def split(self, place: int, cut: Fraction) -> None:
        """Go on below the cut, and leave the box above it for a later run."""
        low, high = self.box[place]
        self._later.append((*self.box[:place], (cut, high), *self.box[place + 1 :]))
        self.box[place] = (low, cut)

    def weight(self) -> Fraction:
        """Return the probability of this run's box."""
        return math.prod((cell[1] - cell[0] for cell in self.box if cell is not WHOLE), start=ONE)


def runs(program: Callable[[Fork], Any]) -> Iterator[tuple[Any, Fraction]]:
    """Yield every (result, probability) of a program that draws from a `Fork`; each run starts afresh."""
    later: list[Box] = [()]
    while later:
        fork = Fork(later.pop(), later)
        result = program(fork)
        yield result, fork.weight()


def law(program: Callable[[Fork], Any]) -> dict[Any, Fraction]:
    """Return the exact law of a program's (hashable) result."""
    masses: dict[Any, Fraction] = {}
    for result, weight in runs(program):
        masses[result] = masses.get(result, Fraction(0)) + weight
    return masses


def laws(program: Callable[[list[int], list[Fork]], Iterable[Any]], rows: int) -> list[dict[Any, Fraction]]:
    """Return the exact laws of the (hashable) results of rows that run together: program(which rows, a fork for each).

    Finished rows stay in the batch until they are half of it; then the batch is cut down to the
    rest.
    """
    later: list[list[Box]] = [[()] for _ in range(rows)]
    last: list[Box] = [()] * rows
    masses: list[dict[Any, Fraction]] = [{} for _ in range(rows)]
    together = list(range(rows))
    while live := [row for row in together if later[row]]:
        # Half of the batch is finished: go on with the rest alone.
        together = live if 2 * len(live) <= len(together) else together
        # A finished row runs its last box again, and is not counted.
        forks = {row: Fork(later[row].pop(), later[row]) if later[row] else Fork(last[row], []) for row in together}
        results = dict(zip(together, program(together, list(forks.values())), strict=True))
        for row in live:
            masses[row][results[row]] = masses[row].get(results[row], Fraction(0)) + forks[row].weight()
            last[row] = tuple(forks[row].box)
    return masses
