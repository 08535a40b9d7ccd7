"""Functions of flat arrays, evaluated only at the entries that are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from specsim.base.arrays import array_namespace
from specsim.types import Array

# JAX evaluates one in this many entries at a time: about as many as are expected to be needed.
SHARE = 4


def where(here: Array, f: Callable[..., Sequence[Array]], *arrays: Array) -> list[Array]:
    """The results of f on the entries where `here` holds, and 0 elsewhere, in the shape of `here`."""
    flat = [w.reshape(-1) for w in arrays]
    # Shapes are fixed under JAX: evaluate everywhere, and select.
    if not isinstance(here, np.ndarray):
        xp = array_namespace(here)
        return [xp.where(here, w.reshape(here.shape), 0) for w in f(*flat)]
    # In NumPy evaluate the entries asked for, and scatter the results.
    place, out = np.flatnonzero(here), []
    for w in f(*(w[place] for w in flat)):
        full = np.zeros(here.size, dtype=w.dtype)
        full[place] = w
        out.append(full.reshape(here.shape))
    return out


def where_few(here: Array, f: Callable[..., Array], *arrays: Array) -> Array:
    """The result (B,) of f where `here` holds, which is at few entries, and 0 elsewhere: JAX takes a part at a time."""
    if isinstance(here, np.ndarray):
        return where(here, lambda *w: (f(*w),), *arrays)[0]
    import jax

    xp, count = jax.numpy, here.shape[0]
    part_size = -(-count // SHARE)

    # The state of the loop: which entries are still to be evaluated, and the results so far.
    def has_more(state: tuple[Array, Array]) -> Array:
        return xp.any(state[0])

    # Evaluate the next part; places beyond the last entry to be evaluated are `count`, and dropped.
    def evaluate_part(state: tuple[Array, Array]) -> tuple[Array, Array]:
        missing, out = state
        (place,) = xp.nonzero(missing, size=part_size, fill_value=count)
        values = f(*(w.at[place].get(mode="clip") for w in arrays))
        return missing.at[place].set(False, mode="drop"), out.at[place].set(values, mode="drop")

    return jax.lax.while_loop(has_more, evaluate_part, (here, xp.zeros(count, dtype=arrays[0].dtype)))[1]
