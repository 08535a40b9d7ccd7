"""Acceptance beyond the optimum, against the bias it costs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from specsim.claims.statements._bank import DRAFT, TARGET, smallest
from specsim.claims.statements._verdict import REFUTED, UNDER, Settled
from specsim.exact.step import acceptance_rate, output_law
from specsim.types import Array

SOURCE = "arXiv:2211.17192, arXiv:2410.03355, arXiv:2501.19309"
STATEMENT = (
    "Often concluded: relaxed rules (lenience, neighbours, a judge) gain acceptance at next to no cost in "
    "the output's law."
)


EPSILON = Fraction(1, 2)


def settle() -> Settled:
    """Compute the verdict on the statement."""

    def values(p: Array, q: Array) -> tuple[Fraction, Fraction]:
        """The bias, and the acceptance gained: free if the first is below."""
        accepted = acceptance_rate(p, q, rule="lenience", params={"epsilon": EPSILON})
        bias = np.abs(output_law(p, q, rule="lenience", params={"epsilon": EPSILON}) - p).sum() / 2
        return bias, accepted - acceptance_rate(p, q)

    bias, gain = values(TARGET, DRAFT)
    return Settled(
        REFUTED if smallest(values) is None else UNDER,
        "each point of acceptance above 1 - TV costs at least one point of total variation, and for lenience exactly "
        "one, in rationals (T33); what it costs in quality is not decided by that.",
        {"gain, example": str(gain), "bias, example": str(bias)},
    )
