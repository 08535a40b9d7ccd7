"""Exponential races: the argmax of weights divided by independent exponentials is a draw from the weights."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from specsim.forking.programs import simplices
from specsim.forking.programs.library_arrays import in_library
from specsim.forking.programs.script import Script
from specsim.forking.programs.standins import StandIn, is_tensor, numbers
from specsim.types import Array

Weights = tuple[float, ...]


def forwards(cell: Any) -> int:
    """Return the number of the uniform u, for the number of u or of 1 - u."""
    return int(max(cell, ~cell))


class Exponentials(StandIn):
    """factor * e, e exponential with rate 1; or its logarithm, where `_form` is 1, or the negative of that (-1)."""

    @classmethod
    def fresh(cls, script: Script, shape: tuple[int, ...], library: str) -> Exponentials:
        """An array of new exponentials."""
        cells = np.array([script.fresh() for _ in range(int(np.prod(shape, dtype=int)))], dtype=np.int64)
        return cls(script, cells.reshape(shape), np.ones(shape), library)

    def redraw(self, rate: float = 1.0) -> Exponentials:
        """New numbers in the same places, seen by every view."""
        if rate != 1 or self._form or not self._cells.flags.writeable or not self._factor.flags.writeable:
            self._refuse("drawn anew with another rate, in an expanded view, or where their logarithms are")
        for index in np.ndindex(*self._cells.shape):
            self._cells[index] = self._script.fresh()
        return self  # its factor is 1, as that of all exponentials: they cannot be scaled

    def exponential_(self, lambd: float = 1.0, *, generator: Any = None) -> Exponentials:
        """torch's spelling."""
        if generator is not None:
            self._refuse("a generator of the program's own")
        return self.redraw(lambd)

    def __rtruediv__(self, weights: Any) -> Race:
        """weights / e"""
        numerators = numbers(self._script, weights)
        if self._form or not (self._factor > 0).all():
            self._refuse("divided by")
        return self._race(numerators / self._factor, is_tensor(weights))

    def reciprocal(self) -> Race:
        """1 / e"""
        return 1.0 / self

    def log(self) -> Any:
        if self._form or not (self._factor == 1).all():
            self._refuse("logarithm")
        out: Any = self._shaped(np.copy)
        out._form = 1
        return out

    __log__ = log

    def __neg__(self) -> Any:
        if not self._form:
            self._refuse("negated")
        out: Any = self._shaped(np.copy)
        out._form = -self._form
        return out

    neg = __neg__

    def __add__(self, logits: Any) -> Race:
        """logits + (-log e), a Gumbel"""
        if self._form != -1:
            self._refuse("a number added")
        return self._race(np.exp(numbers(self._script, logits)), is_tensor(logits))

    __radd__ = __add__

    def __rsub__(self, logits: Any) -> Race:
        """logits - log e"""
        if self._form != 1:
            self._refuse("subtracted")
        return self._race(np.exp(numbers(self._script, logits)), is_tensor(logits))

    def _race(self, weights: Array, torch_like: bool) -> Race:
        """Return the race of these weights over the exponentials."""
        cells, weights = np.broadcast_arrays(self._cells, weights)
        return Race(self._script, cells.copy(), weights.copy(), "torch" if torch_like else self._library)


class Race(StandIn):
    """weights / e, of which only the argmax is known: index i with probability weight i over their sum."""

    def __mul__(self, weights: Any) -> Race:
        """Multiply the weights; 1 / e is a race whose weights are 1."""
        factor = self._factor * numbers(self._script, weights)
        cells = np.array(np.broadcast_to(self._cells, factor.shape))
        return Race(self._script, cells, factor, "torch" if is_tensor(weights) else self._library)

    __rmul__ = __mul__

    def scatter_(self, dim: int, index: Any, value: Any) -> Race:
        """Set weights to 0; other numbers written there would no longer be over e."""
        if isinstance(value, StandIn) or np.ndim(value) or value != 0 or not self._factor.flags.writeable:
            self._refuse("written to")
        np.put_along_axis(self._factor, np.asarray(index), 0.0, dim)
        return self

    def argmax(self, dim: int | None = None, keepdim: bool = False, axis: int | None = None, **more: Any) -> Any:
        """Return the winner of each race along an axis."""
        where: Any = axis if dim is None else dim
        keep = bool(keepdim or more.pop("keepdims", False))
        if more:
            self._refuse(f"argmax with {', '.join(more)}")
        # Races along the axis, or one over all entries.
        flat = where is None
        cells = self._cells.reshape(-1) if flat else np.moveaxis(self._cells, where, -1)
        weights = self._factor.reshape(-1) if flat else np.moveaxis(self._factor, where, -1)
        winners = np.zeros(cells.shape[:-1], dtype=np.int64)
        for index in np.ndindex(*winners.shape):
            winners[index] = self._winner(cells[index], weights[index])
        # The result in the shape and the library that the program expects.
        if keep:
            winners = winners.reshape((1,) * self.ndim) if flat else np.expand_dims(winners, where)
        if self._library in ("torch", "jax"):
            return in_library(winners, self._library)
        return winners if winners.ndim else winners[()]

    def _winner(self, cells: Array, weights: Array) -> int:
        """Return the winner of one race; earlier races over the same exponentials limit which winners are possible."""
        # No race: a wrong weight, or none above 0, where every entry is 0 and the first is taken.
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            self._refuse("weights that are not finite non-negative numbers")
        if not weights.any():
            return 0

        # The same race was run before along this path.
        script, law = self._script, tuple(weights.tolist())
        known = tuple(cells.tolist())
        keys = list(map(forwards, known))
        compared = any(script.interval(cell) != (0.0, 1.0) for cell in known)
        before, run = script.races.get(keys[0], (known, {}))
        if law in run and before == known and not compared:
            return int(run[law])

        # Exponentials that were compared, or raced with others, are not independent any more.
        others = any(script.races.get(cell, (known, {}))[0] != known for cell in keys)
        if compared or others or len(set(keys)) < len(keys) or (run and len(known) > simplices.WIDEST):
            self._refuse("one exponential in two races")
        winner = script.choose(_chances(tuple(run.items()), law) if run else law)
        for cell in keys:
            script.races[cell] = known, {**run, law: winner}
        return winner


# Every run along a path asks for the same chances again.
@cache
def _chances(earlier: tuple[tuple[Weights, int], ...], weights: Weights) -> Weights:
    """Return the probability of each winner of a race, given (weights, winner) of earlier races.

    All of them are races of the same exponentials, whose shares in their sum are uniform on the
    simplex: each earlier winner leaves a part of it. Rounding may leave nothing, as after a winner
    whose weight was a floor of 1e-38; then the path is less probable than a sliver of the simplex,
    and the earlier winners are ignored.
    """
    part = simplices.whole(len(weights))
    for earlier_weights, winner in earlier:
        part = simplices.won(part, np.array(earlier_weights), winner)
    chances = tuple(simplices.volume(simplices.won(part, np.array(weights), i)) for i in range(len(weights)))
    return chances if any(chances) else weights
