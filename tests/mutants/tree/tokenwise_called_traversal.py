"""Lossless, but on a path it is tokenwise and not block verification."""

from specsim.verify.tree.tokenwise import *

CHAIN = "block"
KILLED_BY = "reductions"
