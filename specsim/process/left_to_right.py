"""From left to right: draft a block, verify it in one pass, drop the rejected drafts.

Law.         gamma drafts in a row, each from the draft model's row after those before it; the
             target's rows for all of them in one pass; a chain rule verifies. gamma = 0 is plain
             decoding.
Theorem.     T02: with a lossless chain rule the text has the target's law.
Randomness.  One for each draft; the rule's in the target's pass.
Cost.        gamma passes of the draft and one of the target for accepted + 1 tokens. `passes`
             counts the target's.
Paper.       Leviathan et al., arXiv:2211.17192. Other processes are compared with this one.
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
    """Texts, and the laws of the drafts that this block has so far.

    `text` (b, N) holds tokens, drafts included; `filled` (b,) counts verified tokens, `passes` (b,)
    passes of the target; `gamma` is the number of drafts of a block; `laws` has an array (b, V) for
    each draft.
    """

    text: Array
    filled: Array
    passes: Array
    gamma: int
    laws: tuple[Array, ...]


def start(length: int, batch: int = 1, *, gamma: int = 4) -> State:
    """Return the state before the first pass; blocks have gamma drafts, fewer at the end of a text."""
    zeros = np.zeros(batch, dtype=np.int64)
    gamma = check.integer(gamma, "gamma", 0, limits.MAX_SUMMED)
    return State(empty_text(batch, length), zeros, zeros, gamma, ())


def ask(state: State) -> Asked:
    """Return the rows that the next pass must give: the draft's at the next slot, or the target's.

    The target's pass comes when all slots are drafted, and has the place behind them, too.
    """
    length, num_drafted = state.text.shape[-1], len(state.laws)
    if _is_drafting(state):
        places = np.minimum(state.filled[:, None] + num_drafted, length - 1)
        return Asked(state.text, places, before(places, length), "draft")
    places = np.minimum(state.filled[:, None] + np.arange(num_drafted + 1), length - 1)
    return Asked(state.text, places, before(places, length))


def uniforms(state: State, rule: ModuleType) -> int:
    """Return the number of uniforms of a pass: one for a draft, or those of the rule."""
    return 1 if _is_drafting(state) else int(rule.uniforms(state.gamma))


def advance(state: State, rows: Array, rule: ModuleType, u: Array) -> State:
    """Return the state after a pass, which draws one draft more or verifies the block."""
    # Draft the next slot of the texts that have one.
    counts, text = _draft_counts(state), copied(tokens_like(state.text, rows))
    if _is_drafting(state):
        num_drafted = len(state.laws)
        texts = np.flatnonzero(num_drafted < counts)
        text[texts, state.filled[texts] + num_drafted] = pick(rows[texts, 0], u[texts, 0])
        return state._replace(text=text, laws=(*state.laws, rows[:, 0]))

    # All slots are drafted: verify them, and write the token behind the accepted drafts. Texts with
    # equally many drafts, `size`, are verified together.
    live, filled = state.filled < text.shape[-1], state.filled.copy()
    for size, texts in alike(counts, live):
        drafts = state.text[texts[:, None], state.filled[texts, None] + np.arange(size)]
        p = rows[texts, : size + 1]
        laws = [law[texts] for law in state.laws[:size]]
        q = array_namespace(p).stack(laws, axis=1) if size else p[:, :0]
        accepted, token = verified(rule, p, q, drafts, u[texts])
        place = state.filled[texts] + accepted
        text[texts, place] = token
        filled[texts] = place + 1

    # Each live text had one pass of the target more.
    num_passes = np.where(live, 1, 0)
    return state._replace(text=text, filled=filled, passes=state.passes + num_passes, laws=())


def _is_drafting(state: State) -> bool:
    """Return whether a text has a slot that is not drafted yet."""
    return len(state.laws) < int(_draft_counts(state).max(initial=0))


def _draft_counts(state: State) -> Array:
    """Return the number (b,) of drafts of a block: a place is left for the token behind them."""
    return np.clip(state.text.shape[-1] - state.filled - 1, 0, state.gamma)
