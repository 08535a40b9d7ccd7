"""Toy models taken from texts: n-grams counted in one, rows of a real pair recorded along one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specsim.base import check, limits
from specsim.simulation.toys.models import Automaton, markov
from specsim.types import Array

MAX_CELLS = 2**26  # of a table of laws: half a GiB of float64


@np.errstate(under="ignore")
def ngram(
    text: str | Sequence[int], *, order: int = 2, vocab: str | int | None = None, smoothing: float = 1
) -> Automaton:
    r"""Markov model estimated from a text, with additive smoothing; order 2 is the trigram model.

    .. math:: p(y \mid c) = \frac{N(c, y) + \lambda}{N(c) + \lambda V}

    Parameters
    ----------
    text : str or sequence of int
        Characters, or token ids.
    order : int
        Tokens of context k, at least 0. A draft is the model of a smaller order, or of less text.
    vocab : str or int, optional
        The characters, in the order of their ids, or the number of ids; by default those of the text. Target and draft
        need the same.
    smoothing : float
        lambda, positive: contexts never seen are uniform.

    Returns
    -------
    Automaton
        Of V^k states; starts where the text ends.

    Raises
    ------
    ValueError
        The text is no longer than the context, holds a token outside the vocabulary, or the table would be too large.

    References
    ----------
    Additive (Laplace) smoothing of n-gram counts.

    Examples
    --------
    >>> ngram("abracadabra", order=1)(()).round(2).tolist()  # after the final a, of a, b, c, d, r
    [0.11, 0.33, 0.22, 0.22, 0.11]
    """
    ids, size = _encoded(text, vocab)
    order, weight = check.integer(order, "order", 0), float(check.scalar(smoothing, "smoothing", "(0, inf)"))
    if len(ids) <= order:
        raise ValueError(f"text has {len(ids)} tokens; contexts of order={order} need more")
    if size ** (order + 1) > MAX_CELLS:
        raise ValueError(f"{size}^{order + 1} entries of order={order} are more than {MAX_CELLS}; use a smaller order")
    places = size ** np.arange(order, -1, -1)
    grams = np.lib.stride_tricks.sliding_window_view(ids, order + 1) @ places
    counts = np.bincount(grams, minlength=size ** (order + 1)).reshape(-1, size) + weight
    table = counts / counts.sum(axis=-1, keepdims=True)
    return markov(table.reshape((size,) * (order + 1)), start=int(ids[len(ids) - order :] @ places[1:]))


def _encoded(text: str | Sequence[int], vocab: str | int | None) -> tuple[Array, int]:
    """Token ids, and the size of the vocabulary."""
    if isinstance(text, str) != isinstance(vocab, str) and vocab is not None:
        raise TypeError("vocab must be the characters of a str text, or the number of token ids")
    if not isinstance(text, str):
        ids = np.asarray(check.tokens(text, "text", limits.MAX_INTEGER))
        size = int(ids.max(initial=0)) + 1 if vocab is None else check.integer(vocab, "vocab", 1)
        return np.asarray(check.tokens(np.asarray(text), "text", size)), size
    known = {c: i for i, c in enumerate(sorted(set(text)) if vocab is None else str(vocab))}
    for i, c in enumerate(text):
        if c not in known:
            raise ValueError(f"text[{i}] is {c!r}, which vocab lacks")
    return np.array([known[c] for c in text], dtype=np.int64), len(known)


def recorded(p_rows: Array, q_rows: Array) -> tuple[Automaton, Automaton]:
    """Target and draft that recite recorded laws: rows of a real pair along one text, position by position.

    An approximation: whatever token is emitted, the next position's rows are those that followed the recorded text, so
    a rejection does not change what comes after it, as it would in the real pair. After the last row the first follows.

    Parameters
    ----------
    p_rows, q_rows : array_like, shape (T, V)
        Laws of target and draft at every position.

    Returns
    -------
    tuple of Automaton
        Target and draft, of T states.

    Raises
    ------
    ValueError
        A row is not a law, or the shapes differ.

    References
    ----------
    See `renewal` for what a recorded text says exactly.

    Examples
    --------
    >>> target, draft = recorded([[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]])
    >>> target((1,)).tolist(), target((1, 0)).tolist()
    ([0.5, 0.5], [1.0, 0.0])
    """
    p, q = check.laws(p_rows, q_rows, ("p_rows", "q_rows"))
    if p.ndim != 2 or p.shape != q.shape:
        raise ValueError(f"p_rows and q_rows must both be (T, V), got {tuple(p.shape)} and {tuple(q.shape)}")
    after = np.broadcast_to((np.arange(len(p))[:, None] + 1) % len(p), p.shape)
    return Automaton(np.asarray(p), after, 0), Automaton(np.asarray(q), after, 0)
