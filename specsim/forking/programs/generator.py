"""The stand-in for a NumPy generator and for Python's `random`."""

from __future__ import annotations

import itertools
from typing import Any, NoReturn

import numpy as np

from specsim.forking.programs.jax_keys import Keys
from specsim.forking.programs.races import Exponentials
from specsim.forking.programs.script import Script
from specsim.forking.programs.standins import numbers
from specsim.forking.programs.uniforms import Uniforms

# Names of the modules, for messages.
LIBRARIES = {"python": "random", "numpy": "numpy.random"}
# Most integers that an even draw forks over: draws of more make seeds, and no tokens.
WIDEST = 64


class Generator:
    """The methods of `numpy.random.Generator` and `random.Random` that a script can follow; others are refused."""

    def __init__(self, script: Script, library: str = "numpy") -> None:
        self._script, self._library = script, library

    def random(self, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return uniforms on [0, 1)."""
        if out is not None:
            self._script.refuse("random(out=...)")
        return self._uniforms(size)

    random_sample = random

    def rand(self, *shape: int) -> Any:
        """Return uniforms on [0, 1), in NumPy's old spelling."""
        return self._uniforms(shape or None)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Return uniforms on [0, high)."""
        if np.ndim(low) or np.ndim(high) or low != 0 or not high > 0:
            self._script.refuse(f"uniform({low}, {high})")
        return self._uniforms(size) if high == 1 else self._uniforms(size) * high

    def _uniforms(self, size: Any) -> Any:
        """Return new uniforms of a size; a single number if it is None."""
        shape = () if size is None else tuple(np.atleast_1d(size).tolist())
        made = Uniforms.fresh(self._script, shape, self._library)
        return made.item() if size is None else made

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Return exponentials of rate 1."""
        if np.ndim(scale) or scale != 1 or size is None:
            self._script.refuse(f"exponential({scale}, {size})")
        return Exponentials.fresh(self._script, tuple(np.atleast_1d(size).tolist()), self._library)

    standard_exponential = exponential

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return standard Gumbel numbers: -log of exponentials."""
        if np.ndim(loc) or np.ndim(scale) or (loc, scale) != (0, 1) or size is None:
            self._script.refuse(f"gumbel({loc}, {scale}, {size})")
        return -np.log(self.exponential(size=size))

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Return the outcomes of single trials: 1 with probability p."""
        if np.ndim(n) or n != 1:
            self._script.refuse(f"binomial of {n} trials")
        chances = numbers(self._script, p)
        # NumPy refuses such chances with these words.
        if not ((chances >= 0) & (chances <= 1)).all():
            raise ValueError("p < 0, p > 1 or p is NaN")
        rows = chances if size is None else np.broadcast_to(chances, tuple(np.atleast_1d(size).tolist()))
        drawn = [1 - self._script.choose((chance, 1 - chance)) for chance in rows.ravel().tolist()]
        return np.array(drawn, dtype=np.int64).reshape(rows.shape)[()]

    def randint(self, low: Any, high: Any = None, size: Any = None) -> Any:
        """Return an integer below `low`, or from `low` to below `high`; Python's includes `high`."""
        first, end = (0, low) if high is None else (low, high)
        return self._integer(first, end + (self._library == "python"), size)

    def integers(self, low: Any, high: Any = None, size: Any = None, **more: Any) -> Any:
        """Return whole numbers as NumPy's generators spell it."""
        if more:
            self._script.refuse(f"integers with {', '.join(more)}")
        first, end = (0, low) if high is None else (low, high)
        return self._integer(first, end, size)

    def randrange(self, start: Any, stop: Any = None) -> Any:
        """Return a whole number as Python's `random` spells it, up to `stop` exclusive."""
        first, end = (0, start) if stop is None else (start, stop)
        return self._integer(first, end, None)

    def _integer(self, first: Any, end: Any, size: Any) -> int:
        """Return one of few integers, each as likely."""
        if size is not None or np.ndim(first) or np.ndim(end) or not 0 < end - first <= WIDEST:
            self._script.refuse(f"integers from {first} to {end}, size {size}")
        return int(first) + self._script.choose([1] * int(end - first))

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, **more: Any) -> Any:
        """Return draws from p over 0..a-1, or over the entries of a."""
        if more:
            self._script.refuse(f"choice with {', '.join(more)}")
        if self._library == "python":
            return a[self._script.choose([1] * len(a))]
        if np.ndim(a) > 1:
            self._script.refuse("choice from an array of more than one axis")

        # The law; NumPy refuses one whose sum is further from 1 than its type explains.
        count = int(a) if np.ndim(a) == 0 else len(a)
        law = np.full(count, 1 / count) if p is None else numbers(self._script, p)
        is_float = isinstance(p, np.ndarray) and p.dtype.kind == "f"
        tolerance = max(1e-8, float(np.sqrt(np.finfo(p.dtype).eps)) if is_float else 0.0)
        if law.shape != (count,) or not (law >= 0).all() or abs(law.sum() - 1) > tolerance:
            raise ValueError(f"probabilities {law.tolist()} are not {count} non-negative numbers that sum to 1")

        # Draws, one after the other; without replacement a drawn entry has no mass any more.
        shape = () if size is None else tuple(np.atleast_1d(size).tolist())
        drawn = np.zeros(shape, dtype=np.int64)
        for index in np.ndindex(*shape):
            place = self._script.choose(law.tolist())
            drawn[index] = place
            law = law if replace else np.where(np.arange(count) == place, 0, law)
        if size is None:
            return int(drawn) if np.ndim(a) == 0 else a[int(drawn)]
        return drawn if np.ndim(a) == 0 else np.asarray(a)[drawn]

    def choices(self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> list[Any]:
        """Return Python's draws with replacement."""
        if cum_weights is not None:
            weights = [b - a for a, b in itertools.pairwise([0, *cum_weights])]
        law = [1.0] * len(population) if weights is None else numbers(self._script, weights).tolist()
        return [population[self._script.choose(law)] for _ in range(k)]

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """Return counts of n draws."""
        if size is not None or np.ndim(n) or np.ndim(pvals) != 1:
            self._script.refuse("multinomial of several rows")
        law = numbers(self._script, pvals)
        counts = 0 * law.astype(int)
        for _ in range(int(n)):
            counts = counts + np.eye(len(law), dtype=np.int64)[self._script.choose(law)]
        return counts

    def key(self) -> Keys:
        """Return the stand-in for a key of `jax.random`."""
        return Keys.fresh(self._script, Generator)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._script.refuse(f"{LIBRARIES[self._library]}: {name}")
