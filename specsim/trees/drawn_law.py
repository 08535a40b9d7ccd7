"""The exact law of `draw_tree`: every tree that it can draw, with its probability."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.trees import _siblings, topology
from specsim.trees._siblings import Counts
from specsim.trees.drawn import families, filled, law_after, uniforms
from specsim.types import Array, Model, TokenTree

# Most trees of an enumeration.
MAX_TREES = 20_000


@np.errstate(under="ignore")
def enumerate_trees(
    model: Model,
    parents: Any,
    *,
    scheme: str = "iid",
    draws: Counts | None = None,
    prefix: tuple[int, ...] = (),
) -> list[tuple[TokenTree, Array, Any]]:
    """Return every tree that `draw_tree` can draw, with its laws q and its probability.

    It is meant for small vocabularies.

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
    # `uniforms` refuses a shape that the scheme cannot draw.
    parents = topology.shape(parents)
    uniforms(parents, scheme)
    prefix = check.text(prefix, "prefix")

    # Begin with the root alone.
    below, depth = topology.children(parents), topology.depths(parents)
    root = law_after(model, prefix, ())
    empty = _Partial([-1] * len(parents), [None] * len(below), [prefix] * len(below), Fraction(1))
    empty.rows[0] = root
    partial = [empty]

    # Extend every tree by every possible tuple of children of one node, node after node.
    for row, siblings in families(below):
        k = len(siblings)
        # Count before anything is drawn, since drawing takes long.
        laws, least_count = [], 0
        for tree in partial:
            q = law_after(model, tree.texts[row], (), root)
            laws.append(q)
            support = int((q > 0).sum())
            least_count += least_tuples(scheme, support, k) if draws is None else 1
            few_enough(least_count)
        # Each tree becomes as many as there are tuples; a node that is absent has absent children.
        extended: list[_Partial] = []
        for tree, q in zip(partial, laws, strict=True):
            is_absent = row > 0 and tree.tokens[row - 1] < 0
            if scheme != "deterministic":
                few_enough(len(extended) + int((q > 0).sum()) ** k)
            reported = _siblings.reported(scheme, q, k)
            for drawn, chance in _tuples(scheme, q, k, draws, is_absent):
                extended.append(tree.extended(row, siblings, drawn, reported, chance))
        partial = extended

    # The trees with their laws and probabilities.
    all_trees = []
    for tree in partial:
        tokens = np.array(tree.tokens, dtype=np.int64)
        all_trees.append((TokenTree(parents, tokens, depth, scheme), np.stack(filled(tree.rows)), tree.weight))
    return all_trees


def least_tuples(scheme: str, support: int, k: int) -> int:
    """Return how many k-tuples of siblings a law of this support has at least: 1 where only drawing tells."""
    if scheme in ("iid", "paths", "independent"):
        return int(support**k)
    return math.perm(support, min(k, support)) if scheme == "without_replacement" else 1


def few_enough(count: int) -> None:
    """Raise ValueError where trees are too many to enumerate."""
    if count > MAX_TREES:
        raise ValueError(f"about {MAX_TREES} trees or more; give fewer tokens, siblings or nodes")


def count_trees(support: int, parents: Any, scheme: str) -> int:
    """Return the least number of trees of a shape if the law after every text has so many tokens.

    >>> count_trees(50, [-1, -1, 0], "iid")
    125000
    """
    below = topology.children(topology.shape(parents))
    return math.prod(least_tuples(scheme, support, len(siblings)) for _, siblings in families(below))


class _Partial(NamedTuple):
    """A tree drawn up to some node: tokens by node, laws and texts by row, and its probability.

    Laws and texts of rows that are not drawn yet are None or the prefix.
    """

    tokens: list[int]
    rows: list[Any]
    texts: list[tuple[int, ...]]
    weight: Any

    def extended(self, row: int, siblings: list[int], drawn: tuple[int, ...], q: Array, chance: Any) -> _Partial:
        """Return a copy in which the children of a row are these tokens, drawn from q with this chance."""
        copy = _Partial(self.tokens.copy(), self.rows.copy(), self.texts.copy(), self.weight * chance)
        copy.rows[row] = q
        for node, token in zip(siblings, drawn, strict=True):
            copy.tokens[node] = token
            copy.texts[node + 1] = (*self.texts[row], max(token, 0))
        return copy


def _tuples(
    scheme: str, q: Array, k: int, draws: Counts | None, is_absent: bool
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the k-tuples of siblings that can be drawn from q, with their probabilities.

    The children of an absent node are all absent.
    """
    if is_absent:
        yield (-1,) * k, 1
    elif scheme == "deterministic":
        yield tuple(_siblings.likeliest(q, k).tolist()), 1
    else:
        support = np.flatnonzero(np.asarray(q > 0)).tolist()
        choices = support if draws is None else [*support, -1]
        for drawn in itertools.product(choices, repeat=k):
            chance = _siblings.probability(scheme, q, np.array(drawn), k, draws)
            if chance > 0:
                yield drawn, chance
