r"""The terms of a cycle, estimated from times of whole cycles: which terms do the times determine, and how well?

The terms are linear in what is not known, so that linear algebra says which of them a set of times can tell apart:

.. math:: T_c = T_1 + \gamma d + (m - 1) s + o

T_1: a plain step. d: a draft step. s: what each further token adds to a verifying pass. o: fixed work of a cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specsim.types import Array

STEP, DRAFT, TOKEN, FIXED = range(4)
PLAIN = (1.0, 0.0, 0.0, 0.0)
# Singular values below this share of the largest count as 0: the times are then linearly dependent.
RANK = 1e-9


class Observation(NamedTuple):
    """A measured time: how often each term is in it, its value and its standard error, in seconds."""

    row: Array  # or a tuple, (4,)
    value: float
    error: float


class Terms(NamedTuple):
    """Estimates (4,), their covariance (4, 4), the projector on what is known (4, 4); misfit: of its mean, chi-square.

    Only sums that `known` allows mean anything: the estimates are the shortest of all that fit.
    """

    values: Array
    covariance: Array
    space: Array
    misfit: float
    spare: int


def solve(observations: Sequence[Observation]) -> Terms:
    """Estimate the terms from measured times by weighted least squares.

    Examples
    --------
    >>> terms = solve([Observation(PLAIN, 10.0, 0.1), Observation((1, 2, 2, 1), 15.0, 0.1)])
    >>> known(terms, (0, 2, 2, 1)), known(terms, (0, 1, 0, 0))
    (True, False)
    """
    rows = np.array([observation.row for observation in observations], dtype=np.float64)
    times = np.array([observation.value for observation in observations])
    errors = np.array([observation.error for observation in observations])
    # The row space: combinations of terms that the times determine.
    _, sizes, axes = np.linalg.svd(rows)
    axes = axes[: int((sizes > RANK * sizes[0]).sum())]
    space = axes.T @ axes
    # Least squares inside it; each time weighs by its standard error.
    weighted = rows @ axes.T / errors[:, None]
    inverse = np.linalg.inv(weighted.T @ weighted)
    within = inverse @ weighted.T @ (times / errors)
    off = (times - rows @ axes.T @ within) / errors
    return Terms(axes.T @ within, axes.T @ inverse @ axes, space, float(off @ off), len(times) - len(axes))


def known(terms: Terms, row: Array) -> bool:
    """Return whether the times determine this sum of terms: its row lies in the row space."""
    c = np.asarray(row, dtype=np.float64)
    return bool(np.linalg.norm(terms.space @ c - c) <= 1e-6 * np.linalg.norm(c))


def in_steps(terms: Terms, row: Array) -> tuple[float, float]:
    """A sum of terms in plain steps, and its standard error by the delta method."""
    c, step = np.asarray(row, dtype=np.float64), float(terms.values[STEP])
    value = float(c @ terms.values) / step
    slope = (c - value * np.array(PLAIN)) / step
    return value, float(np.sqrt(max(slope @ terms.covariance @ slope, 0.0)))
