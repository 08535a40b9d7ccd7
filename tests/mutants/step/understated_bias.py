"""Greedy that claims to be lossless (argmax verification at T > 0: sgl-project/sglang#39253, lablup/mlxcel#902)."""

from specsim.verify.step.greedy import *

KILLED_BY = "output_is_target"


def bias(plan):
    return 0 * plan.p[..., 0]
