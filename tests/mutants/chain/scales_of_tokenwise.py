"""Says the scales of a rule whose weights are products of capped ratios; `verify` goes by block's own."""

from specsim.verify.chain.block import *
from specsim.verify.chain.block import array_namespace

KILLED_BY = "two_numbers_a_draft"


def scales(p_drawn, q_drawn):
    xp = array_namespace(p_drawn)
    ratio = xp.where(p_drawn < q_drawn, p_drawn / xp.where(q_drawn > 0, q_drawn, 1), 1)
    weight = xp.concat([0 * ratio[..., :1] + 1, xp.cumulative_prod(ratio, axis=-1)], axis=-1)
    return weight, 0 * weight + 1
