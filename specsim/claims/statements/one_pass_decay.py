"""Acceptance by position of drafts of one pass: what falls, and what need not."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np

from specsim.claims.statements._verdict import HOLDS, UNDER, Settled
from specsim.exact.chain import expected_tokens
from specsim.exact.one_pass import one_pass_draft

SOURCE = "arXiv:2607.05147, arXiv:2606.03819"
STATEMENT = "A draft of one pass is accepted less often the later it stands in its block."

_COIN = np.array([F(1, 2), F(1, 2)])


def _target(text: tuple[int, ...]) -> Any:
    """Return the law of a coin, its copy, and another coin."""
    return _COIN if len(text) != 1 else np.array([F(text[0] == v) for v in (0, 1)])


def settle() -> Settled:
    """Compute the verdict on the statement."""
    taus = [expected_tokens(_target, one_pass_draft(_target, gamma=g), gamma=g) if g else F(1) for g in range(4)]
    survival = [taus[g] - taus[g - 1] for g in (1, 2, 3)]
    hazards = [survival[0], survival[1] / survival[0], survival[2] / survival[1]]
    return Settled(
        UNDER if hazards[2] > hazards[1] else HOLDS,
        "acceptance among all blocks, which falls for every drafter. Among the blocks that come to test it (the "
        "hazard), a draft is accepted more often where its token depends less on the others, wherever it stands.",
        {
            "target": "a coin, its copy, another coin",
            "accepted, of all blocks": ", ".join(map(str, survival)),
            "hazards": ", ".join(map(str, hazards)),
        },
    )
