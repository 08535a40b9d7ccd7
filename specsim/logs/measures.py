"""The acceptance of a log by its right names: tau, hazards, rates and alpha, each with an interval."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.intervals import Measure, wilson
from specsim.base.results import result
from specsim.lengths.hazards import HazardEstimate
from specsim.logs.conversions import KINDS, LogTau, measures_of_tau
from specsim.logs.given import unlike_rate, unused_length
from specsim.logs.record import UNKNOWN_COVERAGE, EngineLog, is_sparse, no_length, per_step, shown
from specsim.logs.request_measures import (
    add_request_measures,
    counted_requests,
    request_error,
    request_hazards,
    request_notes,
)

# From so many drafts on it is implausible that none, or fewer than one in a thousand, was accepted.
MANY_DRAFTS, RARE = 64, 1e-3


@result("measures")
class LogAcceptance(NamedTuple):
    """The acceptance that a log shows, by every name that engines use for it.

    measures: tau and what follows from it, by the names of `convert_acceptance`; where some steps
    are known to have had no draft, tau is of all steps, drafted_tau of those with one, and coverage
    their share; mean_tau, where the log has requests, is the mean of their own tau. hazards: counted
    by position of blocks with drafts, None where the log has no positions. length: drafts of a block,
    in the mean. fixed: whether every block has that many.

    Examples
    --------
    >>> shown = log_acceptance(EngineLog("own", "on.csv", True, length=2, blocks=100, drafted=200, accepted=130,
    ...                                  kept=(80, 50)))
    >>> round(shown.measures["tau"].value, 2), shown.hazards.hazards.tolist()
    (2.3, [0.8, 0.625])
    """

    measures: dict[str, Measure]
    hazards: HazardEstimate | None
    length: float
    fixed: bool
    notes: tuple[str, ...]

    def plot(self, axes: Any = None) -> Any:
        """Draw how many blocks keep each draft; return matplotlib's Axes (extra `plot`).

        ValueError where the log has no positions.
        """
        if self.hazards is None:
            raise ValueError("hazards is None: the log does not say how many blocks kept each position")
        return self.hazards.plot(axes)


def log_acceptance(run: EngineLog, *, length: int | None = None, level: float = 0.95) -> LogAcceptance:
    r"""The acceptance of a run, each number by its right name and with its interval.

    .. math:: \hat\tau = 1 + \frac{\text{accepted}}{\text{blocks}}, \qquad
        \operatorname{Var} n \le \bar n (\gamma - \bar n)

    Parameters
    ----------
    run : EngineLog
        A run with speculation.
    length : int, optional
        The most drafts of a block, where the log does not say it or blocks differ.
    level : float
        Level of the intervals, in (0, 1).

    Returns
    -------
    LogAcceptance
        With positions, tau has Greenwood's error; with totals only, the largest that any law of lengths in [0, gamma]
        can have (Bhatia and Davis); with a printed mean, that of its spread over the lines, if there are several.
        Blocks count as independent, unless the log has requests: then errors are the jackknife's over these.

    Raises
    ------
    ValueError
        A run without speculation or without acceptance, no length in the log and none given, or tau above length + 1.

    References
    ----------
    Bhatia and Davis 2000, American Mathematical Monthly 107:353 (the variance); Wilson 1927, JASA 22:209.

    Examples
    --------
    >>> run = EngineLog("own", "on.csv", True, length=3, blocks=100, drafted=300, accepted=150)
    >>> [round(v, 2) for v in log_acceptance(run).measures["draft_rate"]]
    [0.5, 0.4, 0.6]
    """
    z = NormalDist().inv_cdf((1 + float(check.scalar(level, "level", "(0, 1)"))) / 2)
    check.record(run, "run", EngineLog)
    if not run.speculating:
        raise ValueError(f"{run.source} is of a run without speculation; expected drafts")
    if run.drafted == 0 or (run.blocks == 0 and run.drafted is None):
        raise ValueError(f"{run.source}: nothing was drafted, so there is no acceptance to tell; expected drafts")
    if length is not None:
        length = check.integer(length, "length", 1, limits.MAX_GAMMA)
    # The length of a block, and whether all blocks have it.
    run = counted_run(run, length)
    gamma = _length(run, length)
    longest = sum(k > 0 for k in run.kept)
    fixed = gamma == round(gamma) >= longest and (
        run.drafted is None or run.blocks is None or run.drafted == run.blocks * gamma
    )
    notes = [*run.notes, *unused_length(run, length), *unlike_rate(run, length)]
    # A length that is given may be the most drafts of a block, where the counts tell their mean.
    mean = run.drafted / run.blocks if run.drafted and run.blocks else gamma
    if not fixed:
        notes.append(f"blocks differ in length ({mean:.2f} drafts in the mean)")
        if length is None and not run.kept:
            notes.append("intervals need the most drafts that a block may have: --gamma")
    # Hazards, and tau with what follows from it.
    hazards = request_hazards(run, level)
    if hazards is None and run.kept and run.blocks:
        hazards = _hazards(run, z)
        if not fixed:
            notes.append("positions count blocks that never drafted so far as rejections: hazards are lower bounds")
    notes += implausible(run)
    measures = measures_of_tau(log_tau(run, length=length), gamma if fixed else mean, z)
    if run.tau is not None and run.accepted is not None and run.drafted:
        # Drafts accepted behind the end of an answer: tau does not say how many were accepted.
        measures["draft_rate"] = Measure(run.accepted / run.drafted, None, None)
        if run.blocks:
            measures, notes = _of_whole_blocks(run, measures, gamma if fixed else mean, z), [*notes, BEHIND_THE_END]
    # Steps without a draft.
    if run.coverage is None:
        notes.append(UNKNOWN_COVERAGE)
    if is_sparse(run):
        measures = _of_all_steps(run, measures, z)
    measures = add_request_measures(run, measures, level)
    notes += request_notes(run)
    if run.blocks is None and run.accepted is None:
        notes.append("blocks are not counted: the interval is that of the printed means")
    return LogAcceptance(measures, hazards, gamma if fixed else mean, fixed, tuple(dict.fromkeys(notes)))


# The note of a log that counts drafts accepted behind the end of an answer.
BEHIND_THE_END = (
    "drafts kept, their share and alpha are of whole blocks, also behind the end of an answer; which share of the text "
    "was drafted is not known"
)


def _of_whole_blocks(run: EngineLog, emitted: dict[str, Measure], gamma: float, z: float) -> dict[str, Measure]:
    """Return measures in which the drafter's own are of all that it had accepted, and tau of what was emitted."""
    accepted = measures_of_tau(_tau_of_totals(run._replace(tau=None, kept=()), gamma), gamma, z)
    kinds = [kind for kind in KINDS if kind != "output_share" and kind in accepted]
    return {kind: emitted["tau"] if kind == "tau" else accepted[kind] for kind in kinds}


def _of_all_steps(run: EngineLog, of_blocks: dict[str, Measure], z: float) -> dict[str, Measure]:
    """Return measures over all steps where these differ from measures over blocks with a draft.

    tau, kept and output_share are per step; draft_rate and alpha stay per block, as does drafted_tau. coverage is the
    share of steps with a draft.
    """
    steps = per_step(run)
    of_steps = measures_of_tau(log_tau(steps), steps.length or 0.0, z)
    measures = {"tau": of_steps["tau"], "drafted_tau": of_blocks["tau"]}
    measures["coverage"] = Measure(run.coverage or 0.0, None, None)
    for kind in KINDS[1:]:
        source = of_steps if kind in ("kept", "output_share") else of_blocks
        if kind in source:
            measures[kind] = source[kind]
    return measures


def implausible(run: EngineLog) -> list[str]:
    """Return the impossible or implausible counts of a run, each with its likely cause."""
    faults = []
    if run.drafted is not None and run.drafted >= MANY_DRAFTS and run.accepted is not None:
        count = "none" if not run.accepted else f"{run.accepted}"
        if run.accepted < RARE * run.drafted:
            likely = "likely the draft belongs to another target or tokenizer, its weights or hidden states are wrong"
            faults.append(
                f"implausible: {count} of {run.drafted} drafts accepted; {likely}, or accepted drafts are not counted"
            )
    return faults


def counted_run(run: EngineLog, length: int | None) -> EngineLog:
    """Return the run with its blocks counted by the argument `length`, where the log does not say how many it had."""
    if run.requests is not None:
        return counted_requests(run, length)
    totals = run.drafted and run.blocks is None and run.tau is None and run.accepted is not None
    if not totals or length is None or run.drafted is None or run.drafted % length:
        return run
    blocks = run.drafted // length
    note = f"blocks are {run.drafted} drafts by --gamma {length}: {blocks}, if all have that many"
    return run._replace(blocks=blocks, length=float(length), notes=(*run.notes, note))


def log_tau(run: EngineLog, *, length: float | None = None) -> LogTau:
    """Tokens per target call of a run by its printed mean or its counts, over steps that had a draft.

    A mean that is printed beside counts goes first: drafts accepted behind the end of an answer are
    counted, and not emitted. Where the log has requests, the error is that over requests.
    """
    tau = _tau_of_totals(run, length)
    error = request_error(run.requests)
    return tau if error is None else tau._replace(error=error)


def _tau_of_totals(run: EngineLog, length: float | None) -> LogTau:
    """Tokens per target call of a run, with the error of independent blocks."""
    gamma = run.length if run.length is not None else length
    if run.blocks and run.accepted is not None:
        if run.kept and run.tau is None:
            return LogTau(*_hazards(run, 1.96).tau(sum(k > 0 for k in run.kept), wary=True))
        mean = run.accepted / run.blocks if run.tau is None else run.tau.value - 1
        most = _most(run, length)
        if most is None:
            return LogTau(1 + mean, None if run.tau is None else run.tau.error)
        # One more draft kept or lost stands for the spread where there was none.
        return LogTau(1 + mean, math.sqrt(max(mean * (most - mean), most / run.blocks) / run.blocks))
    if run.tau is not None:
        return LogTau(run.tau.value, run.tau.error)
    if run.accepted is not None and run.drafted and gamma is not None:
        return LogTau(1 + gamma * run.accepted / run.drafted, None)
    raise ValueError(
        f"{run.source} does not say how many tokens a target call emits; expected accepted drafts beside blocks or the "
        "length, or a mean length"
    )


def _length(run: EngineLog, length: float | None) -> float:
    """The drafts of a block, by the log or by the argument; ValueError if unknown or contradicted."""
    if run.length is not None and length is not None and length < run.length - 1e-9:
        raise ValueError(
            f"{run.source} has {run.length:.2f} drafts a block, and gamma is given as {length:g}; expected no fewer"
        )
    gamma = run.length if run.length is not None else length
    if gamma is None:
        raise ValueError(f"{run.source}: {no_length(run)}; give --gamma")
    check_tau(run, log_tau(run, length=gamma), gamma)
    return float(gamma)


def check_tau(run: EngineLog, tau: LogTau | None, gamma: float | None) -> None:
    """ValueError if a run emits more tokens a target call than its drafts and one, or than the call verifies."""
    limits_of = [] if gamma is None else [(gamma + 1, f"{shown(gamma)} drafts give")]
    limits_of += [] if run.verified is None else [(run.verified, f"a call that verifies {shown(run.verified)} gives")]
    most, words = min(limits_of, default=(math.inf, ""))
    if tau is not None and tau.value > most + 1e-9:
        likely = "likely the length is that of another run, or steps are counted for several requests at once"
        raise ValueError(f"{run.source}: {tau.value:.2f} tokens a call; {words} {shown(most)} at most: {likely}")


def _most(run: EngineLog, length: float | None) -> float | None:
    """The longest block: the mean if blocks are alike, else the argument; None if neither is known."""
    if run.length is not None and run.length == round(run.length):
        return run.length
    return None if length is None else float(length)


def _hazards(run: EngineLog, z: float) -> HazardEstimate:
    """Hazards by position, with Wilson's intervals, as far as blocks came."""
    came = np.array([run.blocks, *run.kept[:-1]])
    seen = int((came > 0).cumprod().sum())
    came, accepted = came[:seen], np.array(run.kept[:seen])
    intervals = np.array([wilson(int(k), int(n), z) for k, n in zip(accepted, came, strict=True)])
    return HazardEstimate(accepted / came, intervals.reshape(-1, 2), came, accepted)
