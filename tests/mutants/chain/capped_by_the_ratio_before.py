"""Hierarchical verification whose branches are capped by what came before their own text: R_i/M_{i-1} in D+ and D-."""

from specsim.verify.chain.capped import *
from specsim.verify.chain.capped import _ratios, block, mass, positive_part

KILLED_BY = "strongly_lossless"


def branches(plan, drafts):
    p, q = plan
    xp, gamma = array_namespace(p, q), q.shape[-2]
    joint, _, before = _ratios(plan, drafts)
    over = (joint / before)[..., :gamma, None] * p[..., :gamma, :] - q
    more, less = (mass(positive_part(w)) for w in (over, -over))
    last = joint[..., gamma:] / before[..., gamma:]
    more = xp.concat([more, xp.where(last < 1, last, 1)], axis=-1)
    less = xp.concat([less, xp.ones_like(last)], axis=-1)
    return Steps(xp.concat([positive_part(over), p[..., gamma:, :]], axis=-2), more, less)


def transition(plan, drafts):
    return block.joint_law(plan.p, branches(plan, drafts))
