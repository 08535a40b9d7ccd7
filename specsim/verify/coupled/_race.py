"""What coupled rules share: races of exponential variates, and sums of exponentials, which races are integrals of."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from specsim.base.arrays import array_namespace, prefix_scan
from specsim.types import Array

Sum = dict[Any, Any]  # rate -> coefficient: x -> sum of coefficient exp(-rate x)


def exponentials(u: Array) -> Array:
    """Exponential variates of mean 1 from uniforms on [0, 1); 0 gives 0."""
    return -array_namespace(u).log1p(-u)


def arrivals(w: Array, e: Array) -> Array:
    """e/w (..., V): when each token arrives at rate w; those without weight never do."""
    xp = array_namespace(w, e)
    some = w > 0
    return xp.where(some, e / xp.where(some, w, 1), np.inf)


def first(w: Array, e: Array) -> Array:
    """The token (...) that arrives first: one of law w, up to a factor."""
    return array_namespace(w, e).argmin(arrivals(w, e), axis=-1)


def together(p: Array, q: Array) -> Array:
    """P(y comes first at rates p and at rates q) (..., V): 1/sum_i max(p_i/p_y, q_i/q_y), 0 where p or q is.

    Tokens of a larger p/q than y count by p, the others by q: two sums along the order of p/q.
    """
    xp = array_namespace(p, q)
    p, q = xp.broadcast_arrays(p, q)
    order, p_mass, q_mass = prefix_scan(p, q)
    place = xp.argsort(order, axis=-1)
    beyond, up_to = (xp.take_along_axis(w, place, axis=-1) for w in (p_mass[..., -1:] - p_mass, q_mass))
    both = (p > 0) & (q > 0)
    total = q * beyond + p * up_to
    return xp.where(both, p * q / xp.where(both, total, 1), 0 * p * q)


def times(one: Sum, other: Sum) -> Sum:
    """The product of two sums of exponentials."""
    found: Sum = {}
    for a, x in one.items():
        for b, y in other.items():
            found[a + b] = found.get(a + b, 0) + x * y
    return found


def plus(parts: Iterable[tuple[Any, Any]]) -> Sum:
    """A sum of exponentials from pairs (rate, coefficient), equal rates merged."""
    found: Sum = {}
    for rate, coefficient in parts:
        found[rate] = found.get(rate, 0) + coefficient
    return found


def mean(terms: Sum) -> Any:
    """E of the sum at an exponential variate of mean 1."""
    return sum(coefficient / (1 + rate) for rate, coefficient in terms.items())


def by_rows(one: Any, p: Array, q: Array, *args: Any) -> Array:
    """one(row of p, row of q, y, *args) for every token y of every row, on the host: (..., V)."""
    p, q = (np.asarray(w) for w in (p, q))
    p, q = np.broadcast_arrays(p, q)
    found = np.empty(p.shape, dtype=np.result_type(p.dtype, q.dtype))
    number = Fraction if found.dtype == object else float
    for at in np.ndindex(p.shape[:-1]):
        rows = [[number(v) for v in w[at]] for w in (p, q)]
        for y, (here, there) in enumerate(zip(*rows, strict=True)):
            found[(*at, y)] = one(*rows, y, *args) if here > 0 and there > 0 else number(0)
    return found
