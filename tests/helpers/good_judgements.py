"""A good call of every public function of `specsim.conform`, for the sweep of bad arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from specsim.conform import Subject


def drawn_by_target(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """A verifier that asks nobody."""
    return int(random.choice(len(p), p=p))


def row_of_three(text: tuple[int, ...]) -> Any:
    """Logits that do not depend on the text."""
    return np.array([0.0, -0.1, -2.0])


CALLS: dict[str, dict[str, Any]] = {
    "judge": {"subject": Subject("drawn", "step", drawn_by_target, sizes=(1,)), "properties": ["marginal"]},
    "first_difference": {"plain": [0, 0], "other": [0, 1], "decode": row_of_three, "verify": row_of_three},
}
