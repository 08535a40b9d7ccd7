"""tau at a shorter draft length, from the rates by position of a run with longer blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from specsim.base import check
from specsim.types import Array


def shorter_tau(survival: Any, length: int) -> float:
    r"""Return tau of shorter blocks, from the shares of longer blocks that accepted draft 1, 2, ..., gamma.

    Summing the first k shares takes shorter blocks to start where the longer ones do. But these start behind the places
    at which drafts were rejected, which are hard places more often than others. Here the text is cut where a draft was
    rejected, into pieces of L tokens, and blocks of k drafts walk over each piece:

    .. math:: \tau(k) = \frac{E[L]}{E[\lceil L / (k + 1) \rceil]}, \qquad L = m (\gamma + 1) + n + 1

    with m full blocks before one that ends the piece, independent of each other. The token behind a full block was not
    drafted; it is taken to be a hard place as often as the last draft was rejected.

    Parameters
    ----------
    survival : array_like, shape (gamma,)
        P(n >= i), i = 1..gamma, as engines print by position: not increasing.
    length : int
        k, at most gamma.

    Returns
    -------
    float
        Exact where every draft is accepted with the same probability, and where a place that rejects one draft rejects
        all; at k = gamma the tau of the run itself.

    Raises
    ------
    ValueError
        An entry outside [0, 1], one above the one before, or a length above gamma.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, section 3.1 (the case of one probability).

    Examples
    --------
    >>> round(shorter_tau([0.8, 0.64, 0.512], 1), 6)
    1.8
    >>> round(shorter_tau([0.5, 0.5, 0.0], 1), 6)  # pieces of 1 and of 3 tokens, in 1 and 2 blocks
    1.333333
    """
    rates = np.asarray(check.real_values(survival, "survival", 0, 1))
    if rates.ndim != 1 or not len(rates):
        raise ValueError(f"survival has shape {rates.shape}; expected a row of rates by position")
    if (np.diff(rates) > 0).any():
        raise ValueError("survival increases; expected the share of all blocks that accepted draft 1, 2, ...")
    gamma = len(rates)
    k = check.integer(length, "length", 1, gamma)
    # Probabilities of n = 0, ..., gamma accepted drafts, and that a block is full and its piece goes on.
    law = np.append(1.0, rates) - np.append(rates, 0.0)
    before = float(rates[-2]) if gamma > 1 else 1.0
    onward = float(rates[-1]) ** 2 / before if before else 0.0
    if onward == 1:
        return float(k + 1)
    tokens = float(law @ np.arange(1, gamma + 2)) / (1 - onward)
    return tokens / _blocks(law, onward, k)


def _blocks(law: Array, onward: float, length: int) -> float:
    """Return how many blocks a walk over a piece of text starts, in the mean.

    law: of accepted drafts of a block of the run. onward: probability that a block is full and its piece goes on.
    """
    # State: tokens of the block that the walk is in, when the next block of the run begins.
    size, gamma = length + 1, len(law) - 1
    taken = np.arange(size)
    added = np.arange(1, gamma + 2)
    started = -(-(taken[:, None] + added) // size) - (taken[:, None] > 0)
    moves = np.zeros((size, size))
    moves[taken, (taken + gamma + 1) % size] = onward
    return float(np.linalg.solve(np.eye(size) - moves, started @ law)[0])
