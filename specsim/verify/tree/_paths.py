"""Check that a tree is K whole paths of one length, as some rules need."""

from __future__ import annotations

import numpy as np
from array_api_compat import is_numpy_array

from specsim.trees.topology import paths
from specsim.types import TokenTree


def whole(tree: TokenTree, rule: str) -> tuple[int, int]:
    """The number of paths K and their length L; ValueError, naming the rule, unless the tree is K whole paths."""
    parents = np.asarray(tree.parents)
    count = max(int((parents < 0).sum()), 1)
    if not np.array_equal(parents, paths(count, len(parents) // count)):
        raise ValueError(f"{rule} verifies paths of equal length, shapes of trees.paths, not {parents.tolist()}")
    # Tokens are looked at in NumPy alone: elsewhere that would wait for a device.
    if is_numpy_array(tree.tokens) and not (tree.tokens >= 0).all():
        raise ValueError(f"{rule} verifies whole paths; a node is absent")
    return count, len(parents) // count
