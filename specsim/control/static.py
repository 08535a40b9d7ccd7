"""Static: the same number of drafts in every block.

Decision.    One draft more while there are fewer than `gamma`.
Theorem.     T34, part 1: the text has the target's law. T25, part 1: where acceptance is i.i.d. and
             signals say nothing of it, the best length of this kind is not beaten by any
             controller.
Cost.        None.
Paper.       Leviathan et al., arXiv:2211.17192.
"""

from __future__ import annotations

from typing import NamedTuple

from specsim.base import check
from specsim.types import Array, Signals

THEOREM = "T34"
PAPER = "arXiv:2211.17192"
CASES = ({"gamma": 1}, {"gamma": 2})


class State(NamedTuple):
    """The drafts of every block."""

    gamma: int


def start(batch: tuple[int, ...] = (), *, gamma: int = 4) -> State:
    """Return the state of every block: gamma drafts, at least 1."""
    return State(check.integer(gamma, "gamma", 1))


def more(state: State, signals: Signals) -> Array:
    """Return whether (...) to draft once more."""
    return signals.position < state.gamma


def learn(state: State, kept: Array, drafted: Array) -> State:
    """Return the state as it is: nothing is learned."""
    return state
