"""Laws of accepted drafts given the emitted text, which `renewal` needs, for several drafts and for fixed trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import arrays, check, limits
from specsim.base.arrays import array_namespace
from specsim.discover import Rule
from specsim.trees import topology
from specsim.types import Array
from specsim.verify.hits import hits
from specsim.verify.lookup import step_rule


@np.errstate(under="ignore")
def hit_posterior(
    p: Array, q: Array, *, rule: Rule, num_drafts: int = 1, params: Mapping[str, Any] | None = None
) -> Array:
    r"""Return the probability, for each token y, that y was among the drafts, given that a step rule emitted it.

    .. math:: b(y) = \sum_x \Pr[x] \, T(y \mid x) \, [y \in x] \, / \, p(y)

    In a chain of several drafts per position, P(n >= i | text y) is the product of b along the
    text: hand b at the text's own tokens to `text_survival` with the survival of `tokenwise`, then
    to `renewal`. For one draft under rejection b = min(1, q/p). Cost V^(K+1): for small
    vocabularies.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Target and draft laws; leading axes broadcast.
    rule : str, path or module
        Name of a step rule, the path of its file, or itself; lossless, or b is no probability.
    num_drafts : int
        Candidates K per position.
    params : mapping, optional
        The rule's own parameters by name, as {"epsilon": 0.2}; those that are not named keep their defaults.

    Returns
    -------
    array, shape (..., V)
        In [0, 1]; 0 where p = 0.

    Raises
    ------
    ValueError
        A row is not a law, the rule is unknown, does not verify K drafts or does not emit p (says by how much), or the
        sum is too long (says how long).

    References
    ----------
    Bayes; T06 in proofs/ for what it serves.

    Examples
    --------
    >>> hit_posterior([.5, .3, .2], [.1, .3, .6], rule="recursive", num_drafts=2).round(3).tolist()
    [0.28, 1.0, 1.0]
    """
    num_drafts = check.integer(num_drafts, "num_drafts", 1, limits.MAX_DRAFTS)
    module = discover.with_params(step_rule(rule, num_drafts), params)
    p, q = check.pair(p, q)
    (law, drafted), xp = hits(module, p, q, num_drafts), array_namespace(p)
    # A lossy rule has no posterior.
    if check.concrete(law):
        distance = xp.sum(abs(law - p), axis=-1) / 2
        rounding = 0 if law.dtype == object else 10 * check.TOLERANCE
        if bool(xp.any(distance > rounding)):
            where, bias = check.first_bad(distance, distance == xp.max(distance))
            name = discover.name_of(module)
            raise ValueError(f"rule {name!r} is lossy: its token's law differs from p{where} by TV {float(bias):.3g}")
    return arrays.at_most(xp.where(p > 0, drafted / xp.where(p > 0, p, 1), 0 * p), 1)


def tree_survival(parents: Any, tokens: Array, text: Array) -> Array:
    """Return whether the tree drafted at each position holds the next 1, 2, ... tokens of the text.

    Under `target_only` a block that starts at position t keeps exactly the drafts of its tree that
    the text goes on with, so these rows are P(n >= i | text), and `renewal` turns them into target
    calls: exactly, for any deterministic tree, as EAGLE-2 and Medusa draft them.

    Parameters
    ----------
    parents : array_like of int, shape (n,)
        The shape of the trees (see `specsim.trees`).
    tokens : array_like of int, shape (T, n)
        The tree that would be drafted at each position, -1 where a node is absent.
    text : array_like of int, shape (T,)
        The tokens of the text.

    Returns
    -------
    array of float, shape (T, depth)
        1 where the next i tokens of the text are a path from the root, else 0; 0 past the end.

    Raises
    ------
    ValueError
        The shape is no tree, or tokens and text do not fit.

    References
    ----------
    T20 in proofs/.

    Examples
    --------
    >>> tree_survival([-1, 0, -1], [[5, 6, 7], [6, 6, 5], [1, 1, 1]], [5, 6, 1]).tolist()
    [[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    """
    # Shapes and dtypes.
    shape = topology.shape(parents)
    drafted, y = np.asarray(tokens), np.asarray(text)
    if y.ndim != 1 or drafted.shape != (len(y), len(shape)):
        raise ValueError(
            f"tokens must have shape (T, n) = ({len(y) if y.ndim == 1 else 'T'}, {len(shape)}) beside a text (T,), "
            f"got {drafted.shape} and {y.shape}"
        )
    for name, ids in (("tokens", drafted), ("text", y)):
        if ids.size and ids.dtype.kind not in "iu":
            raise TypeError(f"{name} must hold integer token ids, got dtype {ids.dtype}")

    # A node is on the text if its parent is, and its token is the text's at its depth. In `on_text`
    # (T, n + 1) the root's column comes first.
    depth = topology.depths(shape)
    on_text = np.ones((len(y), len(shape) + 1), dtype=bool)
    survival = np.zeros((len(y), int(depth.max(initial=0))))
    for node, (parent, level) in enumerate(zip(shape, depth, strict=True)):
        # The text's token at the node's depth. Past the end there is none: -2 is neither a token
        # nor an absent node.
        follows = np.full(len(y), -2)
        follows[: max(len(y) - level + 1, 0)] = y[level - 1 :]
        on_text[:, node + 1] = on_text[:, parent + 1] & (drafted[:, node] == follows)
        survival[on_text[:, node + 1], level - 1] = 1
    return survival
