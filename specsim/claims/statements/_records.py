"""Recorded runs, which a checkout has and a wheel has not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "real" / "results"


def recorded(name: str) -> dict[str, Any]:
    """The record of this name; raises ValueError where it is not there."""
    path = FOLDER / name
    if not path.exists():
        raise ValueError(f"this claim is settled by a record, real/results/{name}, that only a clone has")
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


def best(run: dict[str, Any], nodes: int, rule: str, topology: str = "") -> float:
    """The most tokens a call of a rule at so many nodes, over the recorded shapes.

    A rule with options counts, too: "lifted" is also "lifted, optimal".
    """
    return max(
        float(row["tau"])
        for row in run["rows"]
        if row["budget"] == nodes and f"{row['rule']},".startswith(f"{rule},") and topology in ("", row["topology"])
    )
