"""Threshold: drafting goes on while the draft is sure of its last token.

Decision.    One draft more while C_i >= eta. C_i is the largest probability of the row that draft i
             was drawn from (`signal="top"`), or that of the token that was drawn (`signal="own"`,
             as in transformers). The token itself is kept and verified either way.
Theorem.     T34, part 1: the text has the target's law. Dropping the token for its own probability
             would change it.
Cost.        None.
Paper.       Liu et al., Kangaroo, arXiv:2404.18911 (largest probability); transformers,
             `ConfidenceCriteria` (own).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from specsim.base import check
from specsim.control._confidence import checked_signal, confidence
from specsim.types import Array, Signals

THEOREM = "T34"
PAPER = "arXiv:2404.18911"
CASES = ({"eta": 0.5}, {"eta": 0.5, "signal": "own"})


class State(NamedTuple):
    """The options of `start`: nothing changes while decoding."""

    eta: float
    signal: str


def start(batch: tuple[int, ...] = (), *, eta: float = 0.4, signal: Literal["top", "own"] = "top") -> State:
    """Return the state before the first block.

    Drafting continues while the confidence is at least eta, in [0, 1].
    """
    threshold = float(check.scalar(eta, "eta", "[0, 1]"))
    return State(threshold, checked_signal(signal))


def more(state: State, signals: Signals) -> Array:
    """Return whether (...) to draft once more."""
    return confidence(signals, state.signal, None) >= state.eta


def learn(state: State, kept: Array, drafted: Array) -> State:
    """Return the state as it is: nothing is learned."""
    return state
