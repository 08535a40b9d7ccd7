"""From left to right: draft a block, verify it in one pass, drop what is behind it; the others are compared with it.

Law.         gamma drafts in a row, each from the draft model's row after those before it; the target's rows for all of
             them in one pass; a chain rule verifies. gamma = 0 is plain decoding.
Theorem.     T02: with a lossless chain rule the text has the target's law.
Randomness.  One for each draft; the rule's in the target's pass.
Cost.        gamma passes of the draft and one of the target for kept + 1 tokens. `passes` counts the target's.
Paper.       Leviathan et al., arXiv:2211.17192.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.arrays import array_namespace, pick
from specsim.base.texts import Asked, alike, before, copied, empty_text, tokens_like, verified
from specsim.types import Array

EXACT = True
THEOREM = "T02"
PAPER = "arXiv:2211.17192"
CASES = ({"gamma": 0}, {"gamma": 1}, {"gamma": 2})


class State(NamedTuple):
    """Texts (b, N), and the laws of the drafts so far, a list of (b, V)."""

    text: Array
    filled: Array  # (b,)
    passes: Array  # (b,): of the target
    gamma: int
    laws: tuple[Array, ...]


def start(length: int, batch: int = 1, *, gamma: int = 4) -> State:
    """Texts with nothing filled; blocks have gamma drafts, fewer where fewer tokens are left."""
    none = np.zeros(batch, dtype=np.int64)
    return State(empty_text(batch, length), none, none, check.integer(gamma, "gamma", 0, limits.MAX_SUMMED), ())


def ask(state: State) -> Asked:
    """The draft's row of the next slot, or, when all are drafted, the target's of all and of the place behind."""
    length, drafted = state.text.shape[-1], len(state.laws)
    if drafted < int(_drafts(state).max(initial=0)):
        places = np.minimum(state.filled[:, None] + drafted, length - 1)
        return Asked(state.text, places, before(places, length), "draft")
    places = np.minimum(state.filled[:, None] + np.arange(drafted + 1), length - 1)
    return Asked(state.text, places, before(places, length))


def uniforms(state: State, rule: ModuleType) -> int:
    """One for a draft, or those of the rule."""
    return 1 if len(state.laws) < int(_drafts(state).max(initial=0)) else int(rule.uniforms(state.gamma))


def advance(state: State, rows: Array, rule: ModuleType, u: Array) -> State:
    """Draw one draft more, or verify the block."""
    sizes, drafted, text = _drafts(state), len(state.laws), copied(tokens_like(state.text, rows))
    if drafted < int(sizes.max(initial=0)):
        texts = np.flatnonzero(drafted < sizes)
        text[texts, state.filled[texts] + drafted] = pick(rows[texts, 0], u[texts, 0])
        return state._replace(text=text, laws=(*state.laws, rows[:, 0]))
    live, filled = state.filled < text.shape[-1], state.filled.copy()
    for size, texts in alike(sizes, live):
        x = state.text[texts[:, None], state.filled[texts, None] + np.arange(size)]
        p = rows[texts, : size + 1]
        q = array_namespace(p).stack([law[texts] for law in state.laws[:size]], axis=1) if size else p[:, :0]
        kept, token = verified(rule, p, q, x, u[texts])
        at = state.filled[texts] + kept
        text[texts, at] = token
        filled[texts] = at + 1
    return state._replace(text=text, filled=filled, passes=state.passes + live, laws=())


def _drafts(state: State) -> Array:
    """Drafts (b,) of a block: a place is left for the token behind them."""
    return np.clip(state.text.shape[-1] - state.filled - 1, 0, state.gamma)
