"""Heuristic: two drafts more after a block that was kept whole, one less after any other.

Decision.    One draft more while there are fewer than l; after a block l := l + up if all its drafts were kept, else
             max(1, l - down).
Theorem.     T34, part 1: the text has the target's law. T25, part 1: it gains nothing where acceptance is i.i.d.
Cost.        None.
Paper.       transformers, `num_assistant_tokens_schedule="heuristic"`; a baseline of Mamou et al., arXiv:2405.04304.
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
    """Drafts (...) of the next block."""

    length: Array
    up: int
    down: int


def start(batch: tuple[int, ...] = (), *, first: int = 5, up: int = 2, down: int = 1) -> State:
    """Drafts of the first block, what a block kept whole adds, and what another takes away."""
    first, up = check.integer(first, "first", 1), check.integer(up, "up", 0)
    return State(np.full(batch, first, dtype=np.int64), up, check.integer(down, "down", 0))


def more(state: State, signals: Signals) -> Array:
    """Whether (...) to draft once more."""
    return signals.position < check.like(state.length, signals.position)


def learn(state: State, kept: Array, drafted: Array) -> State:
    """Longer blocks after one that was kept whole, shorter ones after any other; none drafted says nothing."""
    xp, length = array_namespace(kept), check.like(state.length, kept)
    shorter = xp.where(length > state.down, length - state.down, xp.ones_like(length))
    found = xp.where(kept == drafted, length + state.up, xp.where(shorter > 1, shorter, xp.ones_like(length)))
    return state._replace(length=xp.where(drafted > 0, found, length))
