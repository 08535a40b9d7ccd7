"""Draft a tree of a fixed shape: the children of every node come from a draft scheme.

Law.         Given its text, a node's k children are k candidates of the scheme, drawn from q after that text; the draws
             of different nodes are independent. "paths" draws "iid": K children of the root, one of every other node.
             "deterministic" takes the k likeliest tokens (the first, on ties; absent where q = 0).
Randomness.  The root's uniforms first, then those of node 0, 1, ...: as many as the scheme needs for k candidates.
Cost.        One call of the model for every node that has children.
Paper.       RSD-C: Jeon et al., arXiv:2402.14160; K paths: Sun et al., SpecTr, arXiv:2310.15141.

A model is called with the text as a tuple of token ids. For one tree they are integers; for a batch, u (..., count),
those of drafted nodes are arrays (...), and the model returns (V,) or (..., V).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from specsim.base import check
from specsim.base.renamed import renamed
from specsim.trees import _siblings, topology, validity
from specsim.trees._siblings import Counts
from specsim.types import Array, Model, TokenTree


class Drafted(NamedTuple):
    """A tree, and the laws q (..., n+1, V) that children are drawn from: row 0 at the root, row i+1 after node i.

    After leaves, where nothing is drawn and the model is not asked, the row is the root's. In a deterministic tree
    every row is the point mass at the first child, whatever the model says: that is the law it was drawn from.
    >>> draw_tree(lambda text: np.array([0.5, 0.5]), [-1], np.array([0.7])).tree.tokens.tolist()
    [1]
    """

    tree: TokenTree
    q: Array


@np.errstate(under="ignore")
@renamed(sampling="scheme")
def draw_tree(
    model: Model,
    parents: Any,
    u: Array,
    *,
    scheme: str = "iid",
    draws: Counts | None = None,
    prefix: tuple[Any, ...] = (),
) -> Drafted:
    r"""Draft a tree of a given shape.

    .. math:: \Pr[x] = \prod_{\text{nodes } i} \Pr_{q(\cdot \mid \text{text of } i)}[\text{children of } i]

    Parameters
    ----------
    model : callable
        Text, a tuple of token ids -> law of the next token, shape (V,) or (..., V).
    parents : array_like of int, shape (n,)
        The shape (see `specsim.trees`): parents[i] < i, -1 for the root.
    u : array, shape (..., count)
        Uniforms in [0, 1); `specsim.trees.uniforms` says how many.
    scheme : str
        How siblings are drawn: a draft scheme, "paths" or "deterministic".
    draws : callable, optional
        For "distinct": q (..., V) -> Draws, the law of the number of draws at a node, its limit the number of places
        for siblings; where there is one place one draw is made. Places that stay empty, and all below them, are -1.
    prefix : tuple
        The text so far.

    Returns
    -------
    Drafted
        tree: the TokenTree, tokens (..., n); q: laws (..., n+1, V) after the root and after every node (the root's
        again after leaves).

    Raises
    ------
    ValueError
        The shape is no tree, the scheme is unknown or cannot draw so many siblings, u has another length, or the model
        returns a row that is not a law or has another vocabulary.

    References
    ----------
    Jeon et al. 2024, recursive speculative decoding, arXiv:2402.14160.

    Examples
    --------
    >>> from specsim import trees
    >>> drafted = draw_tree(lambda text: np.array([.5, .3, .2]), trees.k_ary((2, 1)), np.array([.6, .9, .1, .8]))
    >>> drafted.tree.tokens.tolist(), drafted.q.shape
    ([1, 2, 0, 2], (5, 3))
    """
    parents = topology.shape(parents)
    u = check.array(u, "u")
    batch, count = tuple(u.shape[:-1]), uniforms(parents, scheme)
    u = check.uniforms(u, count, batch, u)
    root = law_after(model, prefix, batch)
    xp = array_namespace(root)
    below, used = topology.children(parents), 0
    most = max(map(len, below))
    if scheme in topology.LAST_REPEATS and most > root.shape[-1]:
        raise ValueError(
            f"a node of the shape has {most} children, which {scheme!r} draws different from each other; the model "
            f"has {root.shape[-1]} tokens"
        )
    tokens: list[Any] = [None] * len(parents)
    rows, texts = [root, *[None] * len(parents)], [prefix] * len(below)
    for row, siblings in families(below):
        k = len(siblings)
        q = root if row == 0 else law_after(model, texts[row], batch, root)
        drawn = _siblings.drawn(scheme, q, u[..., used : used + _siblings.needs(scheme, k)], k, draws)
        used += _siblings.needs(scheme, k)
        if row:
            drawn = xp.where((tokens[row - 1] >= 0)[..., None], drawn, -1)
        rows[row] = _siblings.reported(scheme, q, k)
        for j, node in enumerate(siblings):
            tokens[node] = drawn[..., j]
            texts[node + 1] = (*texts[row], as_id(drawn[..., j]))
    drafted = xp.stack(tokens, axis=-1) if tokens else xp.zeros((*batch, 0), dtype=xp.int64)
    tree = TokenTree(parents, drafted, topology.depths(parents), scheme)
    return Drafted(tree, xp.stack(filled(rows), axis=-2))


def uniforms(parents: Any, scheme: str) -> int:
    """How many uniforms `draw_tree` needs; ValueError if the scheme cannot draw this shape.

    Parameters
    ----------
    parents : sequence of int
        The shape: node i hangs below node parents[i] < i, or below the root at -1.
    scheme : str
        A draft scheme, "paths" or "deterministic".

    Returns
    -------
    int
        Length of the last axis of u.

    Raises
    ------
    ValueError
        Unknown scheme, or one that cannot draw this shape.

    Examples
    --------
    >>> uniforms([-1, -1, 0], "without_replacement")
    3
    """
    below = topology.children(parents)
    if scheme == "paths" and any(len(siblings) > 1 for siblings in below[1:]):
        raise ValueError("scheme 'paths' draws one child of every node but the root: shapes of trees.paths")
    return sum(_siblings.needs(scheme, len(siblings)) for _, siblings in families(below))


@np.errstate(under="ignore")
def probability(model: Model, tree: TokenTree, *, draws: Counts | None = None, prefix: tuple[Any, ...] = ()) -> Array:
    """Probability (...) that `draw_tree` draws these tokens, by the scheme named in the tree.

    Parameters
    ----------
    model : callable
        Text, a tuple of token ids -> law of the next token, shape (V,).
    tree : TokenTree
        Or a batch of trees, tokens (..., n).
    draws : callable, optional
        For "distinct": q -> the law of the number of draws.
    prefix : tuple
        The text so far.

    Returns
    -------
    number or array, shape (...)
        In the numbers of the model.

    Raises
    ------
    ValueError, TypeError
        No tree, a scheme that cannot draw its shape, or a row of the model that is no law.

    Examples
    --------
    >>> tree = TokenTree(topology.chain(2), np.array([0, 1]), np.array([1, 2]), "iid")
    >>> float(probability(lambda text: np.array([0.5, 0.5]), tree))
    0.25
    """
    tokens, batch = validity.token_tree(tree).tokens, tuple(tree.tokens.shape[:-1])
    uniforms(tree.parents, tree.scheme)
    below = topology.children(tree.parents)
    result, texts = 1, [prefix] * len(below)
    for row, siblings in families(below):
        q = law_after(model, texts[row], batch)
        drawn = tokens[..., siblings]
        chance = _siblings.probability(tree.scheme, q, drawn, len(siblings), draws)
        if row:
            chance = array_namespace(tokens).where(tokens[..., row - 1] >= 0, chance, 1)
        result = result * chance
        for node in siblings:
            texts[node + 1] = (*texts[row], as_id(tokens[..., node]))
    return result


def families(below: list[list[int]]) -> Iterator[tuple[int, list[int]]]:
    return ((row, siblings) for row, siblings in enumerate(below) if siblings)


def law_after(model: Model, text: tuple[Any, ...], batch: tuple[int, ...], root: Array = None) -> Array:
    """The model's law after a text, checked, with the leading axes of the batch; as many tokens as `root` has."""
    name = "a law of the model" if batch else f"the law after {text}"
    q = check.law(check.model(model, "model")(text), name)
    if root is not None:
        check.same_vocabulary(q, root, name, "the law after the prefix")
    return array_namespace(q).broadcast_to(q, (*batch, q.shape[-1]))


def as_id(token: Array) -> Any:
    """A token of one tree as an int, those of a batch as an array; where there is none, 0: nothing below is kept."""
    xp = array_namespace(token)
    known = xp.where(token < 0, 0, token)
    return int(known) if known.ndim == 0 and check.concrete(known) else known


def filled(rows: list[Any]) -> list[Array]:
    """Rows for every node: the root's after leaves."""
    return [rows[0] if row is None else row for row in rows]
