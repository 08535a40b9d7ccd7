"""Speculative actions, but a frame made under the held action is kept where the real one differs."""

from specsim.process import frames
from specsim.process.frames import *

KILLED_BY = "law_is_the_targets"


def advance(state, rows, rule, u):
    after = frames.advance(state, rows, rule, u)
    if state.filled[0] and after.filled[0] - state.filled[0] < rows.shape[1]:
        text = after.text.copy()
        text[0, after.filled[0] - 1] = state.text[0, state.filled[0] - 1]
        return after._replace(text=text)
    return after
