"""A law test with error rates that hold for every sample size, not only in the limit."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.deviation import law_deviation
from specsim.base.results import result
from specsim.types import Array


@result("passed")
class LawTest(NamedTuple):
    """Verdict of `law_test`; all distances are total variation."""

    distance: float
    threshold: float
    detectable: float
    samples: int

    @property
    def passed(self) -> bool:
        """Whether the empirical law is within the threshold."""
        return self.distance <= self.threshold


@np.errstate(under="ignore")
def law_test(counts: Array, law: Array, *, false_alarm: float = 1e-6) -> LawTest:
    r"""Compare observed counts with a law.

    The empirical law's distance from the truth has mean at most E = 1/2 sum_v sqrt(p_v (1 - p_v) /
    N), and one sample moves it by at most 1/N: by McDiarmid's inequality it exceeds E +
    sqrt(ln(1/delta) / 2N) with probability <= delta.

    Parameters
    ----------
    counts : integer array, shape (V,)
        How often each outcome was seen.
    law : array_like, shape (V,)
        The claimed law.
    false_alarm : float
        delta, in (0, 1): the largest probability of failing a correct sampler.

    Returns
    -------
    LawTest
        distance; threshold; detectable: a sampler whose true distance is at least this fails with probability at
        least 1 - delta; samples N.

    Raises
    ------
    ValueError
        Counts are negative or empty, shapes differ, or the law is not a law.

    References
    ----------
    McDiarmid 1989, "On the method of bounded differences".

    Examples
    --------
    >>> law_test([5200, 4800], [0.5, 0.5]).passed, law_test([6000, 4000], [0.5, 0.5]).passed
    (True, False)
    """
    # Whole numbers, one for each outcome.
    p = np.asarray(check.law(law, "law"), dtype=np.float64)
    c = check.real_values(counts, "counts", 0, float("inf"))
    if (c != np.floor(c)).any():
        raise ValueError("counts must be whole numbers")
    if c.shape != p.shape or p.ndim != 1:
        raise ValueError(f"counts has shape {c.shape} and law {p.shape}; both must be (V,)")
    n = float(c.sum())
    if n == 0:
        raise ValueError("counts sum to 0: nothing was sampled")
    # The distance, and what it may be and could see.
    delta = float(check.scalar(false_alarm, "false_alarm", "(0, 1)"))
    spread = math.sqrt(math.log(1 / delta) / (2 * n))
    threshold = law_deviation(p, n, delta)
    # For every true law t, sum sqrt(t (1 - t)) <= sqrt(V - 1).
    detectable = threshold + 0.5 * math.sqrt((len(p) - 1) / n) + spread
    distance = 0.5 * float(np.abs(c / n - p).sum())
    return LawTest(distance, threshold, detectable, int(n))


@np.errstate(under="ignore")
def assert_law(samples: Array, law: Array, *, false_alarm: float = 1e-6) -> LawTest:
    """Raise AssertionError unless integer samples follow a law (see `law_test`).

    Parameters
    ----------
    samples : integer array
        Outcomes 0..V-1, any shape.
    law : array_like, shape (V,)
        The claimed law.
    false_alarm : float
        Largest probability of failing a correct sampler.

    Returns
    -------
    LawTest
        The passed test.

    Raises
    ------
    AssertionError
        The samples do not follow the law; the message has distance and threshold.
    ValueError
        A sample is no outcome of the law, or there is none.

    References
    ----------
    See `law_test`.

    Examples
    --------
    >>> assert_law([0, 1] * 5000, [0.5, 0.5]).samples
    10000
    """
    outcomes = np.ravel(np.asarray(samples))
    if outcomes.size == 0 or outcomes.dtype.kind not in "iu" or outcomes.min() < 0 or outcomes.max() >= len(law):
        raise ValueError(f"samples must be outcomes 0..{len(law) - 1}, at least one")
    test = law_test(np.bincount(outcomes, minlength=len(law)), law, false_alarm=false_alarm)
    if not test.passed:
        raise AssertionError(
            f"TV {test.distance:.4g} from the claimed law, above {test.threshold:.4g} "
            f"({test.samples} samples, false-alarm rate {false_alarm:g})"
        )
    return test
