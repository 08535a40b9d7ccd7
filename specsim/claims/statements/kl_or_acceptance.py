"""Divergence of a draft that is not the target, and its acceptance."""

from __future__ import annotations

from itertools import product
from math import prod

from specsim.claims.statements._bank import F, laws, shown
from specsim.claims.statements._verdict import HOLDS, UNDECIDED, Settled
from specsim.types import Array

SOURCE = "arXiv:2602.23881"
STATEMENT = "Of two drafts that are not the target, the one of less KL divergence can have less acceptance."

# Largest denominator of the laws that are tried.
_PARTS = 12


def _has_less_kl(p: Array, first: Array, second: Array, parts: int) -> bool:
    """Whether KL(p || first) < KL(p || second), where p has multiples of 1/parts.

    Exactly: where the product over x of q_x to the power of parts p_x is larger.
    """
    of_first, of_second = (prod(x ** int(parts * y) for x, y in zip(q, p, strict=True)) for q in (first, second))
    return bool(of_first > of_second)


def _acceptance(p: Array, q: Array) -> F:
    """Return the acceptance of one draft by rejection, sum of the minima."""
    return sum((min(a, b) for a, b in zip(p, q, strict=True)), F(0))


def settle() -> Settled:
    """Compute the verdict on the statement."""
    for parts in range(2, _PARTS + 1):
        for p, first, second in product(list(laws(2, parts)), repeat=3):
            accepted, more_accepted = _acceptance(p, first), _acceptance(p, second)
            if accepted < more_accepted and _has_less_kl(p, first, second, parts):
                return Settled(
                    HOLDS,
                    "two tokens are enough: KL weighs a token that the draft all but leaves out more than acceptance "
                    "does. What a trained draft gains is another question: the paper's 8 to 10 % were not run here. "
                    "It was read as its abstract.",
                    {
                        "target": shown(p),
                        "draft of less divergence": f"{shown(first)}; accepted {accepted}",
                        "draft of more divergence": f"{shown(second)}; accepted {more_accepted}",
                    },
                )
    return Settled(UNDECIDED, "no small case was found.", {})
