"""Siblings drawn without replacement are tried by decreasing draft probability: theory/verification.md 11, error 7b."""

import numpy as np

from specsim.verify.tree.tokenwise import *
from specsim.verify.tree.tokenwise import ModuleType, step_rule

CHILDREN = ("without_replacement",)
KILLED_BY = "strongly_lossless"


def prepare(p, q, tree):
    wor = step_rule("recursive_wor", 1)
    by_probability = ModuleType("by_probability")
    by_probability.prepare, by_probability.uniforms = wor.prepare, wor.uniforms

    def ordered(plan, drafts):
        chance = np.take_along_axis(plan.q, drafts, axis=-1)
        return np.take_along_axis(drafts, np.argsort(-chance, axis=-1, kind="stable"), axis=-1)

    by_probability.transition = lambda plan, drafts: wor.transition(plan, ordered(plan, drafts))
    by_probability.verify = lambda plan, drafts, u: wor.verify(plan, ordered(plan, drafts), u)
    return Plan(p, q, by_probability, levels(tree))
