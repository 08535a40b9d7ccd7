"""Public one-liners on laws: normalise, compare, subtract."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from specsim import _check, _dist
from specsim.types import Array


def normalize(weights: Array) -> Array:
    """Rescale non-negative weights to laws: w / sum(w).

    Parameters
    ----------
    weights : array_like, shape (..., V)
        Non-negative, each row with a positive sum.

    Returns
    -------
    array, shape (..., V)
        Rows that sum to 1; Fractions stay exact.

    Raises
    ------
    ValueError
        An entry is negative or not finite, or a row sums to 0.

    References
    ----------
    Plain arithmetic; the library itself never rescales silently.

    Examples
    --------
    >>> normalize([2, 1, 1]).tolist()
    [0.5, 0.25, 0.25]
    """
    w = _check.real_values(weights, "weights", 0, float("inf"))
    _check.last_axis(w, "weights")
    xp = array_namespace(w)
    total = xp.sum(w, axis=-1, keepdims=True)
    if _check.concrete(total) and not bool(xp.all((total > 0) & (total < float("inf")))):
        _check.real_values(total[..., 0], "sum of weights", 0, float("inf"))  # names the row that overflows
        row = [int(i) for i in np.argwhere(np.asarray(total[..., 0] == 0))[0]]
        raise ValueError(f"sum of weights{''.join(f'[{i}]' for i in row)} is 0; there is nothing to rescale")
    return w / total


def total_variation(p: Array, q: Array) -> Array:
    r"""Total variation distance between laws.

    .. math:: TV(p, q) = \tfrac12 \sum_v |p_v - q_v| = \sum_v (p_v - q_v)_+

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Laws on one vocabulary; leading axes broadcast.

    Returns
    -------
    array, shape (...), in [0, 1]
        1 - TV is the acceptance of one draft.

    Raises
    ------
    ValueError
        A row is not a law (names the row and its sum), or the vocabularies differ.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, definition 3.2 (their D_LK).

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> print(total_variation([F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)]))
    1/3
    """
    p, q = _check.pair(p, q)
    return array_namespace(p).sum(_dist.positive_part(p - q), axis=-1)


def residual(p: Array, q: Array) -> Array:
    r"""The law a rejected draft is replaced from.

    .. math:: r_v = (p_v - q_v)_+ / \sum_w (p_w - q_w)_+

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Target and draft laws; leading axes broadcast.

    Returns
    -------
    array, shape (..., V)
        A law; p itself where p = q up to rounding (then nothing is ever rejected).

    Raises
    ------
    ValueError
        A row is not a law, or the vocabularies differ.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, algorithm 1.

    Examples
    --------
    >>> residual([0.5, 0.25, 0.25], [0.25, 0.5, 0.25]).tolist()
    [1.0, 0.0, 0.0]
    """
    return _dist.residual(*_check.pair(p, q))
