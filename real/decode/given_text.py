"""A drafter along a text that the target wrote: the numbers that a prediction of its tau needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.types import Array


class Along(NamedTuple):
    """A drafter along a text that the target wrote.

    q_{t,i} is the probability that the drafter gives the text's token t + i as draft i of a block that starts at t:
    tokens before t are known, and neither model has read the last of them yet. Entries past the text are 0.

    q: shape (T, gamma). p: shape (T,), the target's probability of each token.
    """

    q: Array
    p: Array


def windows(values: Array, gamma: int) -> Array:
    """Rows (T, gamma) that begin at each entry of (T,), filled with 0 past its end.

    >>> windows(np.array([1, 2, 3]), 2).tolist()
    [[1, 2], [2, 3], [3, 0]]
    """
    padded = np.concatenate([values, np.zeros(gamma, dtype=values.dtype)])
    return padded[np.arange(len(values))[:, None] + np.arange(gamma)]
