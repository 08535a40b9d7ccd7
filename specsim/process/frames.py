"""Speculative actions: frames are made under the action that is held, and accepted while it stays.

Law.         The text is the actions that come from outside. With the action at t known, frames
             t..t+n-1 are made as if it were held: n - 1 drafts, each with a point mass at it as its
             law. What is real has a point mass, too, so a chain rule keeps a draft exactly if it is
             the real action, and emits the first that is not.
Theorem.     T28: the frames accepted are those made under the real actions, if a block's frames are
             made one by one by the same sampler with the same noise. Accepted frames, for an action
             that stays with probability rho, whatever it is: (1 - rho^n) / (1 - rho).
Randomness.  None beyond the rule's, which point masses never heed.
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
    """Actions of texts so far.

    `text` (b, N) holds actions; `filled` (b,) is the number of them known; `passes` (b,) counts
    blocks, each made in one pass.
    """

    text: Array
    filled: Array
    passes: Array
    frames: int


def start(length: int, batch: int = 1, *, frames: int = 4) -> State:
    """The state before the first action; blocks have `frames` frames, fewer at the end."""
    zeros = np.zeros(batch, dtype=np.int64)
    frames = check.integer(frames, "frames", 1, limits.MAX_SUMMED)
    return State(empty_text(batch, length), zeros, zeros, frames)


def ask(state: State) -> Asked:
    """The rows that the next pass must give: laws of the actions that a block of frames meets.

    They are the world's; once it has acted they are point masses.
    """
    # The last known action is held at all later places.
    length, actions = state.text.shape[-1], copied(state.text)
    for i in np.flatnonzero(state.filled > 0):
        actions[i, state.filled[i] :] = actions[i, state.filled[i] - 1]
    num_rows = int(_draft_counts(state).max(initial=0)) + 1
    places = np.minimum(state.filled[:, None] + np.arange(num_rows), length - 1)
    return Asked(actions, places, before(places, length))


def uniforms(state: State, rule: ModuleType) -> int:
    """The number of uniforms of a pass: those of the rule."""
    return int(rule.uniforms(state.frames - 1))


def advance(state: State, rows: Array, rule: ModuleType, u: Array) -> State:
    """The state after a block: held actions that were real, and the first that was not held.

    The first call takes the first action.
    """
    text, filled = copied(tokens_like(state.text, rows)), state.filled.copy()
    live = state.filled < text.shape[-1]
    for size, texts in alike(_draft_counts(state), live):
        # The held action is each draft (n, size) of the block, drawn from a point mass.
        n = state.filled[texts]
        held = text[texts, np.maximum(n - 1, 0)]
        drafts = held[:, None] + 0 * tokens_like(np.zeros((1, size), dtype=np.int64), rows)
        q = one_hot(drafts, rows[texts, :size])
        accepted, token = verified(rule, rows[texts, : size + 1], q, drafts, u[texts])

        # Write the accepted drafts, and the action behind them.
        for j in range(size):
            has_draft = j < accepted
            text[texts[has_draft], n[has_draft] + j] = held[np.flatnonzero(has_draft)]
        text[texts, n + accepted] = token
        filled[texts] = n + accepted + 1
    return state._replace(text=text, filled=filled, passes=state.passes + (live & (state.filled > 0)))


def _draft_counts(state: State) -> Array:
    """Number (b,) of actions that a block takes as held: none before the first is known."""
    left = state.text.shape[-1] - state.filled
    return np.where(state.filled > 0, np.clip(left - 1, 0, state.frames - 1), 0)
