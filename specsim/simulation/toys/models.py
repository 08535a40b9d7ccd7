"""Toy language models of finitely many contexts, whose next-token laws are known exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.types import Array


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
        """Return the law of the token after a text; ValueError for what is no token."""
        state, vocab = self.start, self.rows.shape[-1]
        for place, token in enumerate(text):
            # A negative index would silently count from the end.
            if not 0 <= token < vocab:
                raise ValueError(f"text[{place}] is {token}; the tokens of this model are 0..{vocab - 1}")
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
    row = check.law(law, "law")
    if row.ndim != 1:
        raise ValueError(f"law must be one row of shape (V,), got {tuple(row.shape)}")
    return _of_last_tokens(row, 0)


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
    laws = check.law(table, "table")
    vocab, order = laws.shape[-1], laws.ndim - 1
    if laws.shape != (vocab,) * (order + 1):
        raise ValueError(f"table has shape {tuple(laws.shape)}; every axis must have V={vocab} entries, one a token")
    return _of_last_tokens(laws, _checked_start(start, vocab**order, "table"))


def _of_last_tokens(laws: Array, start: int) -> Automaton:
    """Return the Automaton of checked laws (V,) * k + (V,), whose states are the last k tokens."""
    vocab, order = laws.shape[-1], laws.ndim - 1
    # The state is the number of the last k tokens: a new one comes in, and the first goes out.
    states = np.arange(vocab**order)[:, None]
    step = (states * vocab + np.arange(vocab)) % vocab**order
    return Automaton(np.asarray(laws).reshape(-1, vocab), step, start)


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
    """Return the chain of kinds (C, C) and the laws of symbols (C, V), checked: see `mixture`."""
    chain, laws = check.law(weights, "weights"), check.law(components, "components")
    # Both Fractions, or both floats of one library.
    chain, laws = check.one_kind(chain, laws, weights, components, ("weights", "components"))
    if laws.ndim != 2:
        raise ValueError(f"components must have shape (C, V), got {tuple(laws.shape)}")
    if chain.shape not in ((len(laws),), (len(laws), len(laws))):
        raise ValueError(f"weights has shape {tuple(chain.shape)}, but components has {len(laws)} kinds")
    # One row of weights is that of every kind.
    return np.broadcast_to(chain, (len(laws), len(laws))), laws


def automaton(model: Any, name: str) -> Automaton:
    """Return a model as a checked Automaton; one law stands for the same law in every context."""
    if isinstance(model, Automaton):
        return _checked(model, name)
    if callable(model):
        raise TypeError(f"{name} is a function; simulation needs an Automaton (specsim.markov and others make one)")
    law = check.law(model, name)
    if law.ndim != 1:
        raise ValueError(f"{name} must be one law of shape (V,), or an Automaton, got shape {tuple(law.shape)}")
    return _of_last_tokens(law, 0)


def _checked(model: Automaton, name: str) -> Automaton:
    """Return an Automaton of NumPy arrays; ValueError, which names the part, if it is none."""
    rows = np.asarray(check.law(model.rows, f"{name}.rows"))
    if rows.ndim != 2:
        raise ValueError(f"{name}.rows must have shape (S, V), got {rows.shape}")
    step = np.asarray(model.step)
    if step.shape != rows.shape or step.dtype.kind not in "iu":
        raise ValueError(f"{name}.step must be integers of shape {rows.shape}, got {step.dtype} of shape {step.shape}")
    bad = np.argwhere((step < 0) | (step >= len(rows)))
    if bad.size:
        s, y = bad[0]
        raise ValueError(f"{name}.step[{s}][{y}] is {step[s, y]}; states are 0..{len(rows) - 1}")
    return Automaton(rows, step, _checked_start(model.start, len(rows), name))


def _checked_start(start: Any, states: int, name: str) -> int:
    """Return the state before the first token; ValueError if there is no such state."""
    state = check.integer(start, f"{name}.start", 0)
    if state >= states:
        raise ValueError(f"{name}.start is {state}; states are 0..{states - 1}")
    return state
