"""The least p(H) - G(q(H)) over prefixes H of the order of p/q, for one long NumPy row, below the price of a sort.

Tokens are put in bins by the leading bits of p/q. Along a bin, p(H) as a function of q(H) is convex, with slopes
between the bin's edges, so it lies above the two lines of these slopes through the bin's ends; -G is concave, so no
prefix that ends inside is below both ends and the point where the lines cross. Only bins where that point is below all
ends are sorted (T03).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from specsim.types import Array
from specsim.verify.step import _bins

# All tokens with p/q < 2^-16 share the first bin.
LOWEST = 16
# Every octave of p/q is cut into 2^5 bins.
STEPS = 5
# Relative allowance at the edges of bins: the quotient p/q is off by 2^-53.
SLACK = 2.0**-50
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


def lowest(p: Array, q: Array, inside: Callable[[Array], Array], most: int) -> Lowest:
    """The least value of one row (V,) of each law.

    inside: G, convex with a derivative of at most `most`; so p/q is at most `most` in the best H.
    """
    # Rows cut by top-p or top-k: only tokens that can be drafted.
    drafted = None
    if 2 * np.count_nonzero(is_drafted := q > 0) < len(q):
        drafted = np.flatnonzero(is_drafted)
        p, q = p.take(drafted), q.take(drafted)
    # Mass of each bin, and the values at the ends of bins.
    size = (LOWEST + 1 + most.bit_length() << STEPS) + 1
    place, p_bin, q_bin = _bins.binned(p, q, LOWEST, STEPS, size)
    p_end, q_end = (np.concatenate([[0.0], np.cumsum(w[:-1])]) for w in (p_bin, q_bin))
    ends = p_end - inside(q_end)
    stop = int(ends.argmin())
    value = float(ends[stop])
    # The lines of slopes low and high through the ends of a bin cross at the draft mass `along` in it: a lower bound.
    low, high = _edges(size)
    along = (high * q_bin[:-1] - p_bin[:-1]) / (high - low)
    along = np.minimum(np.maximum(along, 0), q_bin[:-1])
    bound = p_end[:-1] + low * along - inside(q_end[:-1] + along)
    searched = np.concatenate([bound < value - GAIN, [False]])
    if not searched.any():
        return Lowest(value, drafted, place, stop, np.empty(0, dtype=np.int64))
    # Sort the tokens of bins whose bound is below the value, by p/q.
    tokens = np.flatnonzero(searched.take(place))
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
