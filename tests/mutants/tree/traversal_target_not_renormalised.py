"""Traversal after a failed child goes on with (a p - q)+ as it is."""

from types import FunctionType

from specsim.verify.tree import traversal
from specsim.verify.tree.traversal import *

KILLED_BY = "transition_is_a_law"

prepare = FunctionType(traversal.prepare.__code__, {**vars(traversal), "normalize_or": lambda over, row: over})
