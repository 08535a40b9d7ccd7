"""How likely a tree of tokens is to be drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.trees import _siblings, topology, validity
from specsim.trees._siblings import Counts
from specsim.trees.drawn import as_id, law_after, uniforms
from specsim.types import Array, Model, TokenTree


@np.errstate(under="ignore")
def probability(
    model: Model,
    tree: TokenTree,
    *,
    draws: Counts | None = None,
    prefix: tuple[Any, ...] = (),
) -> Array:
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

    # The product over the root and all nodes of the probability of their children. Row 0 is the
    # root's, row i + 1 that of node i.
    result, texts = 1, [check.text(prefix, "prefix")] * len(below)
    for row, siblings in enumerate(below):
        if not siblings:
            continue
        q = law_after(model, texts[row], batch)
        drawn = tokens[..., siblings]
        chance = _siblings.probability(tree.scheme, q, drawn, len(siblings), draws)
        # Below an absent node nothing is drawn.
        if row:
            is_present = tokens[..., row - 1] >= 0
            chance = array_namespace(tokens).where(is_present, chance, 1)
        result = result * chance
        for node in siblings:
            texts[node + 1] = (*texts[row], as_id(tokens[..., node]))
    return result
