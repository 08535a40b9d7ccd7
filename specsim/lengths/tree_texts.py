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
    r"""Return the probability that a tokenwise walk accepts at least i drafts, given the text, for every start.

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
    """Return the mean over samples (M, ...); a single sample, which may hold Fractions, is returned as it is."""
    return samples[0] if len(samples) == 1 else samples.mean(axis=0)


def left_out(ranks: Array) -> Array:
    """Return the means (M, ...) of all samples but one, leaving out each in turn; a single sample as it is."""
    return ranks if len(ranks) == 1 else (ranks.sum(axis=0) - ranks) / (len(ranks) - 1)


def jackknife_error(without: Array) -> Array:
    """Return the jackknife's standard error of a statistic, from its values (M, ...) on `left_out` means."""
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
    """Return the probability b that the child of each rank is accepted, given the token that was emitted.

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
    p_y = at(p, y)
    if scheme == "deterministic":
        joint = np.where(likeliest(q, k) == y[:, None], p_y[:, None], 0 * p_y[:, None])[None]
    elif scheme == "iid":
        joint = _joint_iid(p, q, y, k)[None]
    else:
        exact, later = is_exact(p), max(min(k, p.shape[-1]) - 2, 0)
        if exact and p.shape[-1] ** later > MAX_FAILED:
            raise ValueError(
                f"num_children is {k}: {p.shape[-1]}^{later} orders of failed siblings are too many to sum over in "
                f"Fractions; give floats, which sample them"
            )
        joint = _joint_without_replacement(p, q, y, k, None if exact else random, count)
    return _given_token(joint, p_y, at(q, y))[..., : k if num_children else 0]


def along(p: Array, q: Array, y: Array) -> tuple[Array, Array, Array]:
    """Return the laws (T, V) along a text (T,) and the text, in NumPy; ValueError where they do not fit together."""
    p, q = (wide(np.asarray(w)) for w in check.pair(p, q))
    if p.ndim != 2:
        raise ValueError(f"p and q must have a row for each token of the text, (T, V), got {tuple(p.shape)}")
    y = np.asarray(check.tokens(y, "y", p.shape[-1]))
    if y.shape != p.shape[:1]:
        raise ValueError(f"y must have shape {tuple(p.shape[:1])}, as p and q have rows, got {tuple(y.shape)}")
    return p, q, y


def known_step(scheme: str, step: str | None = None) -> str:
    """Return the step rule of the walk for trees of this scheme; ValueError if there is none, or step differs."""
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
    """Return P(n >= i | text) (..., T, depth) of a tree from b (..., T, K) by rank, as `text_survival` of a chain.

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
    """Return b = joint (M, T, K) / p (T,), of the token y; where rounding left p = 0, b_1 = 1 if q > 0."""
    is_known = p > 0
    first_only = np.where(q > 0, 1 + 0 * q, 0 * q)[:, None] * (np.arange(joint.shape[-1]) == 0)
    return np.where(is_known[:, None], joint / np.where(is_known, p, 1 + 0 * p)[:, None], first_only)


def _joint_iid(p: Array, q: Array, y: Array, k: int) -> Array:
    """Return Pr[child r is accepted and is y] (T, K) for siblings drawn i.i.d.: A_r min(r_r(y), q(y))."""
    # reached is A_r, row the residual r_r of the formulas at the head of this file.
    row, reached, joint = p, 1 + 0 * p[:, 0], []
    for _ in range(k):
        joint.append(reached * np.minimum(at(row, y), at(q, y)))
        excess = positive_part(row - q)
        reached, row = reached * excess.sum(axis=-1), normalize_or(excess, row)
    return np.stack(joint, axis=-1)


def _joint_without_replacement(p: Array, q: Array, y: Array, k: int, random: Any, samples: int) -> Array:
    """Return Pr[child r is accepted and is y] (M, T, K) for siblings drawn from q without replacement.

    The first child is x and fails with probability (q_x - p_x)+. What remains is the same problem with K - 1 siblings,
    drawn from q without x, for the residual (p - q)+. random None sums over every x, M = 1; else M samples draw x.
    """
    # Rank 1; and rank 2, as the sum over the failed x. After x = y no sibling is y.
    first = np.minimum(at(p, y), at(q, y))
    failed = np.where(ids(q) == y[:, None], 0 * q, positive_part(q - p))
    left_over = residual(p, q)
    second = (failed * np.minimum(at(left_over, y)[:, None], _share_after_each(q, y))).sum(axis=-1)
    known = np.stack([first, second], axis=-1)[..., :k]
    if k <= 2:
        return known[None]
    # Later ranks: summed over every x, or over sampled ones.
    if random is None:
        tokens = np.arange(q.shape[-1])
        later = [sum(failed[:, x, None] * _later_ranks(left_over, q, x + 0 * y, y, k, None) for x in tokens)]
    else:
        later, mass = [], failed.sum(axis=-1)
        for _ in range(samples):
            # Where no x can fail, the draw is arbitrary, and its mass 0.
            x = np.minimum(pick(failed, random.random(len(y))), q.shape[-1] - 1)
            later.append(mass[:, None] * _later_ranks(left_over, q, x, y, k, random))
    return np.concatenate([np.broadcast_to(known, (len(later), *known.shape)), np.stack(later)], axis=-1)


def _later_ranks(left_over: Array, q: Array, x: Array, y: Array, k: int, random: Any) -> Array:
    """Return Pr[child r is accepted and is y] (T, K-2) of ranks 3 to K, given that the first child x (T,) failed."""
    # Column 0 of the smaller problem is rank 2, which is known.
    return _joint_without_replacement(left_over, without(q, x), y, k - 1, random, 1)[0][:, 1:]


def _share_after_each(q: Array, y: Array) -> Array:
    """Return q_y / (1 - q_x), the probability of y once x is drawn, for every x (T, V); 0 where q has only x."""
    # For the likeliest x, where 1 - q_x may cancel, the others are summed.
    top = ids(q) == np.argmax(q, axis=-1)[:, None]
    rest = np.where(top, np.where(top, 0 * q, q).sum(axis=-1)[:, None], 1 - q)
    has_rest = rest > 0
    return np.where(has_rest, at(q, y)[:, None] / np.where(has_rest, rest, 1 + 0 * rest), 0 * rest)
