"""Greedy block verification that goes on from the target as it is: theory/verification.md 11, error 4."""

from specsim.verify.chain import greedy_block
from specsim.verify.chain.greedy_block import *

KILLED_BY = "strongly_lossless"


def continuation(plan, drafts, kept, token):
    above, below = greedy_block.continuation(plan, drafts, kept, token)
    return above * 0 + 1, below * 0
