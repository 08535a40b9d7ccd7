"""Toy language models of finitely many contexts, whose next-token laws are known exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim import _check
from specsim.types import Array

MAX_CELLS = 2**26  # of a table of laws: half a GiB of float64


class Automaton(NamedTuple):
    """A language model as a finite automaton; called with a text (a tuple of token ids), it is a `Model`.

    ``rows`` (S, V) are the laws of the next token in each state, ``step`` (S, V) the state after each token, ``start``
    the state of the empty text. Rows of Fractions keep exact results exact.

    >>> coin = Automaton(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0, 1], [0, 1]]), 0)  # never two heads
    >>> coin((0, 1)).tolist()
    [1.0, 0.0]
    """

    rows: Array
    step: Array
    start: int

    def __call__(self, text: Sequence[int]) -> Array:
        """The law of the token after a text."""
        state = self.start
        for token in text:
            state = self.step[state, token]
        return self.rows[state]


def context_free(law: Array) -> Automaton:
    """One law, the same after every text.

    Parameters
    ----------
    law : array_like, shape (V,)
        The law.

    Returns
    -------
    Automaton
        Of one state.

    Raises
    ------
    ValueError
        Not a law, or not one row.

    References
    ----------
    The i.i.d. model of Leviathan et al. 2023, arXiv:2211.17192, section 3.

    Examples
    --------
    >>> context_free([0.25, 0.75])((0, 1, 1)).tolist()
    [0.25, 0.75]
    """
    row = _check.law(law, "law")
    if row.ndim != 1:
        raise ValueError(f"law must be one row of shape (V,), got {tuple(row.shape)}")
    return markov(row)


def markov(table: Array, *, start: int = 0) -> Automaton:
    r"""The law of the next token depends on the last tokens, as many as `table` has axes before its last.

    .. math:: p(y_t \mid y_{<t}) = \text{table}[y_{t-k}, \dots, y_{t-1}, y_t]

    Parameters
    ----------
    table : array_like, shape (V,) * k + (V,)
        Laws on the last axis.
    start : int
        The context before the first token, as a state: y_{-k} V^{k-1} + ... + y_{-1}.

    Returns
    -------
    Automaton
        Of V^k states.

    Raises
    ------
    ValueError
        A row is not a law, the axes differ, or start is no state.

    References
    ----------
    Markov chains of order k.

    Examples
    --------
    >>> markov([[0.5, 0.5], [1.0, 0.0]])((1,)).tolist()
    [1.0, 0.0]
    """
    laws = _check.law(table, "table")
    vocab, order = laws.shape[-1], laws.ndim - 1
    if laws.shape != (vocab,) * (order + 1):
        raise ValueError(f"table has shape {tuple(laws.shape)}; every axis must have V={vocab} entries, one a token")
    state = np.arange(vocab**order)[:, None]
    return _checked(
        Automaton(laws.reshape(-1, vocab), (state * vocab + np.arange(vocab)) % vocab**order, start), "table"
    )


def mixture(weights: Array, components: Array, *, start: int = 0) -> Automaton:
    r"""Kinds of context that come and go, each with a law of its own; the kind is visible in the token.

    .. math:: p((c', v) \mid \text{kind } c) = \text{weights}[c, c'] \, \text{components}[c', v]

    Token c' V + v says symbol v and that the next context is of kind c': the state is the kind of the last token. A
    target and a draft of the same weights differ in their components alone. With kinds that last, blocks start more
    often where drafts are poor, and averages over positions mislead.

    Parameters
    ----------
    weights : array_like, shape (C, C) or (C,)
        The chain of kinds; one law for kinds that are independent. A cyclic permutation is a clock.
    components : array_like, shape (C, V)
        The law of the symbol in each kind.
    start : int
        The kind of the first context.

    Returns
    -------
    Automaton
        Of C states and C V tokens.

    Raises
    ------
    ValueError
        A row is not a law, the kinds of weights and components differ in number, or start is none.

    References
    ----------
    Derived for this project: a hidden Markov chain with its state told.

    Examples
    --------
    >>> mixture([[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.5], [1.0, 0.0]])(()).tolist()
    [0.25, 0.25, 0.5, 0.0]
    """
    chain, laws = _kinds(weights, components)
    kinds, vocab = laws.shape
    rows = (chain[:, :, None] * laws).reshape(kinds, kinds * vocab)
    after = np.broadcast_to(np.repeat(np.arange(kinds), vocab), rows.shape)
    return _checked(Automaton(rows, after, start), "mixture")


def _kinds(weights: Any, components: Any) -> tuple[Array, Array]:
    chain, laws = _check.law(weights, "weights"), _check.law(components, "components")
    chain, laws = _check.one_kind(chain, laws, weights, components, ("weights", "components"))
    if laws.ndim != 2:
        raise ValueError(f"components must have shape (C, V), got {tuple(laws.shape)}")
    if chain.shape not in ((len(laws),), (len(laws), len(laws))):
        raise ValueError(f"weights has shape {tuple(chain.shape)}, but components has {len(laws)} kinds")
    return np.broadcast_to(chain, (len(laws), len(laws))), laws


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
    order, weight = _check.integer(order, "order", 0), float(_check.scalar(smoothing, "smoothing", "(0, inf)"))
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
        size = int(max(text, default=0)) + 1 if vocab is None else _check.integer(vocab, "vocab", 1)
        return np.asarray(_check.tokens(np.asarray(text), "text", size)), size
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
    p, q = _check.laws(p_rows, q_rows, ("p_rows", "q_rows"))
    if p.ndim != 2 or p.shape != q.shape:
        raise ValueError(f"p_rows and q_rows must both be (T, V), got {tuple(p.shape)} and {tuple(q.shape)}")
    after = np.broadcast_to((np.arange(len(p))[:, None] + 1) % len(p), p.shape)
    return _checked(Automaton(np.asarray(p), after, 0), "p_rows"), _checked(
        Automaton(np.asarray(q), after, 0), "q_rows"
    )


def automaton(model: Any, name: str) -> Automaton:
    """A checked Automaton; one law stands for the same law in every context."""
    if isinstance(model, Automaton):
        return _checked(model, name)
    if callable(model):
        raise TypeError(f"{name} is a function; simulation needs an Automaton (specsim.markov and others make one)")
    return context_free(_check.law(model, name))


def _checked(model: Automaton, name: str) -> Automaton:
    rows = np.asarray(_check.law(model.rows, f"{name}.rows"))
    if rows.ndim != 2:
        raise ValueError(f"{name}.rows must have shape (S, V), got {rows.shape}")
    step = np.asarray(model.step)
    if step.shape != rows.shape or step.dtype.kind not in "iu":
        raise ValueError(f"{name}.step must be integers of shape {rows.shape}, got {step.dtype} of shape {step.shape}")
    bad = np.argwhere((step < 0) | (step >= len(rows)))
    if bad.size:
        s, y = bad[0]
        raise ValueError(f"{name}.step[{s}][{y}] is {step[s, y]}; states are 0..{len(rows) - 1}")
    start = _check.integer(model.start, f"{name}.start", 0)
    if start >= len(rows):
        raise ValueError(f"{name}.start is {start}; states are 0..{len(rows) - 1}")
    return Automaton(rows, step, start)
