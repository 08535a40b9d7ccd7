"""Laws of one position from a few words, so that a grid can name them."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from specsim.base import check, limits
from specsim.types import Array

FORMS = "law:1/2,.3,.2 or zipf:VOCAB:EXPONENT or dirichlet:VOCAB:CONCENTRATION:SEED"
# Tokens of the largest vocabulary.
MOST = 1 << 18


@lru_cache(maxsize=256)
def law(words: str) -> Array:
    """Return the law (V,) that `words` describe, in one of FORMS; equal words give equal laws.

    Examples
    --------
    >>> law("law:1/2,.3,.2").tolist(), law("zipf:2:1").tolist()
    ([0.5, 0.3, 0.2], [0.6666666666666666, 0.3333333333333333])
    """
    # Read the form and its numbers.
    form, _, rest = words.partition(":")
    try:
        if form == "law":
            row = np.array([float(Fraction(word) if "/" in word else word) for word in rest.split(",")])
        elif form == "zipf":
            size, exponent = rest.split(":")
            weights = np.arange(1, _vocab(size) + 1, dtype=float) ** -float(
                check.scalar(float(exponent), "exponent", "[0, 16]")
            )
            row = weights / weights.sum()
        elif form == "dirichlet":
            size, concentration, seed = rest.split(":")
            weight = float(check.scalar(float(concentration), "concentration", "(0, inf)"))
            key = check.integer(int(seed), "seed", 0, limits.MAX_KEY)
            generator = np.random.Generator(np.random.Philox(key=key))
            row = generator.dirichlet(np.full(_vocab(size), weight))
        else:
            raise ValueError("that is no law")
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"{error}; give {FORMS}") from None
    # A cached array must not change.
    check.law(row, "it")
    row.setflags(write=False)
    return row


def _vocab(words: str) -> int:
    """Return the size of a vocabulary, checked."""
    return check.integer(int(words), "vocabulary", 1, MOST)
