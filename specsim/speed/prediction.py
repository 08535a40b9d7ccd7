"""Will it help, by how much, and how sure is that? Acceptance and time keep separate error budgets."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.results import result
from specsim.latency import LatencyModel, Timing
from specsim.latency.model import total
from specsim.lengths.acceptance_record import Acceptance, Tau, as_acceptance
from specsim.lengths.blocks import accepted_length_law
from specsim.lengths.hazards import HazardEstimate
from specsim.lengths.requests import request_law
from specsim.types import Array

ALIKE = (
    "all requests accept drafts alike: where they differ, P95 and P99 are longer (--hazards takes a log by request, as "
    "specsim log reads it)"
)
HOLDS_ONE = "the interval of the speedup holds 1: it may help or harm"
# With fewer blocks than this, a standard error is little more than a guess.
_FEW = 30


class Estimate(NamedTuple):
    """A number and its interval; low and high are None where a part of it is a prediction of unknown error."""

    value: float
    low: float | None
    high: float | None


class PerToken(NamedTuple):
    """Time per token of whole answers, over requests: mean, median, and the 95 and 99 % quantiles."""

    mean: float
    p50: float
    p95: float
    p99: float


@result("speedup")
class Prediction(NamedTuple):
    """The predicted speedup at one speculation length, and the numbers that it follows from.

    Times are in `unit`; tokens_per_time counts the whole batch, per second or per target step. variance_tau and
    variance_time are the squared relative errors of the speedup owed to acceptance and to time; `main_error` names the
    larger, or the one that is not known. per_token: time per token of answers, over requests, if their length is given.

    Examples
    --------
    >>> from specsim import latency
    >>> prediction = predict(latency.constant(0.1), 0.7, gamma=3)
    >>> prediction.speedup.value == prediction.tau.value / prediction.cycle.value, prediction.main_error
    (True, 'none given')
    """

    gamma: int
    batch: int
    context: int
    tau: Estimate
    draft: float
    verify: float
    overhead: float
    plain: float
    cycle: Estimate
    tokens_per_time: Estimate
    speedup: Estimate
    variance_tau: float
    variance_time: float | None
    main_error: str
    unit: str
    flags: tuple[str, ...]
    assumptions: tuple[str, ...]
    per_token: PerToken | None = None


@np.errstate(under="ignore")
def predict(
    latency: LatencyModel,
    acceptance: Acceptance | Array | HazardEstimate | None = None,
    *,
    gamma: int,
    tau: float | None = None,
    tau_error: float = 0.0,
    batch: int = 1,
    context: int = 0,
    level: float = 0.95,
    answer: int | None = None,
) -> Prediction:
    r"""Predict the speedup of speculation at one length, with its error split into acceptance and time.

    .. math:: S = \frac{\tau \, T(1)}{\gamma T_D + T(\gamma + 1) + T_o}, \qquad
        \left(\frac{\delta S}{S}\right)^2 = \left(\frac{\delta\tau}{\tau}\right)^2
        + \left(\frac{\delta T(1)}{T(1)}\right)^2 + \left(\frac{\delta T_c}{T_c}\right)^2

    Parameters
    ----------
    latency : LatencyModel
        What passes and steps cost.
    acceptance : float, array_like, HazardEstimate, callable or Acceptance, optional
        A number (the i.i.d. model, declared by giving it), a hazard curve of shape (n,) with n >= gamma, hazards
        counted in a log (see `estimate_hazards`), whose errors are carried along, a function that gives one of these
        for each gamma, or the record of one (`specsim.lengths.acceptance_record`).
    gamma : int
        Speculation length, at least 0; 0 is plain decoding.
    tau : float, optional
        Instead of acceptance: measured tokens per target call.
    tau_error : float
        Its standard error.
    batch, context : int
        Sequences decoded together, and tokens before the block.
    level : float
        Level of the intervals, in (0, 1).
    answer : int, optional
        Tokens of an answer: gives its time per token, over requests. They are of the kinds that are fitted to an
        acceptance by request, and taken to be alike where it has none.

    Returns
    -------
    Prediction
        The interval of tau is normal, cut at what is possible; the others are normal on a logarithmic scale. Measured
        parts count as independent. Where they have no errors, the speedup takes the model's `cycle_error`.

    Raises
    ------
    ValueError
        tau outside [1, gamma + 1] (no algebra of one chain gives it), both or neither of acceptance and tau, a hazard
        curve shorter than gamma, or whatever the latency model refuses.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, theorem 3.8; MagicDec, arXiv:2408.11049 (measured parts).

    Examples
    --------
    >>> from specsim import from_measurements
    >>> times = from_measurements({1: [20.0, 20.4], 5: [21.0, 21.2]}, {None: [1.0, 1.1]}, overhead=[0.5, 0.7])
    >>> prediction = predict(times, tau=3.2, tau_error=0.05, gamma=4)
    >>> [round(v, 2) for v in prediction.speedup], prediction.main_error
    ([2.5, 2.4, 2.6], 'acceptance')
    """
    g = check.integer(gamma, "gamma", 0, limits.MAX_GAMMA)
    share = float(check.scalar(level, "level", "(0, 1)"))
    curve = None if acceptance is None else as_acceptance(acceptance)
    (mean, error), assumed = _tokens(curve, g, tau, tau_error)
    check.record(latency, "latency", LatencyModel)
    # Times of a plain step and of a cycle.
    plain = latency.target(1, check.integer(batch, "batch", 1), check.integer(context, "context", 0))
    draft, verify, overhead = latency.parts(g, batch, context)
    cycle = total(draft, verify, overhead)
    # Relative variances of tau and of the ratio of times, and the interval of the speedup.
    z = NormalDist().inv_cdf((1 + share) / 2)
    of_tau = (error / mean) ** 2
    of_cycle, of_step = _relative(cycle), _relative(plain)
    of_time = None if of_cycle is None or of_step is None else of_cycle + of_step
    if of_time is None and (error_of_cycle := latency.error(batch * (g + 1))) is not None:
        of_time = error_of_cycle**2
    # Plain decoding is compared with itself: the error of its step cancels.
    of_time = of_time if g else 0.0
    speed = mean * plain.value / cycle.value
    low, high = (max(mean - z * error, 1.0), min(mean + z * error, g + 1.0))
    speedup = interval(speed, None if of_time is None else of_tau + of_time, z)
    # What a reader should doubt.
    flags = []
    if speedup.low is not None and speedup.high is not None and speedup.low < 1 < speedup.high:
        flags.append(HOLDS_ONE)
    counted = None if curve is None or g == 0 else curve.counted(g)
    if counted is not None and counted.tried[g - 1] < _FEW:
        # Blocks of a prediction along texts are expected ones: fewer than one can come to a draft.
        tried = float(counted.tried[g - 1])
        blocks = f"{tried:.0f}" if tried >= 1 else f"{tried:.1g}"
        flags.append(f"only {blocks} blocks came to draft {g}: its hazard, and the error, are uncertain")
    if verify.value > 1.1 * plain.value:
        flags.append(f"verifying {g + 1} tokens costs {verify.value / plain.value:.2f} plain steps, not one")
    if g and cycle.value < plain.value:
        flags.append("a whole cycle is cheaper than one plain step: check the times")
    prediction = Prediction(
        g,
        batch,
        context,
        Estimate(mean, low, high),
        draft.value,
        verify.value,
        overhead.value,
        plain.value,
        interval(cycle.value, of_cycle, z),
        interval(batch * mean / cycle.value, None if of_cycle is None else of_tau + of_cycle, z),
        speedup,
        of_tau,
        of_time,
        _main(of_tau, of_time),
        latency.unit,
        tuple(flags),
        (assumed, *latency.assumptions),
    )
    if answer is None:
        return prediction
    if curve is None:
        raise ValueError("answer needs acceptance: tau alone does not say how blocks differ")
    times, of_requests = _per_token(curve, g, answer, cycle.value)
    return prediction._replace(per_token=times, assumptions=(*prediction.assumptions, of_requests))


def _per_token(curve: Acceptance, gamma: int, answer: int, cycle: float) -> tuple[PerToken, str]:
    """Return the time per token of answers, and what is assumed of requests."""
    # Laws of the accepted drafts of a block, of each kind of requests, with the kinds' shares of requests.
    words, weights = ALIKE, np.ones(1)
    hazards = np.array([curve.hazards(gamma)])
    if curve.requests is not None:
        mixture = curve.requests()
        words, weights, hazards = mixture.words, mixture.weights, mixture.hazards[:, :gamma]
    laws = [accepted_length_law(row) if gamma else np.ones(1) for row in hazards]
    # Cycles of an answer of each kind, and of all.
    by_kind = [request_law(law, answer, cycle_s=cycle) for law in laws]
    cycles = sum(weight * law.cycles for weight, law in zip(weights, by_kind, strict=True))
    law = by_kind[0]._replace(cycles=cycles)
    seconds = law.mean_s, *(law.quantile(share) for share in (0.5, 0.95, 0.99))
    return PerToken(*(float(time) / answer for time in seconds)), words


def _tokens(curve: Acceptance | None, gamma: int, tau: float | None, tau_error: float) -> tuple[Tau, str]:
    """Return tau with its standard error, and the assumption behind it; ValueError unless one source gives it."""
    if tau is not None and curve is None:
        error = float(check.scalar(tau_error, "tau_error", "[0, inf)"))
        measured = float(check.scalar(tau, "tau", "(0, inf)"))
        if not 1 <= measured <= gamma + 1:
            raise ValueError(f"tau is {measured:g}; a block of {gamma} drafts emits between 1 and {gamma + 1} tokens")
        return Tau(measured, error), "tau is as measured"
    if curve is None or tau is not None:
        raise ValueError("give acceptance or tau, one of them")
    if tau_error:
        raise ValueError(f"tau_error is {tau_error}, but no tau is given")
    return curve.tau(gamma), curve.words


def _relative(time: Timing) -> float | None:
    """Return the squared relative error of a time; None if its error is unknown."""
    return None if time.error is None else (time.error / time.value) ** 2


# The logarithm of the widest interval's factor: beyond it nothing is known, and its ends stay finite.
WIDEST = 50.0


def interval(value: float, variance: float | None, z: float) -> Estimate:
    """Return the interval of a positive number with this relative variance, symmetric in the logarithm."""
    if variance is None:
        return Estimate(value, None, None)
    stretch = math.exp(min(z * math.sqrt(variance), WIDEST))
    return Estimate(value, value / stretch, value * stretch)


def _main(of_tau: float, of_time: float | None) -> str:
    """Return the name of the larger of the two errors."""
    if of_time is None:
        return "time, its error unknown"
    if of_tau == of_time == 0:
        return "none given"
    return "acceptance" if of_tau > of_time else "time"
