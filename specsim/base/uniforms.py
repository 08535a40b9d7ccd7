"""Uniforms keyed by (seed, sequence, position): a batch, a shard or a replay draws the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specsim.base import check, limits
from specsim.types import Array


def keyed_uniforms(seed: int, sequence: int, position: int, count: int) -> Array:
    """Return uniforms that depend on nothing but their key.

    The generator is counter-based: streams of different keys do not overlap. No number is used twice
    as long as at most one block of a sequence starts at each position.

    Parameters
    ----------
    seed, sequence, position : int
        The key; non-negative. A decoder uses the length of the text before the block as position.
    count : int
        Number of uniforms, at least 0.

    Returns
    -------
    array, shape (count,)
        float64 in [0, 1).

    Raises
    ------
    ValueError
        An argument is negative, or the key does not fit 64 bits.

    References
    ----------
    Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3" (Philox).

    Examples
    --------
    >>> bool((keyed_uniforms(0, 5, 17, 3) == keyed_uniforms(0, 5, 17, 3)).all())
    True
    """
    check.integer(position, "position", 0, limits.MAX_KEY)
    check.integer(count, "count", 0, limits.MAX_COUNT)
    return keyed_stream(seed, sequence)(position, count)


def keyed_stream(seed: int, sequence: int) -> Callable[[int, int], Array]:
    """Return the function (position, count) -> `keyed_uniforms` of one sequence; it checks neither argument."""
    for name, value in (("seed", seed), ("sequence", sequence)):
        check.integer(value, name, 0, limits.MAX_KEY)
    bits = np.random.Philox(key=np.array([seed, sequence], dtype=np.uint64))
    state, generator = bits.state, np.random.Generator(bits)

    def draw(position: int, count: int) -> Array:
        """Return the first `count` uniforms of a position."""
        # Philox counts blocks of numbers in four words; the position is its highest word.
        state["state"]["counter"] = np.array([0, 0, 0, position], dtype=np.uint64)
        # The buffer of the fresh state is empty, so no number of another position is left in it.
        bits.state = state
        return generator.random(count)

    return draw
