"""What is recorded of public packages: tests/bench/conform.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "tests" / "bench" / "conform.json"


def recorded() -> dict[str, Any]:
    held: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return held


def outcomes_of(one: dict[str, Any]) -> dict[str, str]:
    """Property -> outcome."""
    return {v["property"]: v["outcome"] for v in one["verdicts"]}


def outcomes(found: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Subject -> property -> outcome."""
    return {one["subject"]: outcomes_of(one) for one in found["subjects"]}
