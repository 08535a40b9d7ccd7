"""Changes that would mend a cycle that costs too much, with the speedup of each, from the terms of the logs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from specsim.lengths.acceptance_record import as_acceptance
from specsim.lengths.measures import convert_acceptance
from specsim.logs.conversions import LogTau
from specsim.logs.measures import log_tau
from specsim.logs.record import EngineLog, is_sparse, shown
from specsim.speed.prediction import WIDEST
from specsim.speed.terms import PLAIN, STEP, Terms, in_steps, known
from specsim.types import Array


class Mend(NamedTuple):
    """A change and the speedup with it; value is None where the logs only bound it, by low and high.

    basis: "measured", "predicted", or "bounded".
    """

    what: str
    value: float | None
    low: float
    high: float
    basis: str


def remedies(
    first: EngineLog,
    runs: Sequence[EngineLog],
    terms: Terms,
    tau: LogTau,
    gamma: float,
    verified: float,
    excess: Mapping[str, float],
    z: float,
) -> tuple[Mend, ...]:
    """Another length, drafts that cost half, a pass that costs one step, no fixed work, every draft kept; best first.

    excess: plain steps that each term costs at most, beyond the one of a pass.
    """
    # Other lengths: runs that the logs hold, and predictions for shorter blocks.
    whole = np.array([1.0, gamma, verified - 1, 1.0])
    mends = [_measured(run, terms, z) for run in runs if run.length is not None and run.length != gamma]
    if verified == gamma + 1 and gamma > 1 and not is_sparse(first):
        mends += _another_length(first, terms, tau, gamma, whole, z)
    # One term cheaper, or every draft accepted.
    if gamma:
        mends.append(
            _change(
                terms,
                tau,
                whole,
                (0.0, gamma / 2, 0.0, 0.0),
                excess.get("drafting", 0.0) / 2,
                "drafting at half its cost",
                z,
            )
        )
        wide = (0.0, 0.0, verified - 1, 0.0)
        mends.append(
            _change(
                terms,
                tau,
                whole,
                wide,
                excess.get("verifying", 0.0),
                f"verifying {shown(verified)} tokens for one plain step",
                z,
            )
        )
        certain = LogTau(gamma + 1, 0.0)
        mends.append(_change(terms, certain, whole, (0.0, 0.0, 0.0, 0.0), 0.0, "every draft kept", z))
    mends.append(_change(terms, tau, whole, (0.0, 0.0, 0.0, 1.0), excess.get("fixed work", 0.0), "no fixed work", z))
    best = [mend for mend in mends if mend is not None]
    return tuple(sorted(best, key=lambda mend: -_promise(mend)))


def _promise(mend: Mend) -> float:
    """The speedup of a change, or the largest that it may have."""
    return mend.high if mend.value is None else mend.value


def _ratio(terms: Terms, tau: LogTau, row: Array, z: float) -> tuple[float, float]:
    """tau plain steps over a cycle, and the factor to the ends of its interval."""
    cycle, error = in_steps(terms, row)
    cycle = max(cycle, 1e-9)
    relative = math.hypot(error / cycle, (tau.error or 0.0) / tau.value)
    return tau.value / cycle, math.exp(min(z * relative, WIDEST))


def _change(terms: Terms, tau: LogTau, whole: Array, less: tuple[float, ...], most: float, what: str, z: float) -> Mend:
    """The speedup of a cycle with less in it; if that part is unknown, bounded by nothing of it and the most of it."""
    row = np.asarray(whole) - np.asarray(less)
    if known(terms, row):
        value, factor = _ratio(terms, tau, row, z)
        return Mend(what, value, value / factor, value * factor, "predicted")
    now, factor = _ratio(terms, tau, whole, z)
    cycle = tau.value / now
    least = max(cycle - max(most, 0.0), 1e-9)
    return Mend(what, None, now / factor, tau.value / least * factor, "bounded")


def _measured(run: EngineLog, terms: Terms, z: float) -> Mend | None:
    """The measured speedup of another run of the logs; None if its tokens are not timed."""
    if run.token is None:
        return None
    value = float(terms.values[STEP]) / run.token.value
    relative_error = (run.token.error or 0.0) / run.token.value
    step = math.sqrt(float(np.array(PLAIN) @ terms.covariance @ np.array(PLAIN))) / float(terms.values[STEP])
    factor = math.exp(min(z * math.hypot(relative_error or step, step), WIDEST))
    return Mend(f"{_drafts(run.length or 0.0)} a block", value, value / factor, value * factor, "measured")


def _another_length(
    run: EngineLog, terms: Terms, tau: LogTau, gamma: float, whole: Array, z: float
) -> list[Mend | None]:
    """The best shorter length: exact hazards where positions are counted, else every draft as likely to be kept."""
    # Acceptance of one draft, for logs without positions; then every shorter length.
    tries = []
    longest = math.ceil(gamma)
    alpha = convert_acceptance(min(tau.value, longest + 1.0), kind="tau", to="alpha", gamma=longest)
    for shorter in range(1, longest):
        shorter_tau = _tau_at(run, tau, alpha, shorter)
        row = (1.0, float(shorter), float(shorter), 1.0)
        if known(terms, row):
            value, factor = _ratio(terms, shorter_tau, row, z)
            tries.append(Mend(_drafts(shorter) + " a block", value, value / factor, value * factor, "predicted"))
        else:
            # Bounded by a cycle that is all fixed work and one that is all drafts.
            now, factor = _ratio(terms, shorter_tau, whole, z)
            cycle = shorter_tau.value / now
            least = 1 + max(cycle - 1, 0.0) * shorter / gamma
            tries.append(
                Mend(_drafts(shorter) + " a block", None, now / factor, shorter_tau.value / least * factor, "bounded")
            )
    return [max(tries, key=_promise)] if tries else []


def _tau_at(run: EngineLog, tau: LogTau, alpha: float, shorter: int) -> LogTau:
    """Tokens of a block of `shorter` drafts: by the log's positions, else by one acceptance for all drafts."""
    if run.kept and run.blocks and len(run.kept) >= shorter:
        return log_tau(run._replace(kept=run.kept[:shorter], length=float(shorter)))
    value = as_acceptance(alpha).tau(shorter).value
    return LogTau(value, None if tau.error is None else tau.error * value / tau.value)


def _drafts(length: float) -> str:
    """A number of drafts in words."""
    return "1 draft" if length == 1 else f"{shown(length)} drafts"
