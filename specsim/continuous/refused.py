"""Replacements of refused drafts of a Gaussian step: mirror image, residual on a line, loop."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from specsim.base import check
from specsim.base.unknown import unknown
from specsim.continuous.steps import TINY, Step, gap_of, keeps, log_density_ratio, number, numbers, points
from specsim.types import Array

# Halvings of an interval of 80 standard deviations: they end below the spacing of floats.
HALVINGS = 80
# Logarithms of ratios are cut off here, before exp would overflow.
MOST_LOG = 700.0


class Emitted(NamedTuple):
    """The points that a step emits.

    `token` (..., d) holds the points, `kept` (...) whether each is the draft, `proposals` (...) how
    many points of the target were drawn for it.
    """

    token: Array
    kept: Array
    proposals: Array


def reflection(step: Step, x: Array) -> Array:
    r"""Replace refused drafts by their mirror image between the means, for equal deviations.

    It needs no noise and no loop.

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
    r"""A draw from (p - q)+, normalised, that keeps x's part across the line through both means.

    The deviations must be equal.

    .. math:: F(t) = \frac{\Phi(t) - \Phi(t - g)}{2 \Phi(g/2) - 1}, \quad t \le g/2, \quad g = |\mu_q - \mu_p| / s

    The part along the line, measured from the target's mean, is F's inverse at u; the coin says
    nothing of the other.

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

    # Bisection on the logarithm of F, from 40 standard deviations below the target's mean.
    log_u = np.log(np.maximum(u, TINY))
    log_whole = _log_mass(gap / 2, gap)
    low, high = np.full(gap.shape, -40.0), gap / 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_below = _log_mass(middle, gap) < log_u + log_whole
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
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
    """One step of rejection: drafts are accepted or replaced.

    Parameters
    ----------
    step : Step
        See `gaussian_step`.
    x : array_like, shape (..., d)
        Drafts, drawn from the draft's Gaussian.
    u : array_like, shape (...)
        Uniforms, by which they are accepted.
    rng : numpy.random.Generator
        It draws the replacements of "line" and "loop".
    instead : str
        "reflection" or "line" (equal deviations), or "loop": points from p, each taken with
        probability (1 - q / p)+, until one is. Accepted drafts need none, and a step needs one on
        average.
    factor : float
        1; otherwise the published rule, see `keeps`. Where the draft's deviation is the larger, too
        small a factor leaves no point for the loop to take: it would never end, and is refused.

    Returns
    -------
    Emitted
        Points (..., d), whether each is the draft, and how many points of the target were drawn for
        it.

    Raises
    ------
    ValueError
        `instead` is unknown or needs equal deviations, a shape does not fit, an entry is not
        finite, u is outside [0, 1], or the factor is not positive, or so small that a loop would
        never end.

    References
    ----------
    Wang et al. 2024, arXiv:2411.11925 ("loop"); De Bortoli et al. 2025, arXiv:2501.05370;
    arXiv:2606.13426 ("line").

    Examples
    --------
    >>> from specsim import gaussian_step
    >>> made = emit(gaussian_step([0.0], [1.0], 1.0), [[0.2], [1.5]], [0.5, 0.5], np.random.default_rng(0))
    >>> made.token.tolist(), made.kept.tolist()
    ([[0.2], [-0.5]], [True, False])
    """
    # Check the options, and decide which drafts are accepted.
    check.record(rng, "rng", np.random.Generator)
    if instead not in ("reflection", "line", "loop"):
        raise unknown("instead", instead, ("reflection", "line", "loop"))
    accepted = keeps(step, x, u, factor)
    drafts = np.broadcast_to(points(step, x), (*accepted.shape, step.mean_p.shape[-1]))

    # Replace the others: by the loop, or in one go.
    if instead == "loop":
        return _looped(step, drafts, accepted, rng, float(factor))
    if instead == "line":
        other = residual_on_the_line(step, drafts, rng.random(accepted.shape))
    else:
        other = reflection(step, drafts)
    token = np.where(accepted[..., None], drafts, other)
    return Emitted(token, accepted, np.zeros(accepted.shape, dtype=np.int64))


def _looped(step: Step, x: Array, accepted: Array, rng: np.random.Generator, factor: float) -> Emitted:
    """Replace refused drafts (..., d) by points from p, drawn until one is taken."""
    # Refuse a loop that would never end: factor p is below q everywhere.
    is_endless = ~accepted & (_highest_log_ratio(step) <= -np.log(factor))
    if is_endless.any():
        where, _ = check.first_bad(is_endless, is_endless)
        raise ValueError(f"factor {factor} leaves no point to replace the refused draft{where} by: factor p is below q")

    # One row for each draft; `rows` and `counts` write into the results.
    token, proposals = np.array(x, order="C"), np.zeros(accepted.shape, dtype=np.int64)
    rows, counts = token.reshape(-1, x.shape[-1]), proposals.reshape(-1)
    parts = [np.broadcast_to(w, (*accepted.shape, w.shape[-1] if w.ndim else 1)) for w in step]
    step_rows = [np.reshape(w, (-1, w.shape[-1])) for w in parts]

    # Draw a point for every row that waits; take it with probability (1 - q / (factor p))+.
    waiting = np.flatnonzero(~accepted)
    while waiting.size:
        waiting_step = Step(*(w[waiting] for w in step_rows))
        noise = rng.standard_normal((len(waiting), x.shape[-1]))
        y = waiting_step.mean_p + waiting_step.sd_p * noise
        log_ratio = log_density_ratio(waiting_step, y) + np.log(factor)
        is_taken = rng.random(len(waiting)) >= np.exp(-np.clip(log_ratio, -MOST_LOG, MOST_LOG))
        counts[waiting] += 1
        rows[waiting[is_taken]] = y[is_taken]
        waiting = waiting[~is_taken]
    return Emitted(token, accepted, proposals)


def _highest_log_ratio(step: Step) -> Array:
    """The supremum (...) over points of log p - log q.

    It is infinite if p is the wider, or if deviations are equal and means differ. Otherwise log p -
    log q is a parabola: with D the squared distance of the means its highest value is d log(var_q /
    var_p) / 2 + D / (2 (var_q - var_p)).
    """
    var_p, var_q = number(step.sd_p) ** 2, number(step.sd_q) ** 2
    distance, excess = ((step.mean_p - step.mean_q) ** 2).sum(axis=-1), var_q - var_p
    spread = distance / np.where(excess > 0, 2 * excess, 1)
    highest = step.mean_p.shape[-1] * np.log(var_q / var_p) / 2 + spread
    is_infinite = (excess < 0) | ((excess == 0) & (distance > 0))
    return np.where(is_infinite, np.inf, highest)


def _log_mass(t: Array, gap: Array) -> Array:
    """The logarithm log(Phi(t) - Phi(t - gap)), without cancellation."""
    high, low = log_ndtr(t), log_ndtr(t - gap)
    return high + np.log(-np.expm1(np.minimum(low - high, -TINY)))


def _direction(step: Step, gap: Array) -> Array:
    """The unit vector (..., d) from the target's mean to the draft's; 0 where they are equal."""
    distance = np.where(gap > 0, gap * number(step.sd_p), 1)
    return (step.mean_q - step.mean_p) / distance[..., None]
