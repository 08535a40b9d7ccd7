"""Shapes of token trees: which node hangs below which.

A shape is an integer array parents (n,): node i hangs below node parents[i] < i, or below the root (the text so far)
at -1. Siblings are tried in the order of their numbers. Rows of p and q, and of `children` and `mask`, number the root
0 and node i as i + 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from specsim import discover
from specsim.base import check as _check
from specsim.base import limits as _limits
from specsim.types import Array, TokenTree

SCHEMES = ("paths", "beam", "deterministic")  # of whole trees; the others are draft schemes, node by node
SIBLINGS = {"paths": "iid", "beam": "without_replacement"}  # how the children of one text are drawn there
ONCE = ("deterministic", "beam")  # no two siblings are one token
LAST_REPEATS = ("without_replacement", "greedy")  # only when the support of q is used up


def chain(gamma: int) -> Array:
    """One path of gamma nodes.

    >>> chain(3).tolist()
    [-1, 0, 1]
    """
    return np.arange(_check.integer(gamma, "gamma", 0, _limits.MAX_GAMMA)) - 1


def k_ary(branching: Sequence[int]) -> Array:
    """Every node at depth d has branching[d] children, level by level (RSD-C).

    >>> k_ary((2, 1)).tolist()
    [-1, -1, 0, 1]
    """
    parents: list[int] = []
    level = [-1]
    for d, k in enumerate(branching):
        first = len(parents)
        parents += np.repeat(level, _check.integer(k, f"branching[{d}]", 1, _limits.MAX_NODES)).tolist()
        level = list(range(first, len(parents)))
    return np.array(parents, dtype=np.int64)


def paths(num_paths: int, gamma: int) -> Array:
    """K separate paths of gamma nodes, one after the other: tokens (..., n) reshape to (..., num_paths, gamma).

    Paths that begin alike stay apart here; a verifier of K paths merges them.

    >>> paths(2, 3).tolist()
    [-1, 0, 1, -1, 3, 4]
    """
    num_paths = _check.integer(num_paths, "num_paths", 1, _limits.MAX_NODES)
    gamma = _check.integer(gamma, "gamma", 0, _limits.MAX_GAMMA)
    parents = np.arange(num_paths * gamma).reshape(num_paths, gamma) - 1
    parents[:, :1] = -1
    return parents.ravel()


def shape(parents: Any, name: str = "parents") -> Array:
    """Parents as an int64 array; ValueError or TypeError unless every node comes after its parent."""
    found = np.asarray(parents)
    found = found.astype(np.int64) if found.shape == (0,) else found
    if found.ndim != 1 or found.dtype.kind not in "iu":
        what = f"dtype {found.dtype} and shape {found.shape}" if found.ndim else repr(parents)
        raise TypeError(f"{name} must be a list of integers, got {what}")
    found = found.astype(np.int64)
    bad = np.flatnonzero((found < -1) | (found >= np.arange(len(found))))
    if bad.size:
        i = int(bad[0])
        raise ValueError(f"{name}[{i}] is {found[i]}; a parent is an earlier node, or -1 for the root")
    return found


def children(parents: Any) -> list[list[int]]:
    """Nodes below the root (entry 0) and below node i (entry i + 1), in order.

    >>> children([-1, -1, 0])
    [[0, 1], [2], [], []]
    """
    found = shape(parents)
    below: list[list[int]] = [[] for _ in range(len(found) + 1)]
    for node, parent in enumerate(found.tolist()):
        below[parent + 1].append(node)
    return below


def depths(parents: Any) -> Array:
    """Depth of every node; 1 for the root's children.

    >>> depths([-1, -1, 0]).tolist()
    [1, 1, 2]
    """
    out: list[int] = []
    for parent in shape(parents).tolist():
        out.append(1 if parent < 0 else out[parent] + 1)
    return np.array(out, dtype=np.int64)


def ranks(parents: Any) -> Array:
    """Place of every node among its siblings, from 0.

    >>> ranks([-1, -1, 0]).tolist()
    [0, 1, 0]
    """
    out = np.zeros(len(parents), dtype=np.int64)
    for siblings in children(parents):
        out[siblings] = np.arange(len(siblings))
    return out


def leaves(parents: Any) -> Array:
    """Nodes with no child; empty for a tree without nodes.

    >>> leaves([-1, -1, 0]).tolist()
    [1, 2]
    """
    return np.array([node for node, below in enumerate(children(parents)[1:]) if not below], dtype=np.int64)


def mask(parents: Any) -> Array:
    """Attention mask (n+1, n+1): row i sees column j if j is i or an ancestor of i; the root is row 0.

    >>> mask([-1, -1, 0]).astype(int).tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 1]]
    """
    found = shape(parents)
    sees = np.eye(len(found) + 1, dtype=bool)
    for row, parent in enumerate(found.tolist(), start=1):
        sees[row] |= sees[parent + 1]
    return sees


def token_tree(tree: Any) -> TokenTree:
    """The tree itself; TypeError if it is of another kind."""
    if not isinstance(tree, TokenTree):
        raise TypeError(f"tree must be a TokenTree (see specsim.trees), got {_check.shown(tree)}")
    return tree


def check(tree: TokenTree, vocab: int | None = None) -> TokenTree:
    """The tree itself; a named error if it is none.

    Depths must be those of the parents, tokens integers in 0..vocab-1 or -1 with nothing below, and siblings distinct
    where the scheme draws no token twice (a draft scheme that has used up the support of q repeats its last token).

    >>> check(TokenTree(chain(2), np.array([5, 7]), np.array([1, 2]), "iid"), vocab=8).tokens.tolist()
    [5, 7]
    """
    parents, known = shape(token_tree(tree).parents, "tree.parents"), [*discover.names("draft"), *SCHEMES]
    if tree.scheme not in known:
        raise ValueError(f"tree.scheme {tree.scheme!r} is unknown; known: {', '.join(known)}")
    off = np.flatnonzero(np.asarray(tree.depth) != depths(parents)) if len(tree.depth) == len(parents) else [0]
    if len(off):
        raise ValueError(
            f"tree.depth is {np.asarray(tree.depth).tolist()}; its nodes lie at {depths(parents).tolist()}"
        )
    if not is_array_api_obj(tree.tokens) or not tree.tokens.ndim or tree.tokens.shape[-1] != len(parents):
        raise ValueError(f"tree.tokens must be an array with a last axis of {len(parents)} nodes")
    if vocab is not None:
        vocab = _check.integer(vocab, "vocab", 1)
    if _check.concrete(tree.tokens):
        tokens = np.asarray(tree.tokens.cpu() if hasattr(tree.tokens, "cpu") else tree.tokens)
        _check_tokens(tokens.reshape(math.prod(tokens.shape[:-1]), len(parents)), parents, vocab, tree.scheme)
    return tree


def _check_tokens(tokens: Array, parents: Array, vocab: int | None, scheme: str) -> None:
    if tokens.dtype.kind not in "iu":
        raise TypeError(f"tree.tokens must hold integer token ids, got dtype {tokens.dtype}")
    for row, node in np.argwhere((tokens < -1) | (tokens >= (np.inf if vocab is None else vocab)))[:1]:
        raise ValueError(f"node {node} is token {tokens[row, node]}, outside the vocabulary 0..{(vocab or 0) - 1}")
    lost = (tokens >= 0) & (parents >= 0) & (tokens[:, parents] < 0)
    for row, node in np.argwhere(lost)[:1]:
        raise ValueError(f"node {node} is token {tokens[row, node]}, but its parent {parents[node]} is absent")
    for siblings in children(parents) if scheme in ONCE + LAST_REPEATS else []:
        for k, node in enumerate(siblings):
            for other in siblings[: max(k - 1, 0) if scheme in LAST_REPEATS else k]:
                if ((tokens[:, node] == tokens[:, other]) & (tokens[:, node] >= 0)).any():
                    raise ValueError(f"siblings {other} and {node} are one token; scheme {scheme!r} draws none twice")
