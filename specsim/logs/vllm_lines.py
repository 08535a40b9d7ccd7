"""The lines that vLLM logs every ten seconds: throughput and running requests, and what was drafted and accepted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from specsim.base.intervals import ratio_error
from specsim.latency import Timing
from specsim.logs.printed import contradiction
from specsim.logs.record import DENSE, DISAGREE, EngineLog, mended, number, share, steady_groups, whole
from specsim.logs.vllm_blocks import (
    MEAN_ROUNDING,
    Drafts,
    Interval,
    coverage_of,
    printed_tau,
    unlike_tokens,
    whole_blocks,
)
from specsim.logs.vllm_server import METHOD, check_one_server, graph_notes, without_cut_line

ENGINE = re.compile(r"Avg generation throughput: ([\d.]+) tokens/s, Running: (\d+) reqs")
_PROMPT = re.compile(r"Avg prompt throughput: ([\d.]+) tokens/s")
_STAMP = re.compile(r"(?:INFO|WARNING|DEBUG) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)")


def _intervals(text: str, source: str) -> list[Interval]:
    """The intervals of a log; drafts before the first line of throughput belong to an interval of their own."""
    # Read lines of throughput, each an interval, and lines of counts, which belong to the interval before.
    intervals: list[Interval] = []
    stamps: dict[str, list[int]] = {}
    for line_number, line in enumerate(text.splitlines(), 1):
        place = f"{source}, line {line_number}"
        if (rate := ENGINE.search(line)) is not None:
            prompt = _PROMPT.search(line)
            seen = stamps.setdefault(_first(r"Engine (\d+)", line) or "", [])
            seconds: float | None = None
            if (stamp := _seconds(line)) is not None:
                seconds = stamp - seen[-1] if seen and stamp > seen[-1] else None
                seen.append(stamp)
            read = bool(prompt and number(prompt[1], f"{place}: prompt throughput"))
            running = number(rate[2], f"{place}: Running")
            intervals.append(Interval(running, number(rate[1], f"{place}: throughput"), read, seconds, ()))
        if "SpecDecoding metrics:" in line:
            drafts = _drafts_of(line, place)
            # An idle engine prints 0, or nan.
            if not drafts.drafted:
                continue
            # Engines that share the requests print their throughput before it, each for the same interval.
            first = next((k + 1 for k in reversed(range(len(intervals))) if intervals[k].drafts), 0)
            intervals[first:] = [_timed(interval, drafts.seconds) for interval in intervals[first:]]
            # Without a line of throughput before it nothing is known of the interval but its drafts.
            last = intervals.pop() if intervals else Interval(0.0, 0.0, False, None, ())
            intervals.append(last._replace(drafts=(*last.drafts, drafts)))
    # An idle engine prints nothing, and its throughput of drafts is over the idle time, too: the interval behind it is
    # as long as the others are.
    usual = sorted(interval.seconds for interval in intervals if interval.seconds is not None)
    most = 1.5 * usual[len(usual) // 2] if usual else 0.0
    return [
        interval._replace(seconds=most / 1.5) if interval.seconds and interval.seconds > most else interval
        for interval in intervals
    ]


# Two lines this many times as far apart as the interval that counts are of: the engine was idle, or started anew.
APART = 1.5


def _timed(interval: Interval, seconds: float | None) -> Interval:
    """The interval with the seconds by its counts and throughputs, if stamps have none, or far more."""
    if seconds is None or (interval.seconds is not None and interval.seconds <= APART * seconds):
        return interval
    return interval._replace(seconds=seconds)


def _drafts_of(line: str, place: str) -> Drafts:
    """Read a line of counts."""
    counts = {name: _first(rf"{name}: (\d+) tokens", line) for name in ("Accepted", "Drafted")}
    if None in counts.values():
        raise ValueError(f"{place}: expected 'Accepted: N tokens, Drafted: N tokens', found neither")
    accepted, drafted = (whole(number(v or "", f"{place}: {k}"), f"{place}: {k}") for k, v in counts.items())
    # Rates by position, mean length, and the interval by the throughput of drafts: not every version prints them.
    places = _first(r"Per-position acceptance rate: ([\d., ]*\d)", line) or ""
    shares = tuple(share(v, f"{place}: rate of position {k}") for k, v in enumerate(places.split(",")) if places)
    mean = _first(r"Mean acceptance length: ([\d.]+)", line)
    speed = _first(r"Drafted throughput: ([\d.]+) tokens/s", line)
    pace = number(speed, f"{place}: drafted throughput") if speed else 0.0
    mean_length = None if mean is None else number(mean, f"{place}: mean acceptance length")
    seconds = drafted / pace if pace and drafted else None
    rate = _first(r"[Dd]raft acceptance rate: ([\d.]+)%", line)
    kept = _first(r"Accepted throughput: ([\d.]+) tokens/s", line)
    unlike = ""
    if drafted and rate is not None:
        unlike = contradiction("Draft acceptance rate, in %,", rate, [100 * accepted / drafted], place)
    if speed and kept and drafted:
        unlike = unlike or _unlike_throughputs(float(kept), pace, accepted, drafted)
    return Drafts(accepted, drafted, shares, mean_length, seconds, unlike)


def _unlike_throughputs(kept: float, made: float, accepted: int, drafted: int) -> str:
    """Return that throughputs, printed with two digits, are not in the ratio of the counts, "" if they are."""
    if abs(kept * drafted - made * accepted) <= MEAN_ROUNDING * (drafted + accepted):
        return ""
    return (
        f"Accepted throughput is {kept:g} of {made:g} tokens/s, and the counts are {accepted} of {drafted} tokens; "
        "they differ"
    )


def _first(pattern: str, line: str) -> str | None:
    """The first group of the first match; None without one."""
    match = re.search(pattern, line)
    return match[1] if match else None


def _seconds(line: str) -> int | None:
    """Seconds since the start of a year by the line's stamp; None without one."""
    stamp = _STAMP.search(line)
    if stamp is None:
        return None
    month, day, hour, minute, second = map(int, stamp.groups())
    return (((month * 31 + day) * 24 + hour) * 60 + minute) * 60 + second


def read_lines(text: str, source: str, by_batch: bool) -> list[EngineLog]:
    """Return one run of all intervals, or one for each number of running requests."""
    check_one_server(text, source)
    text, cut = without_cut_line(text)
    of_server = (*graph_notes(text), *cut)
    intervals = _intervals(text, source)
    lengths = {len(drafts.shares) for interval in intervals for drafts in interval.drafts}
    if len(lengths) > 1:
        both = " and with ".join(map(str, sorted(lengths)[:2]))
        raise ValueError(f"{source} holds lines with {both} rates by position; split it: one server a file")
    named = METHOD.search(text)
    method = named[1] if named else None
    # Batches of their own, if there are several.
    groups, left = steady_groups([interval.running for interval in intervals]) if by_batch else ([], ())
    if len(groups) < 2:
        run = _summary(intervals, source, method)
        return [run._replace(notes=(*run.notes, *of_server))]
    runs = []
    for group in groups:
        run = _summary([intervals[i] for i in group], source, method)
        # Speculation was switched off at this batch.
        if not run.speculating and any(interval.drafts for interval in intervals):
            run = run._replace(speculating=True, length=0.0)
        runs.append(run._replace(batch=float(round(run.batch or 0.0)), notes=(*run.notes, *left, *of_server)))
    return runs


def _summary(intervals: Sequence[Interval], source: str, method: str | None) -> EngineLog:
    """Condense the intervals at one load into a run: counts, block length, tau, time per token, coverage, notes."""
    # Throughput counts only while requests run.
    busy = [interval for interval in intervals if interval.running]
    rates, sizes = [interval.rate for interval in busy], [interval.running for interval in busy]
    notes = []
    if any(interval.prompt for interval in busy):
        notes.append("prompts were read in the intervals timed, so that a token seems to take longer than it does")
    # Count blocks and accepted drafts by position, line by line.
    lines = [line for interval in intervals for line in interval.drafts]
    accepted, drafted = sum(line.accepted for line in lines), sum(line.drafted for line in lines)
    notes += [line.unlike for line in lines if line.unlike][:1]
    counts = [whole_blocks(line) for line in lines]
    blocks = sum(n for n in counts if n is not None)
    by_position: list[int] = []
    for line, n in zip(lines, counts, strict=True):
        for k, part in enumerate(line.shares if n is not None else ()):
            by_position += [0] * (k + 1 - len(by_position))
            by_position[k] += round(part * (n or 0))
    # Rates have three digits, which are too few where an interval has many blocks.
    if by_position and sum(by_position) != accepted:
        by_position = mended(by_position, accepted)
    # The block length, if every line tells its number of blocks.
    speculating = drafted > 0 or method is not None
    length = 0.0 if speculating else None
    blocks_known = drafted > 0 and None not in counts and blocks > 0
    if drafted and not blocks_known:
        notes.append(_unknown(lines, counts))
    if drafted:
        length = drafted / blocks if blocks_known else None
    # Seconds per token of one sequence.
    token = None
    if rates:
        import numpy as np

        of_time = ratio_error(np.array(sizes), np.array(rates)) if len(rates) > 1 else None
        token = Timing(sum(sizes) / sum(rates), of_time) if sum(rates) else None
    # The share of steps that had a draft.
    coverage = coverage_of(intervals, method) if drafted else 1.0
    notes += unlike_tokens(intervals)
    if coverage is not None and coverage < DENSE:
        notes.append("steps without a draft follow from the tokens a second, the first of each answer among them")
    return EngineLog(
        "vLLM",
        source,
        speculating,
        batch=sum(sizes) / len(sizes) if sizes else None,
        length=length,
        blocks=blocks if blocks_known else None,
        drafted=drafted if speculating else None,
        accepted=accepted if speculating else None,
        kept=tuple(by_position) if blocks_known else (),
        tau=printed_tau(lines) if drafted and not blocks_known else None,
        token=token,
        notes=tuple(dict.fromkeys(notes)),
        coverage=coverage,
    )


def _unknown(lines: Sequence[Drafts], counts: Sequence[int | None]) -> str:
    """Return why the number of blocks is not known."""
    odd = [line for line, n in zip(lines, counts, strict=True) if n is None]
    if not any(drafts.shares for drafts in lines):
        return "no rates by position are printed, as by vLLM before 0.9"
    if any(drafts.drafted % len(drafts.shares) for drafts in odd if drafts.shares):
        return "blocks differ in length, so their number, and the rates by position, are not known"
    line, k = odd[0], len(odd[0].shares)
    mean = "" if line.mean is None else f", and the mean length is {line.mean:g}"
    return (
        f"{DISAGREE} (with {k} drafts a block, {line.accepted} of {line.drafted} accepted are "
        f"{line.accepted * k / line.drafted:.4g} a block; the rates sum to {sum(line.shares):.4g}{mean}), so "
        "blocks are not known"
    )
