"""Pairs of logs, without speculation and with it, as times of which terms are solved for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from specsim.base import check
from specsim.latency import Timing
from specsim.logs.conversions import LogTau
from specsim.logs.measures import log_tau
from specsim.logs.record import DENSE, EngineLog, per_step, shown
from specsim.speed.parts import OTHER_RUN, implausible_speedup
from specsim.speed.prediction import Estimate, interval
from specsim.speed.terms import Observation

# Relative standard error of a time whose spread the log does not show.
NOISE = 0.02


def check_pairs(off: Sequence[EngineLog], on: Sequence[EngineLog]) -> None:
    """ValueError unless these are runs of one engine and one model, without and with speculation."""
    # Lists of records, none empty.
    for name, runs in (("off", off), ("on", on)):
        if not isinstance(runs, list | tuple) or isinstance(runs, EngineLog):
            raise TypeError(f"{name} must be a list of EngineLog, got {check.shown(runs)}")
        for i, run in enumerate(runs):
            check.record(run, f"{name}[{i}]", EngineLog)
    if not off or not on:
        raise ValueError(f"give a run without speculation and one with it; got {len(off)} and {len(on)}")
    # Runs without speculation, with a time; runs with it, of the same engine; one model.
    for run in off:
        if run.speculating:
            raise ValueError(f"{run.source} speculates; expected a log of the same engine with speculation off")
        if run.token is None:
            raise ValueError(f"{run.source} has no time per token; expected one to compare with")
    for run in on:
        if not run.speculating:
            raise ValueError(f"{run.source} does not speculate; expected a log with speculation on")
        if run.engine != off[0].engine:
            ours = "; JSON of ours says of which: engine beside runs" if "own" in (run.engine, off[0].engine) else ""
            raise ValueError(
                f"{off[0].source} is of {off[0].engine}, {run.source} of {run.engine}; expected one engine{ours}"
            )
        if run.token is None and run.cycle is None:
            raise ValueError(f"{run.source} has no time per token or cycle; expected one")
    _check_times(off, on)
    models = {run.model: run.source for run in (*off, *on) if run.model}
    if len(models) > 1:
        named = ", ".join(f"{model} ({source})" for model, source in models.items())
        raise ValueError(f"the logs are of the models {named}; expected one")


# The largest ratio of two times of one model on one machine: with more, sums of them lose the smaller one.
FARTHEST = 1e6


def _check_times(off: Sequence[EngineLog], on: Sequence[EngineLog]) -> None:
    """ValueError if two times are farther apart than those of one model on one machine can be."""
    names = ("token", "cycle", "verify")
    times = [(time.value, name, run.source) for run in (*off, *on) for name in names if (time := getattr(run, name))]
    # Parts of a cycle may take no time, so only the longest of them count.
    parts = [
        (time.value, name, run.source) for run in on for name in ("draft", "overhead") if (time := getattr(run, name))
    ]
    (least, name, source), (most, other, where) = min(times), max([*times, *parts])
    if most > FARTHEST * least:
        raise ValueError(
            f"{source} has a {name} of {1e3 * least:.3g} ms, {where} a {other} of {1e3 * most:.3g} ms; expected times "
            f"of one model and machine, less than {FARTHEST:g} times apart"
        )


class LogSpeed(NamedTuple):
    """The speedup of one log with speculation over those without it at its batch; doubt: why it cannot be, or ""."""

    source: str
    batch: float
    length: float | None
    speedup: Estimate
    doubt: str = ""


class Pairs(NamedTuple):
    """Runs at the smallest batch that logs of both kinds have, the speedup of every log, and notes on logs left out."""

    plain: list[EngineLog]
    runs: list[EngineLog]
    by_log: tuple[LogSpeed, ...]
    left_out: tuple[str, ...]

    @property
    def by_batch(self) -> tuple[tuple[float, Estimate], ...]:
        """The speedup of the first log at each batch."""
        first = {log.batch: log.speedup for log in reversed(self.by_log)}
        return tuple(sorted(first.items()))


def at_one_batch(off: Sequence[EngineLog], on: Sequence[EngineLog], noise: float, z: float) -> Pairs:
    """The runs at the smallest batch that both have, and the speedup of every log at every batch."""
    pairs = []
    speeds = []
    matched: list[EngineLog] = []
    batches: list[float] = []
    for batch in sorted({run.batch or 1.0 for run in on}):
        # Logs whose batches are the same but for noise stand together.
        if any(same_batch(batch, other) for other in batches):
            continue
        # The runs of both kinds at this batch.
        plain = [run for run in off if same_batch(run.batch or 1.0, batch)]
        runs = [run for run in on if same_batch(run.batch or 1.0, batch) and run not in matched]
        if not plain or not runs:
            continue
        batches.append(batch)
        matched += [*plain, *runs]
        pairs.append((plain, runs))
        # The speedup of each, and why it cannot be.
        step = plain_step_of(plain, noise)
        for run in runs:
            tau = tau_of(run, None)
            speed = speedup_of(run, step, tau, cycle_time(run, tau, noise), z, noise)
            doubt = implausible_speedup(speed, tau, run.length, z) or unlike_token(run, tau, noise, z)
            speeds.append(LogSpeed(run.source, batch, run.length, speed, doubt))
    if not pairs:
        sizes = [sorted({round(run.batch or 1.0, 1) for run in some}) for some in (off, on)]
        raise ValueError(f"the logs are of batches {sizes[0]} off and {sizes[1]} on; expected one batch in both")
    left = _left_out(off, matched, "with") + _left_out(on, matched, "without")
    return Pairs(*pairs[0], tuple(speeds), left)


def _left_out(runs: Sequence[EngineLog], matched: Sequence[EngineLog], other: str) -> tuple[str, ...]:
    """One note for each log with batches that no log of the other kind has."""
    alone: dict[str, list[str]] = {}
    for run in runs:
        if run not in matched:
            alone.setdefault(run.source, []).append(shown(run.batch or 1.0))
    return tuple(
        f"{source}: {'batch' if len(sizes) == 1 else 'batches'} {', '.join(sizes)} left out, for no log {other} "
        "speculation is of that batch"
        for source, sizes in alone.items()
    )


def same_batch(first: float, second: float) -> bool:
    """Return whether two batches are the same but for noise."""
    return abs(first - second) <= 0.1 * max(first, second)


def plain_step_of(plain: Sequence[EngineLog], noise: float) -> Timing:
    """The mean of the plain steps of several runs."""
    times = [sure(run.token, noise) for run in plain if run.token is not None]
    weights = [1 / (time.error or 1.0) ** 2 for time in times]
    mean = sum(w * time.value for w, time in zip(weights, times, strict=True)) / sum(weights)
    return Timing(mean, 1 / math.sqrt(sum(weights)))


def verdict_of(speedup: Estimate) -> str:
    """Return "slower", "faster", or "neither" where the interval holds 1."""
    if speedup.high is not None and speedup.high < 1:
        return "slower"
    return "faster" if speedup.low is not None and speedup.low > 1 else "neither"


def sure(time: Timing, noise: float) -> Timing:
    """The time with its standard error; the noise stands in where the log does not show the spread."""
    return time if time.error else time._replace(error=noise * time.value or noise * 1e-6)


def tau_of(run: EngineLog, length: int | None) -> LogTau | None:
    """Tokens per target call by a log; None if it does not say."""
    if run.length == 0:
        return LogTau(1.0, 0.0)
    try:
        return log_tau(run, length=length)
    except ValueError:
        return None


def cycle_time(run: EngineLog, tau: LogTau | None, noise: float) -> Timing | None:
    """Seconds of a cycle: as timed, or tokens of a cycle times the time of each."""
    if run.cycle is not None:
        return sure(run.cycle, noise)
    if tau is None or run.token is None:
        return None
    token = sure(run.token, noise)
    relative = math.hypot((token.error or 0.0) / token.value, (tau.error or 0.0) / tau.value)
    return Timing(token.value * tau.value, token.value * tau.value * relative)


def observed(run: EngineLog, length: int | None, noise: float) -> list[Observation]:
    """The measured times of a run as observations of the terms."""
    gamma = run.length if run.length is not None else length
    cycle = cycle_time(run, tau_of(run, length), noise)
    if gamma is None or cycle is None:
        return []
    # The cycle, and the parts of it that the log times.
    tokens = run.verified if run.verified is not None else gamma + 1
    rows = [((1.0, float(gamma), tokens - 1.0, 1.0), cycle)]
    timed = (
        ((0.0, float(gamma), 0.0, 0.0), run.draft),
        ((1.0, 0.0, tokens - 1.0, 0.0), run.verify),
        ((0.0, 0.0, 0.0, 1.0), run.overhead),
    )
    rows += [(row, sure(time, noise)) for row, time in timed if time is not None and any(row)]
    return [Observation(row, time.value, time.error or 0.0) for row, time in rows]


# A token is timed as long as a cycle over its tokens, up to this factor beside noise.
AGREE = 1.1
# The same for vLLM, which observes tokens by request and cycles by step: means of other things.
AGREE_BY_REQUEST = 1.3


def unlike_token(run: EngineLog, tau: LogTau | None, noise: float, z: float) -> str:
    """Return why the times of a token and of a cycle cannot be those of one run, "" if they can.

    Examples
    --------
    >>> run = EngineLog("own", "on", True, token=Timing(0.099), cycle=Timing(0.05))
    >>> unlike_token(run, LogTau(2.5, 0.0), 0.02, 1.96)[:60]
    'a cycle of 50 ms that emits 2.50 tokens takes 20 ms for each'
    """
    is_of_steps = run.coverage is not None and (run.coverage >= DENSE or bool(run.blocks))
    if tau is None or run.token is None or run.cycle is None or not is_of_steps:
        return ""
    # A token should take a cycle over tau, up to the errors of all three.
    token, cycle = sure(run.token, noise), sure(run.cycle, noise)
    expected = cycle.value / tau.value
    parts = [(estimate.error or 0.0) / estimate.value for estimate in (token, cycle, tau)]
    factor = AGREE_BY_REQUEST if run.engine == "vLLM" else AGREE
    if abs(math.log(expected / token.value)) <= max(math.log(factor), z * math.hypot(*parts)):
        return ""
    return (
        f"a cycle of {1e3 * cycle.value:.3g} ms that emits {tau.value:.2f} tokens takes {1e3 * expected:.3g} ms for "
        f"each, and a token is timed at {1e3 * token.value:.3g} ms; {OTHER_RUN}"
    )


def timed_notes(run: EngineLog, length: int | None, level: float) -> list[str]:
    """Return a sentence if counted tau is not the one that the times of a token and of a cycle tell, [] if it is."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    steps = per_step(run)
    words = unlike_token(steps, tau_of(steps, length), NOISE, z)
    return [f"implausible: {words}"] if words else []


def speedup_of(
    run: EngineLog, step: Timing, tau: LogTau | None, cycle: Timing | None, z: float, noise: float
) -> Estimate:
    """The measured speedup: plain token over token, or tau over the cycle where only that is timed."""
    of_step = ((step.error or 0.0) / step.value) ** 2
    if run.token is not None:
        token = sure(run.token, noise)
        return interval(step.value / token.value, of_step + ((token.error or 0.0) / token.value) ** 2, z)
    if tau is None or cycle is None:
        raise ValueError(f"{run.source} has the time of a cycle, but not how many tokens it emits; expected both")
    spread = of_step + ((cycle.error or 0.0) / cycle.value) ** 2 + ((tau.error or 0.0) / tau.value) ** 2
    return interval(tau.value * step.value / cycle.value, spread, z)
