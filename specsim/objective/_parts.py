"""What objectives share: logarithms where there is a mass, constants, and the distance of tvd and its kin.

A number that is chosen away by `where` still has a gradient, and infinity times 0 is none: so both branches are finite.
"""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
from array_api_compat import is_array_api_obj, is_jax_array, is_torch_array

from specsim.base.arrays import array_namespace, at, is_exact
from specsim.types import Array


def mass(log_q: Array) -> Array:
    """q itself."""
    return array_namespace(log_q).exp(log_q)


def where_positive(w: Array, value: Array) -> Array:
    """`value` where w is positive, else 0, which also is its gradient there."""
    return array_namespace(w).where(w > 0, value, 0 * w)


def log_or(w: Array, other: Array | float) -> Array:
    """log w where w is positive, log `other` where it is 0."""
    xp = array_namespace(w)
    return xp.log(xp.where(w > 0, w, 0 * w + other))


def tiny(w: Array) -> Fraction | float:
    """The smallest normal number of the type of w: stands for 0 in a logarithm that would be infinite."""
    if is_exact(w):
        return Fraction(1, 1 << 1022)
    return float(array_namespace(w).finfo(w.dtype).smallest_normal)


def excess(p: Array, q: Array) -> Array:
    """Sum of (p - q)+ (...): the total variation distance, whose gradient is 0 where p = q."""
    xp = array_namespace(p, q)
    return xp.sum(xp.where(p > q, p - q, 0 * p), axis=-1)


def toward(p: Array, q: Array) -> Array:
    """-E_q[1{p > q} grad log q] (..., V) in the logits of q: the gradient of `excess`."""
    xp = array_namespace(p, q)
    under = xp.where(p > q, q, 0 * q)
    return q * xp.sum(under, axis=-1, keepdims=True) - under


def spread(chance: Array) -> Array:
    """Standard deviation of 0 and 1 where 1 has this chance; no gradient goes through it."""
    chance, xp = constant(chance), array_namespace(chance)
    left = boxed(chance * (1 - chance))
    return boxed(xp.sqrt(xp.where(left > 0, left, 0 * left)))


def boxed(value: Array) -> Array:
    """One number as an array: what NumPy makes of an array of one object is that object."""
    return value if is_array_api_obj(value) else np.asarray(value)


def over(w: Array, by: Array) -> Array:
    """w / by for one number `by`, or 0 where that is 0."""
    xp = array_namespace(w)
    safe = xp.where(by > 0, by, 0 * by + 1)
    return xp.where(by > 0, w / safe, 0 * w)


def constant(w: Array) -> Array:
    """w as a number that no gradient goes through."""
    if is_torch_array(w):
        return w.detach()
    if is_jax_array(w):
        return sys.modules["jax"].lax.stop_gradient(w)
    if isinstance(w, np.ndarray) and is_exact(w):
        return np.vectorize(_detached, otypes=[object])(w)
    return w


def _detached(value: object) -> object:
    """A number that carries its gradient, without it; any other as it is."""
    detach = vars(type(value)).get("detach")
    return value if detach is None else detach(value)


def drawn(w: Array, tokens: Array | None, name: str) -> Array:
    """w at the tokens (...); ValueError where there are none."""
    if tokens is None:
        raise ValueError(f"objective {name!r} is sampled: it needs tokens, one for each row")
    return at(w, tokens)
