"""The draft law is free: the temperature of the draft at which a lossless rule can accept most."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.results import result
from specsim.bounds.optimum import optimal_acceptance
from specsim.laws.warp import apply
from specsim.types import Array

# Temperatures from 1/8 to 8, and 1 among them.
GRID = np.exp2(np.arange(-12, 13) / 4)
# Narrowings of the interval around the best of the grid, to a relative width of 2e-4.
NARROWINGS = 16
# The golden section: two inner points, one of which is used again.
GOLDEN = (math.sqrt(5) - 1) / 2


@result("temperature", "value")
class BestTemperature(NamedTuple):
    """The best draft temperature, the mean optimum there and at temperature 1, and all (temperature, mean optimum)."""

    temperature: float
    value: float
    at_one: float
    curve: Array


@np.errstate(under="ignore")
def best_draft_temperature(rows: tuple[Array, Array], *, num_drafts: int, scheme: str) -> BestTemperature:
    r"""Temperature of the draft that maximises the mean optimal acceptance at a budget of K drafts.

    .. math:: T^* = \operatorname{argmax}_T \; \tfrac1n \sum_r \alpha^*_K(p_r, q_r^{(T)}), \qquad
        q^{(T)}_v \propto q_v^{1/T}

    Any law made from q may be drawn from: it is then the q of every rule. Flatter laws cover more of a target that the
    draft is unsure of, sharper ones repeat less of what both are sure of. A grid from T = 1/8 to 8, then golden
    sections around its best point; the result is never worse than T = 1, but between the points of the grid another
    maximum may hide.

    Parameters
    ----------
    rows : pair (p, q) of array_like, shape (..., V)
        Target laws, and draft laws at temperature 1; leading axes broadcast.
    num_drafts : int
        Candidates K per position, at least 1; their expected number for "distinct".
    scheme : str
        How the candidates are drawn (see `optimal_acceptance`).

    Returns
    -------
    BestTemperature
        temperature; value, the mean optimum there; at_one, the mean optimum at temperature 1; curve, shape (m, 2),
        every (temperature, mean optimum) that was computed, by temperature.

    Raises
    ------
    ValueError
        As in `optimal_acceptance`; rows is not a pair.
    TypeError
        The laws are Fractions: their powers are not.

    References
    ----------
    The scaling is `specsim.warp`'s; the objective is that of T03 in proofs/.

    Examples
    --------
    >>> p, q = [0.4, 0.3, 0.2, 0.1, 0, 0], [0.8, 0.1, 0.02, 0.04, 0.02, 0.02]
    >>> best = best_draft_temperature((p, q), num_drafts=2, scheme="iid")
    >>> round(best.temperature, 2), round(best.value, 4), round(best.at_one, 4)
    (2.39, 0.9668, 0.6944)
    """
    if not isinstance(rows, tuple) or len(rows) != 2:
        raise ValueError("rows must be a tuple (p, q) of target and draft laws")
    p, q = (np.asarray(w) for w in check.pair(*rows))
    if not p.size:
        raise ValueError(f"rows have shape {p.shape}: there is no mean acceptance")
    if p.dtype == object:
        raise TypeError("rows hold Fractions, whose powers are irrational; give floats")
    logits = np.log(q, where=q > 0, out=np.full(q.shape, -np.inf))
    means: dict[float, float] = {}

    def mean_optimum(log_temperature: float) -> float:
        """Return the mean optimum at a temperature, and record it in `means`."""
        t = math.exp(log_temperature)
        draft = q if t == 1 else apply(logits, temperature=t, top_k=0, top_p=1.0, min_p=0.0)
        means[t] = float(np.mean(optimal_acceptance(p, draft, num_drafts=num_drafts, scheme=scheme)))
        return means[t]

    # The best of a grid, then golden-section search around it, whose values `means` records, too.
    grid = np.log(GRID).tolist()
    values = [mean_optimum(x) for x in grid]
    best = int(np.argmax(values))
    _search_golden_section(mean_optimum, grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    # Of temperatures with equal means the one nearest to 1.
    temperature = max(means, key=lambda t: (means[t], -abs(math.log(t))))
    return BestTemperature(temperature, means[temperature], means[1.0], np.array(sorted(means.items())))


def _search_golden_section(f: Callable[[float], float], low: float, high: float) -> None:
    """Call f at the points of a golden-section search for its maximum in [low, high].

    f records its values: nothing is returned.
    """
    # Inner points a < b. The end beside the lower of the two is dropped, and the other inner point
    # serves again: one new value of f at a time.
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_a, at_b = f(a), f(b)
    for _ in range(NARROWINGS):
        if at_a < at_b:
            low, a, at_a = a, b, at_b
            b = low + GOLDEN * (high - low)
            at_b = f(b)
        else:
            high, b, at_b = b, a, at_a
            a = high - GOLDEN * (high - low)
            at_a = f(a)
