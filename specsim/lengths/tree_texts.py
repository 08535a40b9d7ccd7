"""P(n >= i | text) for trees that a tokenwise walk verifies from the root: `text_survival` for trees.

Given the text, a walk accepts the child that has the text's token y, if there is one and it passes. Let b_r be the
probability that this is the child of rank r, given y:

    b_r(t) = Pr[child r is accepted and is y] / p_t(y)
    P(n >= i | text, start t) = sum over nodes of depth i of the product of b along the node's path,

where the levels of the path stand at positions t, t + 1, and so on. Nodes below other children never matter, for the
accepted path is the text. Later siblings do not matter either, since the step rule tries siblings in turn.

i.i.d.       A_1 = 1, r_1 = p: b_k = A_k min(r_k(y), q(y)) / p(y), A_{k+1} = A_k sum (r_k - q)+, r_{k+1} ~ (r_k - q)+.
Without      b_1 as above; b_2 = sum_{x != y} (q_x - p_x)+ min(r_2(y), q_y / (1 - q_x)) / p(y); later ranks sum the same
replacement  over the siblings that failed before: over all of them for Fractions, over sampled ones for floats.
Chosen       b_k = 1 where y is the k-th likeliest token, else 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.arrays import at, ids, is_exact, normalize_or, pick, positive_part, residual, wide
from specsim.draft.without_replacement import without
from specsim.trees import topology
from specsim.trees._siblings import likeliest
from specsim.types import Array

# The step rule of the walk, by scheme.
STEPS = {"iid": "recursive", "without_replacement": "recursive_wor", "deterministic": "naive"}
# Draws of failed siblings for every position, by default.
SAMPLES = 16
# Orders of failed siblings that are summed over in Fractions: minutes.
MAX_FAILED = 2**16


class TextSurvival(NamedTuple):
    """P(n >= i | text) at every position, (T, depth), and the standard error of its sampled part: 0 where exact."""

    survival: Array
    error: Array


@np.errstate(under="ignore")
def text_survival_tree(
    p: Array,
    q: Array,
    y: Array,
    parents: Any,
    *,
    scheme: str = "iid",
    step: str | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> TextSurvival:
    r"""Probability that a tokenwise walk in a tree keeps at least i drafts, given the text, wherever a block starts.

    .. math:: P(n \ge i \mid \text{text}, t) = \sum_{\text{nodes of depth } i}
              \prod_{\text{path}} b_{\text{rank}}(t + \text{level})

    Hand the rows to `specsim.renewal`: the mean over texts of the target is the expected number of target calls.

    Parameters
    ----------
    p, q : array_like, shape (T, V)
        Target and draft laws along the text: what its tokens, and siblings in their place, are drawn from.
    y : array_like of int, shape (T,)
        The text.
    parents : array_like of int, shape (n,)
        The tree (see `specsim.trees`); a block that starts at t drafts its first level in the place of y[t].
    scheme : {"iid", "without_replacement", "deterministic"}
        How siblings are drawn.
    step : str, optional
        The step rule of the walk: only the one that `tokenwise` has for the scheme is known.
    samples : int
        Draws of failed siblings at every position, for ranks from the third on without replacement.
    seed : int
        Of these draws.

    Returns
    -------
    TextSurvival
        survival (T, depth): Fractions where p and q are; error, its standard error: 0 where nothing was sampled.
        Windows that run past the end hold 0.

    Raises
    ------
    ValueError
        A row is no law, y has another length or foreign tokens, the shape is no tree, or scheme and step are not known.

    References
    ----------
    Derived for this project; tested in rationals against every tree and every outcome of the walk.

    Examples
    --------
    >>> rows = text_survival_tree([[.5, .5], [.5, .5]], [[.9, .1], [.9, .1]], [1, 1], [-1, -1, 0])
    >>> rows.survival.round(3).tolist()
    [[0.28, 0.04], [0.28, 0.0]]
    """
    shape = topology.shape(parents)
    most = int(topology.ranks(shape).max(initial=-1)) + 1
    ranks = acceptance_by_rank(p, q, y, most, scheme=scheme, step=step, samples=samples, seed=seed)
    return TextSurvival(
        walk_survival(averaged(ranks), shape),
        jackknife_error(walk_survival(left_out(ranks), shape)),
    )


def averaged(samples: Array) -> Array:
    """Mean over samples (M, ...); a single sample, which may hold Fractions, is returned as it is."""
    return samples[0] if len(samples) == 1 else samples.mean(axis=0)


def left_out(ranks: Array) -> Array:
    """Means (M, ...) of all samples but one, leaving out each in turn; a single sample is returned as it is."""
    return ranks if len(ranks) == 1 else (ranks.sum(axis=0) - ranks) / (len(ranks) - 1)


def jackknife_error(without: Array) -> Array:
    """Jackknife standard error of a statistic, from its values (M, ...) on the `left_out` means; 0 if M = 1."""
    if len(without) == 1:
        return 0 * without[0]
    return ((len(without) - 1) * without.var(axis=0)) ** 0.5


@np.errstate(under="ignore")
def acceptance_by_rank(
    p: Array,
    q: Array,
    y: Array,
    num_children: int,
    *,
    scheme: str = "iid",
    step: str | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Array:
    """Probability b that the child of each rank is kept, given the token that was emitted.

    Parameters
    ----------
    p, q, y, scheme, step, samples, seed
        As for `text_survival_tree`.
    num_children : int
        K, the ranks wanted; 0 for a tree without nodes.

    Returns
    -------
    array, shape (M, T, K)
        M independent estimates, to be averaged; M = 1 where they are exact. Their rows may sum to more than 1.

    Raises
    ------
    ValueError
        As `text_survival_tree`; or Fractions with too many siblings to sum over.

    References
    ----------
    Jeon et al. 2024, arXiv:2402.14160 (the step rule without replacement); b given the token is derived here.

    Examples
    --------
    >>> acceptance_by_rank([[.5, .5]], [[.9, .1]], [1], 2).round(3).tolist()
    [[[0.2, 0.08]]]
    """
    # Validate the arguments.
    known_step(scheme, step)
    k = check.integer(num_children, "num_children", 0, limits.MAX_NODES)
    count = check.integer(samples, "samples", 1, limits.MAX_DRAFTS)
    random = np.random.default_rng(check.integer(seed, "seed", 0, limits.MAX_KEY))
    p, q, y = along(p, q, y)
    # For no child at all, compute one and drop it: so the result has the type of the others.
    num_children, k = k, max(k, 1)
    # Pr[child r is accepted and is y], by scheme.
    if scheme == "deterministic":
        joint = np.where(likeliest(q, k) == y[:, None], at(p, y)[:, None], 0 * at(p, y)[:, None])[None]
    elif scheme == "iid":
        joint = _in_turn(p, q, y, k)[None]
    else:
        exact, later = is_exact(p), max(min(k, p.shape[-1]) - 2, 0)
        if exact and p.shape[-1] ** later > MAX_FAILED:
            raise ValueError(
                f"num_children is {k}: {p.shape[-1]}^{later} orders of failed siblings are too many to sum over in "
                f"Fractions; give floats, which sample them"
            )
        joint = _without_replacement(p, q, y, k, None if exact else random, count)
    return _given_token(joint, at(p, y), at(q, y))[..., : k if num_children else 0]


def along(p: Array, q: Array, y: Array) -> tuple[Array, Array, Array]:
    """Rows (T, V) of laws along a text (T,), in NumPy; ValueError where they are none, or do not fit together."""
    p, q = (wide(np.asarray(w)) for w in check.pair(p, q))
    if p.ndim != 2:
        raise ValueError(f"p and q must have a row for each token of the text, (T, V), got {tuple(p.shape)}")
    y = np.asarray(check.tokens(y, "y", p.shape[-1]))
    if y.shape != p.shape[:1]:
        raise ValueError(f"y must have shape {tuple(p.shape[:1])}, as p and q have rows, got {tuple(y.shape)}")
    return p, q, y


def known_step(scheme: str, step: str | None = None) -> str:
    """The step rule whose walk is predicted for trees of this scheme; ValueError if there is none, or step differs."""
    if scheme not in STEPS:
        raise ValueError(
            f"no exact law given the text is known for trees of scheme {scheme!r}, only {', '.join(STEPS)}"
        )
    if step not in (None, STEPS[scheme]):
        raise ValueError(
            f"no exact law given the text is known for step {step!r} on {scheme!r}, only {STEPS[scheme]!r}"
        )
    return STEPS[scheme]


def walk_survival(ranks: Array, parents: Any) -> Array:
    """Rows (..., T, depth) of a tree from b (..., T, K) by rank: what `text_survival` is for chains.

    A rank's share is cut at what the ranks before it leave: sampled shares may sum to more than 1.

    >>> walk_survival(np.array([[0.5, 0.25], [0.5, 0.25]]), [-1, -1, 0, 1]).tolist()
    [[0.75, 0.375], [0.75, 0.0]]
    """
    # b, cut at what the ranks before leave.
    tree, depths = topology.shape(parents), topology.depths(topology.shape(parents))
    before = np.cumsum(ranks, axis=-1) - ranks
    b = np.where(before + ranks > 1, np.where(before > 1, 0 * ranks, 1 - before), ranks)
    rows = np.zeros((*b.shape[:-1], int(depths.max(initial=0))), dtype=b.dtype)
    # Node by node: the product of b along its path, for every start t.
    reach: list[Array] = []
    for parent, depth, rank in zip(tree.tolist(), depths, topology.ranks(tree), strict=True):
        # From start t the child stands at the position of y[t + depth - 1].
        here = np.zeros_like(b[..., rank])
        here[..., : max(b.shape[-2] - depth + 1, 0)] = b[..., depth - 1 :, rank]
        reach.append(here if parent < 0 else here * reach[parent])
        rows[..., depth - 1] = rows[..., depth - 1] + reach[-1]
    # Rounding must not let survival grow with depth.
    return rows if b.dtype == object else np.minimum.accumulate(rows, axis=-1)


def _given_token(joint: Array, p: Array, q: Array) -> Array:
    """joint (M, T, K) / p (T,); where rounding left p(y) = 0, the first child counts if q(y) > 0."""
    some = p > 0
    first = np.where(q > 0, 1 + 0 * q, 0 * q)[:, None] * (np.arange(joint.shape[-1]) == 0)
    return np.where(some[:, None], joint / np.where(some, p, 1 + 0 * p)[:, None], first)


def _in_turn(p: Array, q: Array, y: Array, k: int) -> Array:
    """Pr[child r is accepted and is y] (T, K) for siblings drawn i.i.d. and tried in turn."""
    row, reached, joint = p, 1 + 0 * p[:, 0], []
    for _ in range(k):
        joint.append(reached * np.minimum(at(row, y), at(q, y)))
        over = positive_part(row - q)
        reached, row = reached * over.sum(axis=-1), normalize_or(over, row)
    return np.stack(joint, axis=-1)


def _without_replacement(row: Array, draft: Array, y: Array, k: int, random: Any, samples: int) -> Array:
    """Pr[child r is accepted and is y] (M, T, K) without replacement; random None sums over all failed siblings."""
    # Ranks 1 and 2 in closed form: the first child x is drawn and fails with probability (q_x - p_x)+.
    first = np.minimum(at(row, y), at(draft, y))
    lost, after = np.where(ids(draft) == y[:, None], 0 * draft, positive_part(draft - row)), residual(row, draft)
    share = _share_after(draft, y)
    second = (lost * np.minimum(at(after, y)[:, None], share)).sum(axis=-1)
    known = np.stack([first, second], axis=-1)[..., :k]
    if k <= 2:
        return known[None]
    # Later ranks, by the same function on what is left after x: summed over all x, or over sampled ones.
    if random is None:
        tokens = np.arange(draft.shape[-1])
        later = [sum(lost[:, x, None] * _deeper(after, draft, x + 0 * y, y, k, None) for x in tokens)]
    else:
        later, mass = [], lost.sum(axis=-1)
        for _ in range(samples):
            # Where no x can fail, the draw is arbitrary, and its mass 0.
            x = np.minimum(pick(lost, random.random(len(y))), draft.shape[-1] - 1)
            later.append(mass[:, None] * _deeper(after, draft, x, y, k, random))
    return np.concatenate([np.broadcast_to(known, (len(later), *known.shape)), np.stack(later)], axis=-1)


def _deeper(after: Array, draft: Array, x: Array, y: Array, k: int, random: Any) -> Array:
    """Pr[child r is accepted and is y] (T, K-2) for ranks 3, 4, ..., given that x was the first child and failed."""
    return _without_replacement(after, without(draft, x), y, k - 1, random, 1)[0][:, 1:]


def _share_after(draft: Array, y: Array) -> Array:
    """q_y / (1 - q_x) for every x (T, V); the likeliest x, where 1 - q_x may cancel, has a sum of the others."""
    top = ids(draft) == np.argmax(draft, axis=-1)[:, None]
    rest = np.where(top, np.where(top, 0 * draft, draft).sum(axis=-1)[:, None], 1 - draft)
    some = rest > 0
    return np.where(some, at(draft, y)[:, None] / np.where(some, rest, 1 + 0 * rest), 0 * rest)
