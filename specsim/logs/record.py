"""The record of one run that a log holds, of any engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from specsim.base.results import result
from specsim.latency import Timing
from specsim.lengths.request_record import AcceptanceRecord, with_all_steps

# No count of a log is larger, and no time but 0 smaller (in milliseconds) or larger: what is computed stays finite.
LARGEST, SMALLEST = 1e15, 1e-12

# The note of a log that does not say in how many steps there was no draft.
UNKNOWN_COVERAGE = (
    "in how many steps there was no draft the log does not say (none with EAGLE, MTP or a draft "
    "model, many with n-gram or suffix drafts): tau is of steps that had one, and no plan is made "
    "of it without --drafted-share"
)


@result("source", "engine", "speculating")
class EngineLog(NamedTuple):
    """One run as its log describes it, with or without speculation; a field is None where the log does not say it.

    Times are seconds. length: draft steps of a block, in the mean. verified: tokens of one sequence in a verifying
    pass, the nodes of a tree and its root; length + 1 for a chain. blocks, drafted, accepted: counts. kept: blocks that
    kept draft 1, 2, ... and all before it. tau: tokens per target call where the log prints it. token: of one sequence.
    cycle: one draft-verify cycle. draft, verify, overhead: its parts, where the engine times them. notes: what a reader
    must know of the numbers. coverage: the share of decoding steps that had a draft, where counts are of those only, as
    with drafts looked up in the text; 1 where counts are of all steps, None where the log does not say it. requests:
    the same counts request by request, where the log has them. fitting_lengths: drafts of a block that agree with the
    rate of acceptance that is printed beside tau, None where none is printed.

    Examples
    --------
    >>> run = EngineLog("own", "on.csv", True, blocks=100, drafted=300, accepted=150, token=Timing(0.02))
    >>> run.length is None, run.tau is None
    (True, True)
    """

    engine: str
    source: str
    speculating: bool
    model: str = ""
    batch: float | None = None
    length: float | None = None
    verified: float | None = None
    blocks: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    kept: tuple[int, ...] = ()
    tau: Timing | None = None
    token: Timing | None = None
    cycle: Timing | None = None
    draft: Timing | None = None
    verify: Timing | None = None
    overhead: Timing | None = None
    notes: tuple[str, ...] = ()
    coverage: float | None = 1.0
    requests: AcceptanceRecord | None = None
    fitting_lengths: tuple[int, ...] | None = None


def timing(samples: Sequence[float]) -> Timing | None:
    """The mean of samples and its standard error, which one sample does not have; None without samples.

    Examples
    --------
    >>> timing([2.0, 4.0]), timing([3.0]), timing([])
    (Timing(value=3.0, error=1.0), Timing(value=3.0, error=None), None)
    """
    n = len(samples)
    if not n:
        return None
    mean = math.fsum(samples) / n
    if n == 1:
        return Timing(mean, None)
    return Timing(mean, math.sqrt(math.fsum((s - mean) ** 2 for s in samples) / (n * (n - 1))))


def number(text: str, place: str) -> float:
    """Return a finite number that is not negative; ValueError with its place otherwise."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"{place} is {text.strip()[:40]!r}; expected a finite number that is not negative")
    if value > LARGEST or 0 < value < SMALLEST:
        raise ValueError(f"{place} is {text.strip()[:40]}; expected 0, or a number from {SMALLEST:g} to {LARGEST:g}")
    return value


def share(text: str, place: str) -> float:
    """Return a number from 0 to 1; ValueError with its place otherwise."""
    value = number(text, place)
    if value > 1:
        raise ValueError(f"{place} is {value:g}; expected a share, at most 1")
    return value


def whole(value: float, place: str) -> int:
    """Return a whole number; ValueError with its place otherwise."""
    if value != math.floor(value):
        raise ValueError(f"{place} is {value:g}; expected a whole number")
    return int(value)


def fields(value: Any, place: str) -> dict[str, Any]:
    """Return an object of JSON; ValueError with its place for anything else."""
    if not isinstance(value, dict):
        raise ValueError(f"{place} is a {type(value).__name__}; expected an object of JSON")
    return value


# How a note begins where printed counts and rates cannot be of the same blocks.
DISAGREE = "counts and rates by position disagree"


def no_length(run: EngineLog) -> str:
    """Return why it is not known how many drafts a block of a run has."""
    notes = [note for note in run.notes if note.startswith(DISAGREE)]
    return notes[0] if notes else "it does not say how many drafts a block has"


def shown(value: float) -> str:
    """Return a count in words: a whole number as it is, a mean with three significant digits.

    Examples
    --------
    >>> shown(1024.0), shown(3.6315789)
    ('1024', '3.63')
    """
    return f"{value:.0f}" if value == round(value) else f"{value:.3g}"


# Steps without a draft are left out of account if at least this share has one: ends of answers have none.
DENSE = 0.95


# Fewer steps than this share of the blocks: lines and counts are not of the same intervals.
MISCOUNTED = 0.7


def is_sparse(run: EngineLog) -> bool:
    """Return whether a run is known to have steps without a draft, which its counts leave out."""
    return run.coverage is not None and run.coverage < DENSE and bool(run.blocks)


def per_step(run: EngineLog) -> EngineLog:
    """Return a run whose counts are of all decoding steps, those without a draft included."""
    if not is_sparse(run) or run.blocks is None or run.coverage is None:
        return run
    steps = round(run.blocks / run.coverage)
    length = None if run.drafted is None else run.drafted / steps
    note = f"{100 * run.coverage:.3g} % of the steps had a draft; a cycle is a step, with a draft or without"
    verified = None if length is None else length + 1
    requests = None if run.requests is None else with_all_steps(run.requests)
    notes = (*run.notes, note)
    return run._replace(blocks=steps, length=length, verified=verified, tau=None, notes=notes, requests=requests)


def clusters(sizes: Sequence[float]) -> list[list[int]]:
    """Group indices of numbers of running requests that are within an eighth of the commonest one.

    Examples
    --------
    >>> clusters([1, 64, 64, 1, 61, 8])
    [[0, 3], [5], [1, 2, 4]]
    """
    left = [place for place, size in enumerate(sizes) if size]
    groups = []
    while left:
        common = max((sizes[place] for place in left), key=[sizes[place] for place in left].count)
        groups.append([place for place in left if abs(sizes[place] - common) <= common / 8])
        left = [place for place in left if place not in groups[-1]]
    return sorted(groups, key=lambda group: sizes[group[0]])


# A share of all intervals: a batch that never lasts for two in a row, and has fewer, is passed through only.
RARE = 0.1


def steady_groups(sizes: Sequence[float]) -> tuple[list[list[int]], tuple[str, ...]]:
    """Group intervals by running requests, without those in which the number has just changed; with a note on these.

    Examples
    --------
    >>> steady_groups([1, 1, 8, 8, 8])
    ([[1], [3, 4]], ())
    >>> steady_groups([1] * 9 + [3] + [8] * 9)[1]
    ('running requests 3 are left out: they last for no two intervals in a row',)
    """
    groups = clusters(sizes)
    steady_batches, passing = [], []
    for group in groups:
        steady = [i for i in group if i and i - 1 in group]
        if steady or len(group) >= RARE * sum(map(len, groups)):
            steady_batches.append(steady or group)
        else:
            passing.append(f"{sizes[group[0]]:g}")
    note = f"running requests {', '.join(passing)} are left out: they last for no two intervals in a row"
    return steady_batches, (note,) if passing else ()


def mended(counts: list[int], total: int) -> list[int]:
    """Return counts that sum to the total, as rounded rates do not; as they are where they would increase."""
    off = total - sum(counts)
    # Nothing stands above the first count: it takes all that is missing.
    if off >= 0:
        return [counts[0] + off, *counts[1:]]
    # What is too much comes off the last counts, none of which falls below the one behind it.
    fixed, least = list(counts), 0
    for k in reversed(range(len(fixed))):
        fixed[k], before = max(fixed[k] + off, least), fixed[k]
        off, least = off + before - fixed[k], fixed[k]
    return counts if off else fixed


def check_counts(run: EngineLog) -> EngineLog:
    """Return the run; ValueError if counts contradict each other (kept > blocks, accepted > drafted) or a time is 0."""
    # Times.
    for name, time in (("token", run.token), ("cycle", run.cycle), ("verifying pass", run.verify)):
        if time is not None and not time.value > 0:
            raise ValueError(f"{run.source}: a {name} takes {time.value:g} s; expected more than 0")
    # Accepted drafts: no more than were drafted, falling by position, with the right sum.
    if run.drafted is not None and run.accepted is not None and run.accepted > run.drafted:
        raise ValueError(f"{run.source}: {run.accepted} drafts accepted of {run.drafted} drafted; expected no more")
    counts = (*([] if run.blocks is None else [run.blocks]), *run.kept)
    for i in range(1, len(counts)):
        if counts[i] > counts[i - 1]:
            raise ValueError(
                f"{run.source}: {counts[i]} blocks kept draft {i if run.blocks is not None else i + 1}, "
                f"more than the {counts[i - 1]} that came so far"
            )
    if run.kept and run.accepted is not None and sum(run.kept) != run.accepted:
        raise ValueError(
            f"{run.source}: positions sum to {sum(run.kept)} accepted drafts, the total is {run.accepted}; they differ"
        )
    return run
