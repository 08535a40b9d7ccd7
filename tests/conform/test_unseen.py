"""Sixty verifiers that were written before the harness saw them: none is judged falsely.

A subject's truth stands in its docstring and never follows a verdict.
"""

from __future__ import annotations

from typing import Any

import pytest
from conform.unseen import lossless_rows, lossless_texts, lossy_rows, lossy_texts
from conform.unseen.form import Unseen

from specsim.conform import Subject, judge
from specsim.conform.likeness import Exhibits
from specsim.testing import assert_lossless_batch

LOSSLESS = [*lossless_rows.SUBJECTS, *lossless_texts.SUBJECTS]
LOSSY = [*lossy_rows.SUBJECTS, *lossy_texts.SUBJECTS]
# What is seen of exhibits is seen once for all of these tests.
SEEN = Exhibits()
BUDGET = 60.0  # seconds; what is followed by a script needs few of them
# Those that take a fraction of a second; the others are slow.
QUICK = {
    "alias_table",
    "barker",
    "row_of_the_transition",
    "stick_breaking",
    "lazy",
    "likeliest_or_drawn",
    "quantile_coupling",
    "better_of_two_by_its_law",
    "hesitates",
    "quantile_of_the_whole_head",
    "likelier_of_two_draws",
    "tested_twice",
}


def cases(some: list[Unseen]) -> list[Any]:
    """Return parameters of a test, slow ones marked."""
    marks: dict[bool, Any] = {True: [], False: [pytest.mark.slow]}
    return [pytest.param(one, id=one.name, marks=marks[one.name in QUICK]) for one in some]


def outcome(one: Unseen) -> str:
    """Return the verdict on a subject."""
    if one.kind in ("padded", "flat", "vllm"):
        try:
            layout: Any = one.kind
            return assert_lossless_batch(one.run, layout=layout, budget=BUDGET, **one.facts).outcome
        except AssertionError as error:
            return str(error).split("  ")[0]
    kind: Any = one.kind
    return judge(Subject(one.name, kind, one.run, **one.facts), budget=BUDGET, exhibits=SEEN).outcome


@pytest.mark.parametrize("one", cases(LOSSLESS))
def test_lossless(one: Unseen) -> None:
    assert one.distance == 0
    assert outcome(one) == "lossless", one.truth


@pytest.mark.parametrize("one", cases(LOSSY))
def test_lossy(one: Unseen) -> None:
    assert one.distance > 0
    assert outcome(one) == "convicted", one.truth


def test_there_are_thirty_of_each() -> None:
    assert len(LOSSLESS) == len(LOSSY) == 30
