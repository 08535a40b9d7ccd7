r"""The largest tau of any drafter of one pass under a rule, between two numbers as close as asked.

Kept.        A text x of i - 1 drafts goes on to token v with mass min(s(x) q_i(v), r(x, v)). Tokenwise
             s is the mass kept so far and r = s p_i; as a block s = Q(x) and r is the mass kept so
             far times p_i; under the best lossless rule s = Q(x) and r = P(x) p_i (T17, T18).
Bound.       All of it rises with each entry of each law. So the upper ends of a box of laws, which
             sum to more than 1, keep at least what any law of the box keeps. In the last law the sum
             is concave and separable: its best law is a sort (`best_law`).
Search.      The box of largest bound is halved until no bound exceeds the best laws found by more
             than `within`. In Fractions both ends are exact (T60).
"""

from __future__ import annotations

import heapq
import itertools
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.results import result
from specsim.base.unknown import unknown
from specsim.bounds.one_pass import Level, best_law, levels_of
from specsim.exact.one_pass import checked_prefix
from specsim.types import Array, Model

# Most boxes that are halved: some seconds in floats, minutes in Fractions.
MAX_BOXES = 2**14
RULES = ("tokenwise", "block", "any")


@result("low", "high", "rows")
class OnePassEnclosure(NamedTuple):
    """The most tokens per target call of any drafter of one pass under a rule, between two numbers.

    low: attained by the marginals `rows` (gamma, V). high: what no drafter of one pass exceeds. A printed enclosure
    shows the shape of `rows`; its entries stand in the field.

    Examples
    --------
    >>> found = one_pass_enclosure(lambda text: np.array([0.5, 0.5]), gamma=2)  # tokens that do not see each other
    >>> float(found.low), float(found.high)
    (3.0, 3.0)
    """

    low: Any
    high: Any
    rows: Array


class _Box(NamedTuple):
    """Laws of all places but the last, (gamma - 1, V), between two ends."""

    low: Array
    high: Array


def one_pass_enclosure(
    target: Model, *, rule: str = "block", gamma: int, within: float = 0.01, prefix: tuple[int, ...] = ()
) -> OnePassEnclosure:
    r"""Enclose the largest tau of any drafter whose tokens do not see each other, under a rule.

    .. math:: \max_{q_1, \dots, q_\gamma} \; 1 + \sum_{i=1}^{\gamma} \sum_{x} \min_{0 \le j \le i}
              Q(x_1 \dots x_j) \, P(x_{j+1} \dots x_i \mid x_1 \dots x_j), \quad Q = \prod_i q_i

    That is the ceiling under block verification, which no lossless rule that goes on from the target exceeds (T17).
    Above two drafts it can be more than under tokenwise verification, whose ceiling `one_pass_ceiling` has exactly.

    Parameters
    ----------
    target : Model
        A function from a text (a tuple of token ids) to the next-token law. Laws of Fractions keep both ends exact.
    rule : {"block", "tokenwise", "any"}
        How blocks are verified. "any": what a single block keeps at most, whatever lossless rule verifies it (T18).
    gamma : int
        Drafts of a block, at least 1.
    within : float
        Largest difference of both ends.
    prefix : tuple of int
        The text before the block.

    Returns
    -------
    OnePassEnclosure
        low and the marginals that attain it; high.

    Raises
    ------
    ValueError
        gamma or within is out of range, the rule is unknown, a law is none, there are too many texts to enumerate, or
        the ends are not as close after the most boxes (says how close they are).

    References
    ----------
    Derived for this project, T60; block verification: Sun et al. 2024, arXiv:2403.10444.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> first = [F(2, 3), F(1, 3)]
    >>> copied = lambda text: np.array([F(text[0] == v) for v in (0, 1)] if text else first)
    >>> found = one_pass_enclosure(copied, gamma=2, within=F(1, 100))
    >>> bool(found.low <= F(8, 3) <= found.high)  # the ceiling under tokenwise verification: equal for two drafts
    True
    """
    # Check the arguments; in Fractions all that follows is exact.
    gamma = check.integer(gamma, "gamma", 1, limits.MAX_SUMMED)
    if rule not in RULES:
        raise unknown("rule", rule, RULES)
    check.scalar(within, "within", "(0, inf)")
    levels = levels_of(target, gamma, checked_prefix(target, prefix))
    is_exact = levels[0].rows.dtype == object
    width = Fraction(within) if is_exact else float(within)

    # Laws to begin with: the marginals, and the best law of each place by itself. Then the box of all laws.
    starts = [[law(level) for level in levels[:-1]] for law in (_marginal, _alone)]
    best = max((_kept(levels, laws, rule) for laws in starts), key=lambda found: found[0])
    zero = 0 * levels[0].rows[0]
    number = itertools.count()
    whole = _Box(np.array([zero] * (gamma - 1)), np.array([zero + 1] * (gamma - 1)))
    queue = [(-_kept(levels, list(whole.high), rule)[0], next(number), whole)]

    # Halve the box of the largest bound. A box whose bound is no more than `within` above the best is done.
    high, halved = best[0], 0
    while queue:
        bound, _, box = heapq.heappop(queue)
        if -bound <= best[0] + width:
            high = max(high, -bound)
            break
        if halved == MAX_BOXES:
            raise ValueError(
                f"after {MAX_BOXES} boxes the largest tau lies between {float(1 + best[0]):.6g} and "
                f"{float(1 - bound):.6g}, and within is {float(within):g}; give a larger one, or a smaller "
                "vocabulary or gamma"
            )
        halved += 1
        for half in _halves(box):
            best = max(best, _kept(levels, _middle(half), rule), key=lambda found: found[0])
            queue_entry = (-_kept(levels, list(half.high), rule)[0], next(number), half)
            heapq.heappush(queue, queue_entry)
    return OnePassEnclosure(1 + best[0], 1 + high, np.array(best[1]))


def _kept(levels: list[Level], laws: list[Array], rule: str) -> tuple[Any, list[Array]]:
    """Return the drafts that are kept with these laws at all places but the last, and all laws, the last the best.

    It rises with each entry of the laws, which need not sum to 1.
    """
    value, chosen = 0 * levels[0].masses[0], list(laws)
    drafted = accepted = levels[0].masses
    for i, level in enumerate(levels):
        # Token v goes on with mass min(slope q(v), room(v)).
        slope = accepted if rule == "tokenwise" else drafted
        weight = level.masses if rule == "any" else accepted
        room = weight[:, None] * level.rows
        if i == len(laws):
            chosen.append(_last_law(slope, room))
        mass = np.minimum(slope[:, None] * chosen[i], room)
        value = value + mass.sum()

        # Hand masses on to the texts that are longer by a token.
        if i + 1 < len(levels):
            places = levels[i + 1].parents, levels[i + 1].last
            drafted, accepted = (drafted[:, None] * chosen[i])[places], mass[places]
    return value, chosen


def _last_law(slope: Array, room: Array) -> Array:
    """Return the law q (V,) that maximises the sum of min(slope q, room) over texts and tokens."""
    is_drafted = slope > 0
    q = 0 * room[0]
    if is_drafted.any():
        q = best_law(room[is_drafted] / slope[is_drafted, None], slope[is_drafted])
    # Where all rooms are full before q sums to 1, the rest is of no use anywhere.
    q[0] = q[0] + (1 - q.sum())
    return q


def _marginal(level: Level) -> Array:
    """Return the target's law at a place, whatever was written before it."""
    marginal: Array = (level.masses[:, None] * level.rows).sum(axis=0)
    return marginal


def _alone(level: Level) -> Array:
    """Return the law that keeps most at a place by itself."""
    return best_law(level.rows, level.masses)


def _halves(box: _Box) -> list[_Box]:
    """Return both halves of a box along its longest side, without what no law has."""
    longest = np.unravel_index(int(np.argmax((box.high - box.low).astype(float))), box.low.shape)
    cut = (box.low[longest] + box.high[longest]) / 2
    lower, upper = box.high.copy(), box.low.copy()
    lower[longest] = upper[longest] = cut
    halves = [_tightened(_Box(box.low, lower)), _tightened(_Box(upper, box.high))]
    return [half for half in halves if (half.low <= half.high).all()]


def _tightened(box: _Box) -> _Box:
    """Return the box with each entry's ends as the others leave room for, since laws sum to 1."""
    high = np.minimum(box.high, 1 - (box.low.sum(axis=1, keepdims=True) - box.low))
    low = np.maximum(box.low, 1 - (high.sum(axis=1, keepdims=True) - high))
    return _Box(low, high)


def _middle(box: _Box) -> list[Array]:
    """Return laws inside a box: each goes equally far from its lower to its upper ends."""
    laws = []
    for low, high in zip(box.low, box.high, strict=True):
        span = (high - low).sum()
        laws.append(low + (high - low) * ((1 - low.sum()) / span) if span else low)
    return laws
