"""Classifier: drafting goes on while a small network predicts that the last draft is accepted.

Decision.    One draft more while C_i >= theta. C_i in [0, 1] is a feed-forward network of the 10
             largest probabilities of the row that draft i was drawn from, its entropy and the
             position i; a matrix of 13 rows also reads the probability of the token that was drawn.
             Trained on the label min(1, p/q) of drafts that were reached.
Theorem.     T34, part 1: the text has the target's law, whatever the network says.
Cost.        One pass of the network a draft.
Paper.       Mamou et al., DISCO, arXiv:2405.04304. `survival` takes the same weights, and compares
             their product.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.control._confidence import INPUTS, Layers, layers, network
from specsim.types import Array, Signals

THEOREM = "T34"
PAPER = "arXiv:2405.04304"
CASES = ({"theta": 0.5}, {"theta": 0.6})
# Untrained weights by default: they read the largest probability alone.
LARGEST = ((np.eye(INPUTS, 1) * 6, np.array([-2.0])),)


class State(NamedTuple):
    """The options of `start`: nothing changes while decoding."""

    theta: float
    weights: Layers


def start(batch: tuple[int, ...] = (), *, theta: float = 0.5, weights: Any = LARGEST) -> State:
    """Return the state before the first block: the threshold and the network's weights.

    Parameters
    ----------
    batch : tuple of int
        Shape of the texts.
    theta : float
        Drafting continues while the network's probability is at least this, in [0, 1].
    weights : sequence of pairs of array_like
        For each layer a matrix (in, out) and a shift (out,); ReLU between layers, a logistic
        function at the end. The first has 12 rows, or 13; the last has one column.
    """
    return State(float(check.scalar(theta, "theta", "[0, 1]")), layers(weights))


def more(state: State, signals: Signals) -> Array:
    """Return whether (...) to draft once more."""
    return network(signals, state.weights) >= state.theta


def learn(state: State, kept: Array, drafted: Array) -> State:
    """Return the state as it is: nothing is learned while decoding."""
    return state
