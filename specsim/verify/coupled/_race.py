"""Races of exponential variates, and sums of exponentials, by whose integrals coupled rules state acceptance."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from specsim.base.arrays import array_namespace, prefix_scan
from specsim.types import Array

# The function x -> sum of coefficient * exp(-rate x), as a table rate -> coefficient.
Sum = dict[Any, Any]


def exponentials(u: Array) -> Array:
    """Exponential variates of mean 1 from uniforms on [0, 1); 0 gives 0."""
    return -array_namespace(u).log1p(-u)


def arrivals(w: Array, e: Array) -> Array:
    """Times e/w (..., V) at which tokens of rates w arrive; infinity without weight."""
    xp = array_namespace(w, e)
    has_weight = w > 0
    return xp.where(has_weight, e / xp.where(has_weight, w, 1), np.inf)


def first(w: Array, e: Array) -> Array:
    """The token (...) that arrives first at rates w; its law is w, normalised."""
    return array_namespace(w, e).argmin(arrivals(w, e), axis=-1)


def together(p: Array, q: Array) -> Array:
    """P(y is first at rates p and at rates q), for each y (..., V): 1/sum_i max(p_i/p_y, q_i/q_y).

    It is 0 where p or q is. Tokens of a larger p/q than y count by p, the others by q: two sums along
    the order of p/q.
    """
    xp = array_namespace(p, q)
    p, q = xp.broadcast_arrays(p, q)
    # For each y, the p of tokens after it in the order of p/q, and the q of those up to it.
    order, p_mass, q_mass = prefix_scan(p, q)
    place = xp.argsort(order, axis=-1)
    beyond = xp.take_along_axis(p_mass[..., -1:] - p_mass, place, axis=-1)
    up_to = xp.take_along_axis(q_mass, place, axis=-1)
    # p_y q_y / sum_i max(p_i q_y, q_i p_y).
    both = (p > 0) & (q > 0)
    total = q * beyond + p * up_to
    return xp.where(both, p * q / xp.where(both, total, 1), 0 * p * q)


def times(left: Sum, right: Sum) -> Sum:
    """The product of two sums of exponentials."""
    product: Sum = {}
    for a, x in left.items():
        for b, y in right.items():
            product[a + b] = product.get(a + b, 0) + x * y
    return product


def plus(parts: Iterable[tuple[Any, Any]]) -> Sum:
    """The sum of exponentials with pairs (rate, coefficient); equal rates are merged."""
    total: Sum = {}
    for rate, coefficient in parts:
        total[rate] = total.get(rate, 0) + coefficient
    return total


def mean(terms: Sum) -> Any:
    """Mean of the sum at an exponential variate of mean 1: sum of coefficient / (1 + rate)."""
    return sum(coefficient / (1 + rate) for rate, coefficient in terms.items())


def by_rows(hit: Any, p: Array, q: Array, *args: Any) -> Array:
    """hit(row of p, row of q, y, *args) for each token y of each row, on the host: (..., V).

    A token that p or q excludes is never hit.
    """
    p, q = (np.asarray(w) for w in (p, q))
    p, q = np.broadcast_arrays(p, q)
    result = np.empty(p.shape, dtype=np.result_type(p.dtype, q.dtype))
    number = Fraction if result.dtype == object else float
    for index in np.ndindex(p.shape[:-1]):
        rows = [[number(v) for v in w[index]] for w in (p, q)]
        for y, (p_y, q_y) in enumerate(zip(*rows, strict=True)):
            result[(*index, y)] = hit(*rows, y, *args) if p_y > 0 and q_y > 0 else number(0)
    return result
