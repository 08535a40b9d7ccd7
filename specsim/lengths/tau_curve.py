"""Laws that a curve of tau over draft lengths obeys, and the nearest curve that obeys them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from specsim.base import check, limits
from specsim.types import Array

# Numbers are printed with two digits: differences below the last one are rounding.
ROUNDING = 0.01
# Weight of the row that holds a sum of parts at 1, over the largest weight of a measured tau.
HEAVY = 1e4


def curve_faults(
    gammas: Any, taus: Any, errors: Any = None, *, overlaps: Any = None, rounding: float = ROUNDING
) -> list[str]:
    r"""Return what contradicts the laws of acceptance in measured tau at several draft lengths, one sentence each.

    .. math:: 1 \le \tau(\gamma) \le \gamma + 1, \qquad \tau(\gamma) \le \tau(\gamma + 1), \qquad
        \tau(\gamma + 1) - \tau(\gamma) \le \tau(\gamma) - \tau(\gamma - 1), \qquad
        \tau(\gamma) \le 1 + \sum_{i \le \gamma} (1 - \mathrm{TV}(P_i, Q_i))

    Parameters
    ----------
    gammas : array_like of int, shape (n,)
        Draft lengths, increasing; tau(0) = 1 is known.
    taus : array_like, shape (n,)
        Tokens per step of the target at each.
    errors : array_like, shape (n,), optional
        Their standard errors: then only what is beyond two of them is a fault.
    overlaps : array_like, shape (max(gammas),), optional
        1 - TV of the laws of the first i tokens of target and draft, i = 1, 2, ..., each with the tokens before: no
        lossless rule accepts more of a chain, in the mean.
    rounding : float
        Differences up to this are taken for rounding.

    Returns
    -------
    list of str
        Empty for a curve that can be. A chain's drafts do not depend on how many follow, so tau does not fall; where
        blocks of each length start at places alike, its increments do not grow.

    Raises
    ------
    ValueError
        Lengths that do not increase, rows of different lengths, or fewer overlaps than the largest length.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, section 3.1; Sun et al. 2024, arXiv:2403.10444 (the last bound).

    Examples
    --------
    >>> curve_faults([1, 2, 3], [1.8, 2.5, 2.3])
    ['tau falls from 2.5 at 2 drafts to 2.3 at 3: with drafts that do not depend on the length it cannot']
    >>> curve_faults([1, 2, 3], [1.8, 2.5, 2.3], [0.1, 0.1, 0.1])
    []
    """
    lengths, values = _curve(gammas, taus)
    check.scalar(rounding, "rounding", "[0, inf)")
    spread = np.zeros(len(values)) if errors is None else np.asarray(check.real_values(errors, "errors", 0, math.inf))
    if spread.shape != values.shape:
        raise ValueError(f"taus and errors have {len(values)} and {len(spread)} entries; give one error for each tau")
    faults = []
    # Bounds of every length alone.
    for length, tau, error in zip(lengths, values, spread, strict=True):
        if tau > length + 1 + rounding + 2 * error:
            faults.append(f"tau is {tau:g} at {_drafts(length)}: a call emits {length + 1} tokens at most")
        if tau < 1 - rounding - 2 * error:
            faults.append(f"tau is {tau:g} at {_drafts(length)}: a call emits 1 token at least")
    if overlaps is not None:
        faults += _beyond_overlaps(lengths, values, spread, overlaps, rounding)
    # Neighbours, with the known end of no drafts before them.
    lengths, values = [0, *lengths], np.concatenate([[1.0], values])
    spread = np.concatenate([[0.0], spread])
    for i in range(1, len(values)):
        room = rounding + 2 * math.hypot(spread[i], spread[i - 1])
        if i > 1 and values[i] < values[i - 1] - room:
            faults.append(
                f"tau falls from {values[i - 1]:g} at {_drafts(lengths[i - 1])} to {values[i]:g} at {lengths[i]}: with "
                "drafts that do not depend on the length it cannot"
            )
    for i in range(2, len(values)):
        before, after = lengths[i - 1] - lengths[i - 2], lengths[i] - lengths[i - 1]
        slopes = (values[i - 1] - values[i - 2]) / before, (values[i] - values[i - 1]) / after
        room = 2 * rounding + 2 * float(np.linalg.norm(spread[i - 2 : i + 1] * [1, 2, 1]))
        if slopes[1] > slopes[0] + room and slopes[0] > 0:
            faults.append(
                f"a draft adds {slopes[0]:.3g} up to {lengths[i - 1]} and {slopes[1]:.3g} behind: where blocks are "
                "alike a further draft adds less"
            )
    return faults


def _beyond_overlaps(lengths: list[int], values: Array, spread: Array, overlaps: Any, rounding: float) -> list[str]:
    """Return a sentence for each tau above what laws with these overlaps allow a lossless rule."""
    shares = np.asarray(check.real_values(overlaps, "overlaps", 0, 1))
    if shares.ndim != 1 or len(shares) < lengths[-1]:
        raise ValueError(f"overlaps have {shares.shape} entries; expected one for each of {lengths[-1]} drafts")
    most = 1 + np.cumsum(shares)
    return [
        f"tau is {tau:g} at {_drafts(length)}, and the laws of target and draft allow {most[length - 1]:.4g} (1 + sum "
        "of 1 - TV): the rule changes what is written, or the overlaps are of other texts"
        for length, tau, error in zip(lengths, values, spread, strict=True)
        if tau > most[length - 1] + rounding + 2 * error
    ]


def concave_curve(gammas: Any, taus: Any, errors: Any = None) -> Array:
    r"""Return the nearest curve of tau that rises ever less, by weighted least squares.

    .. math:: \min_{1 \ge d_1 \ge d_2 \ge \dots \ge 0} \sum_i w_i \Big(\tau_i - 1 - \sum_{j \le \gamma_i} d_j\Big)^2

    Parameters
    ----------
    gammas : array_like of int, shape (n,)
        Draft lengths, increasing.
    taus : array_like, shape (n,)
        Tokens per step of the target at each.
    errors : array_like, shape (n,), optional
        Standard errors; a weight is the inverse square. Equal weights by default.

    Returns
    -------
    array, shape (max(gammas),)
        tau at 1, 2, ..., the largest length; also at lengths that were not measured.

    Raises
    ------
    ValueError
        Lengths that do not increase, rows of different lengths, or an error of 0.

    References
    ----------
    Hildreth 1954, JASA 49:598 (concave least squares); Lawson and Hanson 1974 (the solver).

    Examples
    --------
    >>> concave_curve([1, 2, 3], [1.8, 2.5, 2.3]).round(3).tolist()
    [1.8, 2.4, 2.4]
    """
    from scipy.optimize import nnls

    lengths, values = _curve(gammas, taus)
    weights = np.ones(len(values))
    if errors is not None:
        spread = np.asarray(check.real_values(errors, "errors", 0, math.inf))
        if spread.shape != values.shape or not spread.all():
            raise ValueError("errors must have one number above 0 for each tau")
        weights = 1 / spread
    # A curve that rises ever less is a sum of curves min(gamma, j) with weights of 0 or more.
    places = np.arange(1, lengths[-1] + 1)
    basis = np.minimum.outer(places, places).astype(float)
    chosen = basis[np.array(lengths) - 1] * weights[:, None]
    wanted = (values - 1) * weights
    parts, _ = nnls(chosen, wanted)
    # The first draft adds 1 at most: where it would add more, the parts sum to 1, by a row of large weight.
    if parts.sum() > 1:
        heavy = HEAVY * float(weights.max())
        parts, _ = nnls(np.vstack([chosen, np.full((1, len(places)), heavy)]), np.append(wanted, heavy))
    curve: Array = 1 + basis @ parts
    return np.minimum(curve, places + 1.0)


def _curve(gammas: Any, taus: Any) -> tuple[list[int], Array]:
    """Return the lengths and taus of a curve, checked."""
    if not isinstance(gammas, Sequence) and not hasattr(gammas, "tolist"):
        raise TypeError(f"gammas must be a row of draft lengths, got {check.shown(gammas)}")
    rows = gammas.tolist() if hasattr(gammas, "tolist") else list(gammas)
    lengths = [check.integer(g, f"gammas[{i}]", 1, limits.MAX_GAMMA) for i, g in enumerate(rows)]
    values = np.asarray(check.real_values(taus, "taus", 0, math.inf))
    if values.ndim != 1 or len(values) != len(lengths) or not lengths:
        raise ValueError(
            f"gammas and taus have {len(lengths)} and {values.shape} entries; give one tau for each length"
        )
    for i in range(1, len(lengths)):
        if lengths[i] <= lengths[i - 1]:
            raise ValueError(f"gammas[{i}] is {lengths[i]} behind {lengths[i - 1]}; expected lengths that increase")
    return lengths, values


def _drafts(length: int) -> str:
    """Return a number of drafts in words."""
    return "1 draft" if length == 1 else f"{length} drafts"
