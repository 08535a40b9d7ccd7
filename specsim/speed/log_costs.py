"""Costs and acceptance from an engine's own logs: plain steps of runs without speculation, cycles of runs with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specsim.base import check, limits
from specsim.base.results import result
from specsim.latency import LatencyModel, PassTimes, Timing, from_measurements
from specsim.latency.times.record import axis_values, check_inside, listed
from specsim.lengths.acceptance_record import Acceptance, Tau, from_alpha, from_counts
from specsim.lengths.measures import convert_acceptance
from specsim.lengths.request_mixture import kinds_of
from specsim.logs.conversions import LogTau
from specsim.logs.given import check_coverage, unlike_rate, unused_length
from specsim.logs.measures import check_tau, counted_run, implausible, log_acceptance
from specsim.logs.record import EngineLog, is_sparse, no_length, shown
from specsim.speed.parts import implausible_speedup
from specsim.speed.runs import NOISE, check_pairs, plain_step_of, same_batch, speedup_of, sure, tau_of, unlike_token

# Normal quantile with which numbers that cannot be are told from noise.
QUANTILE = 1.96


@result("batches", "lengths")
class LogCosts(NamedTuple):
    """What logs without speculation and with it say of a plan.

    latency: plain steps, and whole cycles in place of the pass that verifies, for logs do not tell the parts of a cycle
    apart. acceptance: of the runs with speculation, by batch. batches, lengths: those of runs of both kinds. notes:
    what the numbers rest on.

    Examples
    --------
    >>> off = EngineLog("own", "off.csv", False, batch=8.0, token=Timing(0.010, 0.0001))
    >>> on = off._replace(source="on.csv", speculating=True, length=3.0, blocks=900, drafted=2700)
    >>> costs = log_costs([off], [on._replace(accepted=900, token=Timing(0.006, 0.0001))])
    >>> costs.batches, costs.lengths, round(costs.latency.target(4, 8, 0).value, 4)
    ((8,), (3,), 0.012)
    """

    latency: LatencyModel
    acceptance: dict[int, Acceptance]
    batches: tuple[int, ...]
    lengths: tuple[int, ...]
    notes: tuple[str, ...]


class Cycle(NamedTuple):
    """One run with speculation: its drafts of a block, tokens of a cycle and the time of one."""

    run: EngineLog
    gamma: int
    tau: LogTau
    time: Timing


def log_costs(
    off: Sequence[EngineLog],
    on: Sequence[EngineLog],
    *,
    length: int | None = None,
    every_step: bool = False,
    noise: float = NOISE,
) -> LogCosts:
    r"""Return the costs and the acceptance of an engine's own runs, for `plan` and `predict`.

    .. math:: T(1) = t_\text{off}, \qquad T_c(\gamma) = \tau \, t_\text{on}, \qquad
        S = \frac{\tau T(1)}{T_c} = \frac{t_\text{off}}{t_\text{on}}

    with t the time of a token of one sequence. So at a length and a batch that ran, the plan has the measured speedup.

    Parameters
    ----------
    off, on : sequence of EngineLog
        Runs without speculation, and with it, of one engine and model, as `read_log(path, by_batch=True)` reads them.
    length : int, optional
        Drafts of a block, where a log does not say it.
    every_step : bool
        Whether every step had a draft, where a log does not say it, as with a draft model, EAGLE and MTP.
    noise : float
        Relative standard error of a time whose spread a log does not show.

    Returns
    -------
    LogCosts
        In seconds, at the batches that runs of both kinds have, and up to their longest block. Between lengths that ran
        times lie on lines; a shorter block than any that ran is given the time of the shortest that did, the most that
        it takes. Errors are of times and of tau, taken as independent.

    Raises
    ------
    ValueError
        As in `diagnose`; blocks of no one length, trees, runs in which some steps had no draft, or of which that is not
        known; tokens of a cycle that a log does not say; numbers that cannot be of one model and load; no batch that
        both kinds have, or a length that ran at some of them only.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, theorem 3.8 (tokens of a cycle over its time).

    Examples
    --------
    >>> from specsim.speed.prediction import predict
    >>> off = EngineLog("own", "off.csv", False, token=Timing(0.010, 0.0001))
    >>> on = EngineLog("own", "on.csv", True, length=3, tau=Timing(2.0, 0.01), token=Timing(0.008, 0.0001))
    >>> costs = log_costs([off], [on])
    >>> round(predict(costs.latency, costs.acceptance[1], gamma=3).speedup.value, 3)
    1.25
    """
    spread = float(check.scalar(noise, "noise", "[0.0001, 1]"))
    if length is not None:
        length = check.integer(length, "length", 1, limits.MAX_GAMMA)
    check_pairs(off, on)
    # Runs with drafts; an engine may have switched speculation off at some batch.
    notes = [f"{run.source}: {note}" for run in (*off, *on) for note in (*run.notes, *implausible(run))]
    notes += [note for run in on for note in (*unused_length(run, length), *unlike_rate(run, length))]
    drafting = [run for run in on if run.length != 0]
    notes += [
        f"{run.source} drafted nothing at batch {shown(run.batch or 1.0)}: left out" for run in on if run.length == 0
    ]
    cycles = [_cycle(run, length, every_step, spread) for run in drafting]

    # Batches that both kinds have, with plain steps and cycles by length.
    plain: dict[int, Timing] = {}
    by_batch: dict[int, list[Cycle]] = {}
    for cycle in cycles:
        size = cycle.run.batch or 1.0
        steps = [run for run in off if same_batch(run.batch or 1.0, size)]
        if not steps:
            notes.append(f"{cycle.run.source}: batch {shown(size)} left out, for no log without speculation is of it")
            continue
        known = next((batch for batch in plain if same_batch(batch, size)), max(round(size), 1))
        plain[known] = plain_step_of(steps, spread)
        by_batch.setdefault(known, []).append(cycle)
        _check_plausible(cycle, plain[known], spread)
    if not by_batch:
        sizes = [", ".join(sorted({shown(run.batch or 1.0) for run in runs})) for runs in (off, drafting)]
        raise ValueError(
            f"the logs are of batches {sizes[0]} off and {sizes[1] or 'none'} on; expected one batch in both"
        )
    lengths = tuple(sorted({cycle.gamma for cycle in cycles if any(cycle in some for some in by_batch.values())}))
    latency = _latency(plain, by_batch, lengths)
    if any(not time.error for run in (*off, *on) for time in (run.token, run.cycle) if time is not None):
        notes.append(f"times whose spread a log does not show are taken as uncertain by {spread:.0%}")
    return LogCosts(
        latency,
        {batch: _acceptance(by_batch[batch], batch, length) for batch in sorted(by_batch)},
        tuple(sorted(by_batch)),
        lengths,
        tuple(dict.fromkeys(notes)),
    )


def _cycle(run: EngineLog, length: int | None, every_step: bool, noise: float) -> Cycle:
    """Return the cycle of a run; ValueError if its length, tokens or time are not those of one kind of block."""
    if not every_step:
        check_coverage(run)
    if is_sparse(run):
        raise ValueError(
            f"{run.source}: {100 * (run.coverage or 0):.3g} % of the steps had a draft, so the time of a cycle is not "
            "known apart from that of a plain step; `specsim diagnose` explains such a run"
        )
    # Blocks of one length, each a chain.
    gamma = run.length if run.length is not None else length
    if gamma is None:
        raise ValueError(f"{run.source}: {no_length(run)}; give --gamma")
    if gamma != round(gamma):
        raise ValueError(
            f"{run.source} has {gamma:.2f} drafts a block in the mean; a plan needs blocks of one length: run the "
            "engine with a fixed number of drafts"
        )
    if run.verified is not None and run.verified != gamma + 1:
        raise ValueError(
            f"{run.source} verifies {shown(run.verified)} tokens with {shown(gamma)} draft steps, a tree; logs are "
            "planned for chains"
        )
    run = counted_run(run, length)
    # Tokens and time of a cycle: its tokens times the time of one, or as it was timed.
    tau = tau_of(run, length)
    if tau is None:
        raise ValueError(
            f"{run.source} does not say how many tokens a target call emits; expected accepted drafts beside blocks"
        )
    check_tau(run, tau, gamma)
    if run.token is not None:
        token = sure(run.token, noise)
        time = Timing(tau.value * token.value, tau.value * (token.error or 0.0))
    else:
        assert run.cycle is not None
        time = sure(run.cycle, noise)
    return Cycle(run, int(gamma), tau, time)


def _check_plausible(cycle: Cycle, step: Timing, noise: float) -> None:
    """ValueError for numbers that cannot be of one model, machine and load."""
    run = cycle.run
    speedup = speedup_of(run, step, cycle.tau, cycle.time, QUANTILE, noise)
    doubt = unlike_token(run, cycle.tau, noise, QUANTILE)
    doubt = doubt or implausible_speedup(speedup, cycle.tau, cycle.gamma, QUANTILE)
    if doubt:
        raise ValueError(f"{run.source} is {speedup.value:.2f} times as fast, which cannot be: {doubt}")


def _latency(plain: dict[int, Timing], by_batch: dict[int, list[Cycle]], lengths: tuple[int, ...]) -> LatencyModel:
    """Return the latency model: plain steps, and cycles in place of the passes that verify."""
    points: dict[tuple[int, int, int], Timing] = {}
    for batch, cycles in by_batch.items():
        points[1, batch, 0] = plain[batch]
        for gamma in lengths:
            times = [cycle.time for cycle in cycles if cycle.gamma == gamma]
            if not times:
                some = next(other for other, held in by_batch.items() if any(c.gamma == gamma for c in held))
                raise ValueError(
                    f"a run with {gamma} drafts is of batch {some}, and none of batch {batch}; give logs of the same "
                    "lengths at every batch, or of one batch"
                )
            points[gamma + 1, batch, 0] = _mean(times)
    sources = " and ".join(dict.fromkeys(cycle.run.source for cycles in by_batch.values() for cycle in cycles))
    record = PassTimes(sources, {place: (time.value,) for place, time in points.items()}, ("context",))
    # A block that is shorter than any that ran takes no longer than that.
    for batch in by_batch:
        points.setdefault((2, batch, 0), points[lengths[0] + 1, batch, 0])
    lines = from_measurements(points, {None: 1.0})

    def target_s(tokens: int, batch: int, context: int) -> Timing:
        """The time of a plain step, or of a whole cycle that verifies so many tokens."""
        check_inside(record, {"tokens": tokens, "batch": batch, "context": context})
        return lines.target(tokens, batch, context)

    words = [
        f"plain steps and cycles take the times of the logs, at batch {listed(axis_values(record, 'batch'))} and the "
        "contexts of their requests, host and sampling included",
        "all of a cycle stands in the pass that verifies: these logs do not tell drafting apart",
    ]
    if lengths[0] > 1:
        words.append(
            f"blocks of fewer than {lengths[0]} drafts are given the time of {lengths[0]}, the most that they take: a "
            "log with fewer drafts says more"
        )
    if len(lengths) > 1:
        words.append(f"between runs of {listed(list(lengths))} drafts the times of cycles lie on lines")
    free = Timing(0.0, 0.0)
    return lines._replace(
        target=target_s, draft=lambda batch, context: free, assumptions=tuple(words), longest=lengths[-1]
    )


def _mean(times: Sequence[Timing]) -> Timing:
    """Return the mean of times with independent errors."""
    count = len(times)
    error = sum((time.error or 0.0) ** 2 for time in times) ** 0.5 / count
    return Timing(sum(time.value for time in times) / count, error)


def _acceptance(cycles: Sequence[Cycle], batch: int, length: int | None) -> Acceptance:
    """Return the acceptance of runs at one batch: as each length that ran had it, else that of the next longer run."""
    runs = {cycle.gamma: cycle for cycle in sorted(cycles, key=lambda cycle: cycle.gamma)}
    curves = {gamma: _curve(cycle, length) for gamma, cycle in runs.items()}

    def next_longer(gamma: int) -> Acceptance:
        """The acceptance of the shortest run with so many drafts or more."""
        return curves[min(other for other in curves if other >= gamma)]

    def tau(gamma: int) -> Tau:
        """Tokens of a cycle: as logged at a length that ran."""
        if gamma in runs:
            logged = runs[gamma].tau
            return Tau(logged.value, logged.error or 0.0)
        return next_longer(gamma).tau(gamma) if gamma else Tau(1.0, 0.0)

    sources = " and ".join(dict.fromkeys(cycle.run.source for cycle in cycles))
    words = f"acceptance as {sources} had it at batch {batch}, shorter blocks by the next longer one's positions"
    if any(cycle.tau.error is None for cycle in cycles):
        words += "; tau of a log without blocks has no error"
    return Acceptance(
        tau,
        lambda gamma: next_longer(gamma).hazards(gamma) if gamma else [],
        lambda gamma: next_longer(gamma).counted(gamma) if gamma else None,
        max(curves),
        words,
        kinds_of(cycles[0].run.requests) if len(cycles) == 1 else None,
    )


def _curve(cycle: Cycle, length: int | None) -> Acceptance:
    """Return the acceptance of a run by position, or where it has none the same at every position."""
    hazards = log_acceptance(cycle.run, length=length if cycle.run.length is None else None).hazards
    if hazards is not None and len(hazards.hazards) >= cycle.gamma:
        return from_counts(hazards)
    return from_alpha(convert_acceptance(cycle.tau.value, kind="tau", to="alpha", gamma=cycle.gamma))
