"""Several runs of one engine at several draft lengths: the curve of tau, what convicts it, and the nearest possible."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from specsim.lengths.tau_curve import concave_curve, curve_faults
from specsim.logs.conversions import LogTau
from specsim.logs.measures import log_tau
from specsim.logs.record import EngineLog, per_step, shown

# Two batches are one but for noise up to this relative difference.
SAME_BATCH = 0.1


class LogCurve(NamedTuple):
    """The tau of runs of one engine, model and batch at increasing draft lengths.

    faults: one sentence for each law that it contradicts beyond its errors. nearest: tau at these lengths of the
    nearest curve that contradicts none, by least squares.
    """

    batch: float | None
    lengths: tuple[int, ...]
    taus: tuple[float, ...]
    faults: tuple[str, ...]
    nearest: tuple[float, ...]


def log_curves(runs: Sequence[EngineLog], level: float = 0.95) -> list[LogCurve]:
    """Return the curve of each engine, model and batch that has runs at two draft lengths or more.

    Runs whose blocks differ in length are left out; of several runs at one length the first counts.

    Examples
    --------
    >>> from specsim.latency import Timing
    >>> runs = [EngineLog("own", "a", True, length=k, tau=Timing(t, 0.01)) for k, t in ((1, 1.8), (2, 2.4), (3, 2.2))]
    >>> [curve] = log_curves(runs)
    >>> curve.faults[0][:39], [round(tau, 2) for tau in curve.nearest]
    ('tau falls from 2.4 at 2 drafts to 2.2 a', [1.8, 2.3, 2.3])
    """
    # Group runs of one engine, model and batch.
    groups: list[list[EngineLog]] = []
    for run in runs:
        if run.speculating and run.length and run.length == round(run.length):
            group = next((group for group in groups if _is_alike(group[0], run)), None)
            if group is None:
                groups.append([run])
            else:
                group.append(run)
    return [_curve(group, level) for group in groups if len({run.length for run in group}) > 1]


def curve_notes(runs: Sequence[EngineLog], level: float = 0.95) -> list[str]:
    """Return one sentence for each law that tau over several runs contradicts, and then the nearest possible curve."""
    notes = []
    curves = log_curves(runs, level)
    for curve in curves:
        if not curve.faults:
            continue
        at = "" if curve.batch is None or len(curves) == 1 else f" at batch {shown(curve.batch)}"
        points = ", ".join(f"{tau:.2f} at {length}" for length, tau in zip(curve.lengths, curve.nearest, strict=True))
        notes += [f"implausible{at}: {fault}" for fault in curve.faults]
        notes.append(f"the nearest curve of tau that can be{at}: {points}")
    return notes


def _is_alike(first: EngineLog, second: EngineLog) -> bool:
    """Return whether two runs are of one engine, model and batch."""
    batches = first.batch or 1.0, second.batch or 1.0
    same_batch = abs(batches[0] - batches[1]) <= SAME_BATCH * max(batches)
    return same_batch and (first.engine, first.model) == (second.engine, second.model)


def _curve(group: Sequence[EngineLog], level: float) -> LogCurve:
    """Return the curve of runs at two lengths or more."""
    # The first run at each length, by length.
    chosen: dict[int, LogTau] = {}
    for run in group:
        chosen.setdefault(round(run.length or 0), log_tau(per_step(run)))
    lengths = sorted(chosen)
    taus = [chosen[length].value for length in lengths]
    # `curve_faults` allows two standard errors; without an error of every run it allows rounding alone.
    errors = None
    if all(chosen[length].error for length in lengths):
        scale = NormalDist().inv_cdf((1 + level) / 2) / 2
        errors = [scale * (chosen[length].error or 0.0) for length in lengths]
    faults = curve_faults(lengths, taus, errors)
    nearest = concave_curve(lengths, taus, errors)
    return LogCurve(
        group[0].batch,
        tuple(lengths),
        tuple(taus),
        tuple(faults),
        tuple(float(nearest[length - 1]) for length in lengths),
    )
