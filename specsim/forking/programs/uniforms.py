"""Uniforms that fork where they are compared with a number."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from specsim.forking.programs.library_arrays import in_library
from specsim.forking.programs.races import Exponentials, forwards
from specsim.forking.programs.script import Script
from specsim.forking.programs.standins import StandIn, is_tensor, numbers
from specsim.types import Array

# The form of an array that holds log(factor * u).
LOG = 1
# Most integers that a uniform is rounded to: more are made for seeds, and not for tokens.
WIDEST = 64


class Uniforms(StandIn):
    """Numbers factor * u, u uniform on [0, 1); or their logarithms, where `_form` is LOG.

    `_cells` holds the number by which the script knows each u; the number of 1 - u is ~ that of u.
    """

    @classmethod
    def fresh(cls, script: Script, shape: tuple[int, ...], library: str) -> Uniforms:
        """Return an array of new uniforms."""
        cells = np.array([script.fresh() for _ in range(int(np.prod(shape, dtype=int)))], dtype=np.int64)
        return cls(script, cells.reshape(shape), np.ones(shape), library)

    @property
    def _log(self) -> bool:
        """Whether the array holds logarithms."""
        return self._form == LOG

    def redraw(self, low: float = 0.0, high: float = 1.0) -> Uniforms:
        """Draw new numbers in the same places, seen by every view."""
        if low != 0 or not high > 0:
            self._refuse(f"uniform on [{low}, {high})")
        if self._log or not self._cells.flags.writeable or not self._factor.flags.writeable:
            self._refuse("drawn anew in an expanded view, or where their logarithms are")
        for index in np.ndindex(*self._cells.shape):
            self._cells[index] = self._script.fresh()
        self._factor[...] = high
        return self

    def uniform_(self, low: float = 0.0, high: float = 1.0, *, generator: Any = None, **ends: float) -> Uniforms:
        """Draw new numbers between two limits, in torch's spelling."""
        if generator is not None:
            self._refuse("a generator of the program's own")
        return self.redraw(ends.get("from", low), ends.get("to", high))

    def _scaled(self, other: Any, inverse: bool = False) -> Uniforms:
        """Return the uniforms multiplied by non-negative numbers, or divided by positive ones."""
        by = numbers(self._script, other)
        if self._log:
            self._refuse("a logarithm multiplied")
        if not (np.isfinite(by).all() and (by >= 0).all()) or (inverse and not (by > 0).all()):
            self._refuse("multiplied by a number that is not a finite non-negative one")
        factor = self._factor / by if inverse else self._factor * by
        return self._with(np.array(np.broadcast_to(self._cells, factor.shape)), factor)

    def __mul__(self, other: Any) -> Uniforms:
        return self._scaled(other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Uniforms:
        return self._scaled(other, inverse=True)

    def mul_(self, other: Any) -> Uniforms:
        """Multiply in place, seen by every view."""
        scaled = self._scaled(other)
        if scaled.shape != self.shape or not self._factor.flags.writeable:
            self._refuse("multiplied in place")
        self._factor[...] = scaled._factor
        return self

    def log(self) -> Any:
        """Return the logarithms."""
        if self._log:
            self._refuse("a logarithm of a logarithm")
        logarithms: Any = self._shaped(np.copy)
        logarithms._form = LOG
        return logarithms

    __log__ = log

    def exp(self) -> Any:
        """Return factor * u, where the array holds log(factor * u)."""
        if not self._log:
            self._refuse("exponential")
        uniforms: Any = self._shaped(np.copy)
        uniforms._form = 0
        return uniforms

    __exp__ = exp

    def _shifted(self, by: Array) -> Uniforms:
        """Return logarithms shifted by numbers."""
        if not self._log or not (by < np.inf).all():
            self._refuse("a number added")
        factor = self._factor * np.exp(by)
        return self._with(np.array(np.broadcast_to(self._cells, factor.shape)), factor)

    def __add__(self, other: Any) -> Uniforms:
        return self._shifted(numbers(self._script, other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Uniforms:
        return self._shifted(-numbers(self._script, other))

    def __rsub__(self, other: Any) -> Uniforms:
        """Return 1 - u, which is uniform, too."""
        if self._log or not (numbers(self._script, other) == 1).all() or not (self._factor == 1).all():
            self._refuse("subtracted, but not from 1")
        shape = np.broadcast_shapes(self.shape, np.shape(other))
        return self._with(np.array(np.broadcast_to(~self._cells, shape)), np.ones(shape))

    def __int__(self) -> int:
        return int(self._whole().item())

    __trunc__ = __floor__ = __int__

    def _whole(self) -> Array:
        """Return the whole parts: of n * u, n an integer, each of 0, ..., n - 1 is as likely."""
        if self._log or (self._factor > WIDEST).any():
            self._refuse(f"rounded to an integer, of more than {WIDEST}")
        parts = np.zeros(self.shape, dtype=np.int64)
        for index in np.ndindex(*self.shape):
            # Count 1, 2, ... up to the first that is above the number.
            uniform = self[index]
            is_reached = (bool(uniform >= n) for n in range(1, math.ceil(uniform._factor)))
            parts[index] = sum(itertools.takewhile(bool, is_reached))
        return parts

    def floor(self) -> Any:
        """Return the largest integers that are not above, as floats: torch and NumPy return those."""
        return in_library(self._whole().astype(np.float64), self._library)[()]

    def __neg__(self) -> Exponentials:
        """Return -log u, an exponential, if nothing is known of u yet."""
        known = [self._script.interval(cell) != (0.0, 1.0) for cell in self._cells.ravel().tolist()]
        if not self._log or any(known) or not (self._factor == 1).all():
            self._refuse("negated")
        return Exponentials(self._script, self._cells.copy(), np.ones(self.shape), self._library)

    neg = __neg__

    def _compare(self, other: Any, answer: Callable[[float, bool, float], bool]) -> Any:
        """Return the truth values of a comparison with other numbers, which broadcast.

        answer(factor, is_below, bound) compares factor * u with its bound. `is_below` says whether
        u < bound / factor, which forks the script if u may lie on either side; it is False where
        factor is 0.
        """
        # log(factor * u) is compared with a number as factor * u with the number's exponential.
        bounds = numbers(self._script, other)
        bounds = np.exp(bounds) if self._log else bounds
        cells, factors, bounds = np.broadcast_arrays(self._cells, self._factor, bounds)
        answers = np.zeros(cells.shape, dtype=bool)
        for index in np.ndindex(*cells.shape):
            cell, factor, bound = int(cells[index]), float(factors[index]), float(bounds[index])
            # Every comparison with NaN is False.
            if np.isnan(bound):
                continue
            if forwards(cell) in self._script.races:
                self._refuse("compared after a race")
            is_below = factor > 0 and self._script.below(cell, bound / factor)
            answers[index] = answer(factor, is_below, bound)
        # The answers are an array of the library of either operand.
        library = "torch" if is_tensor(other) else self._library
        if library in ("torch", "jax"):
            return in_library(answers, library)
        return bool(answers) if answers.ndim == 0 else answers

    # Where factor > 0, < and <= differ on a set of measure zero.
    def __lt__(self, other: Any) -> Any:
        return self._compare(other, lambda factor, is_below, bound: is_below if factor else bound > 0)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, lambda factor, is_below, bound: is_below if factor else bound >= 0)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, lambda factor, is_below, bound: not is_below if factor else bound < 0)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, lambda factor, is_below, bound: not is_below if factor else bound <= 0)

    def _place(self, cuts: Any, right: bool) -> Any:
        """Return how many of the ascending cuts lie below each uniform, as searchsorted does."""
        rows = numbers(self._script, cuts)
        if rows.ndim > 1 and rows.shape[:-1] != self.shape[:-1]:
            self._refuse(f"searchsorted of shape {self.shape} in {rows.shape}")
        places = np.zeros(self.shape, dtype=np.int64)
        for index in np.ndindex(*self.shape):
            row = rows if rows.ndim == 1 else rows[index[:-1]]
            uniform = self[index]
            passes = operator.ge if right else operator.gt
            is_passed = (bool(np.asarray(passes(uniform, cut))) for cut in row)
            places[index] = sum(itertools.takewhile(bool, is_passed))
        library = "torch" if is_tensor(cuts) else self._library
        if library in ("torch", "jax"):
            return in_library(places, library)
        return places if places.ndim else places[()]
