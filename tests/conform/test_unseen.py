"""Sixty verifiers that were written before the harness saw them: none is judged falsely.

A subject's truth stands in its docstring and never follows a verdict.
"""

from __future__ import annotations

from typing import Any

import pytest
from conform.unseen import lossless_rows, lossless_texts, lossy_rows, lossy_texts
from conform.unseen.form import Unseen

from specsim.conform import Subject, judge
from specsim.testing import assert_lossless_batch

LOSSLESS = [*lossless_rows.SUBJECTS, *lossless_texts.SUBJECTS]
LOSSY = [*lossy_rows.SUBJECTS, *lossy_texts.SUBJECTS]
BUDGET = 60.0  # seconds; what is followed by a script needs few of them


def outcome(one: Unseen) -> str:
    """Return the verdict on a subject."""
    if one.kind in ("padded", "flat", "vllm"):
        try:
            layout: Any = one.kind
            return assert_lossless_batch(one.run, layout=layout, budget=BUDGET, **one.facts).outcome
        except AssertionError as error:
            return str(error).split("  ")[0]
    kind: Any = one.kind
    return judge(Subject(one.name, kind, one.run, **one.facts), budget=BUDGET).outcome


@pytest.mark.slow
@pytest.mark.parametrize("one", LOSSLESS, ids=[one.name for one in LOSSLESS])
def test_lossless(one: Unseen) -> None:
    assert one.distance == 0
    assert outcome(one) == "lossless", one.truth


@pytest.mark.slow
@pytest.mark.parametrize("one", LOSSY, ids=[one.name for one in LOSSY])
def test_lossy(one: Unseen) -> None:
    assert one.distance > 0
    assert outcome(one) == "convicted", one.truth


@pytest.mark.fast
def test_there_are_thirty_of_each() -> None:
    assert len(LOSSLESS) == len(LOSSY) == 30
