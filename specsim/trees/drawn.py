"""Draft a tree of a fixed shape: the children of every node come from a draft scheme.

Law.         Given its text, a node's k children are k candidates of the scheme, drawn from q after
             that text; the draws of different nodes are independent. "paths" draws "iid": K
             children of the root, one of every other node. "deterministic" takes the k likeliest
             tokens (the first, on ties; absent where q = 0).
Randomness.  The root's uniforms first, then those of node 0, 1, ...: as many as the scheme needs
             for k candidates.
Cost.        One call of the model for every node that has children.
Paper.       RSD-C: Jeon et al., arXiv:2402.14160; K paths: Sun et al., SpecTr, arXiv:2310.15141.

A model is called with the text as a tuple of token ids. For one tree they are integers; for a
batch, u (..., count), those of drafted nodes are arrays (...), and the model returns (V,) or (...,
V).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.trees import _siblings, topology
from specsim.trees._siblings import Counts
from specsim.types import Array, Model, TokenTree


class Drafted(NamedTuple):
    """A tree, and the laws q (..., n+1, V) that children are drawn from.

    Row 0 of q is the root's, row i+1 that after node i. After leaves, where nothing is drawn and
    the model is not asked, the row is the root's. In a deterministic tree every row is the point
    mass at the first child, whatever the model says: that is the law it was drawn from.
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
        For "distinct": q (..., V) -> Draws, the law of the number of draws at a node, its limit the
        number of places for siblings; where there is one place one draw is made. Places that stay
        empty, and all below them, are -1.
    prefix : tuple
        The text so far.

    Returns
    -------
    Drafted
        tree: the TokenTree, tokens (..., n); q: laws (..., n+1, V) after the root and after every
        node (the root's again after leaves).

    Raises
    ------
    ValueError
        The shape is no tree, the scheme is unknown or cannot draw so many siblings, u has another
        length, or the model returns a row that is not a law or has another vocabulary.

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
    # The shape, the uniforms, and the law after the prefix.
    parents = topology.shape(parents)
    prefix = check.text(prefix, "prefix")
    u = check.array(u, "u")
    batch, count = tuple(u.shape[:-1]), uniforms(parents, scheme)
    u = check.uniforms(u, count, batch, u)
    root = law_after(model, prefix, batch)
    xp = array_namespace(root)
    below = topology.children(parents)
    most_children = max(map(len, below))
    if scheme in topology.LAST_REPEATS and most_children > root.shape[-1]:
        raise ValueError(
            f"a node of the shape has {most_children} children, which {scheme!r} draws different from each other; "
            f"the model has {root.shape[-1]} tokens"
        )

    # Draw the children of the root, of node 0, 1, ...: parents stand before their children. Row 0
    # of `rows` (laws) and `texts` is the root's, row i + 1 that of node i; `used` uniforms are taken.
    tokens: list[Any] = [None] * len(parents)
    rows, texts, used = [root, *[None] * len(parents)], [prefix] * len(below), 0
    for row, siblings in families(below):
        k = len(siblings)
        q = root if row == 0 else law_after(model, texts[row], batch, root)
        size = _siblings.needs(scheme, k)
        drawn = _siblings.drawn(scheme, q, u[..., used : used + size], k, draws)
        used += size
        # An absent node has no children.
        if row:
            is_present = tokens[row - 1] >= 0
            drawn = xp.where(is_present[..., None], drawn, -1)
        rows[row] = _siblings.reported(scheme, q, k)
        for j, node in enumerate(siblings):
            tokens[node] = drawn[..., j]
            texts[node + 1] = (*texts[row], as_id(drawn[..., j]))

    # The tree, with the laws that its tokens were drawn from.
    drafted = xp.stack(tokens, axis=-1) if tokens else xp.zeros((*batch, 0), dtype=xp.int64)
    tree = TokenTree(parents, drafted, topology.depths(parents), scheme)
    return Drafted(tree, xp.stack(filled(rows), axis=-2))


def uniforms(parents: Any, scheme: str) -> int:
    """Return how many uniforms `draw_tree` needs.

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


def families(below: list[list[int]]) -> Iterator[tuple[int, list[int]]]:
    """Yield (row, children) of the root and of every node with children; row 0 is the root, i + 1 node i."""
    return ((row, siblings) for row, siblings in enumerate(below) if siblings)


def law_after(model: Model, text: tuple[Any, ...], batch: tuple[int, ...], root: Array = None) -> Array:
    """Return the model's law (*batch, V) after a text, checked; V must be that of `root`, if there is one."""
    name = "a law of the model" if batch else f"the law after {text}"
    q = check.law(check.model(model, "model")(text), name)
    if root is not None:
        check.same_vocabulary(q, root, name, "the law after the prefix")
    return array_namespace(q).broadcast_to(q, (*batch, q.shape[-1]))


def as_id(token: Array) -> Any:
    """Return the token of one tree as an int, the tokens of a batch as an array.

    Absent tokens become 0, which a model can read; its laws after them are not used.
    """
    xp = array_namespace(token)
    readable = xp.where(token < 0, 0, token)
    return int(readable) if readable.ndim == 0 and check.concrete(readable) else readable


def filled(rows: list[Any]) -> list[Array]:
    """Return rows with the root's in place of None, which stands after leaves."""
    return [rows[0] if row is None else row for row in rows]
