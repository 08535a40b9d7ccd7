"""The least p(H) - G(q(H)) over prefixes H of the order of p/q, for one long NumPy row, below the price of a sort.

Tokens are put in bins by the leading bits of p/q. Along a bin, p(H) as a function of q(H) is convex, with slopes
between the bin's edges, so it lies above the two lines of these slopes through the bin's ends; -G is concave, so no
prefix that ends inside is below both ends and the point where the lines cross. Only bins where that point is below all
ends are sorted (T03).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from specsim.types import Array
from specsim.verify.step import _bins

# All tokens with p/q < 2^-16 share the first bin.
LOWEST = 16
# Every octave of p/q is cut into 2^5 bins.
STEPS = 5
# Relative allowance at the edges of bins: the quotient p/q is off by 2^-53.
SLACK = 2.0**-50
# So many bins are looked for one by one.
FEW = 2
# A row whose sum is off by at most this much is a law, in whatever order it is summed (TOLERANCE is 1e-6).
SURELY = 5e-7
# A bin is sorted only if it may lower the value by more than this.
GAIN = 1e-14


class Lowest(NamedTuple):
    """The least value, 0 for the empty set, and its prefix: all bins before `stop`, and then `tokens`.

    place: the bin of each token. drafted: the tokens with q > 0, if these are few and `place` is for them alone.
    """

    value: float
    drafted: Array | None
    place: Array
    stop: int
    tokens: Array

    def members(self, vocab: int) -> Array:
        """Indicator (V,) of the prefix."""
        inside = self.place < self.stop
        inside[self.tokens] = True
        if self.drafted is None:
            return inside
        out = np.zeros(vocab, dtype=bool)
        out[self.drafted] = inside
        return out


def nothing() -> None:
    """Do nothing, about rows that were validated before."""


def lowest(
    p: Array, q: Array, inside: Callable[[Array], Array], most: int, validate: Callable[[], Any] = nothing
) -> Lowest:
    """The least value of one row (V,) of each law.

    inside: G, convex with a derivative of at most `most`; so p/q is at most `most` in the best H.
    validate: called, before any value is used, unless the sums of the bins show that p and q are laws.
    """
    # Rows cut by top-p or top-k, as every 16th token tells: only tokens that can be drafted, which lack a part of p.
    drafted, sample = None, q[::16] > 0
    if 2 * np.count_nonzero(sample) < len(sample):
        validate()
        drafted = np.flatnonzero(q > 0)
        p, q = p.take(drafted), q.take(drafted)
    # Mass of each bin, and of all bins before each one; rows that are no laws may overflow.
    size = (LOWEST + 1 + most.bit_length() << STEPS) + 1
    place, masses, least_entry = _bins.binned(p, q, LOWEST, STEPS, size)
    before = np.zeros((2, size + 1))
    with np.errstate(over="ignore", invalid="ignore"):
        np.cumsum(masses, axis=1, out=before[:, 1:])
    if drafted is None and not (least_entry >= 0 and (abs(before[:, -1] - 1) <= SURELY).all()):
        validate()
    # The values at the ends of bins.
    (p_bin, q_bin), (p_end, q_end) = masses[:, :-1], before[:, :-1]
    ends = p_end - inside(q_end)
    stop = int(ends.argmin())
    value = float(ends[stop])
    # The lines of slopes low and high through the ends of a bin cross at the draft mass `along` in it: a lower bound.
    low, high = _edges(size)
    along = (high * q_bin - p_bin) / (high - low)
    along = np.minimum(np.maximum(along, 0), q_bin)
    bound = p_end[:-1] + low * along - inside(q_end[:-1] + along)
    searched = bound < value - GAIN
    bins = np.flatnonzero(searched)
    if not len(bins):
        return Lowest(value, drafted, place, stop, np.empty(0, dtype=np.int64))
    # Sort the tokens of bins whose bound is below the value, by p/q.
    if len(bins) > FEW:
        tokens = np.flatnonzero(np.append(searched, False).take(place))
    else:
        tokens = np.concatenate([np.flatnonzero(place == b) for b in bins.tolist()])
    a, b = (w.take(tokens).astype(np.float64, copy=False) for w in (p, q))
    order = np.argsort(a / b, kind="stable")
    tokens, there = tokens.take(order), place.take(tokens.take(order))
    # Masses of prefixes that end at each of them: all bins before, and the bin's tokens up to it.
    first = there.searchsorted(there)
    p_mass, q_mass = (np.concatenate([[0.0], np.cumsum(w.take(order))]) for w in (a, b))
    p_mass, q_mass = (end[there] + (w[1:] - w[first]) for end, w in ((p_end, p_mass), (q_end, q_mass)))
    slack = p_mass - inside(q_mass)
    least = int(slack.argmin())
    if not slack[least] < value:
        return Lowest(value, drafted, place, stop, tokens[:0])
    return Lowest(float(slack[least]), drafted, place, int(there[least]), tokens[: least + 1])


@lru_cache(maxsize=8)
def _edges(size: int) -> tuple[Array, Array]:
    """Lower and upper bounds of p/q in all bins but the last."""
    edge = np.arange(size - 1)
    edges = np.ldexp(1 + (edge % 2**STEPS) / 2**STEPS, (edge >> STEPS) - LOWEST)
    return np.concatenate([[0.0], edges[:-1]]) * (1 - SLACK), edges * (1 + SLACK)
