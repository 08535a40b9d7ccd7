"""The recorded judgements on public packages: tests/bench/conform.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "tests" / "bench" / "conform.json"


def recorded() -> dict[str, Any]:
    """Return the record."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def outcomes_of(report: dict[str, Any]) -> dict[str, str]:
    """Return the outcome of each property of a report."""
    return {v["property"]: v["outcome"] for v in report["verdicts"]}


def outcomes(record: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the outcomes of each subject, by property."""
    return {report["subject"]: outcomes_of(report) for report in record["subjects"]}
