"""What breaks inside a subject ends in a verdict with its words, never in the run."""

from __future__ import annotations

from typing import Any

import pytest

from specsim.conform import Subject, judge
from specsim.types import Array


def raises(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    raise ZeroDivisionError("by nothing")


def leaves(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    raise SystemExit(3)


def hangs(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    while True:
        pass


def says_nan(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return float("nan"), 0


def says_rows(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return 0, p[0]


def says_foreign(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return 0, 7


def says_none(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return None


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (raises, "raised ZeroDivisionError: by nothing"),
        (leaves, "raised SystemExit: 3"),
        (hangs, "did not come back within 1 s"),
        (says_nan, "returned nan as number of kept drafts"),
        (says_rows, "as token"),
        (says_foreign, "returned token 7, outside 0..2"),
        (says_none, "returned None, not a pair (kept, next token)"),
    ],
)
def test_what_breaks_ends_in_a_verdict(run: Any, words: str) -> None:
    report = judge(Subject("broken", "chain", run), budget=2)
    assert (report.outcome, report.status) == ("broken", 2)
    assert words in report.verdicts[-1].words
