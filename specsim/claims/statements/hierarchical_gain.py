"""Hierarchical verification as its paper defines it, against block verification."""

from __future__ import annotations

from fractions import Fraction

from specsim.claims.statements._bank import F, pairs
from specsim.claims.statements._verdict import REFUTED, UNDER, Settled
from specsim.exact.chain import expected_tokens
from specsim.types import Array

SOURCE = "arXiv:2601.05724"
STATEMENT = "Hierarchical speculative decoding keeps more tokens than block verification (6.65 against 6.53)."


def gain(p: Array, q: Array) -> Fraction:
    """Tokens that hierarchical verification gains over block verification, with three drafts."""
    hierarchical, block = (expected_tokens(p, q, rule=rule, gamma=3) for rule in ("capped", "block"))
    return F(hierarchical - block)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    gains = [gain(p, q) for p, q in pairs(parts=4)]
    return Settled(
        UNDER if any(gains) else REFUTED,
        "its rule is block verification in other words (T36): the same tests, so the same tokens. The released code "
        "leaves out the cap of the last test, keeps more, and is lossy.",
        {"pairs, 3 drafts": str(len(gains)), "pairs with a difference": str(sum(map(bool, gains)))},
    )
