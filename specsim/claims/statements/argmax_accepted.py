"""The likeliest token of the draft, as a draft that the target is asked to match."""

from __future__ import annotations

from fractions import Fraction

from specsim.claims.statements._bank import refuted, smallest
from specsim.claims.statements._verdict import Settled
from specsim.types import Array

SOURCE = "NVIDIA/TensorRT-LLM#15775"
STATEMENT = "Drafting the likeliest token of the draft's law maximises the acceptance rate."


def _kept(p: Array, q: Array) -> tuple[Fraction, Fraction]:
    """Return how often a token that the target draws is the draft's likeliest, and one drawn from the draft."""
    return p[int(q.argmax())], (p * q).sum()


def settle() -> Settled:
    """Compute the verdict on the statement."""
    return refuted(
        smallest(_kept, (2,), 4),
        "the target keeps its own draws, and a token that the draft alone finds likely is seldom one of them. It is "
        "true where the draft's likeliest token is the target's, too.",
        "likeliest kept",
        "drawn kept",
    )
