"""K-SEQ: every draft in turn against the same lowered target p/rho; what passing drafts leave of p is the residual.

Law.         Draft x_k is kept with probability min(1, p(x_k)/(rho q(x_k))), the first kept wins; if
             none is, y is drawn proportionally to p - c m, m = min(q, p/rho), c = sum_{k<K}
             (1 - sum m)^k.
Theorem.     T11: the output law is p for every rho with c <= rho; that holds at rho = K and from a
             root rho* on.
Acceptance.  1 - (1 - b)^K that some draft is kept, b = sum m; the token is a draft a little more
             often if rho > rho*, because a recovered token may be a failed draft. `acceptance` is
             the latter, exactly; at rho* both are sum min(p, rho* q).
Randomness.  u[k] decides draft k; u[K] draws from the residual.
Cost.        O(V) for every 4 to 13 bits of rho*, once per plan (one bit in Fractions, and in JAX);
             O(V) memory.
Paper.       Sun et al., SpecTr, arXiv:2310.15141 (K-SEQ; their p is our q).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, NamedTuple

from array_api_compat import device, is_jax_array

from specsim.base import check
from specsim.base.arrays import (
    accept_probability,
    accepts,
    array_namespace,
    at,
    is_exact,
    noise,
    normalize_or,
    one_hot,
    pick,
    positive_part,
    wide,
)
from specsim.draft import iid
from specsim.types import Array
from specsim.verify.step._bins import sums

DRAFTS: Literal["iid"] = "iid"
EXACT = True
THEOREM = "T11"
PROVED = {"lossless": "kseq_lossless", "acceptance": "kseq_hit"}
PAPER = "arXiv:2310.15141"

# Halvings of [1, K]: after 50 of them a float64 cannot tell the ends apart.
HALVINGS = 50
# Halvings at a time, at most: the sums of 2^13 parts stay in cache.
MOST_BITS = 13


class Plan(NamedTuple):
    p: Array
    raised: Array  # rho q, what p is tested against
    failed: Array  # q - m, the probability that a draft is this token and fails
    left_over: Array  # law of the token if all drafts fail
    num_drafts: int


def prepare(p: Array, q: Array, num_drafts: int, rho: Array | None = None) -> Plan:
    """Plan for rho (..., 1): by default the smallest valid one; another one is checked to be valid."""
    if rho is None:
        return planned(p, q, num_drafts, smallest_rho(p, q, num_drafts))
    return planned(p, q, num_drafts, _validated_rho(rho, p, q, num_drafts))


def planned(p: Array, q: Array, num_drafts: int, rho: Array) -> Plan:
    """Plan for any rho (..., 1), unchecked: the rule is lossy where rho is below the root."""
    xp = array_namespace(p)
    raised, failed = rho * q, positive_part(q - p / rho)
    tried = _tried(xp.sum(failed, axis=-1, keepdims=True), num_drafts)
    # p - c m, with m = p/rho for a token that can fail and m = q for others. At the root the first
    # is 0.
    spare = 1 - tried / rho
    spare = xp.where(spare > noise(p), spare, 0)
    left_over = xp.where(p < raised, p * spare, positive_part(p - tried * q))
    return Plan(p, raised, failed, normalize_or(left_over, p), num_drafts)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K)."""
    law, reached = 0, 1
    for k in range(plan.num_drafts):
        accepted = accept_probability(plan.p, plan.raised, drafts[..., k])[..., None]
        law = law + reached * accepted * one_hot(drafts[..., k], plan.p)
        reached = reached * (1 - accepted)
    return law + reached * plan.left_over


def acceptance(plan: Plan) -> Array:
    """Probability that the token is a draft, accepted or recovered from the failed ones."""
    xp = array_namespace(plan.p)
    none_accepted = iid.inside(xp.sum(plan.failed, axis=-1), plan.num_drafts)
    # Given that all drafts failed, the probability that a token is among them.
    is_among = 1 - iid.inside(1 - normalize_or(plan.failed, plan.failed), plan.num_drafts)
    return 1 - none_accepted * (1 - xp.sum(plan.left_over * is_among, axis=-1))


def uniforms(num_drafts: int) -> int:
    """One test per draft, one residual draw."""
    return num_drafts + 1


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., K) and u (..., K+1)."""
    xp, count = array_namespace(plan.p, drafts), plan.num_drafts
    passes = accepts(plan.p[..., None, :], plan.raised[..., None, :], drafts, u[..., :count])
    # The first draft that passes wins.
    first = at(drafts, xp.argmax(xp.astype(passes, xp.int64), axis=-1))
    return xp.where(xp.any(passes, axis=-1), first, pick(plan.left_over, u[..., count]))


def smallest_rho(p: Array, q: Array, num_drafts: int) -> Array:
    """The least rho (..., 1) in [1, K] with c <= rho, rounded up by a search.

    On Fractions c <= rho holds exactly, else up to rounding.
    """
    # XLA makes few kernels of many halvings, so JAX does not need larger steps.
    if num_drafts > 1 and not is_exact(p) and not is_jax_array(p):
        return _differentiable(_by_parts(p, q, num_drafts), p, q, num_drafts)
    xp = array_namespace(p)
    low, width = 0 * p[..., :1] + 1, 0 * p[..., :1] + num_drafts - 1
    half = Fraction(1, 2) if is_exact(p) else 0.5
    # Halve [low, low + width]; its upper end always passed the test.
    for _ in range(HALVINGS if num_drafts > 1 else 0):
        width = width * half
        middle = low + width
        failed = xp.sum(positive_part(q - p / middle), axis=-1, keepdims=True)
        low = xp.where(_tried(failed, num_drafts) <= middle, low, middle)
    if is_exact(p):
        return low + width
    return _differentiable(low + width, p, q, num_drafts)


def _by_parts(p: Array, q: Array, num_drafts: int) -> Array:
    """Return the least rho, found by cutting the interval into 2^bits parts at a time.

    One pass over the row tests the ends of all parts: the tokens that can fail at rho are those
    with p/q < rho, so sums of p and q by parts of p/q give c at every end.
    """
    xp, kind = array_namespace(p, q), p.dtype
    p, q = xp.broadcast_arrays(wide(p), wide(q))
    bits = min(max(p.shape[-1].bit_length() - 1, 4), MOST_BITS)
    parts = 2**bits
    low, width = xp.ones_like(p[..., :1]), num_drafts - 1.0
    number = xp.arange(1, parts, dtype=p.dtype, device=device(p))
    # p/q, cut off at 2K, beyond the interval.
    is_less = p < 2 * num_drafts * q
    ratio = xp.where(is_less, p / xp.where(is_less, q, 1), 2 * num_drafts)
    for _ in range(-(-HALVINGS // bits)):
        width = width / parts
        # The part of each token, 0 below the interval, and the masses below each inner end.
        place = xp.astype(xp.clip((ratio - low) / width + 1, 0, parts), xp.int64)
        p_below, q_below = (xp.cumulative_sum(sums(w, place, parts + 1), axis=-1)[..., 1:-1] for w in (p, q))
        # Go on in the first part whose upper end passes the test c <= rho, up to rounding.
        end = low + width * number
        fails = _tried(q_below - p_below / end, num_drafts) > end * (1 + noise(p))
        low = low + width * xp.sum(xp.where(fails, 1.0, 0.0), axis=-1, keepdims=True)
    return xp.astype(low + width, kind)


def _validated_rho(rho: Any, p: Array, q: Array, num_drafts: int) -> Array:
    """Return rho (..., 1) as an array; ValueError where it is below 1 or below c.

    c is the mean number of drafts that are tried. The rule is lossy where rho is less.
    """
    if isinstance(rho, (int, float, Fraction)):
        rho = Fraction(rho) if is_exact(p) else float(rho)
    rho = rho + 0 * p[..., :1]
    failed = array_namespace(p).sum(positive_part(q - p / rho), axis=-1, keepdims=True)
    tried = _tried(failed, num_drafts)
    bad = ~((rho >= 1) & (tried <= rho + num_drafts * noise(p)))
    if check.concrete(bad) and bool(array_namespace(p).any(bad)):
        (row, value), (_, least) = check.first_bad(rho, bad), check.first_bad(tried, bad)
        raise ValueError(f"rho{row} is {value} where {least} drafts are tried on average: it must be no less")
    return rho


def _differentiable(rho: Array, p: Array, q: Array, num_drafts: int) -> Array:
    """Return rho after one Newton step for rho = c.

    The step moves its value by rounding only, and gives it a derivative in p and q.
    """
    xp = array_namespace(p)
    failed = positive_part(q - p / rho)
    # Derivative of sum(failed) in rho, then that of rho - c.
    growth = xp.sum(xp.where(failed > 0, p, 0), axis=-1, keepdims=True) / rho**2
    tried, slope = _tried_and_slope(xp.sum(failed, axis=-1, keepdims=True), num_drafts)
    steep = 1 - slope * growth
    # Where the root is flat, as at p = q, there is no step.
    is_steep = steep > 1e-3
    return rho - xp.where(is_steep, (rho - tried) / xp.where(is_steep, steep, 1), 0)


def _tried(failed: Array, num_drafts: int) -> Array:
    """c = sum_{k<K} failed^k, the mean number of drafts tried, from the chance that one fails."""
    result = 1
    for _ in range(num_drafts - 1):
        result = 1 + failed * result
    return result


def _tried_and_slope(failed: Array, num_drafts: int) -> tuple[Array, Array]:
    """c as in `_tried`, and its derivative in `failed`."""
    result, slope = 1, 0
    for _ in range(num_drafts - 1):
        result, slope = 1 + failed * result, result + failed * slope
    return result, slope
