"""Checks of token trees; an error names what is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from specsim import discover
from specsim.base import check as _check
from specsim.trees import topology
from specsim.types import Array, TokenTree


def token_tree(tree: Any) -> TokenTree:
    """Return the tree; raise TypeError if it is not a TokenTree."""
    if not isinstance(tree, TokenTree):
        raise TypeError(f"tree must be a TokenTree (see specsim.trees), got {_check.shown(tree)}")
    return tree


def check(tree: TokenTree, vocab: int | None = None) -> TokenTree:
    """Return the tree if it is valid; otherwise raise an error that says what is wrong.

    Depths must be those of the parents, tokens integers in 0..vocab-1 or -1 with nothing below, and
    siblings distinct where the scheme draws no token twice (a draft scheme that has used up the
    support of q repeats its last token).

    Parameters
    ----------
    tree : TokenTree
        A tree, or a batch of trees of one shape.
    vocab : int, optional
        Tokens V; without it only their sign is looked at.

    Returns
    -------
    TokenTree
        The same object.

    Raises
    ------
    ValueError, TypeError
        What is wrong with it, with the node.

    Examples
    --------
    >>> check(TokenTree(topology.chain(2), np.array([5, 7]), np.array([1, 2]), "iid"), vocab=8).tokens.tolist()
    [5, 7]
    """
    parents = topology.shape(token_tree(tree).parents, "tree.parents")
    known = [*discover.names("draft"), *topology.SCHEMES]
    if tree.scheme not in known:
        raise ValueError(f"tree.scheme {tree.scheme!r} is unknown; known: {', '.join(known)}")

    # The depths must be those that follow from the parents.
    depth, expected = np.asarray(tree.depth), topology.depths(parents)
    if len(tree.depth) != len(parents) or np.any(depth != expected):
        raise ValueError(f"tree.depth is {depth.tolist()}; its nodes lie at {expected.tolist()}")

    # Tokens are checked if their values are known: not while JAX traces.
    if not is_array_api_obj(tree.tokens) or not tree.tokens.ndim or tree.tokens.shape[-1] != len(parents):
        raise ValueError(f"tree.tokens must be an array with a last axis of {len(parents)} nodes")
    if vocab is not None:
        vocab = _check.integer(vocab, "vocab", 1)
    if _check.concrete(tree.tokens):
        tokens = np.asarray(tree.tokens.cpu() if hasattr(tree.tokens, "cpu") else tree.tokens)
        flat = tokens.reshape(math.prod(tokens.shape[:-1]), len(parents))
        _check_tokens(flat, parents, vocab, tree.scheme)
    return tree


def _check_tokens(tokens: Array, parents: Array, vocab: int | None, scheme: str) -> None:
    """Raise an error that names the first wrong node of trees with these tokens (batch, n)."""
    if tokens.dtype.kind not in "iu":
        raise TypeError(f"tree.tokens must hold integer token ids, got dtype {tokens.dtype}")

    # Every token is in the vocabulary, or -1.
    size = np.inf if vocab is None else vocab
    for row, node in np.argwhere((tokens < -1) | (tokens >= size))[:1]:
        largest = -1 if vocab is None else vocab - 1
        raise ValueError(f"node {node} is token {tokens[row, node]}, outside the vocabulary 0..{largest}")

    # No node hangs below an absent one.
    is_orphan = (tokens >= 0) & (parents >= 0) & (tokens[:, parents] < 0)
    for row, node in np.argwhere(is_orphan)[:1]:
        raise ValueError(f"node {node} is token {tokens[row, node]}, but its parent {parents[node]} is absent")

    # Siblings are distinct, but for the last token of a support that is used up: it may repeat.
    if scheme not in topology.ONCE + topology.LAST_REPEATS:
        return
    for siblings in topology.children(parents):
        for k, node in enumerate(siblings):
            count = max(k - 1, 0) if scheme in topology.LAST_REPEATS else k
            for other in siblings[:count]:
                is_equal = tokens[:, node] == tokens[:, other]
                if (is_equal & (tokens[:, node] >= 0)).any():
                    raise ValueError(f"siblings {other} and {node} are one token; scheme {scheme!r} draws none twice")
