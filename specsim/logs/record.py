"""What a log says of one run, whatever engine wrote it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from specsim.latency import Timing


class EngineLog(NamedTuple):
    """What a log says of one run, with speculation or without; None where it says nothing.

    Times are seconds. length: draft steps of a block, in the mean. verified: tokens of one sequence in a verifying
    pass, the nodes of a tree and its root; length + 1 for a chain. blocks, drafted, accepted: counts. kept: blocks that
    kept draft 1, 2, ... and all before it. tau: tokens per target call where the log prints it. token: of one sequence.
    cycle: one draft-verify cycle. draft, verify, overhead: its parts, where the engine times them. notes: what a reader
    must know of the numbers.

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


def timing(samples: Sequence[float]) -> Timing | None:
    """The mean of samples and its standard error, which one sample does not tell; None without samples.

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
    """A finite number that is not negative; ValueError with its place otherwise."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"{place} is {text.strip()[:40]!r}; expected a number that is not negative")
    return value


def whole(value: float, place: str) -> int:
    """A whole number; ValueError with its place otherwise."""
    if value != math.floor(value):
        raise ValueError(f"{place} is {value:g}; expected a whole number")
    return int(value)


def check_counts(run: EngineLog) -> EngineLog:
    """The same run, if its counts can be those of one: kept <= blocks, accepted <= drafted."""
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
