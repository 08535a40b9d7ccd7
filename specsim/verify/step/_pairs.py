"""Find weights by which one of two is chosen: a beats b with probability weight a / (weight a + weight b)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from array_api_compat import device, is_jax_array, is_numpy_array

from specsim.base.arrays import array_namespace, is_exact
from specsim.types import Array

# Steps of Newton's method at most. Of 48,000 pairs of laws,
# peaked ones included, the slowest took 22.
STEPS = 64
# Steps where values cannot be looked at (on a GPU, in JAX), so that each pair takes as many.
FIXED = 24
# The method ends when wins are off by less than this, summed over
# all tokens and in units of rounding: 3.6e-15.
ENOUGH = 16.0
# What meets others more rarely than this, in units of rounding, costs nothing whoever wins: 1e-18.
RARE = 2.0**-8
# The logarithms of two weights move apart by at most twice this
# in one step: the curve is not trusted further.
LARGEST = 4.0
# After a step that does not help, the next may be this many
# times shorter; after one that does, twice as long.
SHORTER = 4.0
# Shorter steps than this change no chance by more than rounding does.
SHORTEST = 1e-15


def weights(wanted: Array, met: Array, tier: Array) -> Array:
    """Weights (..., B) with which b wins `wanted` of its meetings with others of its `tier`.

    `met` (..., B, B) is how often two meet, of whatever tiers. Newton's method on a convex function
    of the logarithms (T38), by steps that are shortened until they bring the wins nearer; Fractions
    get the weights that floats have.
    """
    if is_exact(wanted):
        return _of_floats(wanted, met, tier)
    xp = array_namespace(wanted)
    rounding = float(xp.finfo(wanted.dtype).eps)
    itself = xp.eye(wanted.shape[-1], dtype=xp.bool, device=device(wanted))
    is_same_tier = tier[..., :, None] == tier[..., None, :]
    # What hardly meets others is left out: its equation would drown in the rounding of the others'.
    met = xp.where(is_same_tier & ~itself, met, 0)
    idle = xp.sum(met, axis=-1) <= RARE * rounding
    met = xp.where(_either(idle), 0, met)
    total = xp.sum(met, axis=-1)
    idle = total <= 0
    # In each tier as much is won as there are meetings, to the
    # last bit: else no weights could give it.
    wanted = xp.where(idle, 0, wanted)
    in_tier = _sums(wanted, is_same_tier)
    meetings = _sums(total, is_same_tier) / 2
    wanted = wanted * xp.where(in_tier > 0, meetings / xp.where(in_tier > 0, in_tier, 1), 1)
    # Begin as if each met the average of its tier.
    logs = xp.where(idle, 0, xp.log(share(wanted, total)) - xp.log(share(total - wanted, total)))
    won, off = _wins(logs, met, wanted)
    error = xp.sum(abs(off), axis=-1)
    begin = _State(logs, won, off, error, 0 * error + LARGEST)
    step = partial(_moved, met, wanted, is_same_tier & ~_either(idle), itself)
    logs = until_near(begin, step, ENOUGH * rounding).logs
    # No weight becomes 0: of two that do, neither would win.
    least = float(np.log(float(xp.finfo(wanted.dtype).smallest_normal))) / 2
    return xp.exp(xp.clip(logs - xp.max(logs, axis=-1, keepdims=True), min=least))


class Steps(Protocol):
    """The part of a state that `until_near` reads, row by row."""

    @property
    def off(self) -> Array: ...
    @property
    def error(self) -> Array: ...
    @property
    def longest(self) -> Array: ...


S = TypeVar("S", bound=Steps)


class _State(NamedTuple):
    """Where the method stands, row by row."""

    logs: Array  # of the weights
    won: Array  # probability that one wins over another
    off: Array  # wins, less those wanted
    error: Array  # sum of |off|
    longest: Array  # how far a logarithm may move in the next step


def until_near(state: S, moved: Callable[[S], S], enough: float) -> S:
    """Repeat steps until the error of every row is below `enough`, or steps are too short to matter.

    JAX and GPUs take a fixed number of steps: there a look at the error would break the program, or
    wait for the device.
    """
    off = state.off
    # JAX: one program, compiled once.
    if is_jax_array(off):
        return sys.modules["jax"].lax.fori_loop(0, FIXED, lambda _, state: moved(state), state)  # type: ignore[no-any-return]
    if not (is_numpy_array(off) or off.device.type == "cpu"):
        for _ in range(FIXED):
            state = moved(state)
        return state
    for _ in range(STEPS):
        # No gradient runs through the question whether to stop.
        error, longest = (w if is_numpy_array(off) else w.detach() for w in (state.error, state.longest))
        if not ((error >= enough) & (longest > SHORTEST)).any():
            break
        state = moved(state)
    return state


def _moved(met: Array, wanted: Array, is_same_tier: Array, itself: Array, state: _State) -> _State:
    """Return the state after one step; a row that it brings no nearer keeps its logs, with a shorter next step."""
    xp = array_namespace(wanted)
    longest = state.longest
    # Newton's step, with every logarithm's move limited.
    step = _step(state.off, met * state.won * xp.matrix_transpose(state.won), is_same_tier, itself)
    logs = state.logs - xp.clip(step, -longest[..., None], longest[..., None])
    won, off = _wins(logs, met, wanted)
    error = xp.sum(abs(off), axis=-1)
    # Accept it row by row.
    nearer = error < state.error
    shorter = xp.minimum(longest, xp.max(abs(step), axis=-1)) / SHORTER
    return _State(
        xp.where(nearer[..., None], logs, state.logs),
        xp.where(nearer[..., None, None], won, state.won),
        xp.where(nearer[..., None], off, state.off),
        xp.where(nearer, error, state.error),
        xp.where(nearer, xp.clip(2 * longest, max=LARGEST), shorter),
    )


def _wins(logs: Array, met: Array, wanted: Array) -> tuple[Array, Array]:
    """Probability that one beats another (..., B, B), and wins less those wanted (..., B).

    Small probabilities have full precision: exp is taken of what is at most 0.
    """
    xp = array_namespace(logs)
    ahead = logs[..., :, None] - logs[..., None, :]
    small = xp.exp(-abs(ahead))
    won = xp.where(ahead >= 0, 1, small) / (1 + small)
    return won, xp.sum(met * won, axis=-1) - wanted


def _step(off: Array, curve: Array, is_same_tier: Array, itself: Array) -> Array:
    """Return Newton's step (..., B) in the logarithms, from gradient `off` and curve of pairs (..., B, B).

    All equations are scaled by their own curve, for some weights are very small, and their curves
    with them. Adding the same to all logarithms of a tier changes nothing: that direction is held
    by the projection onto it.
    """
    xp = array_namespace(off)
    # The curve of each logarithm, by which its equation is scaled.
    diagonal = xp.sum(curve, axis=-1)
    scale = 1 / xp.sqrt(xp.where(diagonal > 0, diagonal, 1))
    scaled = -curve * scale[..., :, None] * scale[..., None, :]
    matrix = xp.where(itself, 1 + 4 * float(xp.finfo(off.dtype).eps), scaled)
    # The unit vector, in scaled coordinates, along which a whole tier
    # moves: its projection makes the matrix regular.
    tier_sum = _sums(diagonal, is_same_tier)
    along = xp.where(diagonal > 0, xp.sqrt(diagonal) / xp.sqrt(xp.where(tier_sum > 0, tier_sum, 1)), 0)
    matrix = matrix + xp.where(is_same_tier, along[..., :, None] * along[..., None, :], 0)
    solution = xp.linalg.solve(matrix, (scale * off)[..., None])
    return scale * solution[..., 0]


def _either(idle: Array) -> Array:
    """Booleans (..., B, B), True for a pair of which at least one is idle."""
    return idle[..., :, None] | idle[..., None, :]


def _sums(row: Array, is_same_tier: Array) -> Array:
    """Return for each entry of a row (..., B) the sum of the entries of its tier."""
    xp = array_namespace(row)
    return xp.sum(xp.where(is_same_tier, row[..., None, :], 0), axis=-1)


def _of_floats(wanted: Array, met: Array, tier: Array) -> Array:
    """Weights for Fractions, computed in floats.

    Each row is solved by itself, and only for those that meet another: with others in the sums,
    rounding would differ.
    """
    result = np.full(wanted.shape, Fraction(1), dtype=object)
    for row in np.ndindex(wanted.shape[:-1]):
        live = np.flatnonzero(np.any(met[row] > 0, axis=-1))
        among = met[row][np.ix_(live, live)].astype(float)
        if live.size:
            solved = weights(wanted[row][live].astype(float), among, tier[row][live])
            result[row][live] = [Fraction(w) for w in solved.tolist()]
    return result


def share(part: Array, total: Array) -> Array:
    """part / total, kept away from 0 and 1."""
    xp = array_namespace(part)
    share = part / xp.where(total > 0, total, 1)
    return xp.where(share > 1e-12, share, 1e-12)


def divisible(q: Array, top: Array) -> Array:
    """Return q (..., V), scaled up off its top token where the others have so little that 1 / (1 - q) would overflow.

    Almost every set of drafts there is the top token and others. The others keep their ratios, and
    sets their law.
    """
    xp = array_namespace(q)
    least = float(xp.finfo(q.dtype).smallest_normal)
    rest = xp.sum(xp.where(top, 0, q), axis=-1, keepdims=True)
    return xp.where((rest < least**0.75) & ~top, q * least**-0.25, q)
