"""Shapes of token trees: which node hangs below which.

A shape is an integer array parents (n,): node i hangs below node parents[i] < i, or below the root
(the text so far) at -1. Siblings are tried in the order of their numbers. Rows of p and q, and of
`children` and `mask`, number the root 0 and node i as i + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from specsim.base import check as _check
from specsim.base import limits as _limits
from specsim.types import Array

# Schemes of whole trees; all others are draft schemes, used node by node.
SCHEMES = ("paths", "beam", "deterministic")
# How the children of one text are drawn in a scheme of whole trees.
SIBLINGS = {"paths": "iid", "beam": "without_replacement"}
# Schemes in which siblings are distinct tokens.
ONCE = ("deterministic", "beam")
# Schemes in which siblings are distinct until the support of q is used up; then the last repeats.
LAST_REPEATS = ("without_replacement", "greedy")


def chain(gamma: int) -> Array:
    """One path of gamma nodes.

    Parameters
    ----------
    gamma : int
        Nodes, at least 0.

    Returns
    -------
    array of int, shape (gamma,)
        Parents.

    Raises
    ------
    ValueError
        gamma is negative or beyond what is sensible.

    Examples
    --------
    >>> chain(3).tolist()
    [-1, 0, 1]
    """
    return np.arange(_check.integer(gamma, "gamma", 0, _limits.MAX_GAMMA)) - 1


def k_ary(branching: Sequence[int]) -> Array:
    """Every node at depth d has branching[d] children, level by level (RSD-C).

    Parameters
    ----------
    branching : sequence of int
        Children of every node at depth 0 (the root), 1, ...; at least 1 each.

    Returns
    -------
    array of int, shape (n,)
        Parents.

    Raises
    ------
    ValueError
        A number of children below 1, or beyond what is sensible.

    Examples
    --------
    >>> k_ary((2, 1)).tolist()
    [-1, -1, 0, 1]
    """
    parents: list[int] = []
    level = [-1]
    for d, k in enumerate(branching):
        first = len(parents)
        count = _check.integer(k, f"branching[{d}]", 1, _limits.MAX_NODES)
        parents += np.repeat(level, count).tolist()
        level = list(range(first, len(parents)))
    return np.array(parents, dtype=np.int64)


def paths(num_paths: int, gamma: int) -> Array:
    """K separate paths of gamma nodes, one after the other.

    Tokens (..., n) reshape to (..., num_paths, gamma). Paths that begin alike stay apart here; a
    verifier of K paths merges them.

    Parameters
    ----------
    num_paths : int
        K, at least 1.
    gamma : int
        Nodes of a path, at least 0.

    Returns
    -------
    array of int, shape (num_paths * gamma,)
        Parents.

    Raises
    ------
    ValueError
        A number that is too small, or beyond what is sensible.

    Examples
    --------
    >>> paths(2, 3).tolist()
    [-1, 0, 1, -1, 3, 4]
    """
    num_paths = _check.integer(num_paths, "num_paths", 1, _limits.MAX_NODES)
    gamma = _check.integer(gamma, "gamma", 0, _limits.MAX_GAMMA)
    # Each node hangs below the one before it, the first node of a path below the root.
    parents = np.arange(num_paths * gamma).reshape(num_paths, gamma) - 1
    parents[:, :1] = -1
    return parents.ravel()


def shape(parents: Any, name: str = "parents") -> Array:
    """Return parents as an int64 array; raise an error unless each node comes after its parent."""
    array = np.asarray(parents)
    # An empty list has no integers, but is the shape of a root alone.
    if array.shape == (0,):
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        value = f"dtype {array.dtype} and shape {array.shape}" if array.ndim else repr(parents)
        raise TypeError(f"{name} must be a list of integers, got {value}")
    array = array.astype(np.int64)
    bad = np.flatnonzero((array < -1) | (array >= np.arange(len(array))))
    if bad.size:
        i = int(bad[0])
        raise ValueError(f"{name}[{i}] is {array[i]}; a parent is an earlier node, or -1 for the root")
    return array


def children(parents: Any) -> list[list[int]]:
    """Return the children of the root (entry 0) and of node i (entry i + 1), in order.

    Parameters
    ----------
    parents : sequence of int
        The shape: node i hangs below node parents[i] < i, or below the root at -1.

    Returns
    -------
    list of lists of int
        n + 1 lists, of rows: the root's first.

    Raises
    ------
    ValueError, TypeError
        parents is no shape: no list of integers, or a parent that is no earlier node.

    Examples
    --------
    >>> children([-1, -1, 0])
    [[0, 1], [2], [], []]
    """
    parents = shape(parents)
    below: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for node, parent in enumerate(parents.tolist()):
        below[parent + 1].append(node)
    return below


def depths(parents: Any) -> Array:
    """Depth of every node; 1 for the root's children.

    Parameters
    ----------
    parents : sequence of int
        The shape: node i hangs below node parents[i] < i, or below the root at -1.

    Returns
    -------
    array of int, shape (n,)
        Levels below the root, at least 1.

    Raises
    ------
    ValueError, TypeError
        parents is no shape: no list of integers, or a parent that is no earlier node.

    Examples
    --------
    >>> depths([-1, -1, 0]).tolist()
    [1, 1, 2]
    """
    levels: list[int] = []
    for parent in shape(parents).tolist():
        levels.append(1 if parent < 0 else levels[parent] + 1)
    return np.array(levels, dtype=np.int64)


def ranks(parents: Any) -> Array:
    """Place of every node among its siblings, from 0.

    Parameters
    ----------
    parents : sequence of int
        The shape: node i hangs below node parents[i] < i, or below the root at -1.

    Returns
    -------
    array of int, shape (n,)
        0 for the first child of a node, and so on.

    Raises
    ------
    ValueError, TypeError
        parents is no shape: no list of integers, or a parent that is no earlier node.

    Examples
    --------
    >>> ranks([-1, -1, 0]).tolist()
    [0, 1, 0]
    """
    places = np.zeros(len(parents), dtype=np.int64)
    for siblings in children(parents):
        places[siblings] = np.arange(len(siblings))
    return places


def leaves(parents: Any) -> Array:
    """Nodes with no child; empty for a tree without nodes.

    Parameters
    ----------
    parents : sequence of int
        The shape: node i hangs below node parents[i] < i, or below the root at -1.

    Returns
    -------
    array of int, shape (number of leaves,)
        Their numbers, increasing.

    Raises
    ------
    ValueError, TypeError
        parents is no shape: no list of integers, or a parent that is no earlier node.

    Examples
    --------
    >>> leaves([-1, -1, 0]).tolist()
    [1, 2]
    """
    childless = [node for node, below in enumerate(children(parents)[1:]) if not below]
    return np.array(childless, dtype=np.int64)


def mask(parents: Any) -> Array:
    """Attention mask (n+1, n+1): a row sees its own column and its ancestors'; the root is row 0.

    Parameters
    ----------
    parents : sequence of int
        The shape: node i hangs below node parents[i] < i, or below the root at -1.

    Returns
    -------
    array of bool, shape (n + 1, n + 1)
        True where the row sees the column.

    Raises
    ------
    ValueError, TypeError
        parents is no shape: no list of integers, or a parent that is no earlier node.

    Examples
    --------
    >>> mask([-1, -1, 0]).astype(int).tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 1]]
    """
    parents = shape(parents)
    sees = np.eye(len(parents) + 1, dtype=bool)
    for row, parent in enumerate(parents.tolist(), start=1):
        sees[row] |= sees[parent + 1]
    return sees
