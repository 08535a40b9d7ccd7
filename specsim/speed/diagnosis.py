"""Why is it slower? From logs without speculation and with it: which term eats the gain, and what would mend it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.logs.measures import LogTau
from specsim.logs.record import EngineLog
from specsim.speed.prediction import Estimate, interval
from specsim.speed.remedies import Mend, remedies
from specsim.speed.runs import at_one_batch, check_pairs, cycle_time, observed, plain_step_of, speedup_of, tau_of
from specsim.speed.terms import PLAIN, STEP, Observation, Terms, in_steps, known, solve

NOISE = 0.02  # relative standard error of a time whose spread the log does not show
CLEAR = 0.25  # plain steps, or this share of the cycle: a term with a wider half-interval is not told apart
MISFIT = 9.0  # chi-square of each time to spare, above which times do not lie on a line
NAMES = ("drafting", "verifying", "fixed work")


class Part(NamedTuple):
    """Terms of a cycle that the logs tell apart from the others, and their time in plain steps."""

    names: tuple[str, ...]
    steps: Estimate


class Diagnosis(NamedTuple):
    """Which term eats the gain; times are in plain steps, of `step` seconds each.

    verdict: "slower", "faster", or "neither" where the interval holds 1. cause: "acceptance", or the names of the part
    of the cycle that costs most beyond one plain step. speedup: as measured. tau, cycle: tokens and time of a cycle.
    certain: the speedup if every draft were kept. parts: of the cycle. mends: what would help. missing: what to measure
    so that terms can be told apart. by_batch: the speedup at each batch. notes: what the numbers rest on.

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


def diagnose(
    off: Sequence[EngineLog],
    on: Sequence[EngineLog],
    *,
    length: int | None = None,
    noise: float = NOISE,
    level: float = 0.95,
) -> Diagnosis:
    r"""Which term eats the gain of speculation, from logs with speculation off and on.

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
    >>> found = diagnose([off], [on])
    >>> found.verdict, found.cause, found.certain.value < 1
    ('slower', 'drafting, verifying and fixed work', True)
    """
    z = NormalDist().inv_cdf((1 + float(check.scalar(level, "level", "(0, 1)"))) / 2)
    spread = float(check.scalar(noise, "noise", "[0.0001, 1]"))
    check_pairs(off, on)
    plain, runs, by_batch = at_one_batch(off, on, spread, z)
    first = runs[0]
    step = plain_step_of(plain, spread)
    tau = tau_of(first, length)
    gamma = first.length if first.length is not None else length
    cycle = cycle_time(first, tau, spread)
    speedup = speedup_of(first, step, tau, cycle, z, spread)
    notes = [*_notes([*plain, *runs]), _noise_note([*plain, *runs], spread)]
    verdict = "neither"
    if speedup.low is not None and speedup.high is not None:
        verdict = "slower" if speedup.high < 1 else "faster" if speedup.low > 1 else "neither"
    if cycle is None or tau is None or gamma is None:
        wanted = [
            *(["how many tokens a target call emits (accepted drafts beside blocks)"] if tau is None else []),
            *(["how many drafts a block has (--length)"] if gamma is None else []),
        ]
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
            notes=_said(notes),
        )
    observations = [Observation(PLAIN, step.value, step.error or 0.0)]
    for run in runs:
        observations += observed(run, length, spread)
    terms = solve(observations)
    if terms.spare > 0 and terms.misfit > MISFIT * terms.spare:
        notes.append("the times do not lie on a line in the length: some pass, or some run, differs in kind")
    verified = first.verified if first.verified is not None else gamma + 1
    rows = _rows(gamma, verified)
    whole = np.sum(rows, axis=0)
    total, of_total = in_steps(terms, whole)
    parts, missing = split(terms, rows, gamma, verified, total, z)
    steps = Estimate(total, max(total - z * of_total, 0.0), total + z * of_total)
    certain = interval((gamma + 1) / total, (of_total / total) ** 2, z)
    mends = remedies(first, runs, terms, tau, gamma, verified, _excess(parts), z)
    return Diagnosis(
        verdict,
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
        _said(notes),
    )


def _rows(gamma: float, verified: float) -> list[tuple[float, float, float, float]]:
    return [(0.0, float(gamma), 0.0, 0.0), (1.0, 0.0, verified - 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)]


def split(
    terms: Terms,
    rows: Sequence[tuple[float, float, float, float]],
    gamma: float,
    verified: float,
    total: float,
    z: float,
) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """The parts of a cycle that are told apart, and what to measure for the rest."""
    told = []
    for row in rows:
        value, error = in_steps(terms, row) if any(row) and known(terms, row) else (0.0, math.inf)
        told.append(not any(row) or z * error <= max(CLEAR, CLEAR * total))
    if sum(not one for one in told) == 1:  # the rest of the cycle: alone, it is known as well as the cycle is
        told = [one or known(terms, row) for one, row in zip(told, rows, strict=True)]
    groups: list[tuple[str, ...]] = []
    groups += [(name,) for name, one, row in zip(NAMES, told, rows, strict=True) if one and any(row)]
    rest = tuple(name for name, one in zip(NAMES, told, strict=True) if not one)
    if rest:
        groups.append(rest)
    parts = []
    for names in sorted(groups, key=lambda group: NAMES.index(group[0])):
        value, error = in_steps(terms, np.sum([rows[NAMES.index(name)] for name in names], axis=0))
        parts.append(Part(names, Estimate(value, value - z * error, value + z * error)))
    return tuple(parts), _wanted(terms, rows, rest, gamma, verified)


def _wanted(
    terms: Terms,
    rows: Sequence[tuple[float, float, float, float]],
    rest: tuple[str, ...],
    gamma: float,
    verified: float,
) -> tuple[str, ...]:
    """The fewest further measurements by which every term of the rest would be known."""
    if len(rest) < 2:
        return ()
    other = max(1.0, gamma - 1 if gamma > 1 else gamma + 1)
    offers = [
        ("the time of drafting a block", (0.0, gamma, 0.0, 0.0)),
        (f"a target pass over {verified:g} tokens", (1.0, 0.0, verified - 1.0, 0.0)),
        (f"a run with speculation on at {other:g} drafts", (1.0, other, other, 1.0)),
    ]
    basis = [row for row in terms.space if np.linalg.norm(row) > 1e-12]
    for count in range(1, len(offers) + 1):
        for some in combinations(offers, count):
            further = solve([Observation(row, 0.0, 1.0) for row in (*basis, *(r for _, r in some))])
            if all(known(further, rows[NAMES.index(name)]) for name in rest if any(rows[NAMES.index(name)])):
                return tuple(what for what, _ in some)
    return ()


def _excess(parts: Sequence[Part]) -> dict[str, float]:
    """What each term may cost beyond one plain step: all of the part that it stands in."""
    return {name: part.steps.value - ("verifying" in part.names) for part in parts for name in part.names}


def _cause(parts: Sequence[Part], tau: float, gamma: float, cycle: float) -> str:
    """What costs most: drafts that are not kept, or the part of the cycle with most beyond one plain step."""
    lost = math.log((gamma + 1) / tau) if gamma else 0.0
    if lost > max(math.log(cycle), 0.0) or not parts:
        return "acceptance"
    worst = max(parts, key=lambda part: part.steps.value - ("verifying" in part.names))
    return named(worst.names)


def named(names: Sequence[str]) -> str:
    """Names in one phrase.

    Examples
    --------
    >>> named(["drafting", "verifying", "fixed work"])
    'drafting, verifying and fixed work'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _interval_of_tau(tau: LogTau, z: float, gamma: float | None) -> Estimate:
    if tau.error is None:
        return Estimate(tau.value, None, None)
    top = math.inf if gamma is None else gamma + 1
    return Estimate(tau.value, max(tau.value - z * tau.error, 1.0), min(tau.value + z * tau.error, top))


def _notes(runs: Sequence[EngineLog]) -> list[str]:
    return [f"{run.source}: {note}" for run in runs for note in run.notes]


def _noise_note(runs: Sequence[EngineLog], noise: float) -> str:
    bare = any(time is not None and not time.error for run in runs for time in (run.token, run.cycle))
    return (
        f"times whose spread a log does not show are taken as uncertain by {100 * noise:g} % (--noise)" if bare else ""
    )


def _said(notes: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for note in notes if note))
