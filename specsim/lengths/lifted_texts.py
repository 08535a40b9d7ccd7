"""P(n >= i | text) for trees of i.i.d. siblings under a lifted step rule.

As under traversal (`specsim.lengths.traversal_texts`), a call V(x, a) succeeds with probability a whatever is drawn
below x (T23). Let T be the step rule for the target (a p, 1 - a), and S the K children of x. The child with the text's
token y is called when all children before it have failed, which has probability 1 - sum_before T(.|S). Its weight makes
it succeed with probability T(y|S) in all. A sum over the rank r at which y comes up first, and over the other siblings,
gives P(n >= i | text, start t):

    E[product over the path of q(y) (1 - q(y))^(r-1) (1 - sum_before T) / p(y)] a_i,

where siblings before r are drawn from q without y, and siblings after r from q. Fractions sum over all siblings, floats
sample them.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

from specsim.base import check, limits
from specsim.base.arrays import at, is_exact, pick, wide
from specsim.draft.without_replacement import without
from specsim.lengths.traversal_texts import SAMPLES, prepared
from specsim.trees import topology
from specsim.types import Array
from specsim.verify.lookup import step_rule

# Siblings (M', T, K), and the factor (M', T) by which each counts: the part of its probability that is not sampled.
WeightedSiblings = tuple[Array, Array]


@np.errstate(under="ignore")
def lifted_samples(
    p: Array, q: Array, y: Array, parents: Any, *, step: str = "optimal", samples: int = SAMPLES, seed: int = 0
) -> Array:
    """Return estimates (M, T, depth) of P(n >= i | text) under `lifted`, to be averaged; M = 1 where exact.

    Parameters
    ----------
    p, q, y, parents
        As for `specsim.lengths.tree_texts.text_survival_tree`.
    step : str
        A step rule that verifies i.i.d. drafts.
    samples : int
        Draws of siblings for every position and node.
    seed : int
        Of these draws.

    Returns
    -------
    array, shape (M, T, depth)
        Fractions where p and q are: then over all siblings.

    Raises
    ------
    ValueError
        As `text_survival_tree`; or a step rule that does not verify i.i.d. drafts.

    References
    ----------
    T23 in proofs/; the law given the text is derived here.

    Examples
    --------
    >>> lifted_samples([[.5, .5]] * 2, [[.9, .1]] * 2, [1, 1], [-1, 0], samples=1)[0].round(3).tolist()
    [[0.2, 0.04], [0.2, 0.0]]
    """
    # Validate the arguments.
    shape, count = topology.shape(parents), check.integer(samples, "samples", 1, limits.MAX_DRAFTS)
    random = np.random.default_rng(check.integer(seed, "seed", 0, limits.MAX_KEY))
    # Children and depths by row: row 0 is the root, row i + 1 is node i.
    children, depths = topology.children(shape), [0, *topology.depths(shape).tolist()]
    rule = step_rule(step, max(1, *map(len, children)), "iid")
    p, q, y = prepared(p, q, y)
    length, exact = len(y), is_exact(p)
    out = np.zeros((1 if exact else count, length, max(depths)), dtype=p.dtype)
    ones = np.ones((out.shape[0], length), dtype=p.dtype) * (Fraction(1) if exact else 1)
    # By row, for every start: the weight a of the node's call V(x, a), and the probability that it is made.
    calls = {0: (ones, ones)}
    for row, nodes in enumerate(children):
        # Laws and tokens at the children's position, for all starts from which the text reaches it.
        starts = max(length - depths[row], 0)
        weight, called = (w[:, :starts] for w in calls.pop(row))
        rows, drafts, token = (w[depths[row] :] for w in (p, q, y))
        p_token = np.where(at(rows, token) > 0, at(rows, token), 1)
        for rank, node in enumerate(nodes):
            # The child of this rank is the first with token y; its siblings are listed or drawn.
            siblings, chance = _siblings(drafts, token, rank, len(nodes), weight.shape[0], None if exact else random)
            repeats = len(siblings) // len(weight)
            a, reached = np.concatenate([weight] * repeats), np.concatenate([called] * repeats) * chance
            # It is called if all children before it fail, and succeeds with T(y|S) in all.
            law = _step_law(rule, rows, drafts, a, siblings)
            success, is_called = at(law, siblings[..., rank]), _none_succeeds(law, siblings[..., :rank], a)
            # So the weight of its call is their ratio.
            can_be_called = is_called > 0
            handed = np.where(can_be_called, success / np.where(can_be_called, is_called, 1), 0 * success)
            calls[node + 1] = np.minimum(handed, 1), reached * is_called * at(drafts, token) / p_token
            accepted = reached * success * at(drafts, token) / p_token
            out[:, :starts, depths[row]] += accepted.sum(axis=0) if exact else accepted
    return out


def _step_law(rule: ModuleType, rows: Array, drafts: Array, weight: Array, siblings: Array) -> Array:
    """Return T(.|S) (M, T, V+1) for the target (a p, 1 - a): the last entry is a failure, which is never drafted."""
    target = np.concatenate([weight[..., None] * rows, 1 - weight[..., None]], axis=-1)
    draft = np.broadcast_to(np.concatenate([drafts, 0 * drafts[..., :1]], axis=-1), target.shape)
    return wide(rule.transition(rule.prepare(target, draft, siblings.shape[-1]), siblings))


def _none_succeeds(law: Array, siblings: Array, weight: Array) -> Array:
    """Return the probability (M, T) that the calls of all these siblings (M, T, k) fail: 1 - sum of T(x|S).

    Siblings with the same token are called once. `weight` (M, T) gives the shape if there are no siblings.
    """
    success = 0 * weight
    for k in range(siblings.shape[-1]):
        x = siblings[..., k]
        is_new = (siblings[..., :k] != x[..., None]).all(axis=-1)
        success = success + np.where(is_new, at(law, x), 0 * weight)
    return 1 - success


def _siblings(drafts: Array, y: Array, rank: int, k: int, count: int, random: Any) -> WeightedSiblings:
    """Return K siblings, of which the one of this rank is the first with token y.

    Each of `count` samples draws the other siblings. With random None they are all listed instead: rows (count, T) are
    repeated for each tuple of the others, one after the other.
    """
    without_y = without(drafts, y)
    others = [without_y if j < rank else drafts for j in range(k) if j != rank]
    # A sibling has another token than y with this probability; 0 where q has nothing but y.
    not_y = 1 - at(drafts, y)
    # All tuples of the other siblings, with their probabilities.
    if random is None:
        tuples = itertools.product(range(drafts.shape[-1]), repeat=k - 1)
        parts = [_with_token([x + 0 * y for x in each], y, rank) for each in tuples]
        weights = [_chance_of_others(others, part, rank) * not_y**rank for part in parts]
        return (
            np.concatenate([np.broadcast_to(part, (count, *part.shape)) for part in parts]),
            np.concatenate([np.broadcast_to(w, (count, *w.shape)) for w in weights]),
        )
    # Or a sample of them.
    shape = (count, len(y))
    drawn = [np.minimum(pick(np.broadcast_to(w, (*shape, w.shape[-1])), random.random(shape)), w.shape[-1] - 1)
             for w in others]  # fmt: skip
    return _with_token(drawn, np.broadcast_to(y, shape), rank), np.broadcast_to(not_y**rank, shape)


def _with_token(others: list[Array], y: Array, rank: int) -> Array:
    """Return the siblings (..., K): the K - 1 others, with y inserted at its rank."""
    return np.stack([*others[:rank], y, *others[rank:]], axis=-1)


def _chance_of_others(others: list[Array], siblings: Array, rank: int) -> Array:
    """Return the probability (T,) that all siblings (T, K) but that of this rank are drawn, each from its law."""
    total: Any = 1 + 0 * others[0][:, 0] if others else np.ones(len(siblings), dtype=object) * Fraction(1)
    places = [k for k in range(siblings.shape[-1]) if k != rank]
    for law, place in zip(others, places, strict=True):
        total = total * at(law, siblings[:, place])
    return total
