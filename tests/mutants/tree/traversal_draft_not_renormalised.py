"""Traversal after a failed child goes on with q without it, not renormalised: theory/verification.md 11, error 7a."""

from types import FunctionType

from specsim.base.arrays import ids
from specsim.verify.tree import traversal
from specsim.verify.tree.traversal import *

KILLED_BY = "strongly_lossless"


def _emptied(q, token):
    return array_namespace(q).where(ids(q) == token[..., None], 0, q)


prepare = FunctionType(traversal.prepare.__code__, {**vars(traversal), "without": _emptied})
