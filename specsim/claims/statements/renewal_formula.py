"""The formula from one acceptance to tokens a call."""

from __future__ import annotations

import numpy as np

from specsim.claims.statements._bank import DRAFT, TARGET, F
from specsim.claims.statements._verdict import HOLDS, REFUTED, UNDER, Settled
from specsim.exact.chain import expected_tokens
from specsim.types import Array

SOURCE = "arXiv:2211.17192"
STATEMENT = "A block of gamma drafts gives (1 - alpha^(gamma+1)) / (1 - alpha) tokens, alpha the mean acceptance."


def target(text: tuple[int, ...]) -> Array:
    """After a 0 what the draft says, after a 1 the opposite."""
    return np.array([F(3, 4), F(1, 4)]) if not text or text[-1] == 0 else np.array([F(1, 4), F(3, 4)])


def draft(text: tuple[int, ...]) -> Array:
    return np.array([F(3, 4), F(1, 4)])


def settle() -> Settled:
    alpha = F(7, 8)  # mean of 1 and 3/4: the halves of the time spent after a 0 and after a 1 in the target's texts
    found = expected_tokens(target, draft, gamma=3)
    stated = (1 - alpha**4) / (1 - alpha)
    alone = expected_tokens(TARGET, DRAFT, gamma=3)
    same = (1 - F(2, 3) ** 4) / (1 - F(2, 3))
    if alone != same:
        return Settled(REFUTED, "one law in every context is against it.", {"found": str(alone), "stated": str(same)})
    return Settled(
        HOLDS if found == stated else UNDER,
        "acceptances that do not depend on the text; where they do, the mean acceptance does not give the mean length.",
        {"one law everywhere, 3 drafts": str(alone), "formula there": str(same)}
        | {"two contexts, 3 drafts": str(found), "formula at their mean": str(stated)},
    )
