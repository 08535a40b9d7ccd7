"""Speculative Jacobi decoding: one pass verifies a window of guesses and draws failed ones anew.

Law.         Slot j holds a token with the law it was drawn from, q_j. One pass gives p_1..p_{w+1}
             at the text and its slots; a chain rule verifies the slots as a block. What lies behind
             the token that it emits is drawn anew, x_j ~ p_j, and p_j becomes its q_j. New slots
             come from an initialiser, whose law is known, too.
Theorem.     T28: given all that was done, the slots are independent draws from the laws kept with
             them, so that any lossless chain rule keeps the target's law. With `carry="old"` only
             `tokenwise` does: other rules look at slots behind the one that fails, whose tokens
             then are no longer draws from their laws.
Randomness.  u[:rule.uniforms(w)] for the rule, then one for each slot that is drawn.
Cost.        One pass over w + 1 positions for accepted + 1 tokens; no draft model.
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
    """Texts with tentative tokens in their windows.

    `text` (b, N) holds tokens, tentative ones included; `filled` (b,) and `passes` (b,) count
    verified tokens and passes; `laws` (b, W, V) are the laws that the slots were drawn from, None
    before the first slots.
    """

    text: Array
    filled: Array
    passes: Array
    laws: Array | None
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
    """The state before the first pass: nothing is filled.

    Parameters
    ----------
    length, batch : int
        Tokens of each text, and texts.
    window : int
        The most slots that one pass verifies, at least 1.
    first : str
        The token of a new slot. "uniform": drawn evenly; "left" and "up": the token one, or
        `width`, places before (0 at the edge).
    width : int
        Tokens of a row, for "up".
    carry : str
        "pass": slots behind the block are drawn from this pass's rows; "old": they keep token and
        law ("tokenwise").
    """
    # Check the options, and start with empty texts.
    window = check.integer(window, "window", 1, limits.MAX_SUMMED)
    width = check.integer(width, "width", 1)
    choices = (("first", first, ("uniform", "left", "up")), ("carry", carry, ("pass", "old")))
    for name, value, words in choices:
        if value not in words:
            raise ValueError(f"{name} {value!r} is unknown; known: {', '.join(words)}")
    zeros = np.zeros(batch, dtype=np.int64)
    return State(empty_text(batch, length), zeros, zeros, None, window, first, width, carry)


def ask(state: State) -> Asked:
    """The rows that the next pass must give: of the window and of the place after it.

    Before the first slots are drawn there are none.
    """
    length = state.text.shape[-1]
    num_rows = int(_windows(state).max(initial=0)) + 1 if state.laws is not None else 0
    places = np.minimum(state.filled[:, None] + np.arange(num_rows), length - 1)
    return Asked(state.text, places, before(places, length))


def uniforms(state: State, rule: ModuleType) -> int:
    """The number of uniforms of a pass: those of the rule, and one for each slot.

    Raises ValueError if `carry` is "old" and the rule looks at slots behind the one that fails:
    these are no longer draws from their laws.
    """
    if state.carry == "old" and discover.name_of(rule) != "tokenwise":
        raise ValueError(
            f"carry 'old' keeps tokens that rule {discover.name_of(rule)!r} has looked at, which is not lossless; "
            "rules that stop before them: tokenwise"
        )
    return int(rule.uniforms(state.window)) + state.window


def advance(state: State, rows: Array, rule: ModuleType, u: Array) -> State:
    """The state after a pass that gave laws (b, w+1, V): verified tokens, and slots drawn anew.

    The first call draws the first slots.
    """
    # The uniforms behind the rule's draw the slots.
    u_slots = u[:, int(rule.uniforms(state.window)) :]
    if state.laws is None:
        shape = (rows.shape[0], state.window, rows.shape[-1])
        laws = array_namespace(rows).zeros(shape, dtype=rows.dtype)
        blank = state._replace(text=tokens_like(state.text, rows), laws=laws)
        return _with_next_slots(blank, rows, 0 * state.filled, 0 * state.filled, u_slots)

    # Verify the slots, and write the token behind those accepted.
    live, windows = state.filled < state.text.shape[-1], _windows(state)
    text, accepted = copied(state.text), np.zeros_like(state.filled)
    for size, texts in alike(windows, live):
        drafts = state.text[texts[:, None], state.filled[texts, None] + np.arange(size)]
        p, q = rows[texts, : size + 1], state.laws[texts, :size]
        accepted[texts], token = verified(rule, p, q, drafts, u[texts])
        text[texts, state.filled[texts] + accepted[texts]] = token
    filled = state.filled + live * (accepted + 1)
    after = state._replace(text=text, filled=filled, passes=state.passes + live)
    return _with_next_slots(after, rows, accepted, windows - accepted, u_slots)


def _windows(state: State) -> Array:
    """Number (b,) of slots that a pass verifies; the place behind them is filled from its own row."""
    return np.clip(state.text.shape[-1] - state.filled - 1, 0, state.window)


def _with_next_slots(state: State, rows: Array, accepted: Array, behind: Array, u: Array) -> State:
    """The state with tokens and laws of the slots that the next pass verifies.

    The last pass accepted (b,) drafts; `behind` (b,) of its rows lie behind the token that it
    emitted. Slot j of the next pass stands where slot `accepted + 1 + j` of the last one stood: if
    slots 0 and 1 were accepted, the token replaced slot 2, and slot 3 becomes slot 0.
    """
    old_laws: Array = state.laws
    sizes, text, laws = _windows(state), copied(state.text), copied(old_laws)

    # Slots that come from the last pass. Its last row is that of a place that had no slot: a slot
    # can be drawn from it, but there is no old token to keep.
    keeps_old = state.carry == "old"
    num_carried = behind - 1 if keeps_old else behind
    for j in range(int(sizes.max(initial=0))):
        is_slot, is_carried = j < sizes, j < num_carried
        carried, new = np.flatnonzero(is_slot & is_carried), np.flatnonzero(is_slot & ~is_carried)

        # These keep their law, and the token that stands there, or are drawn anew from their row.
        if carried.size and keeps_old:
            laws[carried, j] = old_laws[carried, accepted[carried] + 1 + j]
        elif carried.size:
            laws[carried, j] = rows[carried, accepted[carried] + 1 + j]
            text[carried, state.filled[carried] + j] = pick(laws[carried, j], u[carried, j])

        # The others come from the initialiser.
        if new.size:
            place = state.filled[new] + j
            laws[new, j], text[new, place] = _initial_slots(state, text[new], place, laws[new, j], u[new, j])
    return state._replace(text=text, laws=laws)


def _initial_slots(state: State, text: Array, place: Array, like: Array, u: Array) -> tuple[Array, Array]:
    """The laws (n, V) and the tokens (n,) that the initialiser gives to places (n,) of texts (n, N).

    `like` (n, V) has the type of the laws.
    """
    if state.first == "uniform":
        probability = Fraction(1, like.shape[-1]) if is_exact(like) else 1 / like.shape[-1]
        even = 0 * like + probability
        return even, pick(even, u)

    # A copy of the token to the left or above, 0 beyond the edge, has a point mass as its law.
    source = place - (state.width if state.first == "up" else 1)
    token = text[np.arange(len(place)), np.maximum(source, 0)]
    token = array_namespace(token).where(tokens_like(source >= 0, token), token, 0)
    return one_hot(token, like), token
