"""A latency model from measured times: lines between the points, with their noise, and no smoothing.

Times need not grow with the number of tokens: kernels switch, and a pass over two tokens may be the slow case.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from specsim.base import check
from specsim.latency.model import LatencyModel, Timing
from specsim.latency.tables import grouped

Samples = float | Sequence[float] | Timing


def from_measurements(
    target: Mapping[Any, Samples], draft: Mapping[Any, Samples], *, overhead: Samples = 0.0, unit: str = "s"
) -> LatencyModel:
    r"""Return the latency model of repeated measurements, with lines between the measured points.

    .. math:: T(m) = (1 - w) T(m_i) + w T(m_{i+1}), \qquad w = \frac{m - m_i}{m_{i+1} - m_i}

    and the same along batch and context. Several samples of a point give its mean and standard error; the errors of
    the points go through the same lines. Outside what was measured there is no answer.

    Parameters
    ----------
    target : mapping
        Seconds of a target pass: {tokens: samples}, or {(tokens, batch, context): samples} on a full grid. tokens = 1
        is one plain step. samples is one time, several times of repeated passes, or a `Timing` with its error.
    draft : mapping
        Seconds of a draft step: {(batch, context): samples} on a full grid, or {None: samples} where it does not
        depend on them.
    overhead : float or sequence of float
        Seconds of everything else in a cycle.
    unit : str
        "s", or "target steps".

    Returns
    -------
    LatencyModel
        With standard errors where every point it uses has two samples or more; unknown errors otherwise.

    Raises
    ------
    ValueError
        An empty mapping, a key that is no point, a hole in the grid, a time that is NaN or not positive; when asked:
        a point outside the measured ones.

    References
    ----------
    MagicDec, arXiv:2408.11049 (cycles composed of measured parts).

    Examples
    --------
    >>> model = from_measurements({1: [10.0, 10.2], 4: [10.6, 10.4], 8: [13.0, 13.2]}, {None: 1.0})
    >>> round(model.target(6, 1, 0).value, 3), round(model.target(6, 1, 0).error, 3)
    (11.8, 0.071)
    """
    if unit not in ("s", "target steps"):
        raise ValueError(f'unit must be "s" or "target steps", got {unit!r}')
    # The measured times of passes and steps, which may have no axes of batch and context.
    passes, is_pass_flat = _grid(target, "target", _NAMES)
    steps, is_step_flat = _grid(draft, "draft", _NAMES[1:])
    rest = _samples(overhead, "overhead", "[0, inf)")
    if not any(key[0] == 1 for key in passes):
        raise ValueError("target has no time for 1 token, the plain step that speedups are measured against")

    # Assumptions, and the functions that interpolate.
    notes = ["times between the measured points lie on lines"]
    if is_pass_flat:
        notes.append("the target's times do not depend on batch and context")
    if is_step_flat:
        notes.append("the draft's times do not depend on batch and context")

    def target_s(tokens: int, batch: int, context: int) -> Timing:
        """Return the time of a target pass between the measured points."""
        point = (tokens,) if is_pass_flat else (tokens, batch, context)
        return _interpolated(passes, point, "target", _NAMES)

    def draft_s(batch: int, context: int) -> Timing:
        """Return the time of a draft step between the measured points."""
        return steps[()] if is_step_flat else _interpolated(steps, (batch, context), "draft", _NAMES[1:])

    return LatencyModel(target_s, draft_s, lambda batch, context: rest, unit, tuple(notes))


def weight_only(weights: str, cost_ratio: float, *, overhead: float = 0.0) -> LatencyModel:
    r"""Return the latency model of a target whose weights are stored in few bits, as measured on one CPU core.

    .. math:: t_\text{int4}(5) = 2.2, \qquad t_\text{int8}(5) = 1.7, \qquad t_\text{bf16}(5) = 1.1

    t(m) rises from the second token on: a plain step reads less, but each further token is multiplied as before, and
    weights are unpacked to be multiplied. On a device whose rates are known, `roofline` with weight_bytes says how far
    the arithmetic alone bends the curve.

    Parameters
    ----------
    weights : str
        "int4", "int8", or "bf16" to compare with.
    cost_ratio : float
        c, a draft step over a plain step of this target.
    overhead : float
        Everything else per cycle, in plain steps of this target.

    Returns
    -------
    LatencyModel
        In target steps, of one sequence and passes over up to 17 tokens, without errors: it was one run.

    Raises
    ------
    ValueError
        Weights that were not measured, a negative number; when asked: more than 17 tokens, or several sequences.

    References
    ----------
    `specsim/latency/data/weight_only.csv`, measured here.

    Examples
    --------
    >>> model = weight_only("int4", 0.1)
    >>> [round(model.target(m, 1, 0).value, 2) for m in (1, 2, 5, 17)]
    [1.0, 1.04, 2.22, 6.22]
    """
    table = grouped("weight_only", "weights")
    if weights not in table:
        raise ValueError(f"weights {weights!r} were not measured; known: {', '.join(table)}")
    times = {int(row["tokens"]): float(row["ms"]) for row in table[weights]}
    c = check.scalar(cost_ratio, "cost_ratio", "[0, inf)")
    # `from_measurements` refuses a time of 0, which the draft may cost: its time replaces a 1
    # afterwards.
    measured = from_measurements({m: time / times[1] for m, time in times.items()}, {None: 1.0}, overhead=overhead)

    def target(tokens: int, batch: int, context: int) -> Timing:
        """Return the time of a target pass over one sequence."""
        if batch > 1:
            raise ValueError(f"batch is {batch}; passes over {weights} weights were timed for one sequence")
        return measured.target(tokens, batch, context)

    words = (
        f"t(m) of {weights} weights as timed on one core of a CPU, one run, between the measured points on lines",
        "costs are as declared, their error in no interval",
    )
    return measured._replace(
        target=target, draft=lambda batch, context: Timing(float(c)), unit="target steps", assumptions=words
    )


# Axes of a grid of target passes, with the least value of each. A grid of draft steps has the last
# two.
_NAMES = ("tokens", "batch", "context")
_LEAST = (1, 1, 0)


def _grid(table: Mapping[Any, Samples], name: str, axes: tuple[str, ...]) -> tuple[dict[tuple[int, ...], Timing], bool]:
    """Return the time at each measured point, and whether the points lack batch and context.

    axes: all axes of the grid, of which batch and context are the last two. A point has one number for each of its
    axes: {4: 10.5} gives {(4,): Timing(10.5)} and True. The key None is the point (), for a draft step at any batch
    and context.
    """
    if not isinstance(table, Mapping) or not table:
        raise ValueError(f"{name} must be a mapping with one measured point at least, got {check.shown(table)}")
    # Keys as tuples of whole numbers that are not below the least ones, and the means of their
    # samples.
    points: dict[tuple[int, ...], Timing] = {}
    for key, samples in table.items():
        point = key if isinstance(key, tuple) else (key,)
        if key is None:
            point = ()
        # The least values of these axes; a point without batch and context has tokens alone.
        least = _LEAST[-len(point) :] if len(point) == len(axes) else (1,) * len(point)
        place = tuple(check.integer(v, f"{name}[{key!r}]", low) for v, low in zip(point, least, strict=True))
        points[place] = _samples(samples, f"{name}[{key!r}]", "(0, inf)")

    # Keys are whole, or all of them lack batch and context.
    lengths = {len(point) for point in points}
    short = len(axes) - 2
    if len(lengths) > 1 or not lengths <= {short, len(axes)}:
        raise ValueError(f"{name} has keys {list(table)}; every key must be {axes[:short] or None} or {axes}")

    # All points of the grid are there.
    (length,) = lengths
    values_by_axis = [sorted({point[i] for point in points}) for i in range(length)]
    for place in product(*values_by_axis):
        if place not in points:
            raise ValueError(f"{name} has no time at {place}; the measured points must form a full grid")
    return points, length == short


def _samples(samples: Samples, name: str, allowed: str) -> Timing:
    """Return the mean of one or several times with its standard error, or the Timing if it is one, checked.

    The error of one time is unknown, None; that of a time of 0 is 0.
    """
    if isinstance(samples, Timing):
        error = None if samples.error is None else float(check.scalar(samples.error, f"{name}.error", "[0, inf)"))
        return Timing(float(check.scalar(samples.value, f"{name}.value", allowed)), error)

    # One time or several, each with its name for errors.
    values = [samples] if np.ndim(samples) == 0 else list(samples)  # type: ignore[arg-type]
    if not values:
        raise ValueError(f"{name} is empty; give one time at least")
    times = [float(check.scalar(v, f"{name}[{i}]" if len(values) > 1 else name, allowed)) for i, v in enumerate(values)]

    # Their mean, and its standard error from the sample variance.
    n = len(times)
    mean = math.fsum(times) / n
    if n == 1:
        return Timing(mean, 0.0 if mean == 0 else None)
    squares = math.fsum((t - mean) ** 2 for t in times)
    return Timing(mean, math.sqrt(squares / (n * (n - 1))))


def _interpolated(
    times: dict[tuple[int, ...], Timing], point: tuple[int, ...], what: str, names: tuple[str, ...]
) -> Timing:
    """Return the time at a point between those of a full grid, by multilinear interpolation, with its standard error.

    what, names: words of messages, for the model and the axes. Errors of the corners are independent; if one is
    unknown, so is that of the result.
    """
    # On each axis the value itself with weight 1, or its two neighbours with their weights, which
    # sum to 1.
    neighbours: list[list[tuple[int, float]]] = []
    for i, value in enumerate(point):
        axis = sorted({measured[i] for measured in times})
        if not axis[0] <= value <= axis[-1]:
            raise ValueError(f"{what} at {names[i]} = {value} was not measured: its range is {axis[0]}..{axis[-1]}")
        above = bisect_left(axis, value)
        if axis[above] == value:
            neighbours.append([(value, 1.0)])
        else:
            low, high = axis[above - 1], axis[above]
            share = (value - low) / (high - low)
            neighbours.append([(low, 1 - share), (high, share)])

    # Sum over the corners of the grid's cell: a corner's weight is the product of the weights on
    # all axes.
    mean, variance, has_error = 0.0, 0.0, True
    for corner in product(*neighbours):
        weight = math.prod(w for _, w in corner)
        timing = times[tuple(value for value, _ in corner)]
        mean += weight * timing.value
        has_error &= timing.error is not None
        variance += (weight * (timing.error or 0.0)) ** 2
    return Timing(mean, math.sqrt(variance) if has_error else None)
