r"""The optimum where Pr[all drafts in H] = G(q(H)) for a convex G, by one sort, of long rows by less.

.. math:: \alpha^* = 1 + \min_H \, p(H) - G(q(H)), \qquad G(t) = t^K \text{ or } E\,t^N

Max-flow = min-cut on the bipartite graph of draft tuples and tokens. Relaxed to fractional H, the best H of a given
q(H) fills up in the order of p/q, and -G is concave, so a whole prefix of that order attains the minimum (T03).
``count`` is K, or the law of N (`specsim.types.Draws`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from array_api_compat import is_torch_array

from specsim.base import arrays
from specsim.base.arrays import array_namespace
from specsim.bounds.certified import Optimum
from specsim.bounds.schemes import _lowest
from specsim.draft import distinct, iid
from specsim.types import Array, Draws
from specsim.verify.step import optimal

# NumPy rows of more tokens are binned, not sorted.
LONG = 8192
# Their rows are summed in float64 without loss.
FLOATS = (np.float64, np.float32, np.float16)


def value(p: Array, q: Array, count: int | Draws, validate: Callable[[], Any] = _lowest.nothing) -> Array:
    """The optimal acceptance (...) of broadcast rows p, q (..., V); rows that may be no laws call `validate` first."""
    if isinstance(count, int) and count == 1:
        validate()
        return arrays.overlap(arrays.wide(p), arrays.wide(q))
    if isinstance(count, int) and (host := _as_numpy(p, q)):
        return array_namespace(p).asarray(value(*host, count))
    if is_large(p):
        rows = np.ndindex(*p.shape[:-1])
        lows = [_best_prefix(p[row], q[row], _count_of_row(count, row), validate).value for row in rows]
        return 1 + np.reshape(lows, p.shape[:-1])[()]
    _, p_mass, q_mass = arrays.prefix_scan(p, q)
    return best(p_mass - inside(q_mass, count))


def optimum(p: Array, q: Array, count: int | Draws) -> Optimum:
    """The value with the set H that attains it, and the law of the winner that does (T08)."""
    if isinstance(count, int) and count == 1:
        return exact(value(p, q, 1), p < q, q)
    if isinstance(count, int) and (host := _as_numpy(p, q)):
        return exact(*map(array_namespace(p).asarray, optimum(*host, count)[:3]))
    if is_large(p):
        low, certificate, plan = np.empty(p.shape[:-1]), np.empty(p.shape, dtype=bool), np.empty(p.shape)
        for row in np.ndindex(*p.shape[:-1]):
            lowest = _best_prefix(p[row], q[row], _count_of_row(count, row))
            low[row], certificate[row] = lowest.value, lowest.members(p.shape[-1])
            plan[row] = _winners(p[row], q[row], _count_of_row(count, row))
        return exact(1 + low[()], certificate, plan)
    order, p_mass, q_mass = arrays.prefix_scan(p, q)
    slack = p_mass - inside(q_mass, count)
    return exact(best(slack), certificate_of(order, slack), _winners(p, q, count))


def exact(value: Array, certificate: Array, plan: Array | None) -> Optimum:
    """The optimum by a closed form: optimal, without an error."""
    return Optimum(value, certificate, plan, "optimal", 0 * value)


def inside(q_mass: Array, count: int | Draws) -> Array:
    """G: Pr[all drafts in a set] of draft mass q_mass."""
    return iid.inside(q_mass, count) if isinstance(count, int) else distinct.inside(q_mass, count)


def best(slack: Array) -> Array:
    """1 + the least p(H) - Pr[all in H], from the differences of all prefixes H but the empty one.

    `slack` (..., V) has these; the difference of the empty prefix is 0.
    """
    xp = array_namespace(slack)
    low = xp.min(slack, axis=-1)
    return 1 + xp.where(low < 0, low, 0 * low)


def certificate_of(order: Array, slack: Array) -> Array:
    """Indicator (..., V) of the prefix that attains the least slack."""
    xp = array_namespace(slack)
    last = xp.argmin(slack, axis=-1)
    rank = xp.argsort(order, axis=-1, stable=False)
    return (rank <= last[..., None]) & (arrays.at(slack, last) < 0)[..., None]


def checks_rows(p: Any, q: Any) -> bool:
    """Return whether `value` checks these arguments by itself: long rows of floats, plain NumPy arrays of one shape."""
    if not (type(p) is type(q) is np.ndarray and p.shape == q.shape and p.ndim and p.shape[-1] > LONG):
        return False
    return p.dtype in FLOATS and q.dtype in FLOATS


def is_large(p: Array) -> bool:
    """Return whether rows are worked on one by one, in bins of p/q."""
    return isinstance(p, np.ndarray) and not arrays.is_exact(p) and p.shape[-1] > LONG


def _as_numpy(p: Array, q: Array) -> tuple[Array, Array] | None:
    """Return long rows of torch on the CPU as NumPy arrays, else None.

    NumPy sorts them faster, and bins them instead where it can.
    """
    laws = (p, q)
    if p.shape[-1] <= LONG or not all(is_torch_array(w) for w in laws):
        return None
    # NumPy has neither gradients nor bfloat16.
    if any(w.requires_grad or w.device.type != "cpu" or w.dtype.itemsize < 4 for w in laws):
        return None
    return p.numpy(), q.numpy()


def _winners(p: Array, q: Array, count: int | Draws) -> Array:
    """w = max(c q, min(p, d q)), the law of the optimal rule's winner."""
    return optimal.winners(optimal.prepare(p, q, count))


def _count_of_row(count: int | Draws, row: tuple[int, ...]) -> int | Draws:
    """Return K, or the law of N at the index `row` of the batch."""
    if isinstance(count, int):
        return count
    least, extra = (v[row] if np.ndim(v) else v for v in (count.least, count.extra))
    return Draws(least, extra, count.limit)


def _best_prefix(
    p: Array, q: Array, count: int | Draws, validate: Callable[[], Any] = _lowest.nothing
) -> _lowest.Lowest:
    """The best prefix of one long row."""
    most = count if isinstance(count, int) else count.limit
    return _lowest.lowest(p, q, partial(inside, count=count), most, validate)
