"""What a text says of the trees that are drafted along it: `text_survival` for trees walked from the root.

Given the text, a walk keeps the child that has the text's token, if there is one and it passes. With b_r the
probability that this is the child of rank r, given the token y,

    b_r(t) = Pr[child r is kept and is y] / p_t(y),   P(n >= i | text, start t) = sum over nodes of depth i of prod b

along each node's path, level by level at t, t+1, ... What hangs below other children never matters, for the kept path
is the text; nor do later siblings, for a step rule that tries them in turn.

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

STEPS = {"iid": "recursive", "without_replacement": "recursive_wor", "deterministic": "naive"}  # what is predicted
SAMPLES = 16  # of failed siblings, for every position
MAX_FAILED = 2**16  # orders of failed siblings that are summed over


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
    found = topology.shape(parents)
    most = int(topology.ranks(found).max(initial=-1)) + 1
    ranks = acceptance_by_rank(p, q, y, most, scheme=scheme, step=step, samples=samples, seed=seed)
    return TextSurvival(
        walk_survival(averaged(ranks), found),
        jackknife_error(walk_survival(left_out(ranks), found)),
    )


def averaged(samples: Array) -> Array:
    """Mean over samples (M, ...); of one itself, which may hold Fractions."""
    return samples[0] if len(samples) == 1 else samples.mean(axis=0)


def left_out(ranks: Array) -> Array:
    """Means (M, ...) of all samples but one, each left out once; the value itself where there is one only."""
    return ranks if len(ranks) == 1 else (ranks.sum(axis=0) - ranks) / (len(ranks) - 1)


def jackknife_error(without: Array) -> Array:
    """Standard error of what was computed from `left_out` means (M, ...): 0 where there is one only."""
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
    known_step(scheme, step)
    k = check.integer(num_children, "num_children", 0, limits.MAX_NODES)
    count = check.integer(samples, "samples", 1, limits.MAX_DRAFTS)
    random = np.random.default_rng(check.integer(seed, "seed", 0, limits.MAX_KEY))
    p, q, y = along(p, q, y)
    k = max(k, 1) if (nothing := k == 0) else k
    if scheme == "deterministic":
        kept = np.where(likeliest(q, k) == y[:, None], at(p, y)[:, None], 0 * at(p, y)[:, None])[None]
    elif scheme == "iid":
        kept = _in_turn(p, q, y, k)[None]
    else:
        exact, later = is_exact(p), max(min(k, p.shape[-1]) - 2, 0)
        if exact and p.shape[-1] ** later > MAX_FAILED:
            raise ValueError(
                f"num_children is {k}: {p.shape[-1]}^{later} orders of failed siblings are too many to sum over in "
                f"Fractions; give floats, which sample them"
            )
        kept = _without_replacement(p, q, y, k, None if exact else random, count)
    return _given(kept, at(p, y), at(q, y))[..., : 0 if nothing else None]


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
    found = topology.shape(parents)
    before = np.cumsum(ranks, axis=-1) - ranks
    b = np.where(before + ranks > 1, np.where(before > 1, 0 * ranks, 1 - before), ranks)
    rows = np.zeros((*b.shape[:-1], int(topology.depths(found).max(initial=0))), dtype=b.dtype)
    reach: list[Array] = []
    for parent, depth, rank in zip(found.tolist(), topology.depths(found), topology.ranks(found), strict=True):
        here = np.zeros_like(b[..., rank])  # by start t: the child stands in the place of y[t + depth - 1]
        here[..., : max(b.shape[-2] - depth + 1, 0)] = b[..., depth - 1 :, rank]
        reach.append(here if parent < 0 else here * reach[parent])
        rows[..., depth - 1] = rows[..., depth - 1] + reach[-1]
    return rows if b.dtype == object else np.minimum.accumulate(rows, axis=-1)  # rounding must not let them grow


def _given(kept: Array, p: Array, q: Array) -> Array:
    """kept (M, T, K) over p (T,); where rounding left p at 0, the first child counts if it can have the token."""
    some = p > 0
    first = np.where(q > 0, 1 + 0 * q, 0 * q)[:, None] * (np.arange(kept.shape[-1]) == 0)
    return np.where(some[:, None], kept / np.where(some, p, 1 + 0 * p)[:, None], first)


def _in_turn(p: Array, q: Array, y: Array, k: int) -> Array:
    """Pr[child r is kept and is y] (T, K) of siblings drawn i.i.d. and tried in turn."""
    row, reached, kept = p, 1 + 0 * p[:, 0], []
    for _ in range(k):
        kept.append(reached * np.minimum(at(row, y), at(q, y)))
        over = positive_part(row - q)
        reached, row = reached * over.sum(axis=-1), normalize_or(over, row)
    return np.stack(kept, axis=-1)


def _without_replacement(row: Array, draft: Array, y: Array, k: int, random: Any, samples: int) -> Array:
    """Pr[child r is kept and is y] (M, T, K) of siblings without replacement; random None sums over all that fail."""
    first = np.minimum(at(row, y), at(draft, y))
    lost, after = np.where(ids(draft) == y[:, None], 0 * draft, positive_part(draft - row)), residual(row, draft)
    share = _share_after(draft, y)
    second = (lost * np.minimum(at(after, y)[:, None], share)).sum(axis=-1)
    known = np.stack([first, second], axis=-1)[..., :k]
    if k <= 2:
        return known[None]
    if random is None:
        tokens = np.arange(draft.shape[-1])
        later = [sum(lost[:, x, None] * _deeper(after, draft, x + 0 * y, y, k, None) for x in tokens)]
    else:
        later, mass = [], lost.sum(axis=-1)
        for _ in range(samples):
            x = np.minimum(pick(lost, random.random(len(y))), draft.shape[-1] - 1)  # of no use where nothing is lost
            later.append(mass[:, None] * _deeper(after, draft, x, y, k, random))
    return np.concatenate([np.broadcast_to(known, (len(later), *known.shape)), np.stack(later)], axis=-1)


def _deeper(after: Array, draft: Array, x: Array, y: Array, k: int, random: Any) -> Array:
    """Ranks 3, 4, ... (T, K-2) where x was the first sibling, and failed."""
    return _without_replacement(after, without(draft, x), y, k - 1, random, 1)[0][:, 1:]


def _share_after(draft: Array, y: Array) -> Array:
    """q_y / (1 - q_x) for every x (T, V); what is left beside the likeliest is summed, as 1 - q_x may cancel there."""
    top = ids(draft) == np.argmax(draft, axis=-1)[:, None]
    rest = np.where(top, np.where(top, 0 * draft, draft).sum(axis=-1)[:, None], 1 - draft)
    some = rest > 0
    return np.where(some, at(draft, y)[:, None] / np.where(some, rest, 1 + 0 * rest), 0 * rest)
