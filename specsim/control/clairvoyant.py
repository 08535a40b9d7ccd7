"""Clairvoyant: as many drafts as will be kept. A bound on what any controller gains, and none itself.

Decision.    One draft more while there are fewer than this block will keep, which it is told: `kept`, block after
             block. It is no controller in the sense of T25, and what it decides by is the verification to come.
Theorem.     T34, part 3: blocks that stop before the first draft that would be refused do not have the target's law.
             Its speed bounds every controller's, since no block of any length keeps more.
Cost.        Not to be had.
Paper.       The oracle of Mamou et al., arXiv:2405.04304.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.texts import host, tokens_like
from specsim.types import Array, Signals

BOUND = True
THEOREM = "T34"
PAPER = "arXiv:2405.04304"
CASES = ({"kept": (0, 2, 1)},)


class State(NamedTuple):
    """Drafts kept by the blocks to come, (..., n), and how many (...) blocks have been."""

    kept: Array
    block: Array


def start(batch: tuple[int, ...] = (), *, kept: Any = ()) -> State:
    """What the blocks to come will keep: (n,) integers, or (..., n) for each text."""
    told = check.tokens(kept if len(kept) else np.zeros(0, dtype=np.int64), "kept", 1 << 31)
    told = host(told)
    return State(np.broadcast_to(told, (*batch, told.shape[-1])), np.zeros(batch, dtype=np.int64))


def more(state: State, signals: Signals) -> Array:
    """Whether (...) to draft once more: never beyond what it was told."""
    number = state.kept.shape[-1]
    wanted = np.where(np.arange(number) == state.block[..., None], state.kept, 0).sum(-1)
    return tokens_like(host(signals.position) < wanted, signals.top)


def learn(state: State, kept: Array, drafted: Array) -> State:
    """The next block."""
    return state._replace(block=state.block + 1)
