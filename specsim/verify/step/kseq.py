"""K-SEQ: every draft in turn against the same lowered target p/rho; what passing drafts leave of p is the residual.

Law.         Draft x_k is kept with probability min(1, p(x_k)/(rho q(x_k))), the first kept wins; if none is, y is drawn
             proportionally to p - c m, m = min(q, p/rho), c = sum_{k<K} (1 - sum m)^k.
Theorem.     T11: the output law is p for every rho with c <= rho; that holds at rho = K and from a root rho* on.
Acceptance.  1 - (1 - b)^K that some draft is kept, b = sum m; the token is a draft a little more often if rho > rho*,
             because a recovered token may be a failed draft. `acceptance` is the latter, exactly; at rho* both are
             sum min(p, rho* q).
Randomness.  u[k] decides draft k; u[K] draws from the residual.
Cost.        O(V) a bisection step for rho*, once per plan; O(V) memory.
Paper.       Sun et al., SpecTr, arXiv:2310.15141 (K-SEQ; their p is our q).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, NamedTuple

from array_api_compat import array_namespace

from specsim.base import check
from specsim.base.arrays import accept_probability, accepts, is_exact, noise, normalize_or, one_hot, pick, positive_part
from specsim.draft import iid
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
EXACT = True
THEOREM = "T11"
PROVED = {"lossless": "kseq_lossless", "acceptance": "kseq_hit"}
PAPER = "arXiv:2310.15141"

HALVINGS = 50  # of [1, K]: what a float64 can tell apart


class Plan(NamedTuple):
    p: Array
    raised: Array  # rho q, what p is tested against
    failed: Array  # q - m: a draft is this token and fails
    left_over: Array
    num_drafts: int


def prepare(p: Array, q: Array, num_drafts: int, rho: Array | None = None) -> Plan:
    """Tests and residual; rho (..., 1) is the smallest that is found valid, unless a valid one is given."""
    rho = smallest_rho(p, q, num_drafts) if rho is None else _valid(rho, p, q, num_drafts)
    return planned(p, q, num_drafts, rho)


def planned(p: Array, q: Array, num_drafts: int, rho: Array) -> Plan:
    """The same for any rho (..., 1): lossy where it is below the root."""
    xp = array_namespace(p)
    raised, failed = rho * q, positive_part(q - p / rho)
    copies, _ = _copies(xp.sum(failed, axis=-1, keepdims=True), num_drafts)
    spare = 1 - copies / rho  # 0 at the root, where a token that can fail has nothing left over
    left = xp.where(p < raised, p * xp.where(spare > noise(p), spare, 0), positive_part(p - copies * q))
    return Plan(p, raised, failed, normalize_or(left, p), num_drafts)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K)."""
    law, reached = 0, 1
    for k in range(plan.num_drafts):
        kept = accept_probability(plan.p, plan.raised, drafts[..., k])[..., None]
        law = law + reached * kept * one_hot(drafts[..., k], plan.p)
        reached = reached * (1 - kept)
    return law + reached * plan.left_over


def acceptance(plan: Plan) -> Array:
    """Probability that the token is a draft: one is kept, or the recovered token is among the failed ones."""
    xp = array_namespace(plan.p)
    none_kept = iid.inside(xp.sum(plan.failed, axis=-1), plan.num_drafts)
    among = 1 - iid.inside(1 - normalize_or(plan.failed, plan.failed), plan.num_drafts)
    return 1 - none_kept * (1 - xp.sum(plan.left_over * among, axis=-1))


def uniforms(num_drafts: int) -> int:
    """One test per draft, one residual draw."""
    return num_drafts + 1


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., K) and u (..., K+1)."""
    token = pick(plan.left_over, u[..., plan.num_drafts])
    for k in reversed(range(plan.num_drafts)):  # the first draft that passes wins, so it is written last
        kept = accepts(plan.p, plan.raised, drafts[..., k], u[..., k])
        token = array_namespace(token).where(kept, drafts[..., k], token)
    return token


def smallest_rho(p: Array, q: Array, num_drafts: int) -> Array:
    """Upper end (..., 1) of a bisection of [1, K] for c <= rho: valid wherever that test is exact, so on Fractions."""
    xp = array_namespace(p)
    low, width = 0 * p[..., :1] + 1, 0 * p[..., :1] + num_drafts - 1
    half = Fraction(1, 2) if is_exact(p) else 0.5
    for _ in range(HALVINGS if num_drafts > 1 else 0):
        width = width * half
        middle = low + width
        failed = xp.sum(positive_part(q - p / middle), axis=-1, keepdims=True)
        low = xp.where(_copies(failed, num_drafts)[0] <= middle, low, middle)
    return low + width if is_exact(p) else _differentiable(low + width, p, q, num_drafts)


def _valid(rho: Any, p: Array, q: Array, num_drafts: int) -> Array:
    """The rho that was given; ValueError where more drafts are tried on average than it: then the rule is lossy."""
    if isinstance(rho, (int, float, Fraction)):
        rho = Fraction(rho) if is_exact(p) else float(rho)
    rho = rho + 0 * p[..., :1]
    tried, _ = _copies(array_namespace(p).sum(positive_part(q - p / rho), axis=-1, keepdims=True), num_drafts)
    bad = ~((rho >= 1) & (tried <= rho + num_drafts * noise(p)))
    if check.concrete(bad) and bool(array_namespace(p).any(bad)):
        (where, given), (_, least) = check.first_bad(rho, bad), check.first_bad(tried, bad)
        raise ValueError(f"rho{where} is {given} where {least} drafts are tried on average: it must be no less")
    return rho


def _differentiable(rho: Array, p: Array, q: Array, num_drafts: int) -> Array:
    """rho after one Newton step for rho = c: it moves by rounding alone, but then has its derivative in p and q."""
    xp = array_namespace(p)
    failed = positive_part(q - p / rho)
    growth = xp.sum(xp.where(failed > 0, p, 0), axis=-1, keepdims=True) / rho**2  # of sum(failed) with rho
    copies, slope = _copies(xp.sum(failed, axis=-1, keepdims=True), num_drafts)
    steep = 1 - slope * growth
    some = steep > 1e-3  # else the root is flat, as at p = q
    return rho - xp.where(some, (rho - copies) / xp.where(some, steep, 1), 0)


def _copies(failed: Array, num_drafts: int) -> tuple[Array, Array]:
    """c, how many drafts are tried on average, sum_{k<K} failed^k; and its derivative."""
    result, slope = 1, 0
    for _ in range(num_drafts - 1):
        result, slope = 1 + failed * result, result + failed * slope
    return result, slope
