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
    """The target's law: after a 0 the draft's, after a 1 the opposite."""
    return np.array([F(3, 4), F(1, 4)]) if not text or text[-1] == 0 else np.array([F(1, 4), F(3, 4)])


def draft(text: tuple[int, ...]) -> Array:
    """The draft's law, the same after every text."""
    return np.array([F(3, 4), F(1, 4)])


def settle() -> Settled:
    """Compute the verdict on the statement."""
    # Two contexts: the target spends half of the time after a 0 and half after a 1, where
    # acceptances are 1 and 3/4; alpha is their mean.
    alpha = F(7, 8)
    tokens = expected_tokens(target, draft, gamma=3)
    stated = (1 - alpha**4) / (1 - alpha)

    # One law in every context.
    tokens_alone = expected_tokens(TARGET, DRAFT, gamma=3)
    stated_alone = (1 - F(2, 3) ** 4) / (1 - F(2, 3))
    if tokens_alone != stated_alone:
        numbers = {"found": str(tokens_alone), "stated": str(stated_alone)}
        return Settled(REFUTED, "one law in every context is against it.", numbers)
    return Settled(
        HOLDS if tokens == stated else UNDER,
        "acceptances that do not depend on the text; where they do, the mean acceptance does not give the mean length.",
        {"one law everywhere, 3 drafts": str(tokens_alone), "formula there": str(stated_alone)}
        | {"two contexts, 3 drafts": str(tokens), "formula at their mean": str(stated)},
    )
