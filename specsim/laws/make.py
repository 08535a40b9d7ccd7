"""Public functions on laws: make, normalise, compare, subtract."""

from __future__ import annotations

import numpy as np
from array_api_compat import is_array_api_obj, is_jax_array

from specsim.base import arrays, check, sparse
from specsim.base.arrays import array_namespace
from specsim.types import Array, Law


@np.errstate(under="ignore")
def normalize(weights: Array) -> Array:
    """Rescale non-negative weights to laws: w / sum(w).

    Parameters
    ----------
    weights : array_like, shape (..., V)
        Non-negative, each row with a positive sum.

    Returns
    -------
    array, shape (..., V)
        Rows that sum to 1; Fractions stay exact.

    Raises
    ------
    ValueError
        An entry is negative or not finite, or a row sums to 0.

    References
    ----------
    Plain arithmetic; the library itself never rescales silently.

    Examples
    --------
    >>> normalize([2, 1, 1]).tolist()
    [0.5, 0.25, 0.25]
    """
    w = check.real_values(weights, "weights", 0, float("inf"))
    check.last_axis(w, "weights")
    xp = array_namespace(w)
    total = xp.sum(w, axis=-1, keepdims=True)
    if check.concrete(total) and not bool(xp.all((total > 0) & (total < float("inf")))):
        # Name the row that overflows, or else the first row whose sum is 0.
        check.real_values(total[..., 0], "sum of weights", 0, float("inf"))
        row = [int(i) for i in np.argwhere(np.asarray(total[..., 0] == 0))[0]]
        place = "".join(f"[{i}]" for i in row)
        raise ValueError(f"sum of weights{place} is 0; there is nothing to rescale")
    return w / total


def top_k_law(ids: Array, probs: Array, vocab: int) -> Law:
    r"""Return the law of a few tokens, from an engine's top-k ids and their probabilities.

    .. math:: p_v = \sum_j \text{probs}_j [v = \text{ids}_j]

    Functions of two laws take such a Law in place of a dense row. Two of them are never made dense,
    and give the tokens that dense rows give; a Law beside a dense row is made dense.

    Parameters
    ----------
    ids : integer array_like, shape (..., k)
        Tokens, in any order; -1 fills up a row of fewer than k.
    probs : array_like, shape (..., k)
        Their probabilities after warping; rows sum to 1 (`normalize` rescales what a cut leaves), 0
        where ids is -1.
    vocab : int
        Size V of the vocabulary.

    Returns
    -------
    Law
        ids, values, vocab.

    Raises
    ------
    ValueError
        A row is not a law, lists a token twice, or one outside the vocabulary (names the row and
        the token).

    References
    ----------
    Representation only.

    Examples
    --------
    >>> p = top_k_law([7, 90_000], [0.75, 0.25], 152_000)
    >>> q = top_k_law([90_000, 3], [0.5, 0.5], 152_000)
    >>> float(total_variation(p, q))
    0.75
    """
    return sparse.checked(Law(ids, probs, vocab), "ids", "probs")


def one_hot_law(ids: Array, vocab: int) -> Law:
    r"""Return the point masses at tokens, one for each row.

    .. math:: p_v = [v = \text{ids}]

    They are the laws of deterministic drafts (n-gram, argmax), or of a target at temperature 0.

    Parameters
    ----------
    ids : integer array_like, shape (...)
        One token for each row.
    vocab : int
        Size V of the vocabulary.

    Returns
    -------
    Law
        ids, shape (..., 1), with probability 1 in float64 (float32 in JAX without 64 bits).

    Raises
    ------
    ValueError
        A token lies outside the vocabulary.

    References
    ----------
    Representation only.

    Examples
    --------
    >>> float(total_variation(one_hot_law(2, 50), top_k_law([1, 2], [0.75, 0.25], 50)))
    0.75
    """
    token = check.tokens(ids, "ids", check.integer(vocab, "vocab", 1))[..., None]
    xp = array_namespace(token)
    # JAX without 64 bits has no float64; `float` is the widest type that it has.
    dtype = float if is_jax_array(token) else xp.float64
    return Law(token, xp.astype(token == token, dtype), vocab)


def dense_law(law: Law) -> Array:
    """Return the rows of a Law over the whole vocabulary.

    Parameters
    ----------
    law : Law
        From `top_k_law`, `one_hot_law`, or a function of two of them.

    Returns
    -------
    array, shape (..., V)
        0 at tokens that the law does not list.

    Raises
    ------
    TypeError
        The argument is no Law.
    ValueError
        A token lies outside the vocabulary.

    References
    ----------
    Representation only.

    Examples
    --------
    >>> dense_law(residual(top_k_law([0, 3], [0.75, 0.25], 5), one_hot_law(0, 5))).tolist()
    [0.0, 0.0, 0.0, 1.0, 0.0]
    """
    if not isinstance(law, Law):
        raise TypeError(f"law must be a Law (top_k_law, one_hot_law), got {type(law).__name__}")
    # `check.array` would turn arrays of booleans into numbers; they stay as they are.
    values = law.values if is_array_api_obj(law.values) else check.array(law.values, "values")
    ids = check.tokens(law.ids, "ids", law.vocab, values, low=-1)
    return sparse.dense(Law(ids, values, law.vocab), law.vocab)


@np.errstate(under="ignore")
def total_variation(p: Array, q: Array) -> Array:
    r"""Return the total variation distance between laws.

    .. math:: TV(p, q) = \tfrac12 \sum_v |p_v - q_v| = \sum_v (p_v - q_v)_+

    Parameters
    ----------
    p, q : array_like, shape (..., V), or Law
        Laws on one vocabulary; leading axes broadcast.

    Returns
    -------
    array, shape (...), in [0, 1]
        1 - TV is the acceptance of one draft.

    Raises
    ------
    ValueError
        A row is not a law (names the row and its sum), or the vocabularies differ.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, definition 3.2 (their D_LK).

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> print(total_variation([F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)]))
    1/3
    """
    p, q, _ = sparse.rows(p, q)
    p, q = check.pair(p, q)
    return arrays.at_most(array_namespace(p).sum(arrays.positive_part(p - q), axis=-1), 1)


@np.errstate(under="ignore")
def residual(p: Array, q: Array) -> Array:
    r"""Return the law from which a rejected draft is replaced.

    .. math:: r_v = (p_v - q_v)_+ / \sum_w (p_w - q_w)_+

    Parameters
    ----------
    p, q : array_like, shape (..., V), or Law
        Target and draft laws; leading axes broadcast.

    Returns
    -------
    array, shape (..., V), or Law
        A law; p itself where p = q up to rounding (then nothing is ever rejected). A Law if both
        arguments are.

    Raises
    ------
    ValueError
        A row is not a law, or the vocabularies differ.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, algorithm 1.

    Examples
    --------
    >>> residual([0.5, 0.25, 0.25], [0.25, 0.5, 0.25]).tolist()
    [1.0, 0.0, 0.0]
    """
    p, q, union = sparse.rows(p, q)
    return sparse.law(union, arrays.residual(*check.pair(p, q)))
