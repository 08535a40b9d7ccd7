"""Good calls of the functions on drafts of one pass, budgets of drafts and confidences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def law_of_coin(text: tuple[int, ...]) -> Any:
    """Return the law of a model over two tokens, the same after every text."""
    return np.array([0.5, 0.5])


def calls() -> dict[str, dict[str, Any]]:
    """Return keyword arguments of a good call, by the public name in `specsim`."""
    coin, biased = [1 / 3, 2 / 3], [2 / 3, 1 / 3]
    return {
        "batch_budget": {"survival": [[0.9, 0.5]], "times": [1.0, 1.1, 1.2]},
        "budget_loss": {"stated": [[0.9, 0.5]], "true": [[0.8, 0.4]], "times": [1.0, 1.1, 1.2]},
        "confidence_calibration": {"confidences": [[0.9, 0.6], [0.8]], "accepted": [1, 1]},
        "draft_budget": {"gains": [0.9, 0.5], "times": [1.0, 1.1, 1.2]},
        "one_pass_bound": {"rows": [[coin, biased], [coin, coin]]},
        "one_pass_ceiling": {"target": law_of_coin, "gamma": 2},
        "one_pass_enclosure": {"target": law_of_coin, "gamma": 2, "rule": "block", "within": 0.1},
        "one_pass_draft": {"target": law_of_coin, "gamma": 2, "order": 1},
        "one_pass_tokens": {"first": coin, "steps": [biased, coin], "rows": [coin, biased]},
        "read_confidences": {"path": str(Path(__file__).with_name("confidences.jsonl"))},
        "product_draft": {"rows": [coin, biased]},
    }
