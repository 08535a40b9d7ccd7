"""What may replace a draft that a Gaussian step refuses: its mirror image, the residual on a line, a loop."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from specsim.base import check
from specsim.continuous.steps import TINY, Step, gap_of, keeps, log_density_ratio, number, numbers, points
from specsim.types import Array

HALVINGS = 80  # of an interval of 80 standard deviations: below the spacing of floats


class Emitted(NamedTuple):
    """The points (..., d) that a step emits, whether each is the draft, and the target points drawn for it (...)."""

    token: Array
    kept: Array
    proposals: Array


def reflection(step: Step, x: Array) -> Array:
    r"""Replace refused drafts by their mirror image between the means: no noise, no loop; for equal deviations.

    .. math:: y = \mu_p + s (\xi - 2 e \langle e, \xi \rangle), \quad \xi = (x - \mu_q) / s

    Parameters
    ----------
    step : Step
        See `gaussian_step`.
    x : array_like, shape (..., d)
        Refused drafts.

    Returns
    -------
    array, shape (..., d)
        The points that are emitted instead.

    Raises
    ------
    ValueError
        The deviations differ, a shape does not fit, or an entry is not finite.

    References
    ----------
    De Bortoli et al. 2025, arXiv:2501.05370.

    Examples
    --------
    >>> from specsim import gaussian_step
    >>> reflection(gaussian_step([0.0, 0.0], [1.0, 0.0], 1.0), [1.5, 0.7]).tolist()
    [-0.5, 0.7]
    """
    along = _direction(step, gap_of(step, "reflection"))
    xi = (points(step, x) - step.mean_q) / step.sd_q
    return step.mean_p + step.sd_p * (xi - 2 * along * (along * xi).sum(axis=-1, keepdims=True))


def residual_on_the_line(step: Step, x: Array, u: Array) -> Array:
    r"""A draw from (p - q)+, normalised, that keeps x's part across the line through both means; equal deviations.

    .. math:: F(t) = \frac{\Phi(t) - \Phi(t - g)}{2 \Phi(g/2) - 1}, \quad t \le g/2, \quad g = |\mu_q - \mu_p| / s

    The part along the line, measured from the target's mean, is F's inverse at u; the coin says nothing of the other.

    Parameters
    ----------
    step : Step
        See `gaussian_step`.
    x : array_like, shape (..., d)
        Refused drafts.
    u : array_like, shape (...)
        Uniforms that had no part in the refusal.

    Returns
    -------
    array, shape (..., d)
        The points that are emitted instead.

    Raises
    ------
    ValueError
        The deviations differ, a shape does not fit, an entry is not finite, or u is outside [0, 1].

    References
    ----------
    arXiv:2606.13426.

    Examples
    --------
    >>> from specsim import gaussian_step
    >>> residual_on_the_line(gaussian_step([0.0, 0.0], [1.0, 0.0], 1.0), [1.5, 0.7], 0.5).round(3).tolist()
    [-0.727, 0.7]
    """
    gap = gap_of(step, "residual_on_the_line")
    along, xi = _direction(step, gap), (points(step, x) - step.mean_q) / step.sd_q
    across = xi - along * (along * xi).sum(axis=-1, keepdims=True)
    return step.mean_p + step.sd_p * (across + along * residual_quantile(gap, u)[..., None])


@np.errstate(under="ignore")
def residual_quantile(gap: Array, u: Array) -> Array:
    """The point t <= gap / 2 below which the residual's part along the line has probability u.

    Parameters
    ----------
    gap : array_like
        Distance of the means in standard deviations.
    u : array_like
        Probabilities.

    Returns
    -------
    array
        In standard deviations, from the target's mean towards the draft's.

    Raises
    ------
    ValueError
        A gap is negative or not finite, u is outside [0, 1], or the shapes do not broadcast.

    References
    ----------
    arXiv:2606.13426.

    Examples
    --------
    >>> residual_quantile(1.0, [0.1, 0.5, 1.0]).round(3).tolist()
    [-1.734, -0.727, 0.5]
    """
    gap, u = numbers(gap, "gap", 0), numbers(u, "u", 0, 1)
    check.leading("gap and u", gap.shape, u.shape)
    gap, u = np.broadcast_arrays(gap, u)
    low, high = np.full(gap.shape, -40.0), gap / 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = _log_mass(middle, gap) < np.log(np.maximum(u, TINY)) + _log_mass(gap / 2, gap)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def emit(
    step: Step,
    x: Array,
    u: Array,
    rng: np.random.Generator,
    *,
    instead: Literal["reflection", "line", "loop"] = "reflection",
    factor: float = 1,
) -> Emitted:
    """One step of rejection: drafts are kept or replaced.

    Parameters
    ----------
    step : Step
        See `gaussian_step`.
    x : array_like, shape (..., d)
        Drafts, drawn from the draft's Gaussian.
    u : array_like, shape (...)
        Uniforms, by which they are kept.
    rng : numpy.random.Generator
        What draws the replacements of "line" and "loop".
    instead : str
        "reflection" or "line" (equal deviations), or "loop": points from p, each taken with probability (1 - q / p)+,
        until one is. Drafts that are kept need none, and a step needs one on average.
    factor : float
        1; otherwise the published rule, which see under `keeps`. One too small leaves no point for the loop to take
        where the draft's deviation is the larger: then the loop would never end, and is refused.

    Returns
    -------
    Emitted
        Points (..., d), whether each is the draft, and how many points of the target were drawn for it.

    Raises
    ------
    ValueError
        `instead` is unknown or needs equal deviations, a shape does not fit, an entry is not finite, u is outside
        [0, 1], or the factor is not positive, or so small that a loop would never end.

    References
    ----------
    Wang et al. 2024, arXiv:2411.11925 ("loop"); De Bortoli et al. 2025, arXiv:2501.05370; arXiv:2606.13426 ("line").

    Examples
    --------
    >>> from specsim import gaussian_step
    >>> made = emit(gaussian_step([0.0], [1.0], 1.0), [[0.2], [1.5]], [0.5, 0.5], np.random.default_rng(0))
    >>> made.token.tolist(), made.kept.tolist()
    ([[0.2], [-0.5]], [True, False])
    """
    check.record(rng, "rng", np.random.Generator)
    if instead not in ("reflection", "line", "loop"):
        raise ValueError(f"instead {check.shown(instead)} is unknown; known: reflection, line, loop")
    kept = keeps(step, x, u, factor)
    token = np.broadcast_to(points(step, x), (*kept.shape, step.mean_p.shape[-1]))
    if instead == "loop":
        return _looped(step, token, kept, rng, float(factor))
    on_line = instead == "line"
    other = residual_on_the_line(step, token, rng.random(kept.shape)) if on_line else reflection(step, token)
    return Emitted(np.where(kept[..., None], token, other), kept, np.zeros(kept.shape, dtype=np.int64))


def _looped(step: Step, x: Array, kept: Array, rng: np.random.Generator, factor: float) -> Emitted:
    """Points from p for drafts that were refused, until one of them is taken."""
    endless = ~kept & (_highest_log_ratio(step) <= -np.log(factor))
    if endless.any():
        where, _ = check.first_bad(endless, endless)
        raise ValueError(f"factor {factor} leaves no point to replace the refused draft{where} by: factor p is below q")
    token, proposals, waiting = np.array(x, order="C"), np.zeros(kept.shape, dtype=np.int64), np.flatnonzero(~kept)
    flat, counts = token.reshape(-1, x.shape[-1]), proposals.reshape(-1)
    parts = [np.broadcast_to(w, (*kept.shape, w.shape[-1] if w.ndim else 1)) for w in step]
    rows = [np.reshape(w, (-1, w.shape[-1])) for w in parts]
    while waiting.size:
        here = Step(*(w[waiting] for w in rows))
        y = here.mean_p + here.sd_p * rng.standard_normal((len(waiting), x.shape[-1]))
        ratio = np.clip(log_density_ratio(here, y) + np.log(factor), -700.0, 700.0)
        taken = rng.random(len(waiting)) >= np.exp(-ratio)
        counts[waiting] += 1
        flat[waiting[taken]] = y[taken]
        waiting = waiting[~taken]
    return Emitted(token, kept, proposals)


def _highest_log_ratio(step: Step) -> Array:
    """The supremum over points of log p - log q: none if p is the wider, or if the means of one deviation differ."""
    var_p, var_q = number(step.sd_p) ** 2, number(step.sd_q) ** 2
    apart, wider = ((step.mean_p - step.mean_q) ** 2).sum(axis=-1), var_q - var_p
    at_most = step.mean_p.shape[-1] * np.log(var_q / var_p) / 2 + apart / np.where(wider > 0, 2 * wider, 1)
    return np.where((wider < 0) | ((wider == 0) & (apart > 0)), np.inf, at_most)


def _log_mass(t: Array, gap: Array) -> Array:
    """log(Phi(t) - Phi(t - gap)), without cancellation."""
    high, low = log_ndtr(t), log_ndtr(t - gap)
    return high + np.log(-np.expm1(np.minimum(low - high, -TINY)))


def _direction(step: Step, gap: Array) -> Array:
    """The unit vector from the target's mean to the draft's; any, where they are one."""
    return (step.mean_q - step.mean_p) / np.where(gap > 0, gap * number(step.sd_p), 1)[..., None]
