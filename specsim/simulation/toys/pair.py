"""A target and a draft that read the same text: one automaton for both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.simulation.rows import entries
from specsim.simulation.toys.models import Automaton, automaton
from specsim.types import Array, Model

MAX_CELLS = 2**26  # of the laws of both


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
    """The pair of two models; ValueError naming the argument if one is none, or their vocabularies differ."""
    p, q = automaton(target, "target"), automaton(draft, "draft")
    check.laws(p.rows, q.rows, ("target.rows", "draft.rows"))
    if p.start == q.start and p.step.shape == q.step.shape and (p.step is q.step or (p.step == q.step).all()):
        states = np.repeat(np.arange(len(p.rows))[:, None], 2, axis=1)  # they move together
        return Pair(p.rows, q.rows, p.step.ravel(), p.start, states)
    code = _reached(p, q)
    states = np.stack(np.divmod(code, len(q.rows)), axis=-1)
    start = int(np.searchsorted(code, p.start * len(q.rows) + q.start))
    step = np.searchsorted(code, p.step[states[:, 0]] * len(q.rows) + q.step[states[:, 1]]).ravel()
    return Pair(p.rows[states[:, 0]], q.rows[states[:, 1]], step, start, states)


def _reached(p: Automaton, q: Automaton) -> Array:
    """Numbers s_p S_q + s_q, sorted, of the pairs of states that some text leads to."""
    count, vocab = len(p.rows) * len(q.rows), p.rows.shape[-1]
    if count > MAX_CELLS:
        raise ValueError(f"{len(p.rows)} states of target times {len(q.rows)} of draft are more than {MAX_CELLS}")
    known, size = np.zeros(count, dtype=bool), 0
    new = np.array([p.start * len(q.rows) + q.start])
    while new.size:
        known[new], size = True, size + len(new)
        if size * vocab > MAX_CELLS:
            raise ValueError(f"target and draft reach more than {MAX_CELLS // vocab} contexts together")
        s, t = np.divmod(new, len(q.rows))
        later = np.unique(p.step[s] * len(q.rows) + q.step[t])
        new = later[~known[later]]
    return np.flatnonzero(known)


def after(pair: Pair, state: Array, token: Array) -> Array:
    """The state that follows a token; -1, which is no token, counts as 0."""
    return entries(pair.step, state * pair.p.shape[-1] + array_namespace(token).where(token < 0, 0, token))


def draft_after(pair: Pair, state: int) -> Model:
    """The draft after a context, as a function of the text since then."""

    def model(text: tuple[int, ...]) -> Array:
        here = state
        for token in text:
            here = int(after(pair, np.asarray(here), np.asarray(token)))
        return pair.q[here]

    return model


def at_tokens(pair: Pair, state: Array, token: Array) -> tuple[Array, Array]:
    """p and q of tokens (...) after states (...)."""
    place = state * pair.p.shape[-1] + token
    return entries(pair.p.reshape(-1), place), entries(pair.q.reshape(-1), place)
