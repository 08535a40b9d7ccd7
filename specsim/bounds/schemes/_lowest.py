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

LOWEST = 16  # all tokens with p/q < 2^-16 share the first bin
STEPS = 5  # bits: every octave of p/q is cut into 2^5 bins
SLACK = 2.0**-50  # the quotient is off by 2^-53
GAIN = 1e-14  # no bin is sorted for less


class Lowest(NamedTuple):
    """The least value, 0 for the empty set, and its prefix: all bins before `stop`, and then `tokens`."""

    value: float
    drafted: Array | None  # the tokens that `place` is of, where most are never drafted; else it is of all
    place: Array  # of each token: its bin
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
    """Of one row (V,) of each law; G, `inside`, is convex with a derivative of at most `most`, as p/q then has in H."""
    drafted = None
    if 2 * np.count_nonzero(some := q > 0) < len(q):  # rows cut by top-p or top-k
        drafted = np.flatnonzero(some)
        p, q = p.take(drafted), q.take(drafted)
    size = (LOWEST + 1 + most.bit_length() << STEPS) + 1
    place, p_bin, q_bin = _bins.binned(p, q, LOWEST, STEPS, size)
    p_end, q_end = (np.concatenate([[0.0], np.cumsum(w[:-1])]) for w in (p_bin, q_bin))
    ends = p_end - inside(q_end)
    stop = int(ends.argmin())
    value = float(ends[stop])
    low, high = _edges(size)
    along = (high * q_bin[:-1] - p_bin[:-1]) / (high - low)  # of q, to where the lines cross
    along = np.minimum(np.maximum(along, 0), q_bin[:-1])
    bound = p_end[:-1] + low * along - inside(q_end[:-1] + along)
    searched = np.concatenate([bound < value - GAIN, [False]])
    if not searched.any():
        return Lowest(value, drafted, place, stop, np.empty(0, dtype=np.int64))
    tokens = np.flatnonzero(searched.take(place))
    a, b = (w.take(tokens).astype(np.float64, copy=False) for w in (p, q))
    order = np.argsort(a / b, kind="stable")
    tokens, there = tokens.take(order), place.take(tokens.take(order))
    first = there.searchsorted(there)  # where the token's bin begins
    p_mass, q_mass = (np.concatenate([[0.0], np.cumsum(w.take(order))]) for w in (a, b))
    p_mass, q_mass = (end[there] + (w[1:] - w[first]) for end, w in ((p_end, p_mass), (q_end, q_mass)))
    slack = p_mass - inside(q_mass)
    least = int(slack.argmin())
    if not slack[least] < value:
        return Lowest(value, drafted, place, stop, tokens[:0])
    return Lowest(float(slack[least]), drafted, place, int(there[least]), tokens[: least + 1])


@lru_cache(maxsize=8)
def _edges(size: int) -> tuple[Array, Array]:
    """What p/q lies between, in all bins but the last."""
    edge = np.arange(size - 1)
    edges = np.ldexp(1 + (edge % 2**STEPS) / 2**STEPS, (edge >> STEPS) - LOWEST)
    return np.concatenate([[0.0], edges[:-1]]) * (1 - SLACK), edges * (1 + SLACK)
