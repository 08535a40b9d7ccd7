"""Hierarchical verification with capped ratios, as its paper defines it: block verification in other words.

Law.         Joint ratios R_i = prod_{j<=i} p_j/q_j(x_j), M_i = max(1, R_1, ..., R_i), capped ratios
             r_i = R_i/M_{i-1}. At each of gamma positions the branches below it have an excess D+ =
             sum_v (R_i/M_i p - q)+ and a deficit D- = sum_v (q - R_i/M_i p)+. From the last draft
             backwards: all gamma are kept with probability min(1, r_gamma), else the first
             i < gamma with probability min(1, D+/D-), and the next token is drawn from the excess
             normalised.
Theorem.     T36, parts 1 and 2: min(1, r_i) = w_i and D- = D+ + 1 - w_i, so this is `block`, test
             by test.
Acceptance.  That of `block`: E[n] = sum_i E_q[min(1, r_i)].
Randomness.  u[i] decides draft i; u[gamma] draws the token after them.
Cost.        O(gamma V): a sum over the vocabulary at every position.
Paper.       Zhou et al., hierarchical speculative decoding, arXiv:2601.05724, algorithm 2.
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace, at, mass, positive_part, product, quotient, wide
from specsim.types import Array
from specsim.verify.chain import block

EXACT = True
THEOREM = "T36"
PAPER = "arXiv:2601.05724"
SAME_AS = "block"

Plan = block.Plan
Steps = block.Steps
uniforms, survival = block.uniforms, block.survival


def prepare(p: Array, q: Array) -> Plan:
    """Target rows (..., gamma+1, V) and draft rows (..., gamma, V) along the drafted tokens."""
    return Plan(p, q)


def transition(plan: Plan, drafts: Array) -> Array:
    """Joint law (..., gamma+1, V) of (number accepted, next token) given drafts (..., gamma)."""
    return block.joint_law(plan.p, branches(plan, drafts))


def verify(plan: Plan, drafts: Array, u: Array) -> tuple[Array, Array]:
    """(Number accepted (...), next token (...)) from drafts (..., gamma) and u (..., gamma+1)."""
    return block.last_success(plan.p, branches(plan, drafts), u)


def advance(weight: Array, ratio: Array) -> Array:
    """r_i from r_{i-1} and p_i/q_i(x_i): r_{i-1} is capped at 1 before it is multiplied, r_i is not yet."""
    xp = array_namespace(ratio)
    return product(xp.where(weight < 1, weight, 1), ratio)


def scales(p_drawn: Array, q_drawn: Array) -> tuple[Array, Array]:
    """Factors (R_i/M_i, 1), each (..., gamma+1), of the rows (R_i/M_i p - q)+; D- = D+ + 1 - R_i/M_i."""
    joint, largest, _ = _capped(_products(p_drawn, q_drawn, 0 * p_drawn[..., :1] + 1))
    weight = joint / largest
    return weight, array_namespace(weight).ones_like(weight)


def branches(plan: Plan, drafts: Array) -> Steps:
    """Excess and deficit below each of the gamma+1 positions; those of the last are min(1, r_gamma) and 1."""
    p, q = plan
    xp, gamma = array_namespace(p, q), q.shape[-2]
    joint, largest, before = _ratios(plan, drafts)
    over = xp.astype((joint / largest)[..., :gamma, None], p.dtype) * p[..., :gamma, :] - q
    more, less = (mass(positive_part(w)) for w in (over, -over))
    # The test of the last draft: r_gamma = R_gamma / M_{gamma-1}.
    last = joint[..., gamma:] / before[..., gamma:]
    more = xp.concat([more, xp.where(last < 1, last, 1)], axis=-1)
    less = xp.concat([less, xp.ones_like(last)], axis=-1)
    return Steps(xp.concat([positive_part(over), p[..., gamma:, :]], axis=-2), more, less)


def _ratios(plan: Plan, drafts: Array) -> tuple[Array, Array, Array]:
    """R_i, M_i and M_{i-1} (..., gamma+1), M_{-1} = 1."""
    return _capped(joint_ratios(plan, drafts))


def _capped(joint: Array) -> tuple[Array, Array, Array]:
    """R_i, M_i and M_{i-1} (..., gamma+1), from the joint ratios R_i."""
    xp, largest = array_namespace(joint), [0 * joint[..., :1] + 1]
    for i in range(1, joint.shape[-1]):
        ratio = joint[..., i : i + 1]
        largest.append(xp.where(ratio > largest[-1], ratio, largest[-1]))
    return joint, xp.concat(largest, axis=-1), xp.concat([largest[0], *largest[:-1]], axis=-1)


def joint_ratios(plan: Plan, drafts: Array) -> Array:
    """R_0, ..., R_gamma (..., gamma+1); a ratio too large for floats is the largest float."""
    p, q = plan
    p_drawn, q_drawn = (wide(at(w, drafts)) for w in (p[..., : q.shape[-2], :], q))
    # R_0 = 1, a Fraction where p holds Fractions.
    start = wide(0 * p[..., 0, :1] + 1)
    return _products(p_drawn, q_drawn, start)


def _products(p_drawn: Array, q_drawn: Array, start: Array) -> Array:
    """R_0, ..., R_gamma (..., gamma+1) from p and q (..., gamma) at the drafts and R_0 (..., 1)."""
    xp, joint = array_namespace(p_drawn, q_drawn), [start]
    ratio = quotient(p_drawn, xp.where(q_drawn > 0, q_drawn, 1))
    for i in range(ratio.shape[-1]):
        joint.append(product(joint[-1], ratio[..., i : i + 1]))
    return xp.concat(joint, axis=-1)
