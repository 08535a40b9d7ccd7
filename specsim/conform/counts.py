"""The judgement of a log of blocks: `specsim conform --counts`."""

from __future__ import annotations

from pathlib import Path

from specsim.base.reading import read_lines
from specsim.conform.evidence.bound import judge_counts
from specsim.conform.verdict import Report

# Longest line of a --counts log in bytes: two numbers a draft in some 40 bytes, and at most 4,096 drafts a block.
MOST_BYTES_OF_A_LINE = 1 << 20


def counted(path: Path, false_alarm: float) -> Report:
    """Return the report on a log of blocks."""
    lines = read_lines(path, MOST_BYTES_OF_A_LINE)
    return Report(str(path), (judge_counts(lines, str(path), false_alarm=false_alarm),))
