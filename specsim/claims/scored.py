"""One published row beside its prediction."""

from __future__ import annotations

from typing import NamedTuple


class Score(NamedTuple):
    """One row: its predicted and measured speedup, and the relative error.

    `role` is "tested", "fitted", "refused", or says why there is no prediction. `predicted` is tau
    times the plain step over the cycle as printed plus the fitted overhead; `textbook` lets
    verification cost one plain step and nothing else (no fit). iid: tau is what one printed alpha
    gives if it holds at every position. others: rows of its table that its cycle was fitted on,
    itself not among them; along: "batch" or "length", by which those differ.
    """

    name: str
    source: str
    measured: float
    predicted: float | None
    textbook: float | None
    error: float | None
    role: str
    refused: tuple[str, ...]
    flags: tuple[str, ...]
    iid: bool
    others: int = 0
    along: str = ""
