"""Intervals of what is trained: over prompts and over training seeds, which both would be others next time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from real.studies.intervals import Estimate
from specsim.types import Array


def crossed(data: tuple[Array, ...], statistic: Callable[..., Array], level: float = 0.95) -> Estimate:
    """Return a smooth function of sums over seeds and prompts, with Student's interval.

    Its variance is the jackknife's over prompts, seeds being summed, and that of a mean of as many
    seeds; degrees of freedom are those of Welch and Satterthwaite.

    Parameters
    ----------
    data : tuple of array, shape (seeds, prompts)
        Terms of each sum. What was not trained has equal rows.
    statistic : callable
        The function of the sums, entry by entry.
    level : float
        Of the interval.

    Returns
    -------
    Estimate
        Over prompts alone where there is one seed; without an interval for one prompt.

    Examples
    --------
    >>> tokens, calls = np.array([[6.0, 8.0, 7.0]] * 2), np.array([[3.0, 4.0, 3.0], [3.0, 3.0, 4.0]])
    >>> [round(value, 2) for value in crossed((tokens, calls), lambda a, b: a / b)]
    [2.1, 1.67, 2.53]
    """
    data = tuple(np.asarray(terms, dtype=np.float64) for terms in data)
    seeds, prompts = data[0].shape
    value = float(statistic(*(terms.sum() for terms in data)))
    if prompts < 2:
        return Estimate(value, float("-inf"), float("inf"))
    # Imported here: it takes longer than showing a record.
    from scipy import stats

    # The variances, the jackknife's by leaving each prompt out once, with their degrees of freedom.
    without = statistic(*(terms.sum() - terms.sum(axis=0) for terms in data))
    variances = [(prompts - 1) * np.var(without)]
    freedoms = [prompts - 1]
    if seeds > 1:
        by_seed = statistic(*(terms.sum(axis=1) for terms in data))
        variances.append(np.var(by_seed, ddof=1) / seeds)
        freedoms.append(seeds - 1)

    # Student's interval with the sum of both.
    variance = sum(variances)
    if variance == 0:
        return Estimate(value, value, value)
    freedom = variance**2 / sum(part**2 / n for part, n in zip(variances, freedoms, strict=True))
    half_width = float(stats.t.ppf((1 + level) / 2, freedom) * np.sqrt(variance))
    return Estimate(value, value - half_width, value + half_width)
