"""A good call of every public function of `specsim.conform`, for the sweep of bad arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from specsim.conform import Subject


def keep_every_draft(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """A verifier that asks nobody: it is convicted in a second, where a lossless one takes more than a sweep allows."""
    return int(drafts[0])


def row_of_three(text: tuple[int, ...]) -> Any:
    """Logits that do not depend on the text."""
    return np.array([0.0, -0.1, -2.0])


CALLS: dict[str, dict[str, Any]] = {
    "judge": {"subject": Subject("hopeful", "step", keep_every_draft, sizes=(1,)), "properties": ["marginal"]},
    "first_difference": {"plain": [0, 0], "other": [0, 1], "decode": row_of_three, "verify": row_of_three},
}
