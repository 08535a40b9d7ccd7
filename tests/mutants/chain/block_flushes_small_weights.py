"""In floats, weights below 1e-37 are 0, as a product in float32 would be: theory/verification.md 11, error 11."""

from specsim.verify.chain.block import *
from specsim.verify.chain.block import array_namespace, at, from_weights

KILLED_BY = "floats_follow_fractions"


def transition(plan, drafts):
    return joint_law(plan.p, _steps(plan, drafts))


def verify(plan, drafts, u):
    return last_success(plan.p, _steps(plan, drafts), u)


def _steps(plan, drafts):
    p, q = plan
    xp, gamma = array_namespace(p), q.shape[-2]
    p_drawn, q_drawn = (at(w, drafts) for w in (p[..., :gamma, :], q))
    weights = [0 * p[..., 0, :1] + 1]
    for i in range(gamma):
        ratio = p_drawn[..., i : i + 1] / xp.where(q_drawn > 0, q_drawn, 1)[..., i : i + 1]
        weight = advance(weights[-1], ratio)
        weights.append(xp.where(weight < 1e-37, 0, weight) if weight.dtype != object else weight)
    return from_weights(plan, xp.concat(weights, axis=-1))
