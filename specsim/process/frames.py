"""Speculative actions: frames are made under the last known action, and accepted while it does not change.

Law.         The text is the actions that come from outside. Once the action at t is known, frames
             t..t+n-1 are made as if it did not change: n - 1 drafts of later actions, each with a
             point mass at the held action as its law. The law of a real action is a point mass,
             too, so that a chain rule accepts a draft exactly if it is the real action, and emits
             the first real action that differs.
Theorem.     T28: the frames accepted are those made under the real actions, if a block's frames are
             made one by one by the same sampler with the same noise. The expected number of
             accepted frames is (1 - rho^n) / (1 - rho), where every action stays with probability
             rho.
Randomness.  Only the rule's; with point masses its uniforms change nothing.
Cost.        One block of n frames for each change of the action, at the cost of a pass over n
             frames.
Paper.       Next-Frame Diffusion, arXiv:2506.01380.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.arrays import one_hot
from specsim.base.texts import Asked, alike, before, copied, empty_text, tokens_like, verified
from specsim.types import Array

EXACT = True
THEOREM = "T28"
PAPER = "arXiv:2506.01380"
CASES = ({"frames": 1}, {"frames": 2}, {"frames": 3})


class State(NamedTuple):
    """The known actions of texts.

    `text` (b, N) holds actions; `filled` (b,) is the number of actions that are known; `passes`
    (b,) counts blocks, each made in one pass; `frames` is the number of frames of a block.
    """

    text: Array
    filled: Array
    passes: Array
    frames: int


def start(length: int, batch: int = 1, *, frames: int = 4) -> State:
    """Return the state before the first action; blocks have `frames` frames, fewer at the end of a text."""
    zeros = np.zeros(batch, dtype=np.int64)
    frames = check.integer(frames, "frames", 1, limits.MAX_SUMMED)
    return State(empty_text(batch, length), zeros, zeros, frames)


def ask(state: State) -> Asked:
    """Return the rows that the next pass must give: laws of the real actions during a block of frames.

    They are point masses once the actions have come from outside.
    """
    # The last known action stands at all later places.
    length, actions = state.text.shape[-1], copied(state.text)
    for i in np.flatnonzero(state.filled > 0):
        actions[i, state.filled[i] :] = actions[i, state.filled[i] - 1]

    # The places of the drafts, and the place behind them.
    num_rows = int(_draft_counts(state).max(initial=0)) + 1
    places = np.minimum(state.filled[:, None] + np.arange(num_rows), length - 1)
    return Asked(actions, places, before(places, length))


def uniforms(state: State, rule: ModuleType) -> int:
    """Return the number of uniforms of a pass: those of the rule."""
    return int(rule.uniforms(state.frames - 1))


def advance(state: State, rows: Array, rule: ModuleType, u: Array) -> State:
    """Return the state after a block: accepted drafts of the held action, and the real action behind them.

    The first call only takes the first action.
    """
    text, filled = copied(tokens_like(state.text, rows)), state.filled.copy()
    live = state.filled < text.shape[-1]
    for size, texts in alike(_draft_counts(state), live):
        # Every draft (m, size) of the m texts is the held action, drawn from a point mass.
        n = state.filled[texts]
        held = text[texts, np.maximum(n - 1, 0)]
        zeros = tokens_like(np.zeros((1, size), dtype=np.int64), rows)
        drafts = held[:, None] + zeros
        q = one_hot(drafts, rows[texts, :size])
        accepted, token = verified(rule, rows[texts, : size + 1], q, drafts, u[texts])

        # Write the accepted drafts, and the action behind them.
        for j in range(size):
            has_draft = j < accepted
            text[texts[has_draft], n[has_draft] + j] = held[np.flatnonzero(has_draft)]
        text[texts, n + accepted] = token
        filled[texts] = n + accepted + 1

    # A live text had one block more, but the first action comes without one.
    num_blocks = np.where(live & (state.filled > 0), 1, 0)
    return state._replace(text=text, filled=filled, passes=state.passes + num_blocks)


def _draft_counts(state: State) -> Array:
    """Return the number (b,) of drafts of a block: none before the first action is known."""
    places_left = state.text.shape[-1] - state.filled
    return np.where(state.filled > 0, np.clip(places_left - 1, 0, state.frames - 1), 0)
