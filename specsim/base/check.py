"""Checks of arguments: every public function validates here, before any work.

Lists become float64; Fraction, JAX and torch input stays what it is. Nothing is renormalised,
clipped or broadcast silently. Values of traced arrays (jax.jit, vmap, grad) cannot be read, so only
shapes are checked there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj, is_jax_array, is_numpy_array

from specsim.base.arrays import array_namespace
from specsim.base.values import first_bad as first_bad
from specsim.base.values import integer as integer
from specsim.base.values import record as record
from specsim.base.values import scalar as scalar
from specsim.base.values import shown as shown
from specsim.base.values import text as text
from specsim.base.values import unmasked
from specsim.types import Array, Law

# The sum of a row may differ from 1 by this much; Fractions must sum to 1 exactly.
TOLERANCE = 1e-6


def array(value: Any, name: str) -> Array:
    """Return an array as it is; lists and numbers become float64, or objects if they hold Fractions."""
    if isinstance(value, Law):
        raise TypeError(f"{name} is a Law of a few tokens, which this function does not take; see specsim.dense_law")
    # Arrays: integers become floats.
    if is_array_api_obj(value) and not isinstance(value, np.generic):
        if isinstance(value, np.ndarray):
            value = _numbers(unmasked(value, name), name)
        xp = array_namespace(value)
        if value.dtype == object or xp.isdtype(value.dtype, ("real floating", "complex floating")):
            return value
        return xp.astype(value, float if is_jax_array(value) else xp.float64)
    # Lists and Python numbers: Fractions stay exact, all else becomes float64.
    out = _numbers(_rectangular(value, name), name)
    if out.dtype == object and any(isinstance(v, Fraction) for v in out.flat):
        if any(isinstance(v, float) for v in out.flat):
            raise TypeError(f"{name} mixes Fractions and floats; use Fractions throughout for an exact result")
        return out
    if out.dtype.kind == "c":
        raise TypeError(f"{name} has dtype {out.dtype}; give real numbers")
    if isinstance(value, np.floating):
        return out
    try:
        return out.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise TypeError(f"{name} must hold numbers ({error})") from None
    except OverflowError:
        raise ValueError(f"{name} holds an integer beyond the range of floats") from None


def _rectangular(value: Any, name: str) -> Array:
    """Return the value as a NumPy array; TypeError for rows of different lengths or masked entries."""
    # NumPy would read bytes as small integers.
    if isinstance(value, (bytearray, memoryview)):
        value = bytes(value)
    if isinstance(value, np.ndarray):
        return unmasked(value, name)
    # NumPy would forget the masks of rows.
    if isinstance(value, (list, tuple)):
        value = [unmasked(row, f"{name}[{i}]") if isinstance(row, np.ndarray) else row for i, row in enumerate(value)]
    try:
        return np.asarray(value)
    except ValueError:
        raise TypeError(f"{name} must have rows of equal length") from None


def _numbers(value: Array, name: str) -> Array:
    """Return a NumPy array of numbers; TypeError for text, bytes and dates."""
    suspect = value.flat if value.dtype == object or value.dtype.kind in "SUVMm" else ()
    for entry in suspect:
        if isinstance(entry, (str, bytes, np.void, np.datetime64, np.timedelta64)):
            raise TypeError(f"{name} must hold numbers (got {shown(entry)})")
    return value


def real_values(value: Any, name: str, low: float, high: float) -> Array:
    """Return an array of entries in [low, high]; ValueError names the first one outside."""
    w = array(value, name)
    if w.dtype != object and array_namespace(w).isdtype(w.dtype, "complex floating"):
        raise TypeError(f"{name} has dtype {w.dtype}; give real numbers")
    if concrete(w):
        # A comparison with NaN is false.
        inside = w >= low
        if math.isfinite(high):
            inside = inside & (w <= high)
        elif w.dtype != object:
            inside = inside & array_namespace(w).isfinite(w)
        if not bool(array_namespace(w).all(inside)):
            index, entry = first_bad(w, ~inside)
            bracket = ")" if high == math.inf else "]"
            raise ValueError(f"{name}{index} is {entry}; it must lie in [{low}, {high}{bracket}")
    return w


def last_axis(w: Array, name: str) -> None:
    """Raise ValueError unless there is a last axis with at least one token."""
    if w.ndim == 0 or w.shape[-1] == 0:
        raise ValueError(f"{name} must have a last axis of at least one token, got shape {tuple(w.shape)}")


def law(value: Any, name: str) -> Array:
    """Return rows that are probability laws on the last axis: no NaN, no negative entry, sum 1."""
    # Integers of JAX and torch are more likely a mistake than a law, so they are not converted.
    w = value if is_array_api_obj(value) and not isinstance(value, (np.ndarray, np.generic)) else array(value, name)
    last_axis(w, name)
    if concrete(w):
        _check_rows(w, name)
    return w


def _check_rows(w: Array, name: str) -> None:
    """Raise an error that names the first bad entry or row unless all rows are laws."""
    # Floats, or Fractions and integers.
    xp = array_namespace(w)
    exact = w.dtype == object
    if not exact and not xp.isdtype(w.dtype, "real floating"):
        raise TypeError(f"{name} has dtype {w.dtype}; probabilities are floats or Fractions")
    if exact and not all(isinstance(v, (int, Fraction)) for v in w.flat):
        raise TypeError(f"{name} is an object array with entries other than int and Fraction")

    # No negative entry. In NumPy the minimum decides, without an array of booleans: it is NaN if
    # any entry is, and a comparison with NaN is false.
    is_plain = type(w) is np.ndarray and w.size and not exact
    is_valid = w.min() >= 0 if is_plain else bool(xp.all(w >= 0))
    if not is_valid:
        index, entry = first_bad(w, ~(w >= 0))
        problem = "not a number" if entry != entry else "negative"
        raise ValueError(f"{name}{index} is {entry}: {problem}; probabilities must be >= 0")

    # Sum 1, computed in float64: in float32 the sum over a full vocabulary would have an error of
    # its own. JAX has no float64 unless its user chose it, so NumPy sums its rows.
    if exact:
        total = xp.sum(w, axis=-1)
    elif is_jax_array(w):
        total, xp = np.sum(np.asarray(w), axis=-1, dtype=np.float64), np
    else:
        total = xp.sum(w, axis=-1, dtype=xp.float64)
    is_off = total != 1 if exact else ~(abs(total - 1) <= TOLERANCE)
    if bool(xp.any(is_off)):
        index, entry = first_bad(total, is_off)
        total_text, allowed = (entry, "exactly") if exact else (f"{entry:.9g}", f"within {TOLERANCE:g}")
        raise ValueError(
            f"{name}{index} sums to {total_text}; probabilities must sum to 1 {allowed} (specsim.normalize rescales)"
        )


def laws(p: Any, q: Any, names: tuple[str, str] = ("p", "q")) -> tuple[Array, Array]:
    """Return two arrays of laws over one vocabulary, in one array library."""
    p, q = one_kind(law(p, names[0]), law(q, names[1]), p, q, names)
    same_vocabulary(p, q, *names)
    return p, q


def same_vocabulary(p: Array, q: Array, *names: str) -> None:
    """Raise ValueError unless both have the same number of tokens."""
    if p.shape[-1] != q.shape[-1]:
        raise ValueError(
            f"{names[0]} has {p.shape[-1]} tokens and {names[1]} has {q.shape[-1]}: the vocabularies differ"
        )


def model(value: Any, name: str) -> Callable[[tuple[Any, ...]], Array]:
    """Return a function from a text to the law of the next token; TypeError unless it can be called."""
    if not callable(value):
        raise TypeError(f"{name} must be a function from a text (a tuple of token ids) to a law, got {shown(value)}")
    return value  # type: ignore[no-any-return]


def models(target: Any, draft: Any) -> Callable[[tuple[int, ...]], tuple[Array, Array]]:
    """Return a function from a text to the checked laws of both models, over one vocabulary."""
    target, draft = model(target, "target"), model(draft, "draft")
    first, _ = laws(target(()), draft(()), ("target()", "draft()"))

    def rows(text: tuple[int, ...]) -> tuple[Array, Array]:
        """Return the laws of target and draft after a text, checked."""
        p, q = laws(target(text), draft(text), (f"target{text}", f"draft{text}"))
        same_vocabulary(p, first, f"target{text}", "target()")
        return p, q

    return rows


def models_or_laws(target: Any, draft: Any) -> tuple[Array, Array] | None:
    """Return two checked laws, the same in every context; None for two models, TypeError for one of each."""
    if callable(target) != callable(draft):
        raise TypeError("target and draft must both be models (functions of a prefix) or both be laws")
    if callable(target):
        return None
    p, q = laws(target, draft, ("target", "draft"))
    if p.ndim != 1 or q.ndim != 1:
        raise ValueError(f"target and draft must be one law each, got shapes {tuple(p.shape)}, {tuple(q.shape)}")
    return p, q


def pair(p: Any, q: Any) -> tuple[Array, Array]:
    """Return two arrays of laws as `laws` gives them, with leading axes broadcast."""
    p, q = laws(p, q)
    leading("p and q", p.shape[:-1], q.shape[:-1])
    p, q = array_namespace(p).broadcast_arrays(p, q)
    return p, q


def leading(names: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the broadcast of leading axes; ValueError with the shapes if there is none."""
    try:
        return np.broadcast_shapes(*(tuple(s) for s in shapes))
    except ValueError:
        raise ValueError(f"leading axes of {names} do not broadcast: {[tuple(s) for s in shapes]}") from None


def one_kind(a: Array, b: Array, raw_a: Any, raw_b: Any, names: tuple[str, str]) -> tuple[Array, Array]:
    """Return a and b in one library, both exact or both floats; a list follows the other argument.

    raw_a and raw_b are the arguments as the caller gave them.
    """
    if is_array_api_obj(raw_a) and not is_array_api_obj(raw_b) and not is_numpy_array(a):
        b = array_namespace(a).asarray(b, dtype=a.dtype)
    elif is_array_api_obj(raw_b) and not is_array_api_obj(raw_a) and not is_numpy_array(b):
        a = array_namespace(b).asarray(a, dtype=b.dtype)
    if (a.dtype == object) != (b.dtype == object):
        raise TypeError(f"one of {names[0]}, {names[1]} holds Fractions and the other floats; use one kind")
    if not same_library(a, b):
        raise TypeError(f"{names[0]} and {names[1]} are arrays of different libraries: {type(a)}, {type(b)}")
    return a, b


def same_library(a: Array, b: Array) -> bool:
    """Return whether two arrays belong to one array library."""
    return array_namespace(a) is array_namespace(b)


def like(value: Array, other: Array) -> Array:
    """Return an array moved into the library (and to the device) of another."""
    if same_library(value, other):
        return value
    if is_jax_array(value) and not concrete(value):
        raise TypeError("a traced JAX array cannot be combined with arrays of another library; pass JAX arrays")
    host = np.asarray(value.cpu() if hasattr(value, "cpu") else value)
    if is_numpy_array(other):
        return host
    return array_namespace(other).asarray(host, device=getattr(other, "device", None))


def tokens(value: Any, name: str, vocab: int, other: Array = None, low: int = 0) -> Array:
    """Return token ids in 0..vocab-1 as int64 in the library of `other`; low = -1 allows empty places."""
    x = value if is_array_api_obj(value) and not isinstance(value, np.ndarray) else _rectangular(value, name)
    xp = array_namespace(x)
    empty = 0 in x.shape
    if not empty and not xp.isdtype(x.dtype, "integral"):
        raise TypeError(f"{name} must hold integer token ids, got dtype {x.dtype}")
    if concrete(x) and not empty:
        bad = (x < low) | (x >= vocab)
        if bool(xp.any(bad)):
            index, entry = first_bad(x, bad)
            raise ValueError(f"{name}{index} is token {entry}, outside the vocabulary 0..{vocab - 1}")
    # JAX keeps the integers its user chose; torch indexes with int64 only.
    if not is_jax_array(x):
        x = xp.astype(x, xp.int64)
    return x if other is None else like(x, other)


def uniforms(value: Any, count: int, batch: tuple[int, ...], other: Array) -> Array:
    """Return uniforms in [0, 1), last axis of length `count`, leading axes equal to `batch`."""
    u = like(array(value, "u"), other)
    if tuple(u.shape) != (*batch, count):
        raise ValueError(f"u has shape {tuple(u.shape)}; this rule needs {(*batch, count)}")
    if concrete(u):
        # Among objects only numbers are checked: forking uniforms are in range by construction.
        if u.dtype == object:
            is_outside = [isinstance(v, (int, float, Fraction)) and not 0 <= v < 1 for v in u.flat]
            bad = np.reshape(is_outside, u.shape).astype(bool)
        else:
            bad = ~((u >= 0) & (u < 1))
        if bool(array_namespace(u).any(bad)):
            index, entry = first_bad(u, bad)
            raise ValueError(f"u{index} is {entry}; uniforms lie in [0, 1)")
    return u


def concrete(w: Array) -> bool:
    """Return whether values can be read, which they cannot under a JAX transformation."""
    jax = sys.modules.get("jax")
    return jax is None or not isinstance(w, jax.core.Tracer)
