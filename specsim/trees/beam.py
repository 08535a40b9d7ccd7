"""Stochastic beam search (RSD-S): each level of the tree is drawn from q without replacement.

Law.         Level l is the first W sequences of l tokens, drawn from q(y_1) ... q(y_l | y_<l)
             without replacement, in the order drawn; one order of all sequences of full length
             gives every level, as the order in which its prefixes first come up. A node whose
             children all fall out of the beam is a leaf; siblings stand in that order, so each is
             drawn, given those before it, as without replacement from q at its parent.
Sampling.    Gumbel noise perturbs log q of every child; the children of one node are then moved so
             that their maximum is the perturbed score of the node itself, which keeps the noise of
             a sequence and of its prefixes the same noise. Needs exp and log: EXACT is False;
             `enumerate_beams` has the law in rationals.
Randomness.  One uniform per candidate: V for the root, W V for every later level.
Cost.        At most W calls of the model per level; O(depth W V log(W V)).
Paper.       Jeon et al., arXiv:2402.14160, algorithm RSD-S; Kool et al., stochastic beams,
             arXiv:1903.06059, appendix B for the stable form of the conditioning.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from array_api_compat import device

from specsim.base import check, limits
from specsim.base.arrays import array_namespace, is_exact
from specsim.trees import validity
from specsim.trees.drawn import Drafted, as_id, law_after
from specsim.trees.gumbel import condition_maximum, gumbel_noise, safe_log
from specsim.types import Array, Model, TokenTree

EXACT = False


class Level(NamedTuple):
    """One level of the beam, best sequence first; W is the number of its sequences.

    `tokens` (..., W) is -1 where there are fewer sequences; `parents` (..., W) are places in the
    level before; `score` and `log_prob` (..., W) are the perturbed and the true log q of each
    sequence. `q` has one law (..., V) for each sequence of the level before: these tokens were
    drawn from it.
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

    Each level keeps the `width` sequences ya of largest G. Its tree is one of a kind: parents
    depend on the draws.

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
        tree: nodes level by level, best first within a level, siblings therefore in the order
        drawn; scheme "beam". q: laws (n+1, V) after the root and after every node (the root's again
        after the last level).

    Raises
    ------
    ValueError
        width or depth below 1, u of another length or outside [0, 1), or a row of the model that is
        not a law.

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
    levels = beams(model, u, width=width, depth=depth, prefix=prefix)
    places: list[list[tuple[int, int]]] = []
    for level in levels:
        pairs = zip(level.tokens.tolist(), level.parents.tolist(), strict=True)
        places.append([(token, parent) for token, parent in pairs if token >= 0])
    return tree_of(places, [level.q for level in levels])


@np.errstate(under="ignore")
def beams(model: Model, u: Array, *, width: int, depth: int, prefix: tuple[Any, ...] = ()) -> list[Level]:
    """Return the levels of `beam_tree` for a batch of uniforms (..., count), on any array library.

    Texts hold arrays (...) of tokens.

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
    width = check.integer(width, "width", 1, limits.MAX_NODES)
    depth = check.integer(depth, "depth", 1, limits.MAX_NODES)
    prefix = check.text(prefix, "prefix")
    u = check.array(u, "u")
    check.last_axis(u, "u")
    batch = tuple(u.shape[:-1])
    first = law_after(model, prefix, batch)
    vocab, xp = first.shape[-1], array_namespace(first)
    if is_exact(first):
        raise TypeError("stochastic beams need log and exp: give laws of floats (enumerate_beams takes Fractions)")
    u = check.uniforms(u, beam_uniforms(width, depth, vocab), batch, first)

    # `history` holds the tokens (..., W, l) of the sequences of the newest level, `rows` one law for
    # each of them, `used` the number of uniforms that were taken. At first there is the root alone.
    history = xp.zeros((*batch, 1, 0), dtype=xp.int64, device=device(first))
    levels, rows, used = list[Level](), [first], 0
    for _ in range(depth):
        # A level takes the uniforms of a full beam, also where fewer sequences grow.
        size = len(rows) * vocab
        above = levels[-1] if levels else None
        level = grown(rows, above, u[..., used : used + size], width)
        used += width * vocab if levels else vocab
        levels.append(level)

        # Extend the parents' tokens by those of this level.
        places_shape = (*level.parents.shape, history.shape[-1])
        places = xp.broadcast_to(level.parents[..., None], places_shape)
        of_parents = xp.take_along_axis(history, places, axis=-2)
        history = xp.concat([of_parents, level.tokens[..., None]], axis=-1)

        # The model is asked only for levels that are still to grow.
        if len(levels) < depth:
            texts = [(*prefix, *_text(history, j)) for j in range(level.tokens.shape[-1])]
            rows = [law_after(model, text, batch, first) for text in texts]
    return levels


def grown(rows: list[Array], above: Level | None, u: Array, width: int) -> Level:
    """Return the level below `above`, or the first level if `above` is None.

    `rows` holds the law (..., V) after each sequence of `above`; u has shape (..., len(rows) V).
    """
    xp, vocab = array_namespace(rows[0]), rows[0].shape[-1]
    if above is None:
        score = log_prob = xp.zeros_like(rows[0][..., :1])
    else:
        score, log_prob = above.score, above.log_prob

    # Perturb log q of every child, and move siblings so that their maximum is their parent's score.
    noise = gumbel_noise(xp.reshape(u, (*u.shape[:-1], len(rows), vocab)))
    children = log_prob[..., None] + safe_log(xp.stack(rows, axis=-2))
    perturbed = condition_maximum(children + noise, score[..., None])

    # Keep the children of largest score, over all parents: in a flat row the child of parent i with
    # token v has place i V + v.
    flat = xp.reshape(perturbed, u.shape)
    order = xp.argsort(-flat, axis=-1, stable=True)[..., :width]
    score = xp.take_along_axis(flat, order, axis=-1)
    log_prob = xp.take_along_axis(xp.reshape(children, u.shape), order, axis=-1)
    parents, tokens = order // vocab, xp.where(score > -xp.inf, order % vocab, -1)
    return Level(tokens, parents, score, log_prob, rows)


def packed(levels: list[Level]) -> Drafted:
    """Return the levels of `beams` as one tree, level by level.

    Its parents (..., n) differ from text to text; tokens of absent nodes are -1.
    """
    xp = array_namespace(levels[0].tokens)
    (root_law,) = levels[0].q
    parents, depth, rows = list[Array](), list[int](), [root_law]
    # The number of the first node of the level before; -1 is the root.
    first = -1
    for i, level in enumerate(levels):
        parents.append(level.parents + first)
        first, size = len(depth), level.tokens.shape[-1]
        depth += [i + 1] * size
        # The laws that the next level was drawn from. After the last level nothing is drawn: the
        # root's law stands there.
        is_last = i + 1 == len(levels)
        rows += [root_law] * size if is_last else levels[i + 1].q
    tokens = xp.concat([level.tokens for level in levels], axis=-1)
    tree = TokenTree(xp.concat(parents, axis=-1), tokens, np.array(depth), "beam")
    return Drafted(tree, xp.stack(rows, axis=-2))


def beam_sizes(width: int, depth: int, vocab: int) -> list[int]:
    """Return the number of nodes of each level: fewer than `width` only where there are no more texts."""
    return [min(width, vocab**level) for level in range(1, depth + 1)]


def _text(history: Array, j: int) -> tuple[Any, ...]:
    """Return the tokens of sequence j of a history (..., W, l), as a model reads them."""
    return tuple(as_id(history[..., j, i]) for i in range(history.shape[-1]))


def beam_uniforms(width: int, depth: int, vocab: int) -> int:
    """Return how many uniforms `beam_tree` takes.

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


def tree_of(places: list[list[tuple[int, int]]], rows: list[list[Array]]) -> Drafted:
    """Return the tree of levels, each a list of (token, place of the parent in the level before).

    rows[i] holds the laws that level i was drawn from, one for each node of the level before.
    """
    root_law = rows[0][0]
    parents, tokens, depth, q = list[int](), list[int](), list[int](), [root_law]
    # The number of the first node of the level before; -1 is the root.
    first = -1
    for i, level in enumerate(places):
        start = len(parents)
        parents += [first + place for _, place in level]
        tokens += [token for token, _ in level]
        depth += [i + 1] * len(level)
        # The laws after these nodes; the root's law where nothing is drawn, after the last level.
        is_last = i + 1 == len(rows)
        q += [root_law] * len(level) if is_last else rows[i + 1][: len(level)]
        first = start
    tree = TokenTree(np.array(parents), np.array(tokens), np.array(depth), "beam")
    return Drafted(validity.check(tree), array_namespace(q[0]).stack(q, axis=-2))
