"""A tree of the likeliest tokens is verified as if its siblings had been drawn: theory/verification.md 11, error 9."""

from specsim.verify.tree.tokenwise import *
from specsim.verify.tree.tokenwise import step_rule

CHILDREN = ("deterministic",)
STEPS = {}
KILLED_BY = "strongly_lossless"


def prepare(p, q, tree):
    return Plan(p, q, step_rule("recursive_wor", 1), levels(tree))
