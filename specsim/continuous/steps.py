"""One step between two Gaussians: its record, the acceptance, and the decision about a draft."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from specsim.base import check
from specsim.types import Array

# Least deviation, and most of deviations and coordinates: squares of their quotients stay finite.
LEAST, MOST = 1e-50, 1e50
# The smallest normal float64 stands for 0 in logarithms.
TINY = np.finfo(np.float64).tiny


class Step(NamedTuple):
    """The last step of target and draft.

    Means are (..., d), standard deviations numbers or (..., 1).
    """

    mean_p: Array
    mean_q: Array
    sd_p: Array
    sd_q: Array


def gaussian_step(mean_p: Array, mean_q: Array, sd_p: Any, sd_q: Any = None) -> Step:
    """The checked record of a step; without sd_q, sd_p is both models' deviation.

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
    # The means have one shape.
    p, q = numbers(mean_p, "mean_p", -MOST), numbers(mean_q, "mean_q", -MOST)
    if p.shape != q.shape or not p.ndim:
        raise ValueError(f"mean_p has shape {p.shape}, mean_q {q.shape}; give the same, (..., d)")

    # A deviation is a number, or one for each mean.
    deviations = {"sd_p": sd_p, "sd_q": sd_p if sd_q is None else sd_q}
    sds = {name: numbers(sd, name, LEAST) for name, sd in deviations.items()}
    for name, sd in sds.items():
        if sd.shape not in ((), (1,), (*p.shape[:-1], 1)):
            raise ValueError(f"{name} has shape {sd.shape}; give a number, or {(*p.shape[:-1], 1)}")
    return Step(p, q, **sds)


def gaussian_overlap(step: Step) -> Array:
    r"""Probability that the draft is accepted, 1 - TV, for equal deviations.

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
    Wang et al. 2024, arXiv:2411.11925, speculate on continuous tokens; De Bortoli et al. 2025,
    arXiv:2501.05370.

    Examples
    --------
    >>> gaussian_overlap(gaussian_step([[0.0], [0.0]], [[0.0], [2.0]], 1.0)).round(4).tolist()
    [1.0, 0.3173]
    """
    return 2 * ndtr(-gap_of(step, "gaussian_overlap") / 2)


def keeps(step: Step, x: Array, u: Array, factor: float = 1) -> Array:
    """Decide which drafts are accepted: those with u < factor p(x) / q(x), tested in logarithms.

    Parameters
    ----------
    step : Step
        See `gaussian_step`.
    x : array_like, shape (..., d)
        Drafts, drawn from the draft's Gaussian.
    u : array_like, shape (...)
        Uniforms.
    factor : float
        1. The published rule multiplies by the quotient of the earlier steps' deviations, q's over
        p's, to the power d: with equal deviations that is 1, and otherwise the law is no longer the
        target's.

    Returns
    -------
    array of bool, shape (...)
        True where the draft is the token.

    Raises
    ------
    ValueError
        A shape does not fit, an entry is not finite, u is outside [0, 1], or the factor is not
        positive.

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
        The logarithm at each point.

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
    # Squared distances (...) from both means, in deviations.
    square_p = (((x - step.mean_p) / step.sd_p) ** 2).sum(axis=-1)
    square_q = (((x - step.mean_q) / step.sd_q) ** 2).sum(axis=-1)
    log_sds = np.log(number(step.sd_q)) - np.log(number(step.sd_p))
    return (square_q - square_p) / 2 + d * log_sds


def points(step: Step, x: Any) -> Array:
    """Checked points (..., d), of as many coordinates as the means."""
    x, shape = numbers(x, "x", -MOST), step.mean_p.shape
    if not x.ndim or x.shape[-1] != shape[-1]:
        raise ValueError(f"x has shape {x.shape}; points have {shape[-1]} coordinates, as the means")
    check.leading("x and the means", x.shape[:-1], shape[:-1])
    return x


def numbers(value: Any, name: str, low: float, high: float = MOST) -> Array:
    """Checked numbers from low to high, as float64."""
    # Narrower floats do not reach `high`, and NumPy warns where it compares them.
    if isinstance(value, np.ndarray | np.floating) and value.dtype.kind == "f":
        value = value.astype(np.float64)
    return np.asarray(check.real_values(value, name, low, high), dtype=np.float64)


def number(sd: Array) -> Array:
    """A deviation without the axis of its coordinates."""
    return sd[..., 0] if np.ndim(sd) else sd


@np.errstate(under="ignore")
def gap_of(step: Step, name: str) -> Array:
    """The distance (...) of the means in deviations.

    Raises ValueError if the deviations differ; `name` is the function that needs equal ones.
    """
    step = check.record(step, "step", Step)
    if not (step.sd_p == step.sd_q).all():
        raise ValueError(
            f"{name} needs equal deviations, got sd_p {check.shown(step.sd_p)}, sd_q {check.shown(step.sd_q)}"
        )
    return np.sqrt(((step.mean_p - step.mean_q) ** 2).sum(axis=-1)) / number(step.sd_p)
