r"""The optimum for K i.i.d. drafts, by one sort.

.. math:: \alpha^*_K = 1 + \min_H \, p(H) - q(H)^K

Max-flow = min-cut on the bipartite graph of draft tuples and tokens. Relaxed to fractional H, the best H of a given
q(H) fills up in the order of p/q, and -s^K is concave in s, so a whole prefix of that order attains the minimum (T03).
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from specsim import _dist
from specsim.draft import iid
from specsim.types import Array, Optimum

CHUNK = 8192  # tokens; what a pass over sorted tokens touches stays in cache
SLACK = 1 + 1e-6  # float32 ratios are off by 2^-24


def value(p: Array, q: Array, num_drafts: int) -> Array:
    """The optimal acceptance (...) of broadcast rows p, q (..., V)."""
    if num_drafts == 1:
        return _dist.overlap(_dist.wide(p), _dist.wide(q))
    if _is_large(p):
        rows = np.ndindex(*p.shape[:-1])
        return 1 + np.reshape([_lowest(p[row], q[row], num_drafts)[0] for row in rows], p.shape[:-1])[()]
    xp = array_namespace(p, q)
    _, p_mass, q_mass = _dist.prefix_scan(p, q)
    low = xp.min(p_mass - iid.inside(q_mass, num_drafts), axis=-1)
    return 1 + xp.where(low < 0, low, 0 * low)  # the empty prefix gives 0


def optimum(p: Array, q: Array, num_drafts: int) -> Optimum:
    """The value with the set H that attains it."""
    if num_drafts == 1:
        return Optimum(value(p, q, 1), p < q, "optimal")
    if _is_large(p):
        low, inside = np.empty(p.shape[:-1]), np.zeros(p.shape, dtype=bool)
        for row in np.ndindex(*p.shape[:-1]):
            low[row], members = _lowest(p[row], q[row], num_drafts)
            inside[row][members] = True
        return Optimum(1 + low[()], inside, "optimal")
    xp = array_namespace(p, q)
    order, p_mass, q_mass = _dist.prefix_scan(p, q)
    slack = p_mass - iid.inside(q_mass, num_drafts)
    last = xp.argmin(slack, axis=-1)
    low = _dist.at(slack, last)
    rank = xp.argsort(order, axis=-1, stable=False)
    inside = (rank <= last[..., None]) & (low < 0)[..., None]
    return Optimum(1 + xp.where(low < 0, low, 0 * low), inside, "optimal")


def _is_large(p: Array) -> bool:
    return isinstance(p, np.ndarray) and not _dist.is_exact(p) and p.shape[-1] > CHUNK


def _lowest(p: Array, q: Array, num_drafts: int) -> tuple[float, Array]:
    """min over prefixes H of p(H) - q(H)^K for one long NumPy row, and the tokens of H, in cache-sized pieces.

    The order is that of the ratio in float32, by one sort of (ratio, index) words: twice as fast as argsort, and
    enough. Rounding is monotone, so only tokens whose ratios agree to 2^-23 can be misordered. s^K is strictly convex,
    so a minimiser stops inside such a group only if its q-mass is below 2^-22, and the value then moves by less than
    4e-15 (T03). The set returned proves the value returned in any case.
    """
    words = np.empty(p.shape[-1], dtype=np.uint64)
    pieces = [slice(i, i + CHUNK) for i in range(0, p.shape[-1], CHUNK)]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # q = 0: inf or nan, both last
        for piece in pieces:
            ratio = (p[piece] / q[piece] + 0.0).astype(np.float32).view(np.uint32).astype(np.uint64)
            words[piece] = (ratio << np.uint64(32)) | np.arange(piece.start, piece.start + len(ratio), dtype=np.uint64)
    words.sort()
    ratios = (words >> np.uint64(32)).astype(np.uint32).view(np.float32)
    low, size, p_before, q_before = 0.0, 0, 0.0, 0.0
    for piece in pieces:
        tokens = _tokens(words[piece])
        p_part, q_part = p.take(tokens), q.take(tokens)
        p_after = p_before + float(p_part.sum(dtype=np.float64))
        q_after = q_before + float(q_part.sum(dtype=np.float64))
        # A minimiser that ends inside has p/q <= K s^(K-1) up to there and >= from there on, s its draft mass.
        first, last = float(ratios[piece.start]), float(ratios[min(piece.stop, len(ratios)) - 1])
        if first <= SLACK * _slope(q_after, num_drafts) and not SLACK * last < _slope(
            q_before, num_drafts
        ):  # last may be nan
            p_mass = p_before + np.cumsum(p_part, dtype=np.float64)
            q_mass = q_before + np.cumsum(q_part, dtype=np.float64)
        else:  # only its end need be looked at
            p_mass, q_mass = np.array([p_after]), np.array([q_after])
        slack = p_mass - iid.inside(q_mass, num_drafts)
        best = int(slack.argmin())
        if slack[best] < low:
            low, size = float(slack[best]), min(piece.stop, len(ratios)) - len(slack) + best + 1
        p_before, q_before = p_after, q_after
    return low, _tokens(words[:size])


def _slope(q_mass: float, num_drafts: int) -> float:
    """Derivative of s^K."""
    return num_drafts * float(iid.inside(q_mass, num_drafts - 1))


def _tokens(words: Array) -> Array:
    return (words & np.uint64(0xFFFFFFFF)).astype(np.int64)
