"""Block verification whose tau is predicted with the survival of tokenwise verification."""

from specsim.verify.chain.block import *
from specsim.verify.chain.tokenwise import survival

KILLED_BY = "survival_given_text"
__all__ = ["survival"]
