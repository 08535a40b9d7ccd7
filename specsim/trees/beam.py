"""Stochastic beam search (RSD-S): a tree whose levels are sequences drawn from q without replacement.

Law.         Level l is the first W sequences of l tokens, drawn from q(y_1) ... q(y_l | y_<l) without replacement, in
             the order drawn; one order of all sequences of full length gives every level, as the order in which its
             prefixes first come up. A node whose children all fall out of the beam is a leaf; siblings stand in that
             order, so each is drawn, given those before it, as without replacement from q at its parent.
Sampling.    Gumbel noise perturbs log q of every child; the children of one node are then moved so that their maximum
             is the perturbed score of the node itself, which keeps the noise of a sequence and of its prefixes the same
             noise. Needs exp and log: EXACT is False; `enumerate_beams` has the law in rationals.
Randomness.  One uniform per candidate: V for the root, W V for every later level.
Cost.        At most W calls of the model per level; O(depth W V log(W V)).
Paper.       Jeon et al., arXiv:2402.14160, algorithm RSD-S; Kool et al., stochastic beams, arXiv:1903.06059, appendix B
             for the stable form of the conditioning.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from array_api_compat import device

from specsim.base import check, limits
from specsim.base.arrays import array_namespace, is_exact
from specsim.trees import validity
from specsim.trees.drawn import Drafted, as_id, law_after
from specsim.types import Array, Model, TokenTree

EXACT = False
LEAST = 2.0**-54  # of a uniform: half of the smallest positive one, so that the noise of u = 0 is finite


class Level(NamedTuple):
    """One level of the beam, best first: tokens, place of the parent in the level before, perturbed and true log q.

    All (..., W), W the beam of this level; token -1 where there are fewer sequences. q (..., V) has one row for every
    beam of the level before: what these tokens were drawn from.
    """

    tokens: Array
    parents: Array
    score: Array
    log_prob: Array
    q: list[Array]


@np.errstate(under="ignore")
def beam_tree(model: Model, u: Array, *, width: int, depth: int, prefix: tuple[Any, ...] = ()) -> Drafted:
    r"""Draft a tree by stochastic beam search.

    .. math:: G_{ya} = -\log\bigl(e^{-G_y} - e^{-Z_y} + e^{-\tilde G_{ya}}\bigr), \quad
              \tilde G_{ya} = \log q(ya) + \text{Gumbel}, \quad Z_y = \max_a \tilde G_{ya}

    Each level keeps the `width` sequences ya of largest G. Its tree is one of a kind: parents depend on the draws.

    Parameters
    ----------
    model : callable
        Text, a tuple of token ids -> law of the next token, shape (V,).
    u : array, shape (count,)
        Uniforms in [0, 1), count = `specsim.trees.beam_uniforms(width, depth, V)`.
    width : int
        Sequences per level, at least 1.
    depth : int
        Levels, at least 1.
    prefix : tuple
        The text so far.

    Returns
    -------
    Drafted
        tree: nodes level by level, best first within a level, siblings therefore in the order drawn; scheme "beam".
        q: laws (n+1, V) after the root and after every node (the root's again after the last level).

    Raises
    ------
    ValueError
        width or depth below 1, u of another length or outside [0, 1), or a row of the model that is not a law.

    References
    ----------
    Jeon et al. 2024, arXiv:2402.14160; Kool, van Hoof, Welling 2019, arXiv:1903.06059.

    Examples
    --------
    >>> drafted = beam_tree(lambda text: np.array([.5, .3, .2]), np.full(9, .5), width=2, depth=2)
    >>> drafted.tree.parents.tolist(), drafted.tree.tokens.tolist()
    ([-1, -1, 0, 1], [0, 1, 0, 0])
    """
    u = check.array(u, "u")
    if u.ndim != 1:
        raise ValueError(f"u has shape {tuple(u.shape)}; one tree takes one row (trees.beams runs a batch)")
    places: list[list[tuple[int, int]]] = []
    found = beams(model, u, width=width, depth=depth, prefix=prefix)
    for level in found:
        pairs = zip(level.tokens.tolist(), level.parents.tolist(), strict=True)
        places.append([(token, parent) for token, parent in pairs if token >= 0])
    return tree_of(places, [level.q for level in found])


@np.errstate(under="ignore")
def beams(model: Model, u: Array, *, width: int, depth: int, prefix: tuple[Any, ...] = ()) -> list[Level]:
    """The levels of `beam_tree`, for a batch of uniforms (..., count): on any array library, tokens as arrays (...).

    Parameters
    ----------
    model : callable
        Text, a tuple of token ids -> law of the next token, shape (V,).
    u : array, shape (..., count)
        Uniforms, as for `beam_tree`.
    width, depth : int
        Sequences per level, and levels, at least 1.
    prefix : tuple
        The text so far.

    Returns
    -------
    list of Level
        From the root down.

    Raises
    ------
    ValueError, TypeError
        What `beam_tree` refuses; laws of Fractions.

    Examples
    --------
    >>> first, last = beams(lambda text: np.array([.5, .3, .2]), np.full((2, 9), .5), width=2, depth=2)
    >>> last.tokens.tolist(), last.parents.tolist()
    ([[0, 0], [0, 0]], [[0, 1], [0, 1]])
    """
    width, depth = (
        check.integer(width, "width", 1, limits.MAX_NODES),
        check.integer(depth, "depth", 1, limits.MAX_NODES),
    )
    u = check.array(u, "u")
    check.last_axis(u, "u")
    batch = tuple(u.shape[:-1])
    first = law_after(model, prefix, batch)
    vocab, xp = first.shape[-1], array_namespace(first)
    if is_exact(first):
        raise TypeError("stochastic beams need log and exp: give laws of floats (enumerate_beams takes Fractions)")
    u = check.uniforms(u, beam_uniforms(width, depth, vocab), batch, first)
    history = xp.zeros((*batch, 1, 0), dtype=xp.int64, device=device(first))
    levels, rows, used = list[Level](), [first], 0
    for _ in range(depth):
        size = len(rows) * vocab
        level = grown(rows, levels[-1] if levels else None, u[..., used : used + size], width)
        used += width * vocab if levels else vocab
        levels.append(level)
        places = xp.broadcast_to(level.parents[..., None], (*level.parents.shape, history.shape[-1]))
        history = xp.concat([xp.take_along_axis(history, places, axis=-2), level.tokens[..., None]], axis=-1)
        if len(levels) < depth:
            rows = [
                law_after(model, (*prefix, *_text(history, j)), batch, first) for j in range(level.tokens.shape[-1])
            ]
    return levels


def grown(rows: list[Array], above: Level | None, u: Array, width: int) -> Level:
    """The level below the beams of `above`, or the first: laws after each of them, and u (..., len(rows) V)."""
    xp, vocab = array_namespace(rows[0]), rows[0].shape[-1]
    score, log_prob = (xp.zeros_like(rows[0][..., :1]),) * 2 if above is None else (above.score, above.log_prob)
    noise = _gumbel(xp.reshape(u, (*u.shape[:-1], len(rows), vocab)))
    children = log_prob[..., None] + _log(xp.stack(rows, axis=-2))
    flat = xp.reshape(_condition(children + noise, score[..., None]), u.shape)
    order = xp.argsort(-flat, axis=-1, stable=True)[..., :width]
    score = xp.take_along_axis(flat, order, axis=-1)
    log_prob = xp.take_along_axis(xp.reshape(children, u.shape), order, axis=-1)
    parents, tokens = order // vocab, xp.where(score > -xp.inf, order % vocab, -1)
    return Level(tokens, parents, score, log_prob, rows)


def packed(levels: list[Level]) -> Drafted:
    """`beams` as one tree, level by level: parents (..., n) differ from text to text; absent nodes are -1."""
    xp, first = array_namespace(levels[0].tokens), -1
    parents, depth, rows = list[Array](), list[int](), [levels[0].q[0]]
    for i, level in enumerate(levels):
        parents.append(level.parents + first)
        first, size = len(depth), level.tokens.shape[-1]
        depth += [i + 1] * size
        rows += levels[i + 1].q if i + 1 < len(levels) else [rows[0]] * size
    tokens, above = (xp.concat(w, axis=-1) for w in ([level.tokens for level in levels], parents))
    return Drafted(TokenTree(above, tokens, np.array(depth), "beam"), xp.stack(rows, axis=-2))


def beam_sizes(width: int, depth: int, vocab: int) -> list[int]:
    """Nodes of each level: fewer than `width` only where there are no more texts."""
    return [min(width, vocab**level) for level in range(1, depth + 1)]


def _text(history: Array, j: int) -> tuple[Any, ...]:
    return tuple(as_id(history[..., j, i]) for i in range(history.shape[-1]))


def beam_uniforms(width: int, depth: int, vocab: int) -> int:
    """How many uniforms `beam_tree` takes.

    Parameters
    ----------
    width, depth, vocab : int
        Sequences per level, levels, tokens.

    Returns
    -------
    int
        Length of the last axis of u.

    Examples
    --------
    >>> beam_uniforms(width=2, depth=2, vocab=3)
    9
    """
    sequences, levels = check.integer(width, "width", 1), check.integer(depth, "depth", 1)
    return check.integer(vocab, "vocab", 1) * (1 + (levels - 1) * sequences)


@np.errstate(under="ignore")
def gumbel_top_k(q: Array, u: Array, num_drafts: int) -> Array:
    """K candidates (..., K) without replacement from q (..., V): the K largest of log q + Gumbel noise of u (..., V).

    The same law as `specsim.draft.without_replacement`, with which RSD-C draws the children of a node; beyond the
    support the last token repeats there and here.

    Parameters
    ----------
    q : array_like, shape (..., V)
        Laws.
    u : array_like, shape (..., V)
        Uniforms in [0, 1).
    num_drafts : int
        K, at least 1.

    Returns
    -------
    array of int, shape (..., K)
        In the order drawn.

    Raises
    ------
    ValueError
        A row that is no law, uniforms of another shape, or K below 1.

    Examples
    --------
    >>> gumbel_top_k(np.array([0.5, 0.3, 0.2]), np.array([0.5, 0.5, 0.9]), 2).tolist()
    [2, 0]
    """
    q = check.law(q, "q")
    xp, num_drafts = array_namespace(q), check.integer(num_drafts, "num_drafts", 1, limits.MAX_DRAFTS)
    u = check.array(u, "u")
    u = check.uniforms(u, q.shape[-1], u.shape[:-1], q)
    order = xp.argsort(-(_log(q) + _gumbel(u)), axis=-1, stable=True)
    support = xp.sum(xp.astype(q > 0, xp.int64), axis=-1, keepdims=True)
    place = xp.arange(num_drafts, device=device(order)) + 0 * order[..., :1]
    return xp.take_along_axis(order, xp.where(place < support, place, support - 1), axis=-1)


def tree_of(places: list[list[tuple[int, int]]], rows: list[list[Array]]) -> Drafted:
    """From (token, place of the parent in the level before) for every level, and the laws after the level before."""
    parents, tokens, depth, q = list[int](), list[int](), list[int](), [rows[0][0]]
    first = -1  # number of the first node of the level before
    for i, level in enumerate(places):
        start = len(parents)
        parents += [first + place for _, place in level]
        tokens += [token for token, _ in level]
        depth += [i + 1] * len(level)
        q += rows[i + 1][: len(level)] if i + 1 < len(rows) else [rows[0][0]] * len(level)
        first = start
    tree = TokenTree(np.array(parents), np.array(tokens), np.array(depth), "beam")
    return Drafted(validity.check(tree), array_namespace(q[0]).stack(q, axis=-2))


def _gumbel(u: Array) -> Array:
    xp = array_namespace(u)
    return -xp.log(-xp.log(xp.where(u > LEAST, u, LEAST)))


def _log(q: Array) -> Array:
    """log q, -inf at 0 without a warning."""
    xp = array_namespace(q)
    return xp.where(q > 0, xp.log(xp.where(q > 0, q, 1)), -xp.inf)


def _condition(perturbed: Array, score: Array) -> Array:
    """Perturbed log-probabilities (..., V) of siblings, moved so that their maximum is score (..., 1).

    As -log(exp(-score) - exp(-Z) + exp(-perturbed)), Z their maximum, without the exponentials that overflow; at the
    maximiser the formula's two equal terms cancel and what is left is score itself, not a NaN.
    """
    xp = array_namespace(perturbed)
    top = xp.max(perturbed, axis=-1, keepdims=True)
    some = top > -xp.inf
    under = perturbed - xp.where(some, top, 0)
    less = under < 0
    share = xp.where(less, xp.log(-xp.expm1(xp.where(less, under, -1))), -xp.inf)  # log(1 - exp(perturbed - Z))
    bound = xp.where(some, score, 0)
    lag = bound - perturbed + share
    moved = bound - xp.where(lag > 0, lag, 0) - xp.log1p(xp.exp(-xp.abs(lag)))
    return xp.where(some, moved, -xp.inf)
