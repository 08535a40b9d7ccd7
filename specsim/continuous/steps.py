"""One step between two Gaussians: its record, how likely a draft is kept, and whether one is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from specsim.base import check
from specsim.types import Array

LEAST, MOST = 1e-50, 1e50  # of deviations, and of coordinates: squares of quotients are then numbers, too
TINY = np.finfo(np.float64).tiny


class Step(NamedTuple):
    """The last step of target and draft: means (..., d), and standard deviations, numbers or (..., 1)."""

    mean_p: Array
    mean_q: Array
    sd_p: Array
    sd_q: Array


def gaussian_step(mean_p: Array, mean_q: Array, sd_p: Any, sd_q: Any = None) -> Step:
    """The checked record of a step; one standard deviation is both models'.

    Parameters
    ----------
    mean_p, mean_q : array_like, shape (..., d)
        Means of target and draft.
    sd_p, sd_q : float or array_like, shape (..., 1)
        Standard deviations, the same in every direction, from 1e-50 to 1e50.

    Returns
    -------
    Step
        Means and deviations as float64.

    Raises
    ------
    ValueError
        A mean is not finite (or beyond 1e50), the shapes differ, or a deviation is not positive.

    References
    ----------
    Wang et al. 2024, arXiv:2411.11925.

    Examples
    --------
    >>> round(float(gaussian_overlap(gaussian_step([0.0, 0.0], [0.6, 0.8], 1.0))), 4)
    0.6171
    """
    p, q = (numbers(mean, name, -MOST) for mean, name in ((mean_p, "mean_p"), (mean_q, "mean_q")))
    if p.shape != q.shape or not p.ndim:
        raise ValueError(f"mean_p has shape {p.shape}, mean_q {q.shape}; give the same, (..., d)")
    sds = [numbers(sd, name, LEAST) for sd, name in ((sd_p, "sd_p"), (sd_p if sd_q is None else sd_q, "sd_q"))]
    for sd, name in zip(sds, ("sd_p", "sd_q"), strict=True):
        if sd.shape not in ((), (1,), (*p.shape[:-1], 1)):
            raise ValueError(f"{name} has shape {sd.shape}; give a number, or {(*p.shape[:-1], 1)}")
    return Step(p, q, *sds)


def gaussian_overlap(step: Step) -> Array:
    r"""Probability that the draft is kept, 1 - TV, for equal deviations.

    .. math:: 2 \Phi(-|\mu_p - \mu_q| / 2 s)

    Parameters
    ----------
    step : Step
        See `gaussian_step`.

    Returns
    -------
    array, shape (...)
        The acceptance of each step.

    Raises
    ------
    ValueError
        The deviations differ.

    References
    ----------
    Wang et al. 2024, arXiv:2411.11925, speculate on continuous tokens; De Bortoli et al. 2025, arXiv:2501.05370.

    Examples
    --------
    >>> gaussian_overlap(gaussian_step([[0.0], [0.0]], [[0.0], [2.0]], 1.0)).round(4).tolist()
    [1.0, 0.3173]
    """
    return 2 * ndtr(-gap_of(step, "gaussian_overlap") / 2)


def keeps(step: Step, x: Array, u: Array, factor: float = 1) -> Array:
    """Decide which drafts are kept: those with u < factor p(x) / q(x), tested without a division.

    Parameters
    ----------
    step : Step
        See `gaussian_step`.
    x : array_like, shape (..., d)
        Drafts, drawn from the draft's Gaussian.
    u : array_like, shape (...)
        Uniforms.
    factor : float
        1. The published rule multiplies by the quotient of the earlier steps' deviations, q's over p's, to the power
        d: with equal deviations that is 1, and otherwise the law is no longer the target's.

    Returns
    -------
    array of bool, shape (...)
        True where the draft is the token.

    Raises
    ------
    ValueError
        A shape does not fit, an entry is not finite, u is outside [0, 1], or the factor is not positive.

    References
    ----------
    Wang et al. 2024, arXiv:2411.11925.

    Examples
    --------
    >>> keeps(gaussian_step([0.0], [1.0], 1.0), [[0.2], [1.5]], [0.5, 0.5]).tolist()
    [True, False]
    """
    factor = float(check.scalar(factor, "factor", "(0, inf)"))
    ratio, u = log_density_ratio(step, x), numbers(u, "u", 0, 1)
    check.leading("u and x", u.shape, ratio.shape)
    return np.log(np.maximum(u, TINY)) < np.log(factor) + ratio


@np.errstate(under="ignore")
def log_density_ratio(step: Step, x: Array) -> Array:
    """The natural logarithm of p(x) / q(x).

    Parameters
    ----------
    step : Step
        See `gaussian_step`.
    x : array_like, shape (..., d)
        Points.

    Returns
    -------
    array, shape (...)
        Of each point.

    Raises
    ------
    ValueError
        A shape does not fit, or an entry is not finite.

    References
    ----------
    Wang et al. 2024, arXiv:2411.11925.

    Examples
    --------
    >>> float(log_density_ratio(gaussian_step([0.0], [1.0], 1.0), [0.0]))
    0.5
    """
    step = check.record(step, "step", Step)
    x, d = points(step, x), step.mean_p.shape[-1]
    pairs = ((step.mean_p, step.sd_p), (step.mean_q, step.sd_q))
    far_p, far_q = ((((x - mean) / sd) ** 2).sum(axis=-1) for mean, sd in pairs)
    return (far_q - far_p) / 2 + d * (np.log(number(step.sd_q)) - np.log(number(step.sd_p)))


def points(step: Step, x: Any) -> Array:
    """Points (..., d) of as many coordinates as the means, checked."""
    x, shape = numbers(x, "x", -MOST), step.mean_p.shape
    if not x.ndim or x.shape[-1] != shape[-1]:
        raise ValueError(f"x has shape {x.shape}; points have {shape[-1]} coordinates, as the means")
    check.leading("x and the means", x.shape[:-1], shape[:-1])
    return x


def numbers(value: Any, name: str, low: float, high: float = MOST) -> Array:
    """Checked float64."""
    if isinstance(value, np.ndarray | np.floating) and value.dtype.kind == "f":
        value = value.astype(np.float64)  # narrower floats do not reach `high`, and NumPy warns where it compares them
    return np.asarray(check.real_values(value, name, low, high), dtype=np.float64)


def number(sd: Array) -> Array:
    """A deviation without the axis of its coordinates."""
    return sd[..., 0] if np.ndim(sd) else sd


@np.errstate(under="ignore")
def gap_of(step: Step, name: str) -> Array:
    """The distance (...) of the means in deviations; ValueError, in the name of a function, if these differ."""
    step = check.record(step, "step", Step)
    if not (step.sd_p == step.sd_q).all():
        raise ValueError(
            f"{name} needs equal deviations, got sd_p {check.shown(step.sd_p)}, sd_q {check.shown(step.sd_q)}"
        )
    return np.sqrt(((step.mean_p - step.mean_q) ** 2).sum(axis=-1)) / number(step.sd_p)
