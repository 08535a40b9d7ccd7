"""Clairvoyant: as many drafts as will be accepted. It bounds what any controller gains.

Decision.    One draft more while there are fewer than this block will accept. The caller gives
             these numbers as `kept`, one for each block. This is no controller in the sense of T25:
             it decides by the verification to come.
Theorem.     T34, part 3: blocks that stop before the first draft that would be refused do not have
             the target's law. The speed of this rule bounds every controller's, since no block of
             any length accepts more.
Cost.        None that could be paid: the numbers are known only after the block.
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
    """Drafts accepted by each block of a text (..., n), and the number (...) of blocks so far."""

    kept: Array
    block: Array


def start(batch: tuple[int, ...] = (), *, kept: Any = ()) -> State:
    """Return the state before the first block; `kept` are the drafts that each block will accept.

    `kept` has n integers for all texts, or shape (..., n) for each text.
    """
    numbers = kept if len(kept) else np.zeros(0, dtype=np.int64)
    accepted = host(check.tokens(numbers, "kept", 1 << 31))
    accepted = np.broadcast_to(accepted, (*batch, accepted.shape[-1]))
    return State(accepted, np.zeros(batch, dtype=np.int64))


def more(state: State, signals: Signals) -> Array:
    """Return whether (...) to draft once more: while the block has fewer drafts than it will accept."""
    # The entry of `kept` for this block, by a sum with all others at 0. Blocks after those that
    # `kept` describes accept 0.
    blocks = np.arange(state.kept.shape[-1])
    accepted = np.where(blocks == state.block[..., None], state.kept, 0).sum(-1)
    return tokens_like(host(signals.position) < accepted, signals.top)


def learn(state: State, kept: Array, drafted: Array) -> State:
    """Return the state at the next block."""
    return state._replace(block=state.block + 1)
