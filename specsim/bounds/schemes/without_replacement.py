r"""The optimum for K drafts without replacement: a prefix of the order of p/q attains it (T15), as for i.i.d. drafts.

Pr[all in H] is no function of q(H). Let token i arrive at rate q_i, so that the drafts are the first K to arrive; H
holds them all unless a token outside comes while j < K of H have arrived:

.. math:: 1 - \Pr[\text{all in } H] = (1 - q(H)) \sum_{j<K} \int_0^\infty e^{-T} e_j(H; T) \, dT

with e_j the elementary symmetric polynomial of e^{q_i T} - 1, i in H: for all prefixes H at once these are K cumulative
sums. The terms j = 0, 1 are closed, 1 and sum_H q_i/(1 - q_i), so K = 2 is exact; the others are summed over equal
steps of log T, which has a rigorous error, small for every q. Fractions with K > 2: all sets, on few tokens.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from array_api_compat import device

from specsim.base import arrays, check
from specsim.base.arrays import array_namespace
from specsim.bounds.certified import Optimum
from specsim.bounds.schemes import _prefix, _subsets
from specsim.types import Array
from specsim.verify.step._pairs import divisible
from specsim.verify.step._race import ANGLES, longest, widest_step

# Most tokens of Fractions for K > 2, whose sets are all tried.
EXACT_TOKENS = 12
# Largest error where the number of nodes can follow q; in a shorter float, its precision.
TOLERANCE = 1e-13
# Under jit the number of nodes cannot follow q: there are enough of them for this much mass outside
# the K - 1 likeliest tokens.
TRACED = 1e-8
# Nodes x rows x tokens that are worked on at a time: temporaries stay in cache.
CELLS = 2**18


def optimum(p: Array, q: Array, num_drafts: int) -> Optimum:
    """The value with the set that attains it."""
    xp = array_namespace(p, q)
    if num_drafts == 1:
        return _prefix.optimum(p, q, 1)
    if arrays.is_exact(p) and num_drafts > 2:
        return _optimum_by_all_sets(p, q, num_drafts)
    # Values of all prefixes of the order of p/q. If q has at most K tokens, `few`, then all of them
    # are drafted, and the sum is not needed.
    p, q = arrays.wide(p), arrays.wide(q)
    q = q / xp.sum(q, axis=-1, keepdims=True)
    if not arrays.is_exact(q):
        q = divisible(q, arrays.ids(q) == xp.argmax(q, axis=-1)[..., None])
    order, p_mass, _ = arrays.prefix_scan(p, q)
    few = xp.sum(xp.where(q > 0, 1, 0), axis=-1, keepdims=True) <= num_drafts
    missed, error = _missed(xp.where(few, (1 + 0 * q) / q.shape[-1], q), order, num_drafts)
    slack = xp.where(few, 0 * p, p_mass + missed - 1)
    covered = xp.sum(xp.where(q > 0, p, 0), axis=-1)
    best = xp.where(few[..., 0], covered, _prefix.best(slack))[()]
    certificate = xp.where(few, q > 0, _prefix.certificate_of(order, slack))
    return Optimum(best, certificate, None, "optimal", xp.where(few[..., 0], 0 * best, error))


def _missed(q: Array, order: Array, num_drafts: int, nodes: int | None = None) -> tuple[Array, Array]:
    """1 - Pr[all drafts in H] for the prefixes H of the order (..., V), and a bound on its error (...).

    nodes: number of times T to sum over, if not by the tolerance.
    """
    # 1 - q_i, for the likeliest token as a sum: the difference may cancel.
    xp = array_namespace(q)
    top = arrays.ids(q) == xp.argmax(q, axis=-1)[..., None]
    others = xp.where(top, xp.sum(xp.where(top, 0, q), axis=-1, keepdims=True), 1 - q)
    # The terms j = 0 and 1, then the others.
    odds = xp.take_along_axis(arrays.quotient(q, xp.where(others > 0, others, 1)), order, axis=-1)
    q = xp.take_along_axis(q, order, axis=-1)
    outside = xp.flip(xp.cumulative_sum(xp.flip(q, axis=-1), axis=-1, include_initial=True), axis=-1)[..., 1:]
    missed, error = outside * (1 + xp.cumulative_sum(odds, axis=-1)), 0 * q[..., 0]
    if 2 < num_drafts < q.shape[-1]:
        later, error = _later(q, outside, num_drafts, nodes)
        missed = missed + later
    return missed, error


def _later(q: Array, outside: Array, num_drafts: int, nodes: int | None) -> tuple[Array, Array]:
    """The terms 1 < j < K of all prefixes of q (..., V), and a bound on their error: see T15.

    q is in the order of the prefixes, `outside` is 1 - q(H). The integral over T becomes a sum over
    `nodes` equal steps of log T.
    """
    # Largest exponent and least mass of this float; and the mean number of arrivals from which on
    # fewer than K have come with probability `tolerance` at most.
    xp, finfo = array_namespace(q), array_namespace(q).finfo(q.dtype)
    largest, least = 0.97 * math.log(float(finfo.max)), float(finfo.smallest_normal) * 2.0**20
    tolerance = max(TOLERANCE, 8 * float(finfo.eps)) / 4
    mean = longest(num_drafts, tolerance)
    if mean >= largest:
        raise ValueError(f"num_drafts={num_drafts} without replacement is more than {q.dtype} can sum over")
    # Mass outside the 1, ..., K - 1 likeliest tokens, not less than `least`.
    beyond = xp.cumulative_sum(xp.sort(q, axis=-1), axis=-1)[..., -num_drafts:-1]
    beyond = xp.flip(beyond, axis=-1)
    rest = xp.where(beyond > least, beyond, least)
    # The nodes: equal steps of log T from start to stop.
    start, stop = math.log(tolerance) / 3, math.log(mean) - xp.log(rest[..., -1:])
    if nodes is None:
        end = xp.max(stop).item() if check.concrete(q) else math.log(mean / TRACED)
        nodes = math.ceil((end - start) / widest_step(num_drafts, tolerance)) + 1
    step = (stop - start) / (nodes - 1)
    # Sum in blocks of nodes. Exponents q_i T are capped so that products stay finite; `cap` is the
    # least cap of any node.
    total, cap = 0 * q, largest + 0 * step
    width = max(1, (CELLS if isinstance(q, np.ndarray) else 32 * CELLS) // math.prod(q.shape))
    for first in range(0, nodes, width):
        node = xp.arange(first, min(first + width, nodes), dtype=q.dtype, device=device(q))
        time = xp.exp(start + step * node)[..., None]
        room = (largest - time * rest[..., None, :]) / xp.arange(1, num_drafts, dtype=q.dtype, device=device(q))
        caps = xp.where(time > largest, xp.max(room, axis=-1, keepdims=True), largest)
        total = total + xp.sum(time * _short(q[..., None, :], outside[..., None, :], time, num_drafts, caps), axis=-2)
        cap = xp.minimum(cap, xp.min(caps, axis=-2))
    # The error: of the steps, of both ends, and of the caps; 1 where these bounds do not hold.
    error = _strip_error(num_drafts, step) + 3 * tolerance + 2 * (largest / cap) * xp.exp(-cap)
    sound = (beyond[..., -1:] > least) & (step <= 1) & (error < 1)
    return outside * step * total, xp.where(sound, error, 1 + 0 * error)[..., 0]


def _short(q: Array, outside: Array, time: Array, num_drafts: int, cap: Array) -> Array:
    """Probability that by these times (..., n, 1) 1 < j < K tokens of the prefix have come, no other.

    A token whose exponent is at the cap, which keeps numbers finite, has come almost surely.
    """
    xp = array_namespace(q)
    exponent = xp.minimum(q * time, cap)
    odds = xp.expm1(exponent)
    level, terms = odds, 0 * odds
    for _ in range(2, num_drafts):
        level = odds * xp.cumulative_sum(level, axis=-1, include_initial=True)[..., :-1]
        terms = terms + level
    return xp.cumulative_sum(terms, axis=-1) * xp.exp(-outside * time - xp.cumulative_sum(exponent, axis=-1))


def _strip_error(num_drafts: int, step: Array) -> Array:
    """Largest error of a sum in steps of log T, as a fraction of the integral: 2 cos^-K(a) / (e^(2 pi a/step) - 1)."""
    xp = array_namespace(step)
    angles, growth = (
        xp.asarray(w, dtype=step.dtype, device=device(step)) for w in (ANGLES, -num_drafts * np.log(np.cos(ANGLES)))
    )
    decay = 2 * math.pi * angles / step
    exponent = growth - decay
    bound = 2 * xp.exp(xp.where(exponent < 0, exponent, 0 * exponent)) / -xp.expm1(-decay)
    return xp.min(bound, axis=-1, keepdims=True)


def _optimum_by_all_sets(p: Array, q: Array, num_drafts: int) -> Optimum:
    """The optimum of rows of Fractions: the least 1 + p(H) - Pr[all drafts in H] of all sets H."""
    if p.shape[-1] > EXACT_TOKENS:
        raise ValueError(
            f"num_drafts={num_drafts} without replacement on Fractions tries all sets of at most {EXACT_TOKENS} "
            f"tokens, not {p.shape[-1]}; give floats (which carry an error bound), or num_drafts=2"
        )
    members = _subsets.all_sets(p.shape[-1])
    rows = np.ndindex(*p.shape[:-1])
    lowest_of_rows = [_subsets.lowest(p[r], _within_all_sets(q[r], num_drafts), members) for r in rows]
    return _subsets.gathered(lowest_of_rows, p.shape)


def _within_all_sets(q: Array, num_drafts: int) -> Array:
    """Pr[all drafts in H] of one row of Fractions, for all 2^V sets H."""
    # drawn: probability of each set after 0, 1, ..., K draws.
    members = _subsets.all_sets(len(q))
    sets, outside = np.arange(len(members)), np.where(members, 0, q).sum(axis=-1)
    drawn = np.array([Fraction(int(n == 0)) for n in sets])
    for _ in range(min(num_drafts, int((q > 0).sum()))):
        ahead = np.where(outside > 0, drawn / np.where(outside > 0, outside, 1), 0)
        drawn = 0 * drawn
        for token in range(len(q)):
            one_more = members[:, token]
            drawn[one_more] += q[token] * ahead[sets[one_more] - 2**token]
    # Sum over all subsets of H, one token at a time.
    for token in range(len(q)):
        one_more = members[:, token]
        drawn[one_more] += drawn[sets[one_more] - 2**token]
    return drawn
