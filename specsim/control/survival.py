"""Survival: drafting goes on while all drafts so far are probably accepted.

Decision.    One draft more while C_1 C_2 ... C_i >= theta. C_j is the network's probability that
             draft j is accepted where `weights` are given (see `classifier`), else the largest
             probability of its row, or that of its own token.
Theorem.     T34, part 1: the text has the target's law. T25, part 3: an optimal policy drafts on
             while the *product* of the acceptance probabilities reaches a threshold; a threshold on
             C_i alone is of another kind.
Cost.        One product a draft.
Paper.       None: the optimum of T25 with one threshold for all positions. Mamou et al., DISCO,
             arXiv:2405.04304, compare C_i itself.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.control._confidence import Layers, checked_signal, confidence, layers
from specsim.types import Array, Signals

THEOREM = "T34"
PAPER = "arXiv:2405.04304"
CASES = ({"theta": 0.4}, {"theta": 0.3, "signal": "own"})


class State(NamedTuple):
    """The options of `start`, and the product of this block's confidences.

    `product` (...) has as many factors as `position` (...) says.
    """

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
    """Return the state before the first block.

    Drafting continues while the product is at least theta, in [0, 1]. C_j is the signal, or the
    output of the network with these weights.
    """
    network = None if weights is None else layers(weights)
    theta = float(check.scalar(theta, "theta", "[0, 1]"))
    return State(theta, checked_signal(signal), network, np.ones(batch), np.zeros(batch, dtype=np.int64))


def see(state: State, signals: Signals) -> State:
    """Return the state after a draft: its factor joins the product, which a block's first draft begins."""
    factor = confidence(signals, state.signal, state.weights)
    before = check.like(state.product, factor)
    product = array_namespace(factor).where(signals.position == 1, factor, before * factor)
    return state._replace(product=product, position=signals.position)


def more(state: State, signals: Signals) -> Array:
    """Return whether (...) to draft once more.

    Raises ValueError if the loop did not call `see` after the draft.
    """
    if not bool((check.like(state.position, signals.top) == signals.position).all()):
        raise ValueError("controller 'survival' was not shown the last draft: call `see` after each, before `more`")
    return state.product >= state.theta


def learn(state: State, kept: Array, drafted: Array) -> State:
    """Return the state as it is: nothing is learned, and the next block begins its own product."""
    return state
