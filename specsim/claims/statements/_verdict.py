"""Verdicts on claims."""

from __future__ import annotations

from typing import NamedTuple

HOLDS, REFUTED, UNDER, UNDECIDED = "holds", "refuted", "holds under", "not decidable here"
VERDICTS = (HOLDS, REFUTED, UNDER, UNDECIDED)


class Settled(NamedTuple):
    """A verdict, why in one sentence, and the numbers it rests on: exact ones as fractions."""

    verdict: str
    because: str
    numbers: dict[str, str]
