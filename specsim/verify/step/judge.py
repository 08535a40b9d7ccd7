"""A judge: a draft is kept by the standard test, or because it is among the tokens that the judge lets pass; lossy.

Law.         x ~ q is kept if the judge lets x pass, and else with probability min(1, p(x)/q(x)); if
             it is not kept, y ~ (p - q)+ normalised. Which tokens J pass is the context's: of one
             row those of one place of a text.
Theorem.     T33: the bias is acceptance - (1 - TV(p, q)) = sum over J of (q - p)+, the least there
             is at that acceptance. Where nothing passes it is `rejection`.
Acceptance.  sum min(p, q), and what q has above p on J.
Randomness.  u[0] decides; u[1] draws y.
Cost.        O(V) time and memory.
Paper.       Bachmann et al., Judge Decoding, arXiv:2501.19309: a head on the target's state at the
             draft decides J.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from array_api_compat import is_array_api_obj

from specsim.base import check
from specsim.base.arrays import array_namespace, at, excess, ids, one_hot, pick, residual
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
COUNTS = (1,)
EXACT = True
BY_ID = True
THEOREM = "T33"
PAPER = "arXiv:2501.19309"


class Plan(NamedTuple):
    p: Array
    q: Array
    # (..., V): q on J, elsewhere min(p, q): what is drafted
    # and accepted, which sums to the acceptance.
    accepted: Array
    judged: Array  # booleans that broadcast to `accepted`: the set J


def prepare(p: Array, q: Array, num_drafts: int = 1, judged: Array = None) -> Plan:
    """Plan of rows (..., V) and of the set J, `judged`: booleans (V,) or (..., V).

    By default J holds every other token.
    """
    passing = ids(p) % 2 == 1 if judged is None else _checked(judged, p, q)
    xp = array_namespace(p, q)
    return Plan(p, q, xp.where(passing | (q < p), q, p), passing)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., 1)."""
    x = drafts[..., 0]
    accepted, drafted = at(plan.accepted, x), at(plan.q, x)
    xp = array_namespace(accepted, drafted)
    # Probability that the draft is accepted; of a token that is never drafted it is 1.
    is_less = accepted < drafted
    ratio = accepted / xp.where(is_less, drafted, xp.ones_like(drafted))
    passes = xp.where(is_less, ratio, xp.ones_like(accepted))[..., None]
    return passes * one_hot(x, plan.p) + (1 - passes) * residual(plan.p, plan.q)


def acceptance(plan: Plan) -> Array:
    """Probability that the token is the draft."""
    return array_namespace(plan.accepted).sum(plan.accepted, axis=-1)


def bias(plan: Plan) -> Array:
    """TV distance of the output law from p."""
    xp, over = array_namespace(plan.p, plan.q), excess(plan.q, plan.p)
    return xp.sum(xp.where(plan.judged, over, 0 * over), axis=-1)


def uniforms(num_drafts: int) -> int:
    """One for the test, one for the token that replaces the draft."""
    return 2


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., 1) and u (..., 2)."""
    x = drafts[..., 0]
    accepted = u[..., 0] * at(plan.q, x) < at(plan.accepted, x)
    return array_namespace(x).where(accepted, x, pick(residual(plan.p, plan.q), u[..., 1]))


def _checked(judged: Array, p: Array, q: Array) -> Array:
    """Return `judged` as booleans (V,) or (..., V), in the library and on the device of p.

    ValueError if it has other entries, or a shape that is neither one row nor that of p and q.
    """
    flags = judged if is_array_api_obj(judged) else np.asarray(judged)
    rows = np.broadcast_shapes(p.shape, q.shape)
    # Where drafts are enumerated p and q have shape (..., 1, V), with an axis for the drafts: J
    # gets it, too.
    if len(rows) > 1 and rows[-2] == 1 and flags.shape == (*rows[:-2], rows[-1]):
        flags = flags[..., None, :]
    is_boolean = str(flags.dtype).rpartition(".")[2] == "bool"
    if not is_boolean or flags.shape not in (rows[-1:], rows):
        shapes = " or ".join(map(str, dict.fromkeys((rows[-1:], rows))))
        raise ValueError(f"judged must be booleans of shape {shapes}, got {flags.dtype} of shape {tuple(flags.shape)}")
    return check.like(flags, p)
