"""Block verification, also against verifiers that see the probabilities off the path."""

from __future__ import annotations

from fractions import Fraction

from specsim.claims.statements._bank import DRAFT, TARGET, F, pairs, smallest, unless
from specsim.claims.statements._verdict import HOLDS, Settled
from specsim.exact.chain import expected_tokens
from specsim.types import Array

SOURCE = "arXiv:2403.10444, arXiv:2602.16961"
STATEMENT = (
    "No lossless verifier of one path keeps more drafts than block verification, even one that sees off-"
    "path probabilities."
)


def most(p: Array, q: Array, gamma: int) -> Fraction:
    """The value of the linear program over all verifiers of one path with full information.

    The probability of accepting x y is at most Q(x y), and at most p(y|x) times that of accepting
    x. Both bounds are reached together, so the program is solved by taking the smaller at every
    node.
    """
    # For each text of a length: the probability Q that it is drafted, and that it is accepted.
    total, level = F(0), [(F(1), F(1))]
    for _ in range(gamma):
        level = [(drawn * q[y], min(drawn * q[y], accepted * p[y])) for drawn, accepted in level for y in range(len(p))]
        total += sum(accepted for _, accepted in level)
    return total


def settle() -> Settled:
    """Compute the verdict on the statement."""

    def values(p: Array, q: Array) -> tuple[Fraction, Fraction]:
        """Accepted drafts of block verification, and the optimum."""
        return expected_tokens(p, q, rule="block", gamma=3) - 1, most(p, q, 3)

    held = Settled(
        HOLDS,
        "its value is that of the linear program over all verifiers with full information, in rationals (T17).",
        {
            "pairs, 3 drafts": str(len(list(pairs(parts=4)))),
            "example, 2 drafts": str(most(TARGET, DRAFT, 2)),
        },
    )
    return unless(smallest(values, parts=4), held, "block", "optimum")
