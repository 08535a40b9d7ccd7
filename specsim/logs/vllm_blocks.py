"""Blocks and steps in the lines of vLLM: how many blocks a line counts, and which share of the steps had a draft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specsim.latency import Timing
from specsim.logs.record import MISCOUNTED

# From this share on every step counts as one with a draft: tokens a second include the first token of each answer.
TIMED = 0.9
# Half a unit of the last printed digit, and a little: means have two digits, rates three.
MEAN_ROUNDING, RATE_ROUNDING = 0.0051, 0.00051
# First words of methods that look drafts up, and find none in many steps.
LOOKED_UP = ("ngram", "suffix", "prompt_lookup")


class Drafts(NamedTuple):
    """One line `SpecDecoding metrics`; seconds: its interval, where throughputs are printed beside counts.

    unlike: why its rates are not those of its counts, "" if they are.
    """

    accepted: int
    drafted: int
    shares: tuple[float, ...]
    mean: float | None
    seconds: float | None
    unlike: str = ""


class Interval(NamedTuple):
    """One line `Avg generation throughput` and the drafts of its interval; seconds: None where nothing tells them."""

    running: float
    rate: float
    prompt: bool
    seconds: float | None
    drafts: tuple[Drafts, ...]


def coverage_of(intervals: Sequence[Interval], method: str | None) -> float | None:
    """Return the share of steps that had a draft: a step emits its accepted drafts, and one token more.

    None where intervals are not timed, and the method is not one that drafts in every step.
    """
    blocks, steps = _blocks_and_steps(intervals)
    if blocks and steps > blocks * MISCOUNTED:
        share_of_steps = blocks / steps
        return share_of_steps if share_of_steps < TIMED else 1.0
    return None if method is None or method.startswith(LOOKED_UP) else 1.0


def _blocks_and_steps(intervals: Sequence[Interval]) -> tuple[float, float]:
    """Return the blocks of all timed intervals, and their steps by the tokens of their time."""
    blocks, steps = 0.0, 0.0
    # A log may end between the two lines of an interval.
    complete = intervals if not intervals or intervals[-1].drafts else intervals[:-1]
    for interval in complete:
        n = [whole_blocks(line) or _counted(line) for line in interval.drafts]
        if interval.seconds is None or None in n:
            continue
        blocks += sum(v for v in n if v is not None)
        steps += interval.rate * interval.seconds - sum(d.accepted for d in interval.drafts)
    return blocks, steps


def unlike_tokens(intervals: Sequence[Interval]) -> list[str]:
    """Return the note that blocks emitted far more tokens than the throughput of their intervals, none otherwise."""
    blocks, steps = _blocks_and_steps(intervals)
    if steps > blocks * MISCOUNTED or not blocks:
        return []
    more = f"{blocks - steps:.0f} tokens more than the throughput of their intervals"
    return [f"blocks emitted {more}: counts and throughput are not of the same intervals, or not of the same requests"]


def _counted(line: Drafts) -> float | None:
    """The number of blocks of a line by its printed mean; None without one."""
    if not line.drafted:
        return 0.0
    return line.accepted / (line.mean - 1) if line.mean is not None and line.mean > 1.02 else None


def printed_tau(lines: Sequence[Drafts]) -> Timing | None:
    """Tokens of a block with drafts by the printed means; None if a line has none."""
    blocks = [_counted(line) for line in lines]
    if None in blocks or not sum(n for n in blocks if n is not None):
        return None
    return Timing(1 + sum(line.accepted for line in lines) / sum(n for n in blocks if n is not None), None)


def whole_blocks(line: Drafts) -> int | None:
    """The number of blocks of a line, where all have one length and the printed mean and rates agree."""
    length = len(line.shares)
    if not length or line.drafted % length:
        return None
    n = line.drafted // length
    if n and line.mean is not None and abs(1 + line.accepted / n - line.mean) > MEAN_ROUNDING:
        return None
    if n and abs(sum(line.shares) - line.accepted / n) > length * RATE_ROUNDING:
        return None
    return n
