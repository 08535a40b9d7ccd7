"""Whether a tree of tokens is one: what is wrong with it is named."""

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
    """The tree itself; TypeError if it is of another kind."""
    if not isinstance(tree, TokenTree):
        raise TypeError(f"tree must be a TokenTree (see specsim.trees), got {_check.shown(tree)}")
    return tree


def check(tree: TokenTree, vocab: int | None = None) -> TokenTree:
    """Return the tree if it is valid; otherwise raise an error that says what is wrong.

    Depths must be those of the parents, tokens integers in 0..vocab-1 or -1 with nothing below, and siblings distinct
    where the scheme draws no token twice (a draft scheme that has used up the support of q repeats its last token).

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
    parents, known = (
        topology.shape(token_tree(tree).parents, "tree.parents"),
        [*discover.names("draft"), *topology.SCHEMES],
    )
    if tree.scheme not in known:
        raise ValueError(f"tree.scheme {tree.scheme!r} is unknown; known: {', '.join(known)}")
    off = np.flatnonzero(np.asarray(tree.depth) != topology.depths(parents)) if len(tree.depth) == len(parents) else [0]
    if len(off):
        raise ValueError(
            f"tree.depth is {np.asarray(tree.depth).tolist()}; its nodes lie at {topology.depths(parents).tolist()}"
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
    for siblings in topology.children(parents) if scheme in topology.ONCE + topology.LAST_REPEATS else []:
        for k, node in enumerate(siblings):
            for other in siblings[: max(k - 1, 0) if scheme in topology.LAST_REPEATS else k]:
                if ((tokens[:, node] == tokens[:, other]) & (tokens[:, node] >= 0)).any():
                    raise ValueError(f"siblings {other} and {node} are one token; scheme {scheme!r} draws none twice")
