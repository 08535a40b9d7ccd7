"""A uniform that forks at every comparison: the exact law of the sampler that runs.

Run `verify` on numbers that remember an interval instead of a value. Where a comparison's outcome depends on where
in the interval the uniform lies, the run splits at that point, and both halves are followed. The weights of the
leaves are products of interval lengths, so the law of the *code* comes out in exact rationals, with no sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from specsim.types import Array


class _Script:
    """The decisions of one run: replayed up to the last known fork, then always the lower half first."""

    def __init__(self, decisions: list[bool]) -> None:
        self.decisions, self.used = decisions, 0

    def decide(self) -> bool:
        if self.used == len(self.decisions):
            self.decisions.append(True)
        self.used += 1
        return self.decisions[self.used - 1]


class Uniform:
    """A uniform on [0, 1), known to lie in [low, high), seen through a non-negative scale.

    Supports what samplers do with a uniform: multiply it by a non-negative number, compare it with a number.
    """

    __slots__ = ("_cell", "_scale", "_script")

    def __init__(self, script: _Script, cell: list[Fraction] | None = None, scale: Fraction = Fraction(1)) -> None:
        self._script, self._scale = script, scale
        self._cell = [Fraction(0), Fraction(1)] if cell is None else cell

    def __mul__(self, factor: Any) -> Uniform:
        scale = self._scale * _number(factor)
        if scale < 0:
            raise ValueError(f"a forking uniform was multiplied by {factor}; weights must be non-negative")
        return Uniform(self._script, self._cell, scale)

    __rmul__ = __mul__

    def _below(self, bound: Any) -> bool:
        """Whether scale * u < bound, forking if the interval holds both answers."""
        if self._scale == 0:
            return bool(bound > 0)
        cut, (low, high) = _number(bound) / self._scale, self._cell
        if cut <= low or cut >= high:
            return cut >= high
        below = self._script.decide()
        self._cell[below] = cut  # True moves the upper end, False the lower
        return below

    def __lt__(self, bound: Any) -> bool:
        return self._below(bound)

    def __ge__(self, bound: Any) -> bool:
        return not self._below(bound)

    def __le__(self, bound: Any) -> bool:  # at a positive scale differs from < on a set of measure zero
        return bool(bound >= 0) if self._scale == 0 else self._below(bound)

    def __gt__(self, bound: Any) -> bool:
        return not self <= bound

    def width(self) -> Fraction:
        """Length of the interval that is left."""
        return self._cell[1] - self._cell[0]


def _number(value: Any) -> Fraction:
    """A number as an exact rational; NumPy wraps single entries of object arrays in 0-d arrays."""
    return Fraction(value.item() if isinstance(value, np.ndarray) else value)


class Fork:
    """Hands fresh uniforms to one run, and weighs it at the end."""

    def __init__(self, script: _Script) -> None:
        self._script = script
        self._uniforms: list[Uniform] = []

    def uniforms(self, *shape: int) -> Array:
        """Object array of fresh forking uniforms."""
        out = np.empty(shape, dtype=object)
        for index in np.ndindex(*shape):
            fresh = Uniform(self._script)
            out[index] = fresh
            self._uniforms.append(fresh)
        return out

    def weight(self) -> Fraction:
        """Probability of this run's decisions."""
        total = Fraction(1)
        for u in self._uniforms:
            total *= u.width()
        return total


def runs(program: Callable[[Fork], Any]) -> Iterator[tuple[Any, Fraction]]:
    """Every (result, probability) of a program that takes its randomness from a `Fork`; each run starts afresh."""
    decisions: list[bool] | None = []
    while decisions is not None:
        script = _Script(decisions)
        fork = Fork(script)
        result = program(fork)
        yield result, fork.weight()
        decisions = _next(script.decisions[: script.used])


def _next(decisions: list[bool]) -> list[bool] | None:
    while decisions and not decisions[-1]:
        decisions.pop()
    return [*decisions[:-1], False] if decisions else None


def law(program: Callable[[Fork], Any]) -> dict[Any, Fraction]:
    """Exact law of a program's (hashable) result."""
    out: dict[Any, Fraction] = {}
    for result, weight in runs(program):
        out[result] = out.get(result, Fraction(0)) + weight
    return out
