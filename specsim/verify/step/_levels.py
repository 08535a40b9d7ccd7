"""Place many tokens between a few levels so that the draft chosen of two has a wanted law.

Level i has the weight e^u_i. A token whose height is between u_i and u_{i+1} takes the upper level with
probability (height - u_i) / (u_{i+1} - u_i), else the lower one, by itself. Of two drafts x is chosen
with probability (weight of its level) / (sum of both). So the law of the chosen draft is a sum over
pairs of levels, exact for whatever heights there are, and each token still has a height of its own.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from array_api_compat import device

from specsim.base.arrays import array_namespace, ids, is_exact
from specsim.types import Array
from specsim.verify.step import _bins, _pairs

# Between neighbouring levels the logarithm of the weight grows by this much.
STEP = 3.0
# Heights of the levels of one tier: -END to END. The first wins over the last with probability e^-84.
END = 42.0
TIER = 29
# Levels of both tiers.
COUNT = 2 * TIER
# The method ends when wins are off by less than this, summed over all tokens and in units of
# rounding: 5.7e-14. At most half of it is lost.
ENOUGH = 256.0
# The method begins at heights of at most this much, up or down: ends of the levels are hard to leave.
FIRST = 8.0
# A height moves by at most this much in one step.
LARGEST = 4.0


class Places(NamedTuple):
    """Where each token is, rows (..., V)."""

    level: Array  # the lower of two levels
    share: Array  # probability of the upper one


class _Problem(NamedTuple):
    """The constants of a search: rows (..., V), and tables of the levels."""

    wanted: Array  # the law that the chosen draft should have
    q: Array
    odds: Array  # q / (1 - q)
    top: Array  # True at the likeliest token
    tier: Array  # 0 or 1
    table: Array  # `wins`
    falls: Array  # `_falls`


class _State(NamedTuple):
    """Where the method stands, row by row."""

    height: Array
    places: Places
    off: Array  # wins, less those wanted
    slope: Array  # growth of a token's wins with its height, divided by q
    error: Array  # sum of |off|
    longest: Array  # how far a height may move in the next step


def places(wanted: Array, q: Array, odds: Array, top: Array, tier: Array) -> Places:
    """Places of the tokens with which the chosen draft has the law `wanted`, as nearly as floats can tell.

    Newton's method in the heights. A step that does not bring the wins nearer is taken again,
    shorter. Fractions get the places that floats have.
    """
    if is_exact(q):
        return _of_floats(wanted, q, odds, top, tier)
    xp = array_namespace(q)
    problem = _Problem(wanted, q, odds, top, tier, wins(q), _falls(q))
    # Begin as if each token met the average of its tier, at a height that is 0 on average.
    q_tier, odds_tier = (_of_tier(w, tier) for w in (q, odds))
    met = odds * (q_tier - q) + q * (odds_tier - odds)
    q_below, odds_below = (xp.sum(xp.where(tier == 0, w, 0), axis=-1, keepdims=True) for w in (q, odds))
    won = wanted - xp.where(tier > 0, odds * q_below + q * odds_below, 0)
    height = xp.log(_pairs.share(won, met)) - xp.log(_pairs.share(met - won, met))
    height = height - _of_tier(q * height, tier) / xp.where(q_tier > 0, q_tier, 1)
    begin = _placed(problem, xp.clip(height, -FIRST, FIRST))
    rounding = float(xp.finfo(q.dtype).eps)
    return _pairs.until_near(begin, partial(_moved, problem), ENOUGH * rounding).places


def wins(like: Array) -> Array:
    """Probability (COUNT, COUNT) that a draft of one level is chosen, not one of another.

    A draft of the upper tier always wins. Opposite chances of Fractions sum to 1 exactly.
    """
    if is_exact(like):
        return _exact_wins()
    xp, within = array_namespace(like), _within(like)
    upper = xp.concat([within, xp.zeros_like(within)], axis=-1)
    lower = xp.concat([xp.ones_like(within), within], axis=-1)
    return xp.concat([upper, lower])


def beaten(w: Array, top: Array, found: Places, table: Array) -> Array:
    """Sum over y of w_y P(x is chosen, not y), for each token x (..., V).

    The likeliest token is left out of its own sum: its part could drown all others. Every other
    token counts itself with w_x / 2.
    """
    xp = array_namespace(w)
    others, by_top = _beaten_by_level(w, top, found, table)
    return value(others, found) + xp.where(top, 0, value(by_top, found))


def value(row: Array, found: Places) -> Array:
    """Mean of a row (..., COUNT) over the two levels of each token (..., V)."""
    lower, upper = _ends(row, found)
    return lower * (1 - found.share) + upper * found.share


def _beaten_by_level(w: Array, top: Array, found: Places, table: Array) -> tuple[Array, Array]:
    """Sums over y of w_y P(a draft at this level is chosen, not y) (..., COUNT).

    The first is over all y but the likeliest token, the second over that one.
    """
    xp = array_namespace(w)
    masses = (_mass(xp.where(is_part, w, 0 * w), found) for is_part in (~top, top))
    others, by_top = (xp.sum(table * masses_by_level[..., None, :], axis=-1) for masses_by_level in masses)
    return others, by_top


def _mass(w: Array, found: Places) -> Array:
    """Sum of w (..., V) by level (..., COUNT), where each token's w is shared out between its two levels."""
    lower = _bins.sums(w * (1 - found.share), found.level, COUNT)
    return lower + _bins.sums(w * found.share, found.level + 1, COUNT)


def _ends(row: Array, found: Places) -> tuple[Array, Array]:
    """Entries of a row (..., COUNT) at each token's lower and upper level (..., V)."""
    xp = array_namespace(row)
    row = xp.broadcast_to(row, (*found.level.shape[:-1], row.shape[-1]))
    lower, upper = (xp.take_along_axis(row, found.level + k, axis=-1) for k in (0, 1))
    return lower, upper


def _of_tier(w: Array, tier: Array) -> Array:
    """Return for each token (..., V) the sum of w over the tokens of its tier."""
    xp = array_namespace(w)
    lower, upper = (xp.sum(xp.where(tier == k, w, 0), axis=-1, keepdims=True) for k in (0, 1))
    return xp.where(tier > 0, upper, lower)


def _placed(problem: _Problem, height: Array, longest: Array | None = None) -> _State:
    """Return the state with the tokens at these heights."""
    # The level below each height, and the probability of the one above.
    xp = array_namespace(height)
    q, odds, top = problem.q, problem.odds, problem.top
    above = (height + END) / STEP
    level = xp.clip(xp.astype(above, problem.tier.dtype), 0, TIER - 2)
    found = Places(level + TIER * problem.tier, above - level)
    # Wins, and their slopes: what x beats by q counts times odds, what it beats by odds times q.
    won, slope = -xp.where(top, 0, q * odds), 0 * q
    per_q = xp.where(q > 0, odds / xp.where(q > 0, q, 1), 1)
    for w, factor, rate in ((q, odds, per_q), (odds, q, 1)):
        others, by_top = _beaten_by_level(w, top, found, problem.table)
        won = won + factor * (value(others, found) + xp.where(top, 0, value(by_top, found)))
        lower, upper = _ends(others + by_top, found)
        slope = slope + xp.where(top, 0, rate) * (upper - lower) / STEP
    off = xp.where(q > 0, won - problem.wanted, 0)
    error = xp.sum(abs(off), axis=-1)
    return _State(height, found, off, slope, error, 0 * error + LARGEST if longest is None else longest)


def _moved(problem: _Problem, state: _State) -> _State:
    """Return the state after one step; a row that it brings no nearer stays, with a shorter next step."""
    xp = array_namespace(state.off)
    longest = state.longest
    step = _step(problem, state)
    # Shorten the whole step: the error falls along it. Only tokens that hardly meet another are cut
    # one by one.
    is_light = problem.q * state.slope < float(xp.finfo(step.dtype).eps)
    farthest = xp.max(xp.where(is_light, 0, abs(step)), axis=-1)
    scale = xp.where(farthest > longest, longest / xp.where(farthest > longest, farthest, 1), 1)
    height = state.height + xp.clip(step * scale[..., None], -longest[..., None], longest[..., None])
    new = _placed(problem, xp.clip(height, -END, END), longest)
    # Accept it row by row.
    nearer = new.error < state.error
    shorter = xp.minimum(longest, xp.max(abs(step), axis=-1)) / _pairs.SHORTER

    def kept(new: Array, old: Array) -> Array:
        return xp.where(nearer if new.ndim == nearer.ndim else nearer[..., None], new, old)

    return _State(
        kept(new.height, state.height),
        Places(*map(kept, new.places, state.places)),
        kept(new.off, state.off),
        kept(new.slope, state.slope),
        kept(new.error, state.error),
        xp.where(nearer, xp.clip(2 * longest, max=LARGEST), shorter),
    )


def _step(problem: _Problem, state: _State) -> Array:
    """Newton's step in the heights (..., V).

    Moves h change what a draft at a level beats only through the sums of q h and of odds h over the
    tokens of each interval between levels. So these sums, 2 (TIER - 1) in each tier, solve a linear
    system, and each token's own move follows from them.
    """
    # One token of each tier stays, for adding the same to all heights of a tier changes almost
    # nothing: the likeliest token in its own, in the other the one whose wins grow most.
    xp = array_namespace(state.off)
    q, odds, found = problem.q, problem.odds, state.places
    growth = xp.where(problem.top, 8, q * state.slope)
    fixed = problem.top
    for k in (0, 1):
        most = xp.argmax(xp.where(problem.tier == k, growth, -1), axis=-1)
        fixed = fixed | ((problem.tier == k) & (ids(q) == most[..., None]))
    # A token that almost never meets another stays, too.
    rounding = float(xp.finfo(q.dtype).eps)
    is_free = ~fixed & (q > 0) & (state.slope > rounding**2)
    inverse = xp.where(is_free, 1 / xp.where(is_free, state.slope, 1), 0)
    rate = xp.where(is_free, odds / xp.where(is_free, q, 1), 0)
    # The system for the sums.
    tiers = (*q.shape[:-1], 2, TIER)
    lower, upper = problem.falls[:-1], problem.falls[1:]

    def by_interval(w: Array) -> Array:
        return xp.reshape(_bins.sums(w, found.level, COUNT), tiers)[..., :-1]

    def block(w: Array) -> Array:
        return by_interval(w * (1 - found.share))[..., None] * lower + by_interval(w * found.share)[..., None] * upper

    mixed = block(inverse * odds)
    rows = [[mixed, block(inverse * q)], [block(inverse * odds * rate), mixed]]
    matrix = xp.concat([xp.concat(row, axis=-1) for row in rows], axis=-2)
    right = xp.concat([by_interval(-w * state.off) for w in (inverse, inverse * rate)], axis=-1)
    unit = xp.eye(2 * (TIER - 1), dtype=q.dtype, device=device(q))
    sums = xp.linalg.solve(unit - matrix, right[..., None])[..., 0]
    # The move of each token.
    by_q, by_odds = (
        value(xp.reshape(xp.sum(problem.falls * part[..., None, :], axis=-1), (*q.shape[:-1], COUNT)), found)
        for part in (sums[..., : TIER - 1], sums[..., TIER - 1 :])
    )
    least = float(xp.finfo(q.dtype).smallest_normal)
    return inverse * (rate * by_q + by_odds - state.off / xp.where(q > least, q, least))


def _within(like: Array) -> Array:
    """Chance (TIER, TIER) that a draft of one level is chosen, not one of another level of its tier.

    It is computed where `like` is: a table that came from elsewhere would be copied to a GPU.
    """
    xp = array_namespace(like)
    height = STEP * xp.arange(TIER, dtype=like.dtype, device=device(like)) - END
    ahead = height[:, None] - height[None, :]
    small = xp.exp(-xp.abs(ahead))
    return xp.where(ahead >= 0, xp.ones_like(small), small) / (1 + small)


@lru_cache
def _exact_wins() -> Array:
    """The table of `wins` in Fractions: smaller chances are those of floats, larger ones what is left."""
    table = np.vectorize(Fraction, otypes=[object])(wins(np.ones(1)))
    return np.where(np.tri(COUNT, k=-1, dtype=bool), 1 - table.T, table)


def _falls(like: Array) -> Array:
    """Rate (TIER, TIER - 1) at which the chance of a draft at a level falls as the other rises in an interval."""
    within = _within(like)
    return (within[:, :-1] - within[:, 1:]) / STEP


def _of_floats(wanted: Array, q: Array, odds: Array, top: Array, tier: Array) -> Places:
    """Places for Fractions, computed in floats: each row by itself, and only for tokens that can be drafted."""
    level, share = TIER * tier, np.full(q.shape, Fraction(0), dtype=object)
    for row in np.ndindex(q.shape[:-1]):
        live = np.flatnonzero(q[row] > 0)
        wanted_row, q_row, odds_row = (w[row][live].astype(float) for w in (wanted, q, odds))
        found = places(wanted_row, q_row, odds_row, top[row][live], tier[row][live])
        level[row][live] = found.level
        share[row][live] = [Fraction(f) for f in found.share.tolist()]
    return Places(level, share)
