"""What follows from tau: the numbers by which engines call acceptance, with their intervals."""

from __future__ import annotations

from typing import NamedTuple

from specsim.base.intervals import Measure
from specsim.lengths.measures import convert_acceptance

KINDS = ("tau", "kept", "draft_rate", "output_share", "alpha")


class LogTau(NamedTuple):
    """Tokens per target call and its standard error, None if the log does not have it."""

    value: float
    error: float | None


def measures_of_tau(tau: LogTau, gamma: float, z: float) -> dict[str, Measure]:
    """Tau and the measures that follow from it, for blocks of gamma drafts."""
    low = high = None
    if tau.error is not None:
        low, high = max(tau.value - z * tau.error, 1.0), min(tau.value + z * tau.error, gamma + 1.0)
    measures = {}
    for kind in KINDS:
        if gamma == round(gamma) and gamma >= 1:
            ends = [None if v is None else _converted(v, kind, int(gamma)) for v in (tau.value, low, high)]
        elif kind == "alpha":
            # Blocks of several lengths: the i.i.d. acceptance has no formula.
            continue
        else:
            ends = [None if v is None else _plain(v, kind, gamma) for v in (tau.value, low, high)]
        measures[kind] = Measure(float(ends[0] or 0.0), ends[1], ends[2])
    return measures


def _converted(tau: float, kind: str, gamma: int) -> float:
    """A measure of blocks of one length from tau, cut to what that length allows."""
    return convert_acceptance(min(max(tau, 1.0), gamma + 1.0), kind="tau", to=kind, gamma=gamma)


def _plain(tau: float, kind: str, gamma: float) -> float:
    """A measure of blocks of several lengths, gamma in the mean, from tau."""
    return {"tau": tau, "kept": tau - 1, "draft_rate": (tau - 1) / gamma if gamma else 0.0}.get(kind, (tau - 1) / tau)
