"""Block verification that reports the weights of tokenwise verification."""

from specsim.verify.chain.block import *
from specsim.verify.chain.tokenwise import advance

KILLED_BY = "advance_gives_kept"
__all__ = ["advance"]
