"""Speculative Jacobi decoding: a window of guesses is verified in one pass, and those that fail are drawn anew from it.

Law.         Slot j holds a token with the law it was drawn from, q_j. One pass gives p_1..p_{w+1} at the text and its
             slots; a chain rule verifies the slots as a block. What lies behind the token that it emits is drawn anew,
             x_j ~ p_j, and p_j becomes its q_j. New slots come from an initialiser, whose law is known, too.
Theorem.     T28: given all that was done, the slots are independent draws from the laws kept with them, so that any
             lossless chain rule keeps the target's law. With `carry="old"` only `tokenwise` does: other rules look at
             slots behind the one that fails, whose tokens then are no longer draws from their laws.
Randomness.  u[:rule.uniforms(w)] for the rule, then one for each slot that is drawn.
Cost.        One pass over w + 1 positions for kept + 1 tokens; no draft model.
Paper.       Teng et al., arXiv:2410.01699: `tokenwise`, `carry="pass"`.
"""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType
from typing import Literal, NamedTuple

import numpy as np

from specsim import discover
from specsim.base import check, limits
from specsim.base.arrays import array_namespace, is_exact, one_hot, pick
from specsim.base.texts import Asked, alike, before, copied, empty_text, tokens_like, verified
from specsim.types import Array

EXACT = True
THEOREM = "T28"
PAPER = "arXiv:2410.01699"
CASES = (
    {"window": 1, "first": "uniform"},
    {"window": 2, "first": "left"},
    {"window": 2, "first": "uniform"},
    {"window": 3, "first": "up", "width": 2},
)


class State(NamedTuple):
    """Texts (b, N) with tentative tokens in their windows, and the laws (b, W, V) that these were drawn from."""

    text: Array
    filled: Array  # (b,)
    passes: Array  # (b,)
    laws: Array | None  # None: no slot is drawn yet
    window: int
    first: str
    width: int
    carry: str


def start(
    length: int,
    batch: int = 1,
    *,
    window: int = 16,
    first: Literal["uniform", "left", "up"] = "left",
    width: int = 1,
    carry: Literal["pass", "old"] = "pass",
) -> State:
    """Texts with nothing filled. `first` says what a new slot holds: any token, its left neighbour's, or that above.

    Parameters
    ----------
    length, batch : int
        Tokens of each text, and texts.
    window : int
        The most slots that one pass verifies, at least 1.
    first : str
        "uniform": a token drawn evenly; "left" and "up": the token one, or `width`, places before (0 at the edge).
    width : int
        Tokens of a row, for "up".
    carry : str
        "pass": slots behind the block are drawn from this pass's rows; "old": they keep token and law ("tokenwise").
    """
    window = check.integer(window, "window", 1, limits.MAX_SUMMED)
    width = check.integer(width, "width", 1)
    for name, value, known in (("first", first, ("uniform", "left", "up")), ("carry", carry, ("pass", "old"))):
        if value not in known:
            raise ValueError(f"{name} {value!r} is unknown; known: {', '.join(known)}")
    none = np.zeros(batch, dtype=np.int64)
    return State(empty_text(batch, length), none, none, None, window, first, width, carry)


def ask(state: State) -> Asked:
    """The rows of the window and of the place after it; none before the first slots are drawn."""
    length = state.text.shape[-1]
    reach = int(_windows(state).max(initial=0)) + 1 if state.laws is not None else 0
    places = np.minimum(state.filled[:, None] + np.arange(reach), length - 1)
    return Asked(state.text, places, before(places, length))


def uniforms(state: State, rule: ModuleType) -> int:
    """Those of the rule, and one for each slot; ValueError for a rule under which old tokens are no draws any more."""
    if state.carry == "old" and discover.name_of(rule) != "tokenwise":
        raise ValueError(
            f"carry 'old' keeps tokens that rule {discover.name_of(rule)!r} has looked at, which is not lossless; "
            "rules that stop before them: tokenwise"
        )
    return int(rule.uniforms(state.window)) + state.window


def advance(state: State, rows: Array, rule: ModuleType, u: Array) -> State:
    """One pass's laws (b, w+1, V) -> tokens committed, slots drawn anew. The first call draws the first slots."""
    own = int(rule.uniforms(state.window))
    if state.laws is None:
        laws = array_namespace(rows).zeros((rows.shape[0], state.window, rows.shape[-1]), dtype=rows.dtype)
        blank = state._replace(text=tokens_like(state.text, rows), laws=laws)
        return _drawn(blank, rows, 0 * state.filled, 0 * state.filled, u[:, own:])
    text, live, windows = copied(state.text), state.filled < state.text.shape[-1], _windows(state)
    kept = np.zeros_like(state.filled)
    for size, texts in alike(windows, live):
        x = state.text[texts[:, None], state.filled[texts, None] + np.arange(size)]
        kept[texts], token = verified(rule, rows[texts, : size + 1], state.laws[texts, :size], x, u[texts])
        text[texts, state.filled[texts] + kept[texts]] = token
    after = state._replace(text=text, filled=state.filled + live * (kept + 1), passes=state.passes + live)
    return _drawn(after, rows, kept, windows - kept, u[:, own:])


def _windows(state: State) -> Array:
    """Slots (b,) that a pass verifies: the place behind the last of them is filled from its own row."""
    return np.clip(state.text.shape[-1] - state.filled - 1, 0, state.window)


def _drawn(state: State, rows: Array, kept: Array, behind: Array, u: Array) -> State:
    """The slots of the next pass. Of the last one's rows, `behind` (b,) lie behind the token that it emitted."""
    held: Array = state.laws
    sizes, text, laws = _windows(state), copied(state.text), copied(held)
    old = state.carry == "old"
    for j in range(int(sizes.max(initial=0))):
        had = j < behind - old  # the last row is one of a place that had no slot
        again, new = np.flatnonzero((j < sizes) & had), np.flatnonzero((j < sizes) & ~had)
        if again.size and old:
            laws[again, j] = held[again, kept[again] + 1 + j]
        elif again.size:
            laws[again, j] = rows[again, kept[again] + 1 + j]
            text[again, state.filled[again] + j] = pick(laws[again, j], u[again, j])
        if new.size:
            place = state.filled[new] + j
            laws[new, j], text[new, place] = _first(state, text[new], place, laws[new, j], u[new, j])
    return state._replace(text=text, laws=laws)


def _first(state: State, text: Array, place: Array, like: Array, u: Array) -> tuple[Array, Array]:
    """The law and the token of a new slot."""
    if state.first == "uniform":
        even = Fraction(1, like.shape[-1]) if is_exact(like) else 1 / like.shape[-1]
        return 0 * like + even, pick(0 * like + even, u)
    source = place - (state.width if state.first == "up" else 1)
    token = text[np.arange(len(place)), np.maximum(source, 0)]
    token = array_namespace(token).where(tokens_like(source >= 0, token), token, 0)
    return one_hot(token, like), token
