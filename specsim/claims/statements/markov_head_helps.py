"""A Markov head, which draws each draft given the one before it, against the marginals, both exact."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np

from specsim.claims.statements._verdict import HOLDS, UNDER, Settled
from specsim.exact.chain import expected_tokens
from specsim.exact.one_pass import one_pass_draft

SOURCE = "arXiv:2607.05147, arXiv:2606.03819"
STATEMENT = "Drafts of one pass that are conditioned on the draft before them are kept more than those that are not."

# Parts of the smallest laws that have a counterexample: halves have none (tests/claims/test_one_pass_claims.py).
THIRDS = (1, (1, 1), (0, 2, 1, 1))


def taus(parts: int, first: int, second: tuple[int, ...], third: tuple[int, ...]) -> tuple[F, F]:
    """Return tau of three drafts by marginals and by a Markov head, for a target of two tokens.

    The probabilities of token 0 are in `parts`: of the first token, after 0 and 1, and after 00, 01, 10 and 11.
    """
    counts = dict(zip([t for n in range(3) for t in product((0, 1), repeat=n)], (first, *second, *third), strict=True))
    table: dict[tuple[int, ...], Any] = {t: np.array([F(c, parts), F(parts - c, parts)]) for t, c in counts.items()}
    target = table.__getitem__
    plain, markov = (expected_tokens(target, one_pass_draft(target, gamma=3, order=order), gamma=3) for order in (0, 1))
    return plain, markov


def settle() -> Settled:
    """Compute the verdict on the statement."""
    plain, markov = taus(3, *THIRDS)
    copied, perfect = taus(3, 1, (3, 0), (3, 0, 3, 0))
    return Settled(
        UNDER if markov < plain else HOLDS,
        "a target that looks back one token, which such a head drafts perfectly. Where the third token depends on the "
        "first two together, the mean given the second can be farther from them than the mean over both, and the head "
        "keeps less (T60). The papers' measurements are not decided by this; they were read as abstracts.",
        {
            "copied token, marginals": str(copied),
            "copied token, Markov head": str(perfect),
            "third token after 00, 01, 10, 11": "0, 2/3, 1/3, 1/3",
            "first and second token": "1/3, 2/3",
            "marginals": str(plain),
            "Markov head": str(markov),
        },
    )
