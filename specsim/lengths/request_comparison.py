"""Is drafter B better than drafter A, and how many prompts does it take to see a difference?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.intervals import Measure, RatioEstimate, jackknife, student_quantile
from specsim.base.results import result
from specsim.lengths.request_record import (
    AcceptanceRecord,
    RequestAcceptance,
    check_record,
    shared_prompts,
    stepped,
)
from specsim.types import Array

# Differences that people ask for, as parts of tau.
DIFFERENCES = (0.01, 0.02, 0.05)
# Probability with which a difference is seen if it is there.
POWER = 0.8
# The smallest relative difference that is asked about: it takes some 10^12 prompts to see.
LEAST = 1e-6

# A ratio of two sums over requests: the numerator and the denominator of each request.
RequestRatio = tuple[Array, Array]


class PromptsNeeded(NamedTuple):
    """The prompts, of each drafter, with which a relative difference in tau is seen with 80 % probability."""

    difference: float
    prompts: int


@result("ratio", "better")
class RecordComparison(NamedTuple):
    """Tokens per target call of a second record over those of a first.

    ratio: all requests together. mean_ratio: ratio of the means over requests of their own tau. better: which record is
    certain to have the larger tau. paired: whether prompts were shared, so that differences between them cancel.
    prompts: requests of the first and second record that were compared. needed: prompts to see a difference, in the
    way that they were compared.

    Examples
    --------
    >>> from specsim.lengths.request_record import request_of_blocks
    >>> def record(more: int) -> AcceptanceRecord:
    ...     counts = enumerate([(0, 1), (1, 2), (3, 3), (0, 2)])
    ...     return AcceptanceRecord(tuple(request_of_blocks([a, b, more], 3, prompt=str(i)) for i, (a, b) in counts))
    >>> comparison = compare_records(record(1), record(2))
    >>> round(comparison.ratio.value, 3), comparison.better, comparison.paired
    (1.143, 'second', True)
    """

    ratio: Measure
    mean_ratio: Measure
    better: Literal["first", "second", "neither"]
    paired: bool
    prompts: tuple[int, int]
    needed: tuple[PromptsNeeded, ...]


def compare_records(
    first: AcceptanceRecord,
    second: AcceptanceRecord,
    *,
    differences: Sequence[float] = DIFFERENCES,
    level: float = 0.95,
) -> RecordComparison:
    r"""Compare the tokens per target call of two records, paired by prompt where prompts are shared.

    .. math:: L = \log \frac{\hat\tau_2}{\hat\tau_1}, \qquad n(d) = \Big\lceil \Big(
        \frac{(t_{1 - \alpha/2} + z_{0.8}) \, \mathrm{se}(L) \sqrt n}{\log(1 + d)} \Big)^2 \Big\rceil

    Parameters
    ----------
    first, second : AcceptanceRecord
        Two requests or more each, of two drafters or settings. Requests with the same `prompt` are paired, and those
        of one record alone are left out, if two or more are shared.
    differences : sequence of float
        Relative differences for which the prompts needed are asked.
    level : float
        Level of the intervals, in (0, 1).

    Returns
    -------
    RecordComparison
        Intervals are Student's on the scale of the logarithm, with the jackknife over prompts.

    Raises
    ------
    ValueError
        Fewer than two requests with steps in a record, or counts that contradict each other.

    References
    ----------
    Efron and Stein 1981, Annals of Statistics 9:586 (the jackknife); Welch 1947, Biometrika 34:28 (two samples).

    Examples
    --------
    >>> from specsim.lengths.request_record import request_of_blocks
    >>> a = AcceptanceRecord(tuple(request_of_blocks([n, 1], 3) for n in (0, 1, 3)))
    >>> comparison = compare_records(a, a)
    >>> comparison.ratio.value, comparison.better, [row.difference for row in comparison.needed]
    (1.0, 'neither', [0.01, 0.02, 0.05])
    """
    # Validate.
    share = float(check.scalar(level, "level", "(0, 1)"))
    records = [stepped(check_record(record, name)) for record, name in ((first, "first"), (second, "second"))]
    for record, name in zip(records, ("first", "second"), strict=True):
        if len(record.requests) < 2:
            raise ValueError(f"{name} has {len(record.requests)} requests with steps; expected two or more")
    wanted = [float(check.scalar(d, f"differences[{i}]", f"[{LEAST:g}, inf)")) for i, d in enumerate(differences)]
    # Pairs of requests with one prompt, or all requests of both.
    pairs = shared_prompts(records[0], records[1])
    paired = len(pairs) >= 2
    old, new = list(records[0].requests), list(records[1].requests)
    if paired:
        old, new = [old[i] for i, _ in pairs], [new[j] for _, j in pairs]
    # The logarithm of tau of the second record over that of the first, with its error.
    compare = _paired_log_ratio if paired else _unpaired_log_ratio
    log_ratio = compare(_tokens_and_steps(old), _tokens_and_steps(new))
    mean_log_ratio = compare(_taus_and_ones(old), _taus_and_ones(new))
    # Which is better, and with how many prompts a difference would be seen.
    ratio = _exponential(log_ratio, share)
    better: Literal["first", "second", "neither"] = "neither"
    if ratio.low is not None and ratio.low > 1:
        better = "second"
    elif ratio.high is not None and ratio.high < 1:
        better = "first"
    size = len(old) if paired else _mean_size(len(old), len(new))
    spread = log_ratio.error * math.sqrt(size)
    needed = tuple(PromptsNeeded(d, prompts_needed(spread, d, share)) for d in wanted)
    return RecordComparison(
        ratio=ratio,
        mean_ratio=_exponential(mean_log_ratio, share),
        better=better,
        paired=paired,
        prompts=(len(old), len(new)),
        needed=needed,
    )


def prompts_needed(spread: float, difference: float, level: float = 0.95) -> int:
    """Return the prompts with which a relative difference is seen, for one prompt's spread of the log ratio.

    Few prompts need Student's quantile, with as many degrees of freedom as `jackknife` finds for normal values. The
    quantile depends on the number of prompts that is looked for: it is found by repetition.

    >>> prompts_needed(0.3, 0.02), prompts_needed(0.3, 0.05)
    (1805, 301)
    """
    power, scale = NormalDist().inv_cdf(POWER), spread / math.log1p(difference)
    normal_quantile = NormalDist().inv_cdf((1 + level) / 2)
    needed = max(math.ceil(((normal_quantile + power) * scale) ** 2), 2)
    for _ in range(8):
        quantile = student_quantile(level, max(needed / 2, 1))
        needed = max(math.ceil(((quantile + power) * scale) ** 2), 2)
    return needed


def _tokens_and_steps(requests: list[RequestAcceptance]) -> RequestRatio:
    """Return the tokens and the steps of each request: the ratio of their sums is tau of all together."""
    tokens = np.array([float(request.emitted_tokens) for request in requests])
    return tokens, np.array([float(request.steps) for request in requests])


def _taus_and_ones(requests: list[RequestAcceptance]) -> RequestRatio:
    """Return the tau of each request, and 1: the ratio of their sums is the mean of the requests' tau."""
    return np.array([request.tau for request in requests]), np.ones(len(requests))


def _paired_log_ratio(old: RequestRatio, new: RequestRatio) -> RatioEstimate:
    """Return log(new ratio / old ratio) of two records with the same prompts, in the same order.

    The jackknife leaves out each prompt from both records at once: what makes a prompt easy for both cancels.
    """
    value = _log_ratio(new) - _log_ratio(old)
    return jackknife(value, _log_ratios_without_each(new) - _log_ratios_without_each(old))


def _unpaired_log_ratio(old: RequestRatio, new: RequestRatio) -> RatioEstimate:
    """Return log(new ratio / old ratio) of two independent records: variances add up.

    The degrees of freedom are Welch's: nu = (v_1 + v_2)^2 / (v_1^2 / nu_1 + v_2^2 / nu_2).
    """
    # Each record's log ratio, with the jackknife's error.
    first, second = (jackknife(_log_ratio(ratio), _log_ratios_without_each(ratio)) for ratio in (old, new))
    value = second.value - first.value
    variances = [first.error**2, second.error**2]
    total = sum(variances)
    # Equal requests have no error.
    if not total:
        return RatioEstimate(value, 0.0, len(old[0]) + len(new[0]) - 2)
    parts = zip(variances, (first.freedom, second.freedom), strict=True)
    freedom = total**2 / sum(variance**2 / degrees for variance, degrees in parts if variance)
    return RatioEstimate(value, math.sqrt(total), freedom)


def _log_ratio(ratio: RequestRatio) -> float:
    """Return the logarithm of the ratio of sums."""
    numerators, denominators = ratio
    return math.log(numerators.sum() / denominators.sum())


def _log_ratios_without_each(ratio: RequestRatio) -> Array:
    """Return the logarithm of the ratio of sums over all requests but one, leaving out each in turn."""
    numerators, denominators = ratio
    logs: Array = np.log((numerators.sum() - numerators) / (denominators.sum() - denominators))
    return logs


def _mean_size(first: int, second: int) -> float:
    """Return n such that two samples of n requests each give as certain a difference as these two: 2/n = 1/a + 1/b."""
    return 2 / (1 / first + 1 / second)


def _exponential(estimate: RatioEstimate, level: float) -> Measure:
    """Return a ratio with its interval from its logarithm; the high end stays finite."""
    low, high = estimate.interval(level)
    return Measure(math.exp(estimate.value), math.exp(low), math.exp(min(high, 700.0)))
