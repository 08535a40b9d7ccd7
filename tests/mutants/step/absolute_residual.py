"""Residual proportional to |p - q| instead of (p - q)+ ("softmax of the difference", transformers#28508)."""

from specsim.base.arrays import accept_probability, accepts, normalize_or, one_hot, pick
from specsim.verify.step.rejection import *
from specsim.verify.step.rejection import Plan, array_namespace

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    return Plan(p, q, normalize_or(abs(p - q), p))


__all__ = ["accept_probability", "accepts", "array_namespace", "one_hot", "pick"]
