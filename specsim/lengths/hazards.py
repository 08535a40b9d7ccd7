"""Acceptance by position: counted in a log of blocks, or over text that is not all alike."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.arrays import array_namespace
from specsim.base.drawing import survival_plot
from specsim.base.intervals import wilson
from specsim.base.results import result
from specsim.lengths.blocks import accepted_length_law
from specsim.types import Array

# Most drafts of one block in a log: more is a mistake in the file.
MAX_DRAFTS = 4096


@result("hazards", rows=lambda estimate: estimate.positions())
class HazardEstimate(NamedTuple):
    """Hazards counted in a log: hazards, intervals (gamma, 2), and per position the blocks that tried and kept it.

    They end at the last position that some block came to test. tau_error: where blocks are not independent, the
    standard error of tau at the full length, which `tau` then gives at every length.

    Examples
    --------
    >>> counted = estimate_hazards([0, 1, 2], 2, counts=[50, 30, 20])
    >>> [round(v, 3) for v in counted.tau(2)]
    [1.7, 0.078]
    """

    hazards: Array
    intervals: Array
    tried: Array
    kept: Array
    tau_error: float | None = None

    def positions(self) -> list[dict[str, float]]:
        """Return one row for each position in the block: its hazard, the interval, and the counts behind it."""
        return [
            {
                "position": i + 1,
                "hazard": float(self.hazards[i]),
                "low": float(self.intervals[i][0]),
                "high": float(self.intervals[i][1]),
                "tried": float(self.tried[i]),
                "kept": float(self.kept[i]),
            }
            for i in range(len(self.hazards))
        ]

    def plot(self, axes: Any = None) -> Any:
        """Draw how many blocks come to each draft and keep it; return matplotlib's Axes (extra `plot`)."""
        return survival_plot(self.hazards, self.intervals, axes)

    def tau(self, gamma: int, *, wary: bool = False) -> tuple[float, float]:
        """Tokens per target call at this length and the standard error (Greenwood's; independent blocks).

        Where every block that came so far kept the draft, or none did, Greenwood's term is 0 however few they were; if
        wary, the width of Wilson's interval stands for it.
        """
        g = check.integer(gamma, "gamma", 0, limits.MAX_GAMMA)
        if g > len(self.hazards) or not self.tried[:g].all():
            seen = int(np.argmin(self.tried > 0)) if not self.tried.all() else len(self.tried)
            raise ValueError(f"gamma is {g}, but no block came to test a draft beyond position {seen}")
        # tau = sum over i of alpha_1 ... alpha_i.
        a, tried = self.hazards[:g], self.tried[:g]
        before = np.concatenate([[1.0], np.cumprod(a)])
        # Its slope d tau / d alpha_i: reach position i, and, with draft i accepted, expect after[i + 1] tokens there.
        after = np.ones(g + 1)
        for i in reversed(range(g)):
            after[i] = 1 + a[i] * after[i + 1]
        slope = before[:g] * after[1:]
        if self.tau_error is not None:
            return float(before.sum()), self.tau_error
        # Greenwood's variance: that of each hazard, times its slope squared.
        spread = a * (1 - a) / tried
        if wary:
            spread = np.where((a == 0) | (a == 1), (_Z / (tried + _Z**2)) ** 2, spread)
        return float(before.sum()), math.sqrt(float(np.sum(slope**2 * spread)))


@np.errstate(under="ignore")
def estimate_hazards(accepted: Array, drafted: Array, *, counts: Array = None, level: float = 0.95) -> HazardEstimate:
    r"""Hazards from a log of blocks, whatever length each was drafted at.

    .. math:: \hat\alpha_i = \frac{\#\{n \ge i\}}{\#\{n \ge i - 1, \; g \ge i\}}

    A block that kept all of its g drafts says nothing about draft g+1: it is censored there, and counts only for the
    positions that it tried. Counting it there as a rejection would bias estimates downwards.

    Parameters
    ----------
    accepted : array_like of int, shape (N,)
        Drafts kept by each block, or each value of a histogram.
    drafted : array_like of int
        Drafts made by each block: shape (N,), or one number for all.
    counts : array_like of int, shape (N,), optional
        Blocks that each entry stands for; one each by default.
    level : float
        Level of each interval (Wilson's), in (0, 1).

    Returns
    -------
    HazardEstimate
        Up to the last position that some block came to test. Intervals take
        blocks for independent: where texts differ, `pool_texts` gives honest,
        wider ones. A length chosen after looking at the draft's confidence makes
        these the hazards of that policy.

    Raises
    ------
    ValueError
        Shapes that differ, a negative number, accepted above drafted, no block at all, or level outside (0, 1).

    References
    ----------
    Kaplan and Meier 1958, JASA 53:457 (censored hazards); Wilson 1927, JASA 22:209 (intervals).

    Examples
    --------
    >>> estimate = estimate_hazards([0, 1, 2, 1], [2, 2, 2, 1])  # the last block drafted once and kept it
    >>> estimate.hazards.tolist(), estimate.tried.tolist()
    ([0.75, 0.5], [4, 2])
    """
    # Validate the log: n accepted drafts of g, in `weight` blocks.
    n = _counts(accepted, "accepted")
    g = _counts(drafted, "drafted")
    if g.max() > MAX_DRAFTS:
        raise ValueError(f"drafted[{int(g.argmax())}] is {g.max()}; blocks have at most {MAX_DRAFTS} drafts")
    weight = np.ones(len(n), dtype=np.int64) if counts is None else _counts(counts, "counts")
    g = np.full(len(n), g[0]) if len(g) == 1 else g
    if not len(n) == len(g) == len(weight):
        raise ValueError(f"accepted, drafted and counts have {len(n)}, {len(g)} and {len(weight)} entries")
    if (n > g).any():
        i = int(np.argmax(n > g))
        raise ValueError(f"accepted[{i}] is {n[i]}, more than the {g[i]} drafts of that block")
    if not weight.sum():
        raise ValueError("there is no block: counts are all 0")
    share = float(check.scalar(level, "level", "(0, 1)"))
    # For every position, the blocks that tested its draft, and those that accepted it; drop positions that none tested.
    places = range(1, int(g.max()) + 1)
    tried = np.array([weight[(n >= i - 1) & (g >= i)].sum() for i in places], dtype=np.int64)
    kept = np.array([weight[n >= i].sum() for i in places], dtype=np.int64)
    tried = tried[tried > 0]
    kept = kept[: len(tried)]
    # Hazards with Wilson's intervals.
    hazards = kept / tried
    z = NormalDist().inv_cdf((1 + share) / 2)
    intervals = np.array([wilson(int(k), int(t), z) for k, t in zip(kept, tried, strict=True)]).reshape(-1, 2)
    return HazardEstimate(hazards, intervals, tried, kept)


@np.errstate(under="ignore")
def pool_texts(kept: Array, tried: Array) -> HazardEstimate:
    r"""Hazards pooled over texts, with the error that comes from their being a sample.

    .. math:: \hat\alpha_i = \frac{\sum_t k_{ti}}{\sum_t n_{ti}}, \qquad
        \mathrm{se}^2(\hat\tau) = \frac{T - 1}{T} \sum_t (\hat\tau_{-t} - \bar\tau_{-})^2

    Parameters
    ----------
    kept, tried : array_like, shape (T, gamma)
        Blocks, or expected ones, that came to test each draft and that kept it, by text.

    Returns
    -------
    HazardEstimate
        Up to the last position that some block came to test. With the jackknife's
        tau_error, of texts drawn independently; intervals of the hazards likewise (95 %, normal).

    Raises
    ------
    ValueError
        Fewer than two texts, shapes that differ, or a text that keeps more than it tried.

    References
    ----------
    Efron and Stein 1981, Annals of Statistics 9:586 (the jackknife).

    Examples
    --------
    >>> estimate = pool_texts([[9, 5], [7, 2]], [[10, 9], [10, 7]])
    >>> estimate.hazards.tolist(), [round(v, 3) for v in estimate.tau(2)]
    ([0.8, 0.4375], [2.15, 0.25])
    """
    # Validate the counts, and drop positions that no block came to test.
    k, n = (np.asarray(check.real_values(v, name, 0, math.inf)) for v, name in ((kept, "kept"), (tried, "tried")))
    if k.shape != n.shape or k.ndim != 2 or len(k) < 2:
        raise ValueError(f"kept and tried must have one shape (T, gamma) with T >= 2, got {k.shape} and {n.shape}")
    if (k > n * (1 + 1e-9)).any():
        raise ValueError("a text keeps more drafts than it tried")
    tested = int(np.cumprod(n.sum(axis=0) > 0).sum())
    k, n = k[:, :tested], n[:, :tested]
    # Hazards of all texts, and of all texts but one (T, gamma).
    accepted, tried_by_all = k.sum(axis=0), n.sum(axis=0)
    without = (accepted - k) / np.where(tried_by_all - n > 0, tried_by_all - n, 1)
    hazards = accepted / tried_by_all

    # The jackknife's standard error.
    def spread(v: Array) -> Array:
        return np.sqrt((len(v) - 1) / len(v) * ((v - v.mean(axis=0)) ** 2).sum(axis=0))

    half = _Z * spread(without)
    intervals = np.stack([np.maximum(hazards - half, 0), np.minimum(hazards + half, 1)], axis=-1)
    return HazardEstimate(
        hazards, intervals, tried_by_all, accepted, float(spread(1 + without.cumprod(axis=1).sum(axis=1)))
    )


# Largest sum of counts that floats hold exactly.
_MOST = 2**53
# The normal quantile of a 95 % interval.
_Z = NormalDist().inv_cdf(0.975)


def _counts(value: Array, name: str) -> Array:
    """One row of whole numbers from 0 on, checked, as int64."""
    w = np.atleast_1d(np.asarray(check.real_values(value, name, 0, math.inf)))
    if w.ndim != 1 or not len(w):
        raise ValueError(f"{name} must be one row of whole numbers, got shape {tuple(w.shape)}")
    if (w != np.floor(w)).any():
        i = int(np.argmax(w != np.floor(w)))
        raise ValueError(f"{name}[{i}] is {w[i]}; give whole numbers")
    if w.sum() > _MOST:
        raise ValueError(f"{name} sums to {w.sum():g}; more than 2^53 are not counted exactly")
    return w.astype(np.int64)


@np.errstate(under="ignore")
def mixture_length_law(alpha: Array, weights: Array, *, gamma: int | None = None) -> Array:
    r"""Law of the kept drafts where blocks are of several kinds, as in text that is copied here and new there.

    .. math:: P(n \ge i) = \sum_k w_k \prod_{j \le i} \alpha_{k j} \; \ge \; \Big(\sum_k w_k \alpha_k\Big)^i

    The inequality (for a constant acceptance within each kind) is why the mean acceptance underrates long drafts.

    Parameters
    ----------
    alpha : array_like
        With gamma: shape (kinds,), one acceptance for each kind. Without: shape (kinds, gamma), hazards of each.
    weights : array_like, shape (kinds,)
        Share of *blocks* of each kind (not of positions: blocks start more often where acceptance is poor).
    gamma : int, optional
        Speculation length, at least 0.

    Returns
    -------
    array, shape (gamma+1,)
        Probabilities of n = 0..gamma.

    Raises
    ------
    ValueError
        An alpha outside [0, 1], weights that are no law, or another number of kinds.

    References
    ----------
    Jensen 1906, Acta Mathematica 30:175 (the inequality).

    Examples
    --------
    >>> mixture_length_law([0.5, 1.0], [0.5, 0.5], gamma=2).tolist()
    [0.25, 0.125, 0.625]
    """
    w = check.law(weights, "weights")
    laws = accepted_length_law(alpha, gamma=gamma)
    if laws.ndim != 2 or w.shape != laws.shape[:1]:
        raise ValueError(f"weights have shape {tuple(w.shape)} for laws of shape {tuple(laws.shape)}; one per kind")
    return array_namespace(laws).sum(w[:, None] * laws, axis=0)
