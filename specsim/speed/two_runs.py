"""Two runs that both speculate, before and after a change: is it acceptance, or the time of a cycle?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from specsim.base import check
from specsim.base.results import result
from specsim.latency import Timing
from specsim.logs.conversions import LogTau
from specsim.logs.given import unlike_rate, unused_length
from specsim.logs.measures import check_tau, implausible
from specsim.logs.record import EngineLog, per_step, shown
from specsim.speed.parts import OTHER_RUN, most_speedup
from specsim.speed.prediction import Estimate, interval
from specsim.speed.runs import cycle_time, same_batch, sure, tau_of, unlike_token, verdict_of


class Side(NamedTuple):
    """One of the two runs: tokens of a cycle and its seconds, None if the log does not have them."""

    source: str
    batch: float
    tau: Estimate | None
    cycle: Estimate | None


@result("verdict", "cause", "speedup")
class RunComparison(NamedTuple):
    """How fast `new` is in terms of `old`: the ratio of tokens a cycle over that of the times of a cycle.

    verdict: "slower", "faster", or "neither" where the interval holds 1. cause: "acceptance" or "cycle", whichever
    moves the speed further in its direction; "" where a log does not say tokens of a cycle, or where the interval of
    that factor holds 1.
    acceptance, cycle: ratios, new over old. notes: what the numbers rest on. doubt: why the logs are likely not of one
    model, machine and load, "" if nothing speaks against it.

    Examples
    --------
    >>> from specsim.latency import Timing
    >>> old = EngineLog("own", "old", True, length=3, tau=Timing(2.745), token=Timing(1 / 21.1))
    >>> comparison = compare_runs(old, old._replace(source="new", tau=Timing(2.977), token=Timing(1 / 13.0)))
    >>> comparison.verdict, comparison.cause, round(comparison.speedup.value, 3)
    ('slower', 'cycle', 0.616)
    """

    old: Side
    new: Side
    verdict: str
    cause: str
    speedup: Estimate
    acceptance: Estimate | None
    cycle: Estimate | None
    notes: tuple[str, ...]
    doubt: str = ""


def compare_runs(
    old: EngineLog, new: EngineLog, *, length: int | None = None, noise: float = 0.02, level: float = 0.95
) -> RunComparison:
    r"""Compare two runs that speculate.

    .. math:: \frac{S_2}{S_1} = \frac{\tau_2}{\tau_1} \cdot \frac{T_{c,1}}{T_{c,2}}

    Parameters
    ----------
    old, new : EngineLog
        Runs with speculation, of one model at one batch.
    length : int, optional
        Drafts of a block, where a log does not say it.
    noise : float
        Relative standard error of a time whose spread a log does not show.
    level : float
        Level of the intervals, in (0, 1).

    Returns
    -------
    RunComparison
        The speed, and its two factors.

    Raises
    ------
    ValueError
        No time in a log, other models or batches, or more tokens a cycle than its drafts and one.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, theorem 3.8 (tokens of a cycle over its time).

    Examples
    --------
    >>> from specsim.latency import Timing
    >>> old = EngineLog("own", "old", True, length=3, tau=Timing(2.0), token=Timing(0.01))
    >>> compare_runs(old, old._replace(tau=Timing(1.5), token=Timing(0.0134))).cause
    'acceptance'
    """
    z = NormalDist().inv_cdf((1 + float(check.scalar(level, "level", "(0, 1)"))) / 2)
    spread = float(check.scalar(noise, "noise", "[0.0001, 1]"))
    _check(old, new)
    # tau, and the times of a cycle and of a token, of both runs.
    runs = [per_step(run) for run in (old, new)]
    taus = [tau_of(run, length) for run in runs]
    for run, tau in zip(runs, taus, strict=True):
        check_tau(run, tau, run.length if run.length is not None else length)
    cycles = [cycle_time(run, tau, spread) for run, tau in zip(runs, taus, strict=True)]
    tokens = [_token_time(run, tau, cycle, spread) for run, tau, cycle in zip(runs, taus, cycles, strict=True)]
    speedup = _ratio(tokens[0], tokens[1], z)
    # Its two factors, where both logs say them.
    acceptance = None if taus[0] is None or taus[1] is None else _ratio(taus[1], taus[0], z)
    longer = None if cycles[0] is None or cycles[1] is None else _ratio(cycles[1], cycles[0], z)
    before, after = (
        Side(run.source, run.batch or 1.0, _around(tau, z), _around(cycle, z))
        for run, tau, cycle in zip(runs, taus, cycles, strict=True)
    )
    # The verdict with its cause; notes and doubts.
    notes = [f"{run.source}: {note}" for run in runs for note in (*run.notes, *implausible(run))]
    notes += [note for run in (old, new) for note in (*unused_length(run, length), *unlike_rate(run, length))]
    verdict = verdict_of(speedup)
    cause = "" if verdict == "neither" else _cause(speedup, acceptance, longer)
    gammas = [run.length if run.length is not None else length for run in runs]
    unlike = [unlike_token(run, tau, spread, z) for run, tau in zip(runs, taus, strict=True)]
    return RunComparison(
        before,
        after,
        verdict,
        cause,
        speedup,
        acceptance,
        longer,
        tuple(dict.fromkeys(notes)),
        next(filter(None, unlike), "") or _doubt(speedup, before.source, after.source, gammas),
    )


def same_runs(old: Sequence[EngineLog], new: Sequence[EngineLog]) -> list[tuple[EngineLog, EngineLog]]:
    """Return the runs of two logs at each batch that both have, smallest first; ValueError if there is none."""
    pairs = []
    for before in sorted(old, key=lambda run: run.batch or 1.0):
        after = next((run for run in new if same_batch(before.batch or 1.0, run.batch or 1.0)), None)
        if after is not None:
            pairs.append((before, after))
    if not pairs:
        sizes = [", ".join(sorted({shown(run.batch or 1.0) for run in runs})) for runs in (old, new)]
        raise ValueError(
            f"{old[0].source} is of batch {sizes[0]}, {new[0].source} of batch {sizes[1]}; expected one batch in both"
        )
    return pairs


def _check(old: EngineLog, new: EngineLog) -> None:
    """Raise ValueError unless both runs speculate, are timed, and are of one model."""
    for run in (old, new):
        if not run.speculating:
            raise ValueError(f"{run.source} does not speculate; expected a log with speculation on")
        if run.token is None and run.cycle is None:
            raise ValueError(f"{run.source} has no time per token or cycle; expected one")
    if old.model and new.model and old.model != new.model:
        raise ValueError(f"{old.source} is of the model {old.model}, {new.source} of {new.model}; expected one")


def _token_time(run: EngineLog, tau: LogTau | None, cycle: Timing | None, noise: float) -> Timing:
    """Return the seconds of a token: as timed, or the time of a cycle over its tokens."""
    if run.token is not None:
        return sure(run.token, noise)
    # Relative variances of the cycle's time and of its tokens add up.
    if tau is None or cycle is None:
        raise ValueError(f"{run.source} has the time of a cycle, but not how many tokens it emits; expected both")
    relative = math.hypot((cycle.error or 0.0) / cycle.value, (tau.error or 0.0) / tau.value)
    return Timing(cycle.value / tau.value, relative * cycle.value / tau.value)


def _ratio(top: Timing | LogTau, bottom: Timing | LogTau, z: float) -> Estimate:
    """Return a ratio of two measured numbers with its interval: relative variances add up."""
    variance = ((top.error or 0.0) / top.value) ** 2 + ((bottom.error or 0.0) / bottom.value) ** 2
    return interval(top.value / bottom.value, variance, z)


def _around(number: Timing | LogTau | None, z: float) -> Estimate | None:
    """Return a measured number with its interval, which does not go below 0."""
    if number is None:
        return None
    half = z * (number.error or 0.0)
    return Estimate(number.value, max(number.value - half, 0.0), number.value + half)


def _doubt(speedup: Estimate, old: str, new: str, gammas: Sequence[float | None]) -> str:
    """Return why two runs differ by more than drafts can make, "" if they do not.

    Over plain decoding a run of gamma drafts gains gamma + 1 times at most; so if it gains more over the other run, the
    other one is slower than plain decoding.
    """
    low = speedup.value if speedup.low is None else speedup.low
    high = speedup.value if speedup.high is None else speedup.high
    # The slower run, the least by which the other one is faster, and the other one's drafts.
    slow, ratio, gamma = (old, low, gammas[1]) if speedup.value > 1 else (new, 1 / high, gammas[0])
    most, words = most_speedup(gamma)
    return f"{words} over plain decoding, so {slow} is slower than that; {OTHER_RUN}" if ratio > most else ""


def _cause(speedup: Estimate, acceptance: Estimate | None, cycle: Estimate | None) -> str:
    """Return the cause of the changed speed, "acceptance" or "cycle"; "" if it is unknown or may be noise.

    log S = log acceptance - log cycle, in ratios of new over old: the cause is the term that moves log S further in the
    direction in which it went. S < 1 with acceptance 0.9 and cycle 1.3: the cause is "cycle".
    """
    if acceptance is None or cycle is None:
        return ""
    # Each term's share of log S, positive in its direction.
    direction = math.copysign(1.0, math.log(speedup.value))
    moved = {"acceptance": direction * math.log(acceptance.value), "cycle": -direction * math.log(cycle.value)}
    name = max(moved, key=lambda factor: moved[factor])
    # A factor whose change may be noise is not named.
    return "" if verdict_of({"acceptance": acceptance, "cycle": cycle}[name]) == "neither" else name
