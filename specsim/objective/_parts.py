"""Parts that objectives share: logarithms where there is a mass, constants, the distance of tvd.

The branch that `where` does not take still has a gradient, and infinity times 0 is NaN: so both
branches are finite.
"""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
from array_api_compat import is_array_api_obj, is_jax_array, is_torch_array

from specsim.base.arrays import array_namespace, at, is_exact
from specsim.types import Array


def mass(log_q: Array) -> Array:
    """The probabilities q (..., V), from their logarithms."""
    return array_namespace(log_q).exp(log_q)


def where_positive(w: Array, value: Array) -> Array:
    """Return `value` where w is positive, else 0, which is also its gradient there."""
    return array_namespace(w).where(w > 0, value, 0 * w)


def log_or(w: Array, other: Array | float) -> Array:
    """The logarithm of w where w is positive, and of `other` where w is 0."""
    xp = array_namespace(w)
    return xp.log(xp.where(w > 0, w, 0 * w + other))


def tiny(w: Array) -> Fraction | float:
    """The smallest normal number of the type of w.

    It stands for 0 in a logarithm that would be infinite.
    """
    if is_exact(w):
        return Fraction(1, 1 << 1022)
    return float(array_namespace(w).finfo(w.dtype).smallest_normal)


def excess(p: Array, q: Array) -> Array:
    """Total variation distance (...), the sum of (p - q)+; its gradient is 0 where p = q."""
    xp = array_namespace(p, q)
    return xp.sum(xp.where(p > q, p - q, 0 * p), axis=-1)


def toward(p: Array, q: Array) -> Array:
    """The gradient (..., V) of `excess` in the logits of q, -E_q[1{p > q} grad log q]."""
    xp = array_namespace(p, q)
    q_below = xp.where(p > q, q, 0 * q)
    return q * xp.sum(q_below, axis=-1, keepdims=True) - q_below


def spread(chance: Array) -> Array:
    """Standard deviation of 0 and 1 where 1 has this chance; no gradient goes through it."""
    chance, xp = constant(chance), array_namespace(chance)
    variance = boxed(chance * (1 - chance))
    return boxed(xp.sqrt(xp.where(variance > 0, variance, 0 * variance)))


def boxed(value: Array) -> Array:
    """One number as an array: NumPy turns an array of one object into that object."""
    return value if is_array_api_obj(value) else np.asarray(value)


def over(w: Array, by: Array) -> Array:
    """The quotient w / by for one number `by`, or 0 where that is 0."""
    xp = array_namespace(w)
    divisor = xp.where(by > 0, by, 0 * by + 1)
    return xp.where(by > 0, w / divisor, 0 * w)


def constant(w: Array) -> Array:
    """Return w as a constant: no gradient goes through it."""
    if is_torch_array(w):
        return w.detach()
    if is_jax_array(w):
        return sys.modules["jax"].lax.stop_gradient(w)
    if isinstance(w, np.ndarray) and is_exact(w):
        return np.vectorize(_detached, otypes=[object])(w)
    return w


def _detached(value: object) -> object:
    """Return a number that carries its gradient without it, and any other as it is."""
    detach = vars(type(value)).get("detach")
    return value if detach is None else detach(value)


def drawn(w: Array, tokens: Array | None, name: str) -> Array:
    """The entries of w (..., V) at the tokens (...).

    Raises ValueError, with the objective's name, where there are no tokens.
    """
    if tokens is None:
        raise ValueError(f"objective {name!r} is sampled: it needs tokens, one for each row")
    return at(w, tokens)
