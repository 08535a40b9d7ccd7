"""Recorded runs of a checkout: a wheel has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "real" / "results"


def recorded(name: str) -> dict[str, Any]:
    """ValueError where the record is not there."""
    path = FOLDER / name
    if not path.exists():
        raise ValueError(f"this claim is settled by a record, real/results/{name}, that only a clone has")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def best(run: dict[str, Any], nodes: int, rule: str, topology: str = "") -> float:
    """Most tokens a call at so many nodes, over recorded shapes; "lifted" is also "lifted, optimal"."""
    return max(
        float(row["tau"])
        for row in run["rows"]
        if row["budget"] == nodes and f"{row['rule']},".startswith(f"{rule},") and topology in ("", row["topology"])
    )
