"""Own: drafting goes on while the rows of a block have left little open, all together.

Decision.    One draft more while the entropies of the block's rows sum to at most `nats`.
Theorem.     T34, part 1: the text has the target's law, whatever the draft's rows say.
Cost.        One sum a draft.
Paper.       None: a skeleton.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace

from specsim.base import check
from specsim.types import Array, Signals

THEOREM = "open"  # or the note in proofs/, as "T34"
PAPER = ""
CASES = ({"nats": 0.5}, {"nats": 1.0})  # parameters with which checks run it


class State(NamedTuple):
    """All that the controller remembers: of each text what its block has left open so far."""

    nats: float
    total: Array  # (...)


def start(batch: tuple[int, ...] = (), *, nats: float = 2.0) -> State:
    """A state for texts of this shape. Parameters are checked here, before any pass."""
    return State(float(check.scalar(nats, "nats", "[0, 1000]")), np.zeros(batch))


def see(state: State, signals: Signals) -> State:
    """Called after each draft, before `more`: the first of a block begins the sum anew. Left out if nothing is kept."""
    before = check.like(state.total, signals.entropy)
    total = array_namespace(signals.entropy).where(signals.position == 1, 0 * before, before) + signals.entropy
    return state._replace(total=total)


def more(state: State, signals: Signals) -> Array:
    """Whether (...) to draft once more. The token that was just drawn is verified either way."""
    return state.total <= state.nats


def learn(state: State, kept: Array, drafted: Array) -> State:
    """Called after each block: how many drafts (...) were kept, of how many."""
    return state
