"""Relaxed acceptance whose sampler draws from the target where a draft is refused."""

from array_api_compat import array_namespace

from specsim.base.arrays import at, pick
from specsim.verify.step.relaxed import *

KILLED_BY = "sampler_is_transition"


def transition(plan, drafts):
    token = drafts[..., 0]
    kept = array_namespace(token).where(at(plan.candidates, token), token, plan.top)
    return one_hot(kept, plan.p)


def uniforms(num_drafts):
    return 1


def verify(plan, drafts, u):
    x = drafts[..., 0]
    return array_namespace(x).where(at(plan.candidates, x), x, pick(plan.p, u[..., 0]))
