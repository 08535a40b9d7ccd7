"""Tables: nothing is cut, whatever the width."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.report.text import aligned, markdown

ROWS = [
    ["rule", "tau", "what it does"],
    ["tokenwise", "2.11 [2.10, 2.12]", "keeps each draft by a test of its own"],
    ["block", "", "verifies all drafts together"],
]
CELLS = st.text(st.characters(codec="ascii", exclude_categories=["C"]), max_size=20)


def words(text: str) -> list[str]:
    return sorted(re.findall(r"\S+", text))


def test_columns_are_aligned() -> None:
    lines = aligned(ROWS).splitlines()
    assert len(lines) == 4
    assert lines.pop(1) == "---------  -----------------  -------------------------------------"
    assert {line.index(end) for line, end in zip(lines, ("what", "keeps", "verifies"), strict=True)} == {30}
    assert lines[0].index("tau") + 3 == lines[1].index("2.12]") + 5  # numbers to the right


def test_cells_of_several_lines() -> None:
    text = aligned([["name", "a\nb"], ["x", "1"], ["long\nname", "12\n(3)"]])
    assert text.splitlines() == ["        a", "name    b", "----  ---", "x       1", "long   12", "name  (3)"]


@pytest.mark.parametrize("width", [30, 40, 50, 60, 80, 120])
def test_a_table_is_as_wide_as_it_may_be_and_says_all(width: int) -> None:
    shown = aligned(ROWS, width)
    assert max(len(line) for line in shown.splitlines()) <= width
    assert "2.11 [2.10, 2.12]" in shown  # an interval stays in one piece
    assert set(words(shown)) >= set(words(" ".join(ROWS[1])))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=4)),
    st.integers(1, 60),
)
def test_no_word_is_lost_or_broken(rows: list[list[str]], width: int) -> None:
    shown = aligned(rows, width)
    for row in rows[1:]:
        for cell in row:
            assert set(words(cell)) <= set(words(shown)) | set(words(shown.replace(":\n", "\n")))
    longest = max((len(cell) for row in rows for cell in row), default=0)
    assert all(len(line) <= max(width, longest + 2) for line in shown.splitlines())


def test_markdown() -> None:
    lines = markdown([["a", "n"], ["x|y\nz", "1"]]).splitlines()
    assert lines == ["| a | n |", "| --- | ---: |", "| x\\|y z | 1 |"]
    with pytest.raises(ValueError, match=r"rows of equal length, got \[1, 2\]$"):
        markdown([["a", "b"], ["c"]])
