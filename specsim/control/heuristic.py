"""Heuristic: two drafts more after a block that was accepted whole, one less after any other.

Decision.    One draft more while there are fewer than l; after a block l := l + up if all its
             drafts were accepted, else max(1, l - down).
Theorem.     T34, part 1: the text has the target's law. T25, part 1: it gains nothing where
             acceptance is i.i.d.
Cost.        None.
Paper.       transformers, `num_assistant_tokens_schedule="heuristic"`; a baseline of Mamou et al.,
             arXiv:2405.04304.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.types import Array, Signals

THEOREM = "T34"
PAPER = "arXiv:2405.04304"
CASES = ({"first": 1}, {"first": 2, "up": 1})


class State(NamedTuple):
    """Drafts (...) of the next block, and what is added to it or taken away after a block."""

    length: Array
    up: int
    down: int


def start(batch: tuple[int, ...] = (), *, first: int = 5, up: int = 2, down: int = 1) -> State:
    """Return the state before the first block of `first` drafts.

    A block that is accepted whole adds `up` drafts to the next, any other takes `down` away.
    """
    first, up = check.integer(first, "first", 1), check.integer(up, "up", 0)
    return State(np.full(batch, first, dtype=np.int64), up, check.integer(down, "down", 0))


def more(state: State, signals: Signals) -> Array:
    """Return whether (...) to draft once more."""
    return signals.position < check.like(state.length, signals.position)


def learn(state: State, kept: Array, drafted: Array) -> State:
    """Return the state after a block: the next is longer if all drafts were accepted, else shorter.

    A block without drafts changes nothing.
    """
    xp, length = array_namespace(kept), check.like(state.length, kept)
    # A block has at least one draft.
    shorter = xp.where(length > state.down, length - state.down, xp.ones_like(length))
    next_length = xp.where(kept == drafted, length + state.up, shorter)
    return state._replace(length=xp.where(drafted > 0, next_length, length))
