"""Speculative Jacobi decoding: one pass verifies a window of guesses and draws failed ones anew.

Law.         Slot j holds a token x_j and the law that it was drawn from, q_j. One pass gives the
             laws p_1..p_{w+1} of the w slots and of the place behind them; a chain rule verifies
             the slots as a block and emits one token. Slots behind that token are drawn anew,
             x_j ~ p_j, and p_j becomes q_j. New slots come from an initialiser, whose law is known,
             too.
Theorem.     T28: given all passes before, the slots are independent draws from their laws q_j, so
             that any lossless chain rule keeps the target's law. With `carry="old"` only
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
    """Texts with tokens that are not yet verified in their windows.

    `text` (b, N) holds tokens, those of slots included; `filled` (b,) counts verified tokens and
    `passes` (b,) passes; `laws` (b, W, V) are the laws that the slots were drawn from, None before
    the first slots. The rest are the options of `start`.
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
    """Return the state before the first pass: nothing is filled.

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
    """Return the rows that the next pass must give: for the slots and for the place behind them.

    Before the first slots are drawn, none.
    """
    length = state.text.shape[-1]
    num_rows = int(_windows(state).max(initial=0)) + 1 if state.laws is not None else 0
    places = np.minimum(state.filled[:, None] + np.arange(num_rows), length - 1)
    return Asked(state.text, places, before(places, length))


def uniforms(state: State, rule: ModuleType) -> int:
    """Return the number of uniforms of a pass: those of the rule, and one for each slot.

    Raises ValueError if `carry` is "old" and the rule looks at slots behind the one that fails:
    tokens that were looked at are no longer draws from their laws.
    """
    if state.carry == "old" and discover.name_of(rule) != "tokenwise":
        raise ValueError(
            f"carry 'old' keeps tokens that rule {discover.name_of(rule)!r} has looked at, which is not lossless; "
            "rules that stop before them: tokenwise"
        )
    return int(rule.uniforms(state.window)) + state.window


def advance(state: State, rows: Array, rule: ModuleType, u: Array) -> State:
    """Return the state after a pass that gave rows (b, w + 1, V): verified tokens, and the next slots.

    The first call draws the first slots.
    """
    # The rule's uniforms come first, then one for each slot.
    slot_uniforms = u[:, int(rule.uniforms(state.window)) :]

    # No pass has been made: none of the first slots has a row, so the initialiser draws them all.
    if state.laws is None:
        shape = (rows.shape[0], state.window, rows.shape[-1])
        laws = array_namespace(rows).zeros(shape, dtype=rows.dtype)
        blank = state._replace(text=tokens_like(state.text, rows), laws=laws)
        zeros = np.zeros_like(state.filled)
        return _with_next_slots(blank, rows, zeros, zeros, slot_uniforms)

    # Verify the slots, and write the token behind the accepted ones.
    live, windows = state.filled < state.text.shape[-1], _windows(state)
    text, accepted = copied(state.text), np.zeros_like(state.filled)
    for size, texts in alike(windows, live):
        drafts = state.text[texts[:, None], state.filled[texts, None] + np.arange(size)]
        p, q = rows[texts, : size + 1], state.laws[texts, :size]
        accepted[texts], token = verified(rule, p, q, drafts, u[texts])
        text[texts, state.filled[texts] + accepted[texts]] = token

    # A live text has one pass more. Of its w + 1 rows, w - accepted lie behind the token.
    filled = np.where(live, state.filled + accepted + 1, state.filled)
    after = state._replace(text=text, filled=filled, passes=state.passes + np.where(live, 1, 0))
    return _with_next_slots(after, rows, accepted, windows - accepted, slot_uniforms)


def _windows(state: State) -> Array:
    """Return the number (b,) of slots that a pass verifies: a place is left for the token behind them."""
    return np.clip(state.text.shape[-1] - state.filled - 1, 0, state.window)


def _with_next_slots(state: State, rows: Array, accepted: Array, num_behind: Array, u: Array) -> State:
    """Return the state with tokens and laws of the slots that the next pass verifies.

    The last pass accepted (b,) drafts; `num_behind` (b,) of its rows lie behind the token that it
    emitted. Slot j of the next pass stands where slot `accepted + 1 + j` of the last one stood: if
    slots 0 and 1 were accepted, the token replaced slot 2, and slot 3 becomes slot 0.
    """
    old_laws: Array = state.laws
    sizes, text, laws = _windows(state), copied(state.text), copied(old_laws)

    # The number of slots that come from the last pass; later ones are new. The last of its rows is
    # that of a place that had no slot: a slot can be drawn from it, but has no old token to keep.
    keeps_old = state.carry == "old"
    num_carried = num_behind - 1 if keeps_old else num_behind
    for j in range(int(sizes.max(initial=0))):
        is_slot, is_carried = j < sizes, j < num_carried
        carried, new = np.flatnonzero(is_slot & is_carried), np.flatnonzero(is_slot & ~is_carried)

        # Carried slots keep token and law, or are drawn anew from their row of the last pass.
        if carried.size and keeps_old:
            laws[carried, j] = old_laws[carried, accepted[carried] + 1 + j]
        elif carried.size:
            laws[carried, j] = rows[carried, accepted[carried] + 1 + j]
            text[carried, state.filled[carried] + j] = pick(laws[carried, j], u[carried, j])

        # New slots come from the initialiser.
        if new.size:
            place = state.filled[new] + j
            laws[new, j], text[new, place] = _initial_slots(state, text[new], place, laws[new, j], u[new, j])
    return state._replace(text=text, laws=laws)


def _initial_slots(state: State, text: Array, place: Array, like: Array, u: Array) -> tuple[Array, Array]:
    """Return the laws (n, V) and tokens (n,) of new slots at places (n,) of texts (n, N).

    `like` (n, V) is any array of the type that the laws shall have.
    """
    # The even law, with a token drawn from it.
    if state.first == "uniform":
        vocab = like.shape[-1]
        probability = Fraction(1, vocab) if is_exact(like) else 1 / vocab
        even = 0 * like + probability
        return even, pick(even, u)

    # A copy of the token to the left or above, 0 beyond the edge, has a point mass as its law.
    source = place - (state.width if state.first == "up" else 1)
    token = text[np.arange(len(place)), np.maximum(source, 0)]
    token = array_namespace(token).where(tokens_like(source >= 0, token), token, 0)
    return one_hot(token, like), token
