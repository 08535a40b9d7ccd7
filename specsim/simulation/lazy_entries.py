"""Functions of flat arrays, entry by entry, where they are asked for: other entries cost little."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from specsim.base.arrays import array_namespace
from specsim.types import Array

SHARE = 4  # of entries that are expected to be asked for, one in so many: JAX takes so many of them at a time


def where(here: Array, f: Callable[..., Sequence[Array]], *arrays: Array) -> list[Array]:
    """The arrays that f makes of the entries of flat arrays where `here`, and 0 elsewhere, in the shape of `here`."""
    flat = [w.reshape(-1) for w in arrays]
    if not isinstance(here, np.ndarray):
        xp = array_namespace(here)
        return [xp.where(here, w.reshape(here.shape), 0) for w in f(*flat)]
    place, out = np.flatnonzero(here), []
    for w in f(*(w[place] for w in flat)):
        full = np.zeros(here.size, dtype=w.dtype)
        full[place] = w
        out.append(full.reshape(here.shape))
    return out


def where_few(here: Array, f: Callable[..., Array], *arrays: Array) -> Array:
    """The same of one array (B,), where few are asked for: in JAX some at a time, until all are done."""
    if isinstance(here, np.ndarray):
        return where(here, lambda *w: (f(*w),), *arrays)[0]
    import jax

    xp, count = jax.numpy, here.shape[0]
    some = -(-count // SHARE)

    def done(left: tuple[Array, Array]) -> Array:
        return xp.any(left[0])

    def more(left: tuple[Array, Array]) -> tuple[Array, Array]:
        here, out = left
        (place,) = xp.nonzero(here, size=some, fill_value=count)
        made = f(*(w.at[place].get(mode="clip") for w in arrays))
        return here.at[place].set(False, mode="drop"), out.at[place].set(made, mode="drop")

    return jax.lax.while_loop(done, more, (here, xp.zeros(count, dtype=arrays[0].dtype)))[1]
