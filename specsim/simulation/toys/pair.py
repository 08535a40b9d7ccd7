"""A target and a draft that read the same text: one automaton for both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.simulation.rows import entries
from specsim.simulation.toys.models import Automaton, automaton
from specsim.types import Array, Model

# Largest number of entries of the laws of a pair, contexts times tokens.
MAX_CELLS = 2**26


class Pair(NamedTuple):
    """The S contexts of target and draft together that some text leads to. Arrays are of one library.

    ``p``, ``q`` (S, V): the laws of the next token; ``step`` (S V,): the state after token y in state s, at s V + y;
    ``start``: the state of the empty text; ``states`` (S, 2): the states of target and draft.

    `specsim.simulation.pair_tables` adds ``q_sums``: cumulative rows of q; ``token_sums`` (2S, V), for rules that are
    looked up: cumulative laws of the token after the drafts, where a draft failed, then where none did; and
    ``residuals``, for rules with scales.
    """

    p: Array
    q: Array
    step: Array
    start: int
    states: Array
    q_sums: Any = None
    token_sums: Any = None
    residuals: Any = None


def paired(target: Any, draft: Any) -> Pair:
    """Return the pair of two models.

    Raises ValueError naming the argument if one is no model, or their vocabularies differ.
    """
    p, q = automaton(target, "target"), automaton(draft, "draft")
    # Their laws are checked: what is left is that they are of one kind, over one vocabulary.
    check.one_kind(p.rows, q.rows, p.rows, q.rows, ("target.rows", "draft.rows"))
    check.same_vocabulary(p.rows, q.rows, "target.rows", "draft.rows")
    # Models of one automaton are always in the same state.
    is_one_shape = p.start == q.start and p.step.shape == q.step.shape
    if is_one_shape and (p.step is q.step or (p.step == q.step).all()):
        states = np.repeat(np.arange(len(p.rows))[:, None], 2, axis=1)
        return Pair(p.rows, q.rows, p.step.ravel(), p.start, states)
    # Otherwise the contexts are pairs of states, known by their numbers: see `_reached`.
    numbers = _reached(p, q)
    states = np.stack(np.divmod(numbers, len(q.rows)), axis=-1)
    start = int(np.searchsorted(numbers, p.start * len(q.rows) + q.start))
    next_numbers = p.step[states[:, 0]] * len(q.rows) + q.step[states[:, 1]]
    step = np.searchsorted(numbers, next_numbers).ravel()
    return Pair(p.rows[states[:, 0]], q.rows[states[:, 1]], step, start, states)


def _reached(p: Automaton, q: Automaton) -> Array:
    """Return the numbers s_p S_q + s_q, sorted, of the pairs of states (s_p, s_q) that some text leads to."""
    count, vocab = len(p.rows) * len(q.rows), p.rows.shape[-1]
    if count > MAX_CELLS:
        raise ValueError(f"{len(p.rows)} states of target times {len(q.rows)} of draft are more than {MAX_CELLS}")
    # Breadth first from the start: `new` are the pairs that one more token leads to.
    is_known, size = np.zeros(count, dtype=bool), 0
    new = np.array([p.start * len(q.rows) + q.start])
    while new.size:
        is_known[new], size = True, size + len(new)
        if size * vocab > MAX_CELLS:
            raise ValueError(f"target and draft reach more than {MAX_CELLS // vocab} contexts together")
        s, t = np.divmod(new, len(q.rows))
        later = np.unique(p.step[s] * len(q.rows) + q.step[t])
        new = later[~is_known[later]]
    return np.flatnonzero(is_known)


def after(pair: Pair, state: Array, token: Array) -> Array:
    """Return the state that follows a token; -1, which is no token, counts as 0."""
    token = array_namespace(token).where(token < 0, 0, token)
    return entries(pair.step, state * pair.p.shape[-1] + token)


def draft_after(pair: Pair, state: int) -> Model:
    """Return the draft after a context, as a function of the text since then."""

    def model(text: tuple[int, ...]) -> Array:
        here = state
        for token in text:
            here = int(after(pair, np.asarray(here), np.asarray(token)))
        return pair.q[here]

    return model


def at_tokens(pair: Pair, state: Array, token: Array) -> tuple[Array, Array]:
    """Return p and q of tokens (...) after states (...)."""
    place = state * pair.p.shape[-1] + token
    return entries(pair.p.reshape(-1), place), entries(pair.q.reshape(-1), place)
