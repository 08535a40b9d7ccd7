"""Why is it slower? From logs without speculation and with it: which term costs the gain, and what would help."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.results import result
from specsim.logs.conversions import LogTau
from specsim.logs.curves import curve_notes
from specsim.logs.given import unlike_rate, unused_length
from specsim.logs.measures import check_tau, counted_run, implausible
from specsim.logs.record import EngineLog, per_step, shown
from specsim.speed.parts import Part, implausible_speedup, implausible_terms, joined_names, not_negative, split
from specsim.speed.prediction import Estimate, interval
from specsim.speed.remedies import Mend, remedies
from specsim.speed.runs import (
    NOISE,
    LogSpeed,
    at_one_batch,
    check_pairs,
    cycle_time,
    observed,
    plain_step_of,
    speedup_of,
    tau_of,
    unlike_token,
    verdict_of,
)
from specsim.speed.terms import PLAIN, STEP, Observation, in_steps, solve

# Chi-square for each time beyond the needed ones, above which the times do not lie on a line.
MISFIT = 9.0


@result("verdict", "cause", "speedup")
class Diagnosis(NamedTuple):
    """The term of the cycle that costs the gain of speculation; times are in plain steps of ``step`` seconds each.

    verdict: "slower", "faster", "neither" where the interval holds 1, or "implausible", for which `doubts` has the
    reasons. cause: "acceptance", or the names of the part
    of the cycle that costs most beyond one plain step. speedup: as measured. tau, cycle: tokens and time of a cycle.
    certain: the speedup if every draft were kept. parts: of the cycle. mends: what would help. missing: what to measure
    so that terms can be told apart. by_batch: the speedup at each batch. notes: what the numbers rest on. by_log: the
    speedup of every log. doubts: what cannot be so, each with its likely cause.

    Examples
    --------
    >>> from specsim import EngineLog
    >>> from specsim.latency import Timing
    >>> off = EngineLog("own", "off.csv", False, batch=1.0, token=Timing(0.010, 0.0001))
    >>> on = off._replace(source="on.csv", speculating=True, length=3.0, verified=4.0, blocks=900, drafted=2700)
    >>> diagnose([off], [on._replace(accepted=900, token=Timing(0.012, 0.0001))]).verdict
    'slower'
    """

    verdict: str
    cause: str
    step: float
    speedup: Estimate
    tau: Estimate | None
    cycle: Estimate | None
    certain: Estimate | None
    length: float | None
    verified: float | None
    parts: tuple[Part, ...]
    mends: tuple[Mend, ...]
    missing: tuple[str, ...]
    by_batch: tuple[tuple[float, Estimate], ...]
    notes: tuple[str, ...]
    by_log: tuple[LogSpeed, ...] = ()
    doubts: tuple[str, ...] = ()


def diagnose(
    off: Sequence[EngineLog],
    on: Sequence[EngineLog],
    *,
    length: int | None = None,
    noise: float = NOISE,
    level: float = 0.95,
) -> Diagnosis:
    r"""Find the term that costs the gain of speculation, from logs with speculation off and on.

    .. math:: S = \frac{\tau T_1}{T_c}, \qquad T_c = T_1 + \gamma d + (m - 1) s + o

    Parameters
    ----------
    off, on : sequence of EngineLog
        Runs without speculation, and with it at one length or several. The first run of `on` at the smallest batch is
        the one explained; the others help to tell terms apart.
    length : int, optional
        Drafts of a block, where a log does not say it.
    noise : float
        Relative standard error of a time whose spread a log does not show.
    level : float
        Level of the intervals, in (0, 1).

    Returns
    -------
    Diagnosis
        Terms that these logs cannot tell apart stand together, with what to measure. Passes are taken to cost the same
        more for each further token.

    Raises
    ------
    ValueError
        No run; speculation on in `off` or off in `on`; other engines, models or batches; no time per token.

    References
    ----------
    MagicDec, arXiv:2408.11049 (cycles composed of parts); Leviathan et al. 2023, arXiv:2211.17192, theorem 3.8.

    Examples
    --------
    >>> from specsim.latency import Timing
    >>> off = EngineLog("own", "off", False, token=Timing(0.010, 0.0001))
    >>> on = EngineLog("own", "on", True, length=1, tau=Timing(1.9, 0.01), token=Timing(0.012, 0.0001))
    >>> diagnosis = diagnose([off], [on])
    >>> diagnosis.verdict, diagnosis.cause, diagnosis.certain.value < 1
    ('slower', 'drafting, verifying and fixed work', True)
    """
    z = NormalDist().inv_cdf((1 + float(check.scalar(level, "level", "(0, 1)"))) / 2)
    spread = float(check.scalar(noise, "noise", "[0.0001, 1]"))
    if length is not None:
        length = check.integer(length, "length", 1, limits.MAX_GAMMA)
    check_pairs(off, on)
    # A cycle of a run in which some steps had no draft is a step, with a draft or without.
    pairs = at_one_batch(off, [per_step(run) for run in on], spread, z)
    plain, runs, by_batch = pairs.plain, pairs.runs, pairs.by_batch
    # The first run: its speedup, tau and cycle.
    first = runs[0]
    step = plain_step_of(plain, spread)
    tau = tau_of(first, length)
    gamma = first.length if first.length is not None else length
    cycle = cycle_time(first, tau, spread)
    speedup = speedup_of(first, step, tau, cycle, z, spread)
    check_tau(first, tau, gamma)
    notes = [*_notes([*plain, *runs]), *pairs.left_out, _noise_note([*plain, *runs], spread)]
    notes += _doubted(pairs.by_log[1:])
    notes += curve_notes([counted_run(run, length) for run in on], level)
    notes += [note for run in on for note in (*unused_length(run, length), *unlike_rate(run, length))]
    # Doubts: numbers that cannot be of these runs. A plain step is a cycle of one token.
    unlike_steps = [unlike_token(run, LogTau(1.0, 0.0), spread, z) for run in plain]
    unlike = next(filter(None, [unlike_token(first, tau, spread, z), *unlike_steps]), "")
    doubt = implausible_speedup(speedup, tau, gamma, z) or unlike
    verdict = "implausible" if doubt else verdict_of(speedup)
    # Without tau, gamma and the time of a cycle there is a verdict, but no cause.
    if cycle is None or tau is None or gamma is None:
        wanted = []
        if tau is None:
            wanted.append("how many tokens a target call emits (accepted drafts beside blocks)")
        if gamma is None:
            wanted.append("how many drafts a block has (--gamma)")
        known_tau = None if tau is None else _interval_of_tau(tau, z, None)
        return Diagnosis(
            verdict=verdict,
            cause="",
            step=step.value,
            speedup=speedup,
            tau=known_tau,
            cycle=None,
            certain=None,
            length=gamma,
            verified=first.verified,
            parts=(),
            mends=(),
            missing=tuple(wanted),
            by_batch=by_batch,
            notes=_distinct(notes),
            by_log=pairs.by_log,
            doubts=(doubt,) if doubt else (),
        )
    # Solve for the terms of a cycle.
    observations = [Observation(PLAIN, step.value, step.error or 0.0)]
    for run in runs:
        observations += observed(run, length, spread)
    terms = solve(observations)
    if terms.spare > 0 and terms.misfit > MISFIT * terms.spare:
        notes.append("the times do not lie on a line in the length: some pass, or some run, differs in kind")
    # The cycle of the first run, split into the parts that the times tell apart.
    verified = first.verified if first.verified is not None else gamma + 1
    rows = _rows(gamma, verified)
    whole = np.sum(rows, axis=0)
    total, of_total = in_steps(terms, whole)
    parts, missing = split(terms, rows, gamma, verified, total, z)
    steps = Estimate(total, max(total - z * of_total, 0.0), total + z * of_total)
    certain = interval((gamma + 1) / total, (of_total / total) ** 2, z)
    # Doubts about the parts, and changes that would help.
    doubts = implausible_terms(steps, parts) or ((doubt,) if doubt else ())
    parts = tuple(Part(part.names, not_negative(part.steps)) for part in parts)
    mends = remedies(first, runs, terms, tau, gamma, verified, _excess(parts), z)
    return Diagnosis(
        "implausible" if doubts else verdict,
        _cause(parts, tau.value, gamma, total),
        float(terms.values[STEP]),
        speedup,
        _interval_of_tau(tau, z, gamma),
        steps,
        certain,
        gamma,
        verified,
        parts,
        mends,
        missing,
        by_batch,
        _distinct(notes),
        pairs.by_log,
        doubts,
    )


def _rows(gamma: float, verified: float) -> list[tuple[float, float, float, float]]:
    """Rows of drafting, verifying and fixed work in a cycle; `verifying` includes the plain step."""
    return [(0.0, float(gamma), 0.0, 0.0), (1.0, 0.0, verified - 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)]


def _excess(parts: Sequence[Part]) -> dict[str, float]:
    """Plain steps that each term costs at most, beyond the one of a pass: all of the part that it stands in."""
    return {name: part.steps.value - ("verifying" in part.names) for part in parts for name in part.names}


def _cause(parts: Sequence[Part], tau: float, gamma: float, cycle: float) -> str:
    """The largest loss: drafts that are not accepted, or the part of the cycle with most beyond one plain step."""
    lost = math.log((gamma + 1) / tau) if gamma else 0.0
    if lost > max(math.log(cycle), 0.0) or not parts:
        return "acceptance"
    worst = max(parts, key=lambda part: part.steps.value - ("verifying" in part.names))
    return joined_names(worst.names)


def _interval_of_tau(tau: LogTau, z: float, gamma: float | None) -> Estimate:
    """tau with its interval inside [1, gamma + 1]."""
    if tau.error is None:
        return Estimate(tau.value, None, None)
    top = math.inf if gamma is None else gamma + 1
    return Estimate(tau.value, max(tau.value - z * tau.error, 1.0), min(tau.value + z * tau.error, top))


def _notes(runs: Sequence[EngineLog]) -> list[str]:
    """The notes of all logs: their own, numbers that cannot be, and steps without drafts that are not counted."""
    unknown = (
        "in how many steps there was no draft the log does not say; with n-gram or suffix drafts, "
        "many: a cycle is then shorter, and emits less"
    )
    return [
        f"{run.source}: {note}"
        for run in runs
        for note in (*run.notes, *implausible(run), *([unknown] if run.coverage is None else []))
    ]


def _doubted(logs: Sequence[LogSpeed]) -> list[str]:
    """Return one note for each log whose speedup cannot be."""
    return [
        f"implausible: {log.source}, batch {shown(log.batch)}"
        f"{'' if log.length is None else f', {shown(log.length)} drafts'} is {log.speedup.value:.2f}x: {log.doubt}"
        for log in logs
        if log.doubt
    ]


def _noise_note(runs: Sequence[EngineLog], noise: float) -> str:
    """A note that --noise stands in for a spread, "" if all logs show theirs."""
    bare = any(time is not None and not time.error for run in runs for time in (run.token, run.cycle))
    return (
        f"times whose spread a log does not show are taken as uncertain by {100 * noise:g} % (--noise)" if bare else ""
    )


def _distinct(notes: Sequence[str]) -> tuple[str, ...]:
    """The notes that are not empty, each once, in their order."""
    return tuple(dict.fromkeys(note for note in notes if note))
