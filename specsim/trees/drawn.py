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

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.trees import _siblings, topology
from specsim.trees._siblings import Counts
from specsim.types import Array, Model, TokenTree

MAX_TREES = 20_000  # of an enumeration


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
    for row, siblings in _families(below):
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
    return Drafted(tree, xp.stack(_filled(rows), axis=-2))


def uniforms(parents: Any, scheme: str) -> int:
    """How many uniforms `draw_tree` needs.

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
    return sum(_siblings.needs(scheme, len(siblings)) for _, siblings in _families(below))


@np.errstate(under="ignore")
def enumerate_trees(
    model: Model,
    parents: Any,
    *,
    scheme: str = "iid",
    draws: Counts | None = None,
    prefix: tuple[int, ...] = (),
) -> list[tuple[TokenTree, Array, Any]]:
    """Every tree that `draw_tree` can draw, with its laws q and its probability: for small vocabularies.

    Parameters
    ----------
    model, parents : callable, sequence of int
        As in `draw_tree`.
    scheme, draws, prefix : str, callable, tuple
        As in `draw_tree`.

    Returns
    -------
    list of (TokenTree, array, number)
        Tree, laws q (n+1, V), probability; the probabilities sum to 1.

    Raises
    ------
    ValueError
        About 20,000 trees or more, or what `draw_tree` refuses.

    Examples
    --------
    >>> len(enumerate_trees(lambda text: np.array([0.5, 0.5]), [-1, -1, 0]))
    8
    """
    parents = topology.shape(parents)
    uniforms(parents, scheme)
    below, depth = topology.children(parents), topology.depths(parents)
    partial: list[_Partial] = [_Partial([-1] * len(parents), [None] * len(below), [prefix] * len(below), Fraction(1))]
    partial[0].rows[0] = root = law_after(model, prefix, ())
    for row, siblings in _families(below):
        longer: list[_Partial] = []
        laws, least = [], 0
        for tree in partial:  # counted before any is drawn: that is what takes long
            laws.append(law_after(model, tree.texts[row], (), root))
            support = int((laws[-1] > 0).sum())
            least += least_tuples(scheme, support, len(siblings)) if draws is None else 1
            few_enough(least)
        for tree, q in zip(partial, laws, strict=True):
            absent = row > 0 and tree.tokens[row - 1] < 0
            if scheme != "deterministic":
                few_enough(len(longer) + int((q > 0).sum()) ** len(siblings))
            for drawn, chance in _tuples(scheme, q, len(siblings), draws, absent):
                one = _Partial(tree.tokens.copy(), tree.rows.copy(), tree.texts.copy(), tree.weight * chance)
                one.rows[row] = _siblings.reported(scheme, q, len(siblings))
                for node, token in zip(siblings, drawn, strict=True):
                    one.tokens[node], one.texts[node + 1] = token, (*tree.texts[row], max(token, 0))
                longer.append(one)
        partial = longer
    return [
        (TokenTree(parents, np.array(t.tokens, dtype=np.int64), depth, scheme), np.stack(_filled(t.rows)), t.weight)
        for t in partial
    ]


def least_tuples(scheme: str, support: int, k: int) -> int:
    """How many k-tuples of siblings a law of so many tokens has, where that is known without drawing; else 1."""
    if scheme in ("iid", "paths", "independent"):
        return int(support**k)
    return math.perm(support, min(k, support)) if scheme == "without_replacement" else 1


def few_enough(count: int) -> None:
    """ValueError where trees are too many to enumerate."""
    if count > MAX_TREES:
        raise ValueError(f"about {MAX_TREES} trees or more; give fewer tokens, siblings or nodes")


def count_trees(support: int, parents: Any, scheme: str) -> int:
    """The least number of trees of a shape if the law after every text has so many tokens.

    >>> count_trees(50, [-1, -1, 0], "iid")
    125000
    """
    families = _families(topology.children(topology.shape(parents)))
    return math.prod(least_tuples(scheme, support, len(siblings)) for _, siblings in families)


class _Partial(NamedTuple):
    tokens: list[int]
    rows: list[Any]
    texts: list[tuple[int, ...]]
    weight: Any


def _tuples(scheme: str, q: Array, k: int, draws: Counts | None, absent: bool) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The k-tuples of siblings that can be drawn from a row, with their probabilities."""
    if absent:
        yield (-1,) * k, 1
    elif scheme == "deterministic":
        yield tuple(_siblings.likeliest(q, k).tolist()), 1
    else:
        support = np.flatnonzero(np.asarray(q > 0)).tolist()
        for drawn in itertools.product(support if draws is None else [*support, -1], repeat=k):
            chance = _siblings.probability(scheme, q, np.array(drawn), k, draws)
            if chance > 0:
                yield drawn, chance


def _families(below: list[list[int]]) -> Iterator[tuple[int, list[int]]]:
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


def _filled(rows: list[Any]) -> list[Array]:
    """Rows for every node: the root's after leaves."""
    return [rows[0] if row is None else row for row in rows]
