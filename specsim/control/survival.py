"""Survival: drafting goes on while the chance that all drafts so far are kept is large enough.

Decision.    One draft more while C_1 C_2 ... C_i >= theta. C_j is the network's chance that draft j is kept where
             `weights` are given (see `classifier`), else the largest probability of its row, or that of its own token.
Theorem.     T34, part 1: the text has the target's law. T25, part 3: an optimal policy goes on above a number that the
             *product* of the chances must reach, so that a threshold on C_i alone is of another kind.
Cost.        One product a draft.
Paper.       None: the optimum of T25 with one threshold for all positions. Mamou et al., DISCO, arXiv:2405.04304,
             compare C_i itself.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.control._confidence import Layers, confidence, known, layers
from specsim.types import Array, Signals

THEOREM = "T34"
PAPER = "arXiv:2405.04304"
CASES = ({"theta": 0.4}, {"theta": 0.3, "signal": "own"})


class State(NamedTuple):
    """The product (...) of the confidences of this block's drafts, and how many (...) of them are in it."""

    theta: float
    signal: str
    weights: Layers | None
    product: Array
    position: Array


def start(
    batch: tuple[int, ...] = (),
    *,
    theta: float = 0.3,
    signal: Literal["top", "own"] = "top",
    weights: Any = None,
) -> State:
    """The chance from which on drafting continues, in [0, 1]; what C_j is; weights of a network, which then says it."""
    network = None if weights is None else layers(weights)
    theta = float(check.scalar(theta, "theta", "[0, 1]"))
    return State(theta, known(signal), network, np.ones(batch), np.zeros(batch, dtype=np.int64))


def see(state: State, signals: Signals) -> State:
    """The product with one factor more; the first of a block begins it anew."""
    factor = confidence(signals, state.signal, state.weights)
    before = check.like(state.product, factor)
    product = array_namespace(factor).where(signals.position == 1, factor, before * factor)
    return state._replace(product=product, position=signals.position)


def more(state: State, signals: Signals) -> Array:
    """Whether (...) to draft once more; ValueError for a loop that did not call `see` after the draft."""
    if not bool((check.like(state.position, signals.top) == signals.position).all()):
        raise ValueError("controller 'survival' was not shown the last draft: call `see` after each, before `more`")
    return state.product >= state.theta


def learn(state: State, kept: Array, drafted: Array) -> State:
    """Nothing is learned; the next block begins its own product."""
    return state
