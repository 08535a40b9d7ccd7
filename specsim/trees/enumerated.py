"""Every tree that can be drawn from a model, with its probability: for small vocabularies."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from specsim.base.renamed import renamed
from specsim.trees import _siblings, topology
from specsim.trees._siblings import Counts
from specsim.trees.drawn import families, filled, law_after, uniforms
from specsim.types import Array, Model, TokenTree

MAX_TREES = 20_000


@np.errstate(under="ignore")
@renamed(sampling="scheme")
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
    model : callable
        Text, a tuple of token ids -> law of the next token, shape (V,).
    parents : sequence of int
        The shape.
    scheme, draws, prefix
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
    for row, siblings in families(below):
        longer: list[_Partial] = []
        for tree in partial:
            q = law_after(model, tree.texts[row], (), root)
            absent = row > 0 and tree.tokens[row - 1] < 0
            if scheme != "deterministic" and len(longer) + int((q > 0).sum()) ** len(siblings) > MAX_TREES:
                raise ValueError(f"about {MAX_TREES} trees or more; give fewer tokens, siblings or nodes")
            for drawn, chance in _tuples(scheme, q, len(siblings), draws, absent):
                one = _Partial(tree.tokens.copy(), tree.rows.copy(), tree.texts.copy(), tree.weight * chance)
                one.rows[row] = _siblings.reported(scheme, q, len(siblings))
                for node, token in zip(siblings, drawn, strict=True):
                    one.tokens[node], one.texts[node + 1] = token, (*tree.texts[row], max(token, 0))
                longer.append(one)
        partial = longer
    return [
        (TokenTree(parents, np.array(t.tokens, dtype=np.int64), depth, scheme), np.stack(filled(t.rows)), t.weight)
        for t in partial
    ]


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
