r"""The most tokens that any drafter of one pass can give: marginals chosen for the target, and what they cannot beat.

One place.   sum_n w_n sum_v min(p_n(v), q(v)) is a sum of concave functions of q(v), one for each
             token, so the best law q takes the steepest pieces first: a sort, exact in rationals.
             For two tokens it is a weighted median of the rows, where training gives their mean.
Tokenwise.   The first law is the target's own. In each later law q_i the value is linear between
             the numbers p_i(v | x), so some best q_i has all of its entries but one at 0 or at one
             of these: finitely many laws, and the last place is the best law above. The maximum is
             exact (T60).
Any rule.    A lossless rule keeps i drafts with probability at most 1 - TV(P_i, Q_i) (T18), so with
             T = TV(P_{i-1}, Q_{i-1}): Pr[n >= i-1] <= 1 - T, and Pr[n >= i] <= c_i + T, where c_i is
             the value of the best law at place i. The sum is at most 1 + c_i, whatever the drafter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.results import result
from specsim.exact.one_pass import checked_prefix, checked_target, reached
from specsim.types import Array, Model

# Most products of candidate laws that are tried, times the texts that each is valued on.
MAX_WORK = 2**20
# What rounding leaves of the last entry of a law.
ROUNDING = 1e-12


@result("tau", "rows")
class OnePassCeiling(NamedTuple):
    """The most tokens per target call of any drafter of one pass under tokenwise verification, and what attains it.

    tau: the maximum. rows (gamma, V): marginals that attain it. any_rule: what no drafter of one pass exceeds, whatever
    lossless rule verifies it. places (gamma,): the most that a law can keep at each place if all drafts before it are
    kept and drawn from the target. A printed ceiling shows the shape of `rows`; its entries stand in the field.

    Examples
    --------
    >>> best = one_pass_ceiling(lambda text: np.array([0.5, 0.5]), gamma=2)  # tokens that do not see each other
    >>> float(best.tau), best.places.tolist()
    (3.0, [1.0, 1.0])
    """

    tau: Any
    rows: Array
    any_rule: Any
    places: Array


@result("tau", "rows")
class OnePassBound(NamedTuple):
    """Return what no drafter of one pass exceeds at a context of which continuations were sampled.

    tau: under tokenwise verification. any_rule: under any lossless rule. places (gamma,): the most that a law can keep
    at each place, if all drafts before it are kept. rows (gamma, V): the laws that keep that at their own place, of
    which a printed bound shows the shape.

    Examples
    --------
    >>> bound = one_pass_bound([[[0.5, 0.5], [0.75, 0.25]], [[0.5, 0.5], [0.25, 0.75]]])
    >>> bound.places.tolist()
    [1.0, 0.75]
    """

    tau: Any
    any_rule: Any
    places: Array
    rows: Array


def one_pass_ceiling(target: Model, *, gamma: int, prefix: tuple[int, ...] = ()) -> OnePassCeiling:
    r"""The largest tau of any drafter whose tokens do not see each other, for a given target.

    .. math:: \max_{q_1, \dots, q_\gamma} \; 1 + \sum_{i=1}^{\gamma} \sum_{x} \prod_{j \le i}
              \min(p_j(x_j \mid x_{<j}), q_j(x_j))

    Under tokenwise verification, exact for small models, by the finitely many laws of which one is best at each place
    (T60). The target's own marginals, to which cross-entropy trains, are not always among the best. Of more than two
    drafts block verification can keep more: `one_pass_enclosure` has its ceiling.

    Parameters
    ----------
    target : Model
        A function from a text (a tuple of token ids) to the next-token law. Laws of Fractions keep the answer exact.
    gamma : int
        Drafts of a block, at least 1.
    prefix : tuple of int
        The text before the block.

    Returns
    -------
    OnePassCeiling
        tau and the marginals that attain it; any_rule, a bound on tau under every lossless rule; places.

    Raises
    ------
    ValueError
        gamma is below 1, the target has no law after the prefix, a law is none, or there are too many candidates or
        texts to enumerate (says how many).

    References
    ----------
    Derived for this project, T60; drafters of one pass: Chen et al. 2026, DFlash, arXiv:2602.06036.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> first = [F(2, 3), F(1, 3)]
    >>> copied = lambda text: np.array([F(text[0] == v) for v in (0, 1)] if text else first)
    >>> best = one_pass_ceiling(copied, gamma=2)
    >>> print(best.tau, *best.rows[1])  # the marginals 2/3, 1/3 give 23/9
    8/3 1 0
    """
    gamma = check.integer(gamma, "gamma", 1, limits.MAX_SUMMED)
    levels = levels_of(target, gamma, checked_prefix(target, prefix))
    best_rows = [best_law(level.rows, level.masses) for level in levels]
    places = np.array([kept(level.rows, level.masses, q) for level, q in zip(levels, best_rows, strict=True)])
    tau, rows = _search(levels)
    return OnePassCeiling(1 + tau, np.array(rows), 1 + _of_any_rule(list(places)), places)


def one_pass_bound(rows: Array) -> OnePassBound:
    r"""Bounds on every drafter of one pass from the target's laws along continuations of one context.

    .. math:: c_i = \max_q \; E_{x_{<i} \sim p} \sum_v \min(p_i(v \mid x_{<i}), q(v)), \quad \tau \le 1 + \sum_i c_i

    For targets too large to enumerate. A maximum over sampled rows is at least the true one on average, so the mean of
    the bounds of many contexts is one of the mean of tau.

    Parameters
    ----------
    rows : array_like, shape (n, gamma, V)
        The target's laws along n continuations of one context that the target wrote, each gamma tokens long: row
        [k, i] is that of token i + 1 after the first i tokens of continuation k.

    Returns
    -------
    OnePassBound
        tau under tokenwise verification; any_rule, under every lossless rule; places; rows.

    Raises
    ------
    ValueError
        A row is no law, there are not three axes or no rows, or first rows differ: they follow one context.

    References
    ----------
    Derived for this project, T60.

    Examples
    --------
    >>> coin, heads, tails = [0.5, 0.5], [1.0, 0.0], [0.0, 1.0]
    >>> bound = one_pass_bound([[coin, heads], [coin, tails]])  # a coin, then the same side again
    >>> float(bound.tau), float(bound.any_rule)
    (2.5, 2.5)
    """
    p = np.asarray(check.law(rows, "rows"))
    if p.ndim != 3 or not p.size:
        raise ValueError(f"rows has shape {p.shape}; give laws along continuations, (n, gamma, V)")
    if (abs(p[:, 0] - p[0, 0]) > check.TOLERANCE).any():
        raise ValueError("rows[:, 0] differ; all continuations must follow one context, whose law is the first row")
    share: Any = Fraction(1, len(p)) if p.dtype == object else 1 / len(p)
    equal = np.full(len(p), share, dtype=p.dtype)
    best_rows = [best_law(p[:, i], equal) for i in range(p.shape[1])]
    places = np.array([kept(p[:, i], equal, q) for i, q in enumerate(best_rows)])
    # The pairs are fixed beforehand: the least of several bounds from a sample would be too low on average.
    odd = len(places) % 2
    pairs = [1 + places[i] for i in range(1 + odd, len(places), 2)]
    return OnePassBound(1 + places.sum(), 1 + odd + sum(pairs), places, np.array(best_rows))


def best_law(rows: Array, weights: Array) -> Array:
    """The law q (V,) that maximises the weighted sum over rows (n, V) of the overlaps sum_v min(p_n(v), q(v)).

    >>> best_law(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.75, 0.25])).tolist()
    [1.0, 0.0]
    """
    # Pieces of each token: between neighbouring probabilities the slope is the weight of the rows above.
    order = np.argsort(rows, axis=0, kind="stable")
    ends = np.take_along_axis(rows, order, axis=0)
    lengths = ends - np.concatenate([0 * ends[:1], ends[:-1]])
    slopes = np.cumsum(weights[order][::-1], axis=0)[::-1]

    # Take the steepest pieces until the law is full; within a token, slopes fall in the order of its pieces.
    flat_lengths, flat_slopes = lengths.T.ravel(), slopes.T.ravel()
    steepest = np.argsort(-flat_slopes, kind="stable")
    before = np.cumsum(flat_lengths[steepest]) - flat_lengths[steepest]
    room = np.where(before < 1, 1 - before, 0)
    taken = np.zeros_like(flat_lengths)
    taken[steepest] = np.where(flat_lengths[steepest] < room, flat_lengths[steepest], room)
    return taken.reshape(lengths.T.shape).sum(axis=1)


def kept(rows: Array, weights: Array, q: Array) -> Any:
    """The weighted sum over rows (n, V) of their overlap with a law q (V,)."""
    return (weights * np.minimum(rows, q).sum(axis=-1)).sum()


class Level(NamedTuple):
    """The texts of one length: the target's laws after them (n, V), their probabilities (n,), and whom they follow.

    parents (n,): the place of each text without its last token, in the level before; last (n,): that token.
    """

    rows: Array
    masses: Array
    parents: Array
    last: Array


def levels_of(target: Model, gamma: int, prefix: tuple[int, ...]) -> list[Level]:
    """Return the target's texts of 0, ..., gamma - 1 tokens with their laws."""
    levels: list[Level] = []
    law = checked_target(target)
    place: dict[tuple[int, ...], int] = {}
    for texts in reached(law, gamma, prefix):
        rows = np.array([law((*prefix, *text)) for text in texts])
        parents = np.array([place.get(text[:-1], 0) for text in texts], dtype=np.int64)
        last = np.array([text[-1] if text else 0 for text in texts], dtype=np.int64)
        masses = np.array([mass + 0 * rows[0, 0] for mass in texts.values()])
        levels.append(Level(rows, masses, parents, last))
        place = {text: i for i, text in enumerate(texts)}
    return levels


def _search(levels: list[Level]) -> tuple[Any, list[Array]]:
    """Return the largest expected number of kept drafts, tokenwise, and marginals that attain it."""
    # The first law is the target's own; the last is found at once.
    _require_work(len(levels), [_count(level.rows) for level in levels[1:-1]], len(levels[-1].masses))
    middle = [list(_candidates(level.rows)) for level in levels[1:-1]]
    best: tuple[Any, list[Array]] = (-1, [])
    for chosen in itertools.product(*middle):
        laws = [levels[0].rows[0], *chosen][: len(levels)]
        value, weights = 0, levels[0].masses
        for i, q in enumerate(laws):
            overlaps = weights[:, None] * np.minimum(levels[i].rows, q)
            value = value + overlaps.sum()
            if i + 1 < len(levels):
                weights = overlaps[levels[i + 1].parents, levels[i + 1].last]
        if len(laws) < len(levels):
            laws.append(best_law(levels[-1].rows, weights))
            value = value + kept(levels[-1].rows, weights, laws[-1])
        if value > best[0]:
            best = value, laws
    return best


def _candidates(rows: Array) -> Iterator[Array]:
    """Yield the laws (V,) of which all entries but one are 0 or entries of the rows (n, V) for their token."""
    # Entries that sum to 1 may leave a little less than 0 in floats.
    vocab, slack = rows.shape[1], 0 if rows.dtype == object else ROUNDING
    marks, seen = _marks(rows), set()
    for free in range(vocab):
        for entries in itertools.product(*(marks[v] for v in range(vocab) if v != free)):
            rest = 1 - sum(entries)
            law = (*entries[:free], max(rest, 0 * rest), *entries[free:])
            if rest >= -slack and law not in seen:
                seen.add(law)
                yield np.array(law, dtype=rows.dtype)


def _marks(rows: Array) -> list[list[Any]]:
    """Return for each token 0 and its entries in the rows (n, V), ascending."""
    return [sorted({0 * rows[0, 0], *column.tolist()}) for column in rows.T]


def _count(rows: Array) -> int:
    """Return how many laws `_candidates` looks at."""
    sizes = [len(marks) for marks in _marks(rows)]
    return sum(math.prod(sizes) // size for size in sizes)


def _require_work(gamma: int, counts: list[int], texts: int) -> None:
    """Raise ValueError if so many candidate laws on so many texts take too long."""
    if math.prod(counts) * texts > MAX_WORK:
        tried = " x ".join(map(str, counts))
        raise ValueError(
            f"gamma is {gamma}: {tried} laws on {texts} texts are too many to try (more than {MAX_WORK} in all); use a "
            "smaller vocabulary or gamma, one_pass_enclosure with rule 'tokenwise', or one_pass_bound on sampled rows"
        )


def _of_any_rule(places: list[Any]) -> Any:
    """Return the least bound on E[n] of any rule from the pairs 1 + c_i, by dynamic programming over the places."""
    # Pr[n >= i] alone is at most half of the pair that ends at i or at an earlier place, and at most 1.
    bounds, alone = [0, 1], 1
    for c in places[1:]:
        alone = min(alone, (1 + c) / 2)
        bounds.append(min(bounds[-1] + alone, bounds[-2] + 1 + c))
    return bounds[len(places)]
