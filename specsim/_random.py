"""Uniforms keyed by (seed, sequence, position): a batch, a shard or a replay draws the same."""

from __future__ import annotations

import numpy as np

from specsim import _check
from specsim.types import Array


def keyed_uniforms(seed: int, sequence: int, position: int, count: int) -> Array:
    """Uniforms that depend on nothing but their key.

    A counter-based generator: streams of different keys do not overlap, and no number is used twice as long as a
    position starts at most one block of its sequence.

    Parameters
    ----------
    seed, sequence, position : int
        The key; non-negative. A decoder uses the length of the text before the block as position.
    count : int
        How many, at least 0.

    Returns
    -------
    array, shape (count,)
        float64 in [0, 1).

    Raises
    ------
    ValueError
        A negative argument.

    References
    ----------
    Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3" (Philox).

    Examples
    --------
    >>> bool((keyed_uniforms(0, 5, 17, 3) == keyed_uniforms(0, 5, 17, 3)).all())
    True
    """
    for name, value in (("seed", seed), ("sequence", sequence), ("position", position), ("count", count)):
        _check.integer(value, name, 0)
    bits = np.random.Philox(key=np.array([seed, sequence], dtype=np.uint64), counter=[0, 0, 0, position])
    return np.random.Generator(bits).random(count)
