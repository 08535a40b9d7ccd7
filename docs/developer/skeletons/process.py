"""Own: the last token is guessed to be repeated, and one pass verifies the guesses.

Law.         Behind the filled part stand up to `slots` copies of its last token (of token 0 at the start), each with a
             point mass as the law that it was drawn from. One pass gives the target's laws along them and behind them;
             a chain rule verifies; what it refuses, and all behind that, is forgotten.
Theorem.     T28, part 1: the slots are independent draws from laws that are functions of the filled part.
Randomness.  The rule's.
Cost.        One pass over slots + 1 places for kept + 1 tokens; no draft model.
Paper.       None: a skeleton. It is `jacobi` with first="left" that carries nothing over.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.arrays import one_hot
from specsim.base.texts import Asked, alike, before, copied, empty_text, tokens_like, verified
from specsim.types import Array

EXACT = True  # only + - * / and comparisons: the checks run it on Fractions
THEOREM = "open"  # or the note in proofs/, as "T28"
PAPER = ""
CASES = ({"slots": 1}, {"slots": 2})  # parameters with which checks and `guarantee` run it


class State(NamedTuple):
    """All that the process remembers between two passes: texts (b, N), and for each what is filled, and passes."""

    text: Array
    filled: Array  # (b,) integers of NumPy: they say what runs next
    passes: Array  # (b,)
    slots: int


def start(length: int, batch: int = 1, *, slots: int = 2) -> State:
    """Texts with nothing filled. Parameters are checked here, before any pass."""
    none = np.zeros(batch, dtype=np.int64)
    return State(empty_text(batch, length), none, none, check.integer(slots, "slots", 1))


def ask(state: State) -> Asked:
    """The rows of every slot, and of the place behind them, each given what is left of it."""
    length = state.text.shape[-1]
    reach = int(_sizes(state).max(initial=0)) + 1
    places = np.minimum(state.filled[:, None] + np.arange(reach), length - 1)
    return Asked(_guessed(state), places, before(places, length))


def uniforms(state: State, rule: ModuleType) -> int:
    """How many numbers for each text `advance` reads next."""
    return int(rule.uniforms(state.slots))


def advance(state: State, rows: Array, rule: ModuleType, u: Array) -> State:
    """Rows (b, n, V) of what was asked -> tokens: texts with as many slots are handed to the rule together."""
    text, filled = copied(tokens_like(_guessed(state), rows)), state.filled.copy()
    live = filled < text.shape[-1]
    for size, texts in alike(_sizes(state), live):
        x = text[texts[:, None], state.filled[texts, None] + np.arange(size)]
        q = one_hot(x, rows[texts, :size])
        num_accepted, token = verified(rule, rows[texts, : size + 1], q, x, u[texts])
        filled[texts] = state.filled[texts] + num_accepted + 1
        text[texts, filled[texts] - 1] = token
    return state._replace(text=text, filled=filled, passes=state.passes + live)


def _sizes(state: State) -> Array:
    """Slots (b,) of this pass: a place is left for the token behind them."""
    return np.clip(state.text.shape[-1] - state.filled - 1, 0, state.slots)


def _guessed(state: State) -> Array:
    """The texts (b, N), what is not filled taken to repeat the token before it."""
    text = copied(state.text)
    for i, n in enumerate(state.filled):
        text[i, n:] = text[i, n - 1] if n else 0
    return text
