"""P(n >= i | text) for trees drawn without replacement, under traversal verification.

A call V(x, a) succeeds with probability a whatever is drawn below x, and then the text goes on with the target's law
(T21). So P(n >= i | text, start t) is a sum over the nodes of depth i of

    E[product over its path of Pr[the siblings before it are drawn, and fail] q_r(y) / p(y)] a_i,

where a, p and q change as siblings fail, and a_i is the weight that the call of the node has. Nodes below siblings do
not matter. Fractions sum over all failed siblings; floats sample them, by the probability with which each fails.
`lifted` is traversal on such trees (T23, 3).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from specsim.base import check, limits
from specsim.base.arrays import at, ids, is_exact, normalize_or, pick, positive_part
from specsim.draft.without_replacement import without
from specsim.lengths.tree_texts import MAX_FAILED, TextSurvival, along, averaged, jackknife_error, left_out
from specsim.trees import topology
from specsim.types import Array

# Draws of failed siblings for every position and node: few, as texts have many positions.
SAMPLES = 4


@np.errstate(under="ignore")
def text_survival_traversal(
    p: Array, q: Array, y: Array, parents: Any, *, samples: int = SAMPLES, seed: int = 0
) -> TextSurvival:
    r"""Return the probability that traversal verification accepts at least i drafts, given the text, for every start.

    Of trees whose siblings are drawn without replacement; of `lifted` with recursive rejection as well.

    Parameters
    ----------
    p, q, y, parents
        As for `specsim.lengths.tree_texts.text_survival_tree`.
    samples : int
        Draws of failed siblings for every position and node; at least 2 for an error.
    seed : int
        Of these draws.

    Returns
    -------
    TextSurvival
        survival (T, depth), and its standard error: Fractions, and 0, where p and q are Fractions.

    Raises
    ------
    ValueError
        As `text_survival_tree`; or Fractions with too many siblings to sum over.

    References
    ----------
    Weng et al. 2025, arXiv:2505.12398 (the rule); the law given the text is derived here.

    Examples
    --------
    >>> text_survival_traversal([[.5, .5]] * 2, [[.9, .1]] * 2, [1, 1], [-1, 0]).survival.round(3).tolist()
    [[0.2, 0.04], [0.2, 0.0]]
    """
    drawn = traversal_samples(p, q, y, parents, samples=samples, seed=seed)
    return TextSurvival(fitted(averaged(drawn)), jackknife_error(fitted(left_out(drawn))))


@np.errstate(under="ignore")
def traversal_samples(p: Array, q: Array, y: Array, parents: Any, *, samples: int = SAMPLES, seed: int = 0) -> Array:
    """Return estimates (M, T, depth) of `text_survival_traversal`, to be averaged; M = 1 where they are exact."""
    # Validate the arguments.
    shape, count = topology.shape(parents), check.integer(samples, "samples", 1, limits.MAX_DRAFTS)
    random = np.random.default_rng(check.integer(seed, "seed", 0, limits.MAX_KEY))
    p, q, y = prepared(p, q, y)
    length, exact = len(y), is_exact(p)
    # Children and depths by row: row 0 is the root, row i + 1 is node i.
    children, depths = topology.children(shape), [0, *topology.depths(shape).tolist()]
    if exact:
        _check_listable(children, shape.tolist(), p.shape[-1])
    out = np.zeros((1 if exact else count, length, max(depths)), dtype=p.dtype)
    ones = np.ones((out.shape[0], length), dtype=p.dtype) * (Fraction(1) if exact else 1)
    # By row, for every start: the weight a of the node's call V(x, a), and the probability that it is made.
    calls = {0: (ones, ones)}
    draws = None if exact else random
    for row, nodes in enumerate(children):
        # Laws and tokens at the children's position, for all starts from which the text reaches it.
        starts = max(length - depths[row], 0)
        weight, reach = (w[:, :starts] for w in calls.pop(row))
        rows, drafts, token = (w[depths[row] :] for w in (p, q, y))
        p_token = np.where(at(rows, token) > 0, at(rows, token), 1)
        target, draft = (np.broadcast_to(w, (*weight.shape, w.shape[-1])) for w in (rows, drafts))
        for rank, node in enumerate(nodes):
            # The child has the text's token; its call has the weight min(1, a p(y) / q(y)).
            y_tokens = np.broadcast_to(token, weight.shape)
            target_mass, drawn = weight * at(target, y_tokens), at(draft, y_tokens)
            less = target_mass < drawn
            handed = np.where(less, target_mass / np.where(less, drawn, 1), 1 + 0 * target_mass)
            calls[node + 1] = handed, reach * drawn / p_token
            accepted = handed * calls[node + 1][1]
            out[:, :starts, depths[row]] += accepted.sum(axis=0) if exact else accepted
            # For the next child: this one had another token, and failed.
            if rank + 1 < len(nodes):
                weight, reach, target, draft = _after_failure(weight, reach, target, draft, y_tokens, draws)
    return out


def prepared(p: Array, q: Array, y: Array) -> tuple[Array, Array, Array]:
    """Return the laws along a text, checked; where rounding left p(y) = 0, the draft's law stands for the target's."""
    p, q, y = along(p, q, y)
    return np.where((at(p, y) > 0)[:, None], p, q), q, y


def fitted(rows: Array) -> Array:
    """Return rows (..., depth) cut to survival curves, in [0, 1] and not growing: means of samples may miss both."""
    return rows if rows.dtype == object else np.minimum.accumulate(np.clip(rows, 0, 1), axis=-1)


def _check_listable(children: list[list[int]], parents: list[int], vocab: int) -> None:
    """Raise ValueError if the failed siblings on a node's path have too many token sequences to sum over.

    children: by row, of the root and then of each node.
    """
    # By row: how many siblings come before the node and its ancestors.
    failed = [0]
    for node, parent in enumerate(parents):
        failed.append(failed[parent + 1] + children[parent + 1].index(node))
    if vocab ** max(failed) > MAX_FAILED:
        raise ValueError(
            f"{vocab}^{max(failed)} orders of failed siblings are too many to sum over in Fractions; give floats, "
            "which sample them"
        )


def _after_failure(
    weight: Array, reach: Array, target: Array, draft: Array, y: Array, random: Any
) -> tuple[Array, Array, Array, Array]:
    """Return weight, reach, target and draft after a sibling other than y has failed.

    Shapes are (M, T), (M, T), (M, T, V) and (M, T, V). The failed sibling is drawn; with random None every token is
    listed instead: rows are repeated, one batch for every token, and reach counts each by its probability.
    """
    # A sibling x is drawn and fails with probability (q_x - a p_x)+; (a p - q)+ is left of the target.
    scaled = weight[..., None] * target
    failed = np.where(ids(draft) == y[..., None], 0 * draft, positive_part(draft - scaled))
    left_over = positive_part(scaled - draft)
    # The weight a becomes m / (m + 1 - a), m the mass that is left. Adding 0 * weight makes an empty sum a Fraction.
    mass, is_full = left_over.sum(axis=-1) + 0 * weight, weight >= 1
    weight = np.where(is_full, weight, mass / np.where(is_full, 1, mass + (1 - weight)))
    target = normalize_or(left_over, target)
    if random is not None:
        # Where no sibling can fail, the draw is arbitrary, and reach 0.
        x = np.minimum(pick(failed, random.random(weight.shape)), draft.shape[-1] - 1)
        return weight, reach * failed.sum(axis=-1), target, without(draft, x)
    tokens = range(draft.shape[-1])
    return (
        np.concatenate([weight for _ in tokens]),
        np.concatenate([reach * failed[..., x] for x in tokens]),
        np.concatenate([target for _ in tokens]),
        np.concatenate([without(draft, np.full(weight.shape, x)) for x in tokens]),
    )
