r"""The optimum where Pr[all drafts in H] = G(q(H)) for a convex G, by one sort.

.. math:: \alpha^* = 1 + \min_H \, p(H) - G(q(H)), \qquad G(t) = t^K \text{ or } E\,t^N

Max-flow = min-cut on the bipartite graph of draft tuples and tokens. Relaxed to fractional H, the best H of a given
q(H) fills up in the order of p/q, and -G is concave, so a whole prefix of that order attains the minimum (T03).
``count`` is K, or the law of N (`specsim.types.Draws`).
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from specsim.base import arrays
from specsim.draft import distinct, iid
from specsim.types import Array, Draws, Optimum
from specsim.verify.step import optimal

CHUNK = 8192  # tokens; what a pass over sorted tokens touches stays in cache
SLACK = 1 + 1e-6  # float32 ratios are off by 2^-24


def value(p: Array, q: Array, count: int | Draws) -> Array:
    """The optimal acceptance (...) of broadcast rows p, q (..., V)."""
    if isinstance(count, int) and count == 1:
        return arrays.overlap(arrays.wide(p), arrays.wide(q))
    if is_large(p):
        rows = np.ndindex(*p.shape[:-1])
        lows = [_lowest(p[row], q[row], _of_row(count, row))[0] for row in rows]
        return 1 + np.reshape(lows, p.shape[:-1])[()]
    _, p_mass, q_mass = arrays.prefix_scan(p, q)
    return best(p_mass - inside(q_mass, count))


def optimum(p: Array, q: Array, count: int | Draws) -> Optimum:
    """The value with the set H that attains it, and the law of the winner that does (T08)."""
    if isinstance(count, int) and count == 1:
        return exact(value(p, q, 1), p < q, q)
    if is_large(p):
        low, certificate, plan = np.empty(p.shape[:-1]), np.zeros(p.shape, dtype=bool), np.empty(p.shape)
        for row in np.ndindex(*p.shape[:-1]):
            low[row], members = _lowest(p[row], q[row], _of_row(count, row))
            certificate[row][members] = True
            plan[row] = _winners(p[row], q[row], _of_row(count, row))
        return exact(1 + low[()], certificate, plan)
    order, p_mass, q_mass = arrays.prefix_scan(p, q)
    slack = p_mass - inside(q_mass, count)
    return exact(best(slack), certificate_of(order, slack), _winners(p, q, count))


def exact(value: Array, certificate: Array, plan: Array | None) -> Optimum:
    """What a closed form gives: optimal, without an error."""
    return Optimum(value, certificate, plan, "optimal", 0 * value)


def inside(q_mass: Array, count: int | Draws) -> Array:
    """G: Pr[all drafts in a set] of draft mass q_mass."""
    return iid.inside(q_mass, count) if isinstance(count, int) else distinct.inside(q_mass, count)


def best(slack: Array) -> Array:
    """1 + the least p(H) - Pr[all in H], where the slack (..., V) has those of all prefixes H but the empty one, 0."""
    xp = array_namespace(slack)
    low = xp.min(slack, axis=-1)
    return 1 + xp.where(low < 0, low, 0 * low)


def certificate_of(order: Array, slack: Array) -> Array:
    """Indicator (..., V) of the prefix that attains the least slack."""
    xp = array_namespace(slack)
    last = xp.argmin(slack, axis=-1)
    rank = xp.argsort(order, axis=-1, stable=False)
    return (rank <= last[..., None]) & (arrays.at(slack, last) < 0)[..., None]


def is_large(p: Array) -> bool:
    """Whether rows are worked on one by one, in pieces."""
    return isinstance(p, np.ndarray) and not arrays.is_exact(p) and p.shape[-1] > CHUNK


def _winners(p: Array, q: Array, count: int | Draws) -> Array:
    """w = max(c q, min(p, d q)), the law of the optimal rule's winner."""
    return optimal.winners(optimal.prepare(p, q, count))


def _of_row(count: int | Draws, row: tuple[int, ...]) -> int | Draws:
    if isinstance(count, int):
        return count
    least, extra = (v[row] if np.ndim(v) else v for v in (count.least, count.extra))
    return Draws(least, extra, count.limit)


def _lowest(p: Array, q: Array, count: int | Draws) -> tuple[float, Array]:
    """min over prefixes H of p(H) - G(q(H)) for one long NumPy row, and the tokens of H, in cache-sized pieces.

    The order is that of the ratio in float32, by one sort of (ratio, index) words: twice as fast as argsort, and
    enough. Rounding is monotone, so only tokens whose ratios agree to 2^-23 can be misordered. G is strictly convex,
    so a minimiser stops inside such a group only if its q-mass is small, 2^-22 for two drafts, and the value then
    moves by less than 1e-14 (T03). The set returned proves the value returned in any case.
    """
    words = np.empty(p.shape[-1], dtype=np.uint64)
    pieces = [slice(i, i + CHUNK) for i in range(0, p.shape[-1], CHUNK)]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # q = 0: inf or nan, both last
        for piece in pieces:
            # Adding 0 takes the sign from -0.0, in q as well: p / -0.0 is -inf, whose bits sort after all others.
            ratio = (p[piece] / (q[piece] + 0.0) + 0.0).astype(np.float32).view(np.uint32).astype(np.uint64)
            words[piece] = (ratio << np.uint64(32)) | np.arange(piece.start, piece.start + len(ratio), dtype=np.uint64)
    words.sort()
    ratios = (words >> np.uint64(32)).astype(np.uint32).view(np.float32)
    low, size, p_before, q_before = 0.0, 0, 0.0, 0.0
    for piece in pieces:
        tokens = _tokens(words[piece])
        p_part, q_part = p.take(tokens), q.take(tokens)
        p_after = p_before + float(p_part.sum(dtype=np.float64))
        q_after = q_before + float(q_part.sum(dtype=np.float64))
        # A minimiser that ends inside has p/q <= G'(s) up to there and >= from there on, s its draft mass.
        first, last = float(ratios[piece.start]), float(ratios[min(piece.stop, len(ratios)) - 1])
        searched = first <= SLACK * _slope(q_after, count) and not SLACK * last < _slope(q_before, count)  # nan last
        if searched:
            p_mass = p_before + np.cumsum(p_part, dtype=np.float64)
            q_mass = q_before + np.cumsum(q_part, dtype=np.float64)
        else:  # only its end need be looked at
            p_mass, q_mass = np.array([p_after]), np.array([q_after])
        slack = p_mass - inside(q_mass, count)
        least = int(slack.argmin())
        if slack[least] < low:
            low, size = float(slack[least]), min(piece.stop, len(ratios)) - len(slack) + least + 1
        p_before, q_before = p_after, q_after
    return low, _tokens(words[:size])


def _slope(q_mass: float, count: int | Draws) -> float:
    """Derivative of G."""
    if isinstance(count, int):
        return count * float(iid.inside(q_mass, count - 1))
    return float(distinct.mean_slope(q_mass, q_mass, count))


def _tokens(words: Array) -> Array:
    return (words & np.uint64(0xFFFFFFFF)).astype(np.int64)
