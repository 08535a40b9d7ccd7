"""Heights of the tokens with which the draft of the highest score has a wanted law.

Newton's method in the heights: equations as many as tokens are solved by GMRES, whose products are derivatives of the
law along a direction, and which is helped by an approximate inverse from sums by level. Only NumPy, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from specsim.types import Array
from specsim.verify.step import _scores
from specsim.verify.step._race import Race

# Most levels. Where there are two tiers, each has half of them.
LEVELS = 64
# Levels for each token where there are few: a token always beats one that is two levels below.
FOR_EACH = 5
# Steps of Newton's method at most, and of a search along a step.
STEPS, SHORTENED = 60, 14
# The same for a step that holds no token back, after which one that does is tried.
FEWER = 3
# The method ends when wins are off by less than this, summed over all tokens. At most half of it is lost.
ENOUGH = 3e-14
# From here on a step that does not help ends the method: rounding may be all that is left.
NEAR = 1e-11
# The longest step, in levels, of any token but those that hardly meet another.
LONGEST = 2.0
# What meets others more rarely than this may move as it likes.
RARE = 2.0**-52
# Directions of GMRES at most; and how near a step comes to the solution, far from the end and near it.
DIRECTIONS, ROUGH, FINE = 12, 0.05, 1e-3
# Values below are 0: the derivative along a direction is that of a complex step of this length.
TINY = 1e-30
# Singular values of the approximate inverse below this are left out.
SINGULAR = 1e-6


class Places(NamedTuple):
    """Where each token is: rows (..., V)."""

    level: Array  # the lower of two levels
    share: Array  # probability of the upper one


class _Problem(NamedTuple):
    """The constants of a search: rows (V,)."""

    run: Race
    wanted: Array
    levels: int
    low: Array  # least height
    high: Array
    is_fixed: Array  # the likeliest token of each tier stays: adding the same to a tier changes nothing
    presence: Array  # probability of being drafted, up to rounding


class _State(NamedTuple):
    """Where the method stands."""

    height: Array
    chances: Array  # (V, 4): `responses`
    off: Array  # wins, less those wanted
    error: float  # sum of |off|


def places(wanted: Array, tier: Array, run: Race) -> Places:
    """Places of the tokens (V,) with which the chosen draft has the law `wanted`, as nearly as floats can tell."""
    # Tiers: 0 below, 1 above, with levels of their own.
    levels = count_levels(len(wanted))
    middle = levels // 2
    is_upper, is_one = tier > 0, tier.max() == tier.min()
    low = np.where(is_one | ~is_upper, 0, middle)
    high = np.where(is_one | is_upper, levels, middle) - 1
    is_fixed = np.zeros(len(wanted), dtype=bool)
    for k in np.unique(is_upper):
        is_fixed[np.argmax(np.where(is_upper == k, run.q, -1))] = True
    # Begin as if all tokens of a tier were equal.
    height = (low + high + 1) / 2 + 0.5
    problem = _Problem(run, wanted, levels, low, high, is_fixed, np.ones(len(wanted)))
    state = _placed(problem, height)
    problem = problem._replace(presence=np.maximum(state.chances[:, 3], np.finfo(float).tiny))
    longest = LONGEST
    for _ in range(STEPS):
        if state.error < ENOUGH:
            break
        # Newton's step; if it does not help much, the one that holds tokens back; and if that does not
        # help at all, one without sums by level, which mislead where few tokens meet.
        moved, scale = _moved(problem, state, longest, is_held=False, by_level=True)
        if moved is None or (moved.error > state.error / 2 and state.error > NEAR):
            other, other_scale = _moved(problem, state, longest, is_held=True, by_level=True)
            if other is not None and (moved is None or other.error < moved.error):
                moved, scale = other, other_scale
        if moved is None and state.error > NEAR:
            moved, scale = _moved(problem, state, longest, is_held=True, by_level=False)
        if moved is None:
            break
        # A step that was shortened shortens the next one, too.
        longest = min(4 * LONGEST, 2 * max(longest, 1)) if scale == 1 else max(longest * scale, 0.1)
        state = moved
    return _split(problem, state.height)


def count_levels(tokens: int) -> int:
    """Return how many levels this many tokens have."""
    return min(LEVELS, FOR_EACH * tokens)


def law(run: Race, found: Places, levels: int, grown: Array | None = None) -> Array:
    """Law (V,) of the chosen draft; `grown` as in `responses`."""
    chances = _scores.responses(run, *found, levels, grown)
    return np.asarray((1 - found.share) * chances[:, 1] + found.share * chances[:, 2])


def _split(problem: _Problem, height: Array) -> Places:
    """Levels and shares of heights, which may be complex."""
    level = np.clip(np.floor(height.real), 0, problem.levels - 2).astype(np.int64)
    return Places(level, height - level)


def _placed(problem: _Problem, height: Array) -> _State:
    """Return the state with the tokens at these heights."""
    found = _split(problem, height)
    chances = _scores.responses(problem.run, *found, problem.levels)
    off = (1 - found.share) * chances[:, 1] + found.share * chances[:, 2] - problem.wanted
    return _State(height, chances, off, float(abs(off).sum()))


def _moved(
    problem: _Problem, state: _State, longest: float, is_held: bool, by_level: bool
) -> tuple[_State | None, float]:
    """Return the state after one step, None if no step brings it nearer, and how much the step was shortened."""
    # A token's own way to its wins, if all others stayed, crosses at most two levels. Where it is
    # shorter than Newton's, the token is held back.
    slope = state.chances[:, 2] - state.chances[:, 1]
    held = np.maximum(abs(state.off) / _own_way(problem, state) - slope, 0) if is_held else 0 * slope
    step = _step(problem, state, slope, held, by_level)
    is_met = slope > RARE
    farthest = float(abs(step[is_met]).max(initial=0.0))
    limit = min(1.0, longest / farthest) if farthest > 0 else 1.0
    # The whole step is shortened, or each token's: the better one.
    shortened = 1.0
    for _ in range(SHORTENED if is_held else FEWER):
        best = state
        for by in {limit, 1.0}:
            move = np.clip(shortened * by * step, -longest, longest)
            new = _placed(problem, np.clip(state.height + move, problem.low, problem.high))
            best = new if new.error < best.error else best
        if best is not state:
            return best, shortened
        if state.error < NEAR:
            break
        shortened /= 3
    return None, shortened


def _own_way(problem: _Problem, state: _State) -> Array:
    """Return how far (V,) each token would move to have its wins, if all others stayed."""
    share = _split(problem, state.height).share
    under, lower, upper, over = state.chances.T

    def part(rise: Array, whole: Array) -> Array:
        return np.clip(rise / np.maximum(whole, np.finfo(float).tiny), 0, 1)

    wanted = problem.wanted
    within = part(wanted - lower, upper - lower)
    up = np.where(wanted <= upper, within - share, 1 - share + part(wanted - upper, over - upper))
    down = np.where(wanted >= lower, share - within, share + part(lower - wanted, lower - under))
    return np.maximum(np.where(state.off < 0, up, down), np.finfo(float).tiny)


def _step(problem: _Problem, state: _State, slope: Array, held: Array, by_level: bool) -> Array:
    """Newton's step in the heights (V,), with `held` added to the slopes."""
    is_free = ~problem.is_fixed
    scale = np.sqrt(problem.presence)
    diagonal = np.where(is_free, slope + held, 0)
    helped = _inverse_by_level(problem, state, diagonal) if by_level else partial(np.multiply, _inverse(diagonal))

    def product(move: Array) -> Array:
        """Change of the wins along a move, by a complex step."""
        size = TINY / max(abs(move).max(), np.finfo(float).tiny)
        found = _split(problem, state.height + 1j * size * move)
        change = law(problem.run, found, problem.levels).imag / size
        return np.where(is_free, (change + held * move) / scale, 0)

    goal = np.where(is_free, -state.off / scale, 0)
    near = ROUGH if state.error > 1e-4 else FINE
    return _solved(product, lambda w: helped(w * scale), goal, near)


def _inverse_by_level(problem: _Problem, state: _State, slope: Array) -> Callable[[Array], Array]:
    """Function from wins (V,) to moves that would bring about them, if all tokens met alike.

    Tokens of one level then change what others win only through the sum of presence x move.
    """
    found, levels, presence = _split(problem, state.height), problem.levels, problem.presence
    weight = _scores.couplings(problem.run, *found, levels)
    unit = presence[problem.run.light].max() ** 2
    weight = np.where(np.isfinite(weight), weight, 0) / max(unit, np.finfo(float).tiny)
    # What a token at level `row` loses as the tokens between levels `column` and `column` + 1 rise.
    loses = np.zeros((levels + 1, levels - 1))
    for column in range(levels - 1):
        for row in (column, column + 1):
            score = np.arange(2 * row, 2 * row + 3)
            met = weight[score] * (1 - abs(score / 2 - column - 1))
            loses[row, column] = (met[0] + 4 * met[1] + met[2]) / 6
    of_token = (1 - found.share[:, None]) * loses[found.level] + found.share[:, None] * loses[found.level + 1]
    inverse = _inverse(np.where(slope > 1e-14 * presence, slope, 0))
    # Equations of the sums.
    mixed = np.zeros((levels - 1, levels - 1))
    np.add.at(mixed, found.level, (inverse * presence**2)[:, None] * of_token)
    left, values, right = np.linalg.svd(np.eye(levels - 1) - mixed)
    values = np.where(values > SINGULAR, 1 / np.where(values > SINGULAR, values, 1), 0)

    def helped(w: Array) -> Array:
        sums = np.bincount(found.level, inverse * presence * w, levels - 1)
        sums = right.T @ (values * (left.T @ sums))
        return np.asarray(inverse * (w + presence * (of_token @ sums)))

    return helped


def _inverse(w: Array) -> Array:
    """1 / w, and 0 where w is not positive."""
    return np.where(w > 0, 1 / np.where(w > 0, w, 1), 0)


def _solved(product: Callable[[Array], Array], helped: Callable[[Array], Array], goal: Array, near: float) -> Array:
    """Solve product(x) = goal by GMRES with an approximate inverse: |product(x) - goal| <= near |goal|, if it can."""
    size = float(np.linalg.norm(goal))
    if size == 0:
        return 0 * goal
    basis, moves = [goal / size], list[Array]()
    table = np.zeros((DIRECTIONS + 1, DIRECTIONS))
    for k in range(DIRECTIONS):
        moves.append(helped(basis[k]))
        new = product(moves[k])
        # Twice, as rounding would leave a part of the others.
        for _ in range(2):
            for i in range(k + 1):
                part = float(basis[i] @ new)
                table[i, k] += part
                new = new - part * basis[i]
        table[k + 1, k] = np.linalg.norm(new)
        first = size * np.eye(k + 2)[0]
        parts = np.linalg.lstsq(table[: k + 2, : k + 1], first, rcond=None)[0]
        missed = np.linalg.norm(table[: k + 2, : k + 1] @ parts - first)
        if missed < near * size or table[k + 1, k] < 1e-14 * size:
            break
        basis.append(new / table[k + 1, k])
    return np.asarray(sum(part * move for part, move in zip(parts, moves, strict=True)))
