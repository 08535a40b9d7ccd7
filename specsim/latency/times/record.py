"""The record of times of passes that somebody measured, of whatever file, and the latency model that it makes."""

from __future__ import annotations

from itertools import product
from statistics import median
from typing import NamedTuple

from specsim.base import check
from specsim.base.intervals import FEWEST_FOR_A_MEDIAN, median_error
from specsim.base.results import result
from specsim.latency.measured import from_measurements
from specsim.latency.model import LatencyModel, Timing

# The most tokens of a pass that may verify a block; longer ones say how fast prompts are read.
MOST_TOKENS = 64
# What a pass is measured at, with the least value of each. The value of an axis that a file leaves out is its UNKNOWN.
AXES = {"tokens": 1, "batch": 1, "context": 0}
UNKNOWN = {"batch": 1, "context": 0}
# Most points that a note names one by one.
MOST_NAMED = 6

Place = tuple[int, int, int]


@result("source", "unknown")
class PassTimes(NamedTuple):
    """Times of the passes of one model as they were measured.

    seconds: all times of each (tokens, batch, context); tokens are those of every sequence in the pass. unknown: the
    axes, of batch and context, that the source does not say. Their entries are 1 and 0, and the times are good for one
    point alone, whichever it was. notes: what the numbers leave out. remedy: what measures passes that are missing.
    prompts: tokens of prompts that were read alone, behind nothing, with all times of each.

    Examples
    --------
    >>> times = PassTimes("mine", {(1, 1, 0): (0.010,), (5, 1, 0): (0.012,)}, ("batch", "context"))
    >>> axis_values(times, "tokens")
    [1, 5]
    """

    source: str
    seconds: dict[Place, tuple[float, ...]]
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    remedy: str = ""
    prompts: tuple[tuple[int, tuple[float, ...]], ...] = ()


def axis_values(times: PassTimes, axis: str) -> list[int]:
    """Return the values of an axis (tokens, batch or context) at which passes were measured, in order."""
    index = list(AXES).index(axis)
    return sorted({place[index] for place in times.seconds})


def from_pass_times(target: PassTimes, draft: PassTimes | float, *, overhead: float = 0.0) -> LatencyModel:
    r"""Return the latency model of measured passes: the median of each point, and lines between points.

    .. math:: T(m) = (1 - w) \operatorname{med} t_{m_i} + w \operatorname{med} t_{m_{i+1}}

    Parameters
    ----------
    target : PassTimes
        Passes of the target: over one token, which is the plain step, and over more.
    draft : PassTimes or float
        Passes of the draft over one token each, of which a draft step is one; or the time of a draft step in plain
        steps of the target, at every batch and context.
    overhead : float
        Seconds of everything else in a cycle.

    Returns
    -------
    LatencyModel
        In seconds, within the measured points only. Points with three times or more have the error of their median,
        from its order statistics (`specsim.base.intervals.median_error`); where a point that is used has fewer, the
        error is unknown. It is the spread of repeated passes, not what differs between runs or machines.

    Raises
    ------
    ValueError
        No time of one token, or of no other number; a hole in the grid of points; a draft of other batches or
        contexts than the target where one of both does not say its own; when asked: a point outside the measured ones.

    References
    ----------
    Bonett and Price 2002, Psychological Methods 7:370 (the error of a median).

    Examples
    --------
    >>> target = PassTimes("t", {(1, 1, 0): (0.020, 0.021, 0.020), (5, 1, 0): (0.022, 0.023, 0.022)})
    >>> model = from_pass_times(target, 0.05)
    >>> [round(1e3 * model.target(m, 1, 0).value, 2) for m in (1, 3, 5)]
    [20.0, 21.0, 22.0]
    """
    check.record(target, "target", PassTimes)
    target = with_blocks(target)
    _check_grid(target)
    words = [_measured_at(target), *target.notes]
    # A draft step is a number of plain steps, or measured at the target's points.
    ratio = 0.0
    drafts: dict[Place, tuple[float, ...]] = {}
    if isinstance(draft, PassTimes):
        drafts, more_words = _aligned(draft, target)
        words += [*draft.notes, *more_words]
    else:
        ratio = float(check.scalar(draft, "draft", "[0, inf)"))
        words.append(
            f"a draft step takes {ratio:g} plain steps at every point, as declared: its error is in no interval"
        )
    words.append(_spread_words(target, draft))

    steps = {(batch, context): _median(seconds) for (_, batch, context), seconds in drafts.items()}
    # Other work is as the caller says, without an error.
    over = Timing(float(check.scalar(overhead, "overhead", "[0, inf)")), 0.0)
    lines = from_measurements(
        {place: _median(seconds) for place, seconds in target.seconds.items()}, steps or {None: 1.0}, overhead=over
    )

    def target_s(tokens: int, batch: int, context: int) -> Timing:
        """Return the time of a target pass between the measured points."""
        check_inside(target, {"tokens": tokens, "batch": batch, "context": context})
        return lines.target(tokens, batch, context)

    def draft_s(batch: int, context: int) -> Timing:
        """Return the time of a draft step between the measured points, or in plain steps."""
        if isinstance(draft, PassTimes):
            check_inside(draft._replace(seconds=drafts), {"batch": batch, "context": context})
            return lines.draft(batch, context)
        plain = target_s(1, batch, context)
        return Timing(ratio * plain.value, None if plain.error is None else ratio * plain.error)

    return lines._replace(target=target_s, draft=draft_s, assumptions=tuple(words))


def with_blocks(target: PassTimes) -> PassTimes:
    """Return the times at the batches and contexts at which a block was verified, too, with a note on the others.

    ValueError if passes of 1 token, or of more, are missing everywhere.
    """
    tokens = axis_values(target, "tokens")
    missing = "of 1 token, the plain step" if 1 not in tokens else "of 2 tokens or more"
    points = {place[1:] for place in target.seconds if place[0] > 1}
    if 1 not in tokens or not points:
        remedy = f", {target.remedy}" if target.remedy else ""
        raise ValueError(
            f"{target.source} has passes of {listed(tokens) or 'no'} tokens; verifying g drafts is a pass of g + 1 "
            f"tokens, and a plain step one of 1: measure a pass {missing}, too{remedy}"
        )
    # Leave out the points at which only plain steps were measured.
    alone = sorted({place[1:] for place in target.seconds} - points)
    if not alone:
        return target
    complete = {place: times for place, times in target.seconds.items() if place[1:] in points}
    named = "; ".join(f"batch {batch}, context {context}" for batch, context in alone[:MOST_NAMED])
    if len(alone) > MOST_NAMED:
        named += f" and {len(alone) - MOST_NAMED} more"
    note = f"{target.source}: left out, for only the plain step was measured there: {named}"
    return target._replace(seconds=complete, notes=(*target.notes, note))


def _check_grid(times: PassTimes) -> None:
    """Raise ValueError for a point missing from the full grid of tokens, batches and contexts."""
    for place in product(*(axis_values(times, axis) for axis in AXES)):
        if place not in times.seconds:
            named = [f"{axis} {value}" for axis, value in zip(AXES, place, strict=True) if axis not in times.unknown]
            raise ValueError(
                f"{times.source} has no time at {', '.join(named)}; measure it, or leave out the rows that go beyond "
                "a full grid of tokens, batches and contexts"
            )


def _aligned(draft: PassTimes, target: PassTimes) -> tuple[dict[Place, tuple[float, ...]], list[str]]:
    """Return the draft's passes of one token at the target's points, and the assumptions made.

    Where only one of the two files says its batch (or context) and has a single value of it, the
    other file is taken to be measured at that value.
    """
    # Passes of one token: the draft steps.
    check.record(draft, "draft", PassTimes)
    steps = draft._replace(seconds={place: times for place, times in draft.seconds.items() if place[0] == 1})
    if not steps.seconds:
        tokens = ", ".join(map(str, axis_values(draft, "tokens"))) or "no"
        raise ValueError(
            f"{draft.source} has passes of {tokens} tokens; a draft step is a pass of 1 token of the draft: measure it"
        )
    _check_grid(steps)
    # Give the draft's points the target's value on every axis that only one of the two files says.
    words = []
    if len(steps.seconds) < len(draft.seconds):
        words.append(f"of {draft.source} the passes of 1 token count: a draft step reads one")
    seconds = dict(steps.seconds)
    for index, axis in enumerate(AXES):
        of_draft, of_target = axis in draft.unknown, axis in target.unknown
        if of_draft == of_target:
            continue
        silent, explicit = (draft, target) if of_draft else (target, steps)
        values = axis_values(explicit, axis)
        if len(values) > 1:
            raise ValueError(
                f"{silent.source} does not say its {axis}, and {explicit.source} has {axis} {listed(values)}; add a "
                f"column {axis} to {silent.source}"
            )
        (value,) = axis_values(target, axis)
        seconds = {_moved(place, index, value): times for place, times in seconds.items()}
        words.append(f"{silent.source} does not say its {axis}: taken to be that of {explicit.source}, {values[0]}")
    return seconds, words


def _moved(place: Place, index: int, value: int) -> Place:
    """Return a place with another value on one axis."""
    tokens, batch, context = (value if i == index else old for i, old in enumerate(place))
    return tokens, batch, context


def _median(seconds: tuple[float, ...]) -> Timing:
    """Return the median of the times of one point, with its error where they show it."""
    return Timing(median(seconds), median_error(seconds))


def check_inside(times: PassTimes, point: dict[str, int]) -> None:
    """Raise ValueError for a point (axis -> value) outside the measured ones, with what to measure."""
    for axis, value in point.items():
        values = axis_values(times, axis)
        if values[0] <= value <= values[-1]:
            continue
        if axis in times.unknown:
            raise ValueError(
                f"{axis} is {value}, and {times.source} does not say at which {axis} it was measured; add a column "
                f"{axis}, or leave the {axis} out"
            )
        raise ValueError(
            f"{axis} {value} was not measured: {times.source} has {axis} {listed(values)}; measure passes there, or "
            f"ask within"
        )


def _measured_at(times: PassTimes) -> str:
    """Return the assumption on times: where passes were measured, and lines between these points."""
    parts = [f"{axis} {listed(axis_values(times, axis))}" for axis in AXES if axis not in times.unknown]
    words = f"passes take the medians of {times.source}, at {'; '.join(parts)}; between them times lie on lines"
    if times.unknown:
        unsaid = " and ".join(times.unknown)
        words += f"; the {unsaid} of the passes is not said: this is a plan of that point alone, whichever it was"
    return words


def _spread_words(target: PassTimes, draft: PassTimes | float) -> str:
    """Return the assumption on errors: known from repeated passes, or unknown for want of them."""
    # Repetitions of each point; a draft step is a pass of 1 token.
    counts = [len(seconds) for seconds in target.seconds.values()]
    if isinstance(draft, PassTimes):
        counts += [len(seconds) for place, seconds in draft.seconds.items() if place[0] == 1]
    if min(counts) < FEWEST_FOR_A_MEDIAN:
        return (
            f"some points have fewer than {FEWEST_FOR_A_MEDIAN} times: the error of plans that use them is not known "
            f"(repeat each pass {FEWEST_FOR_A_MEDIAN} times or more)"
        )
    return (
        f"{min(counts)} times or more of each point: intervals have the error of their medians, by order statistics, "
        "and not what differs between runs"
    )


def listed(values: list[int]) -> str:
    """Return numbers as text; of more than six only the first, the last and how many there are."""
    return ", ".join(map(str, values)) if len(values) <= 6 else f"{values[0]} to {values[-1]} ({len(values)} values)"
