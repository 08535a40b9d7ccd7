"""Tables on the site: many columns are small; a verdict comes first, cells name their column, long names break."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("sphinx")
from docutils import nodes

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """docs/_generate/tables.py."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("_generate.tables")


def document(*lines: list[str]) -> Any:
    """A document with one table; the first line is its head."""
    rows = [nodes.row("", *(nodes.entry("", *([nodes.paragraph("", cell)] if cell else [])) for cell in line))
            for line in lines]  # fmt: skip
    parts = [nodes.colspec() for _ in lines[0]] + [nodes.thead("", rows[0]), nodes.tbody("", *rows[1:])]
    return nodes.section("", nodes.table("", nodes.tgroup("", *parts, cols=len(lines[0]))))


def cells(page: Any) -> list[list[str]]:
    return [[entry.astext() for entry in row.children] for row in page.findall(nodes.row)]


def test_the_verdict_comes_first_and_cells_name_their_column(tables: ModuleType) -> None:
    page = document(["rule", "verdict", "note"], ["block", "shows", ""], ["greedy", "convicted: joint", "lossy"])
    tables.mark_tables(None, page)
    assert cells(page) == [
        ["verdict", "rule", "note"],
        ["verdict: shows", "rule: block", ""],
        ["verdict: convicted: joint", "rule: greedy", "note: lossy"],
    ]
    classes = [entry["classes"] for entry in page.findall(nodes.entry)][3:]
    assert classes == [["verdict-pass"], [], ["empty"], ["verdict-fail"], [], []]


def test_other_tables_stay_as_they_are(tables: ModuleType) -> None:
    page = document(["rule", "tau"], ["block", "2.1"])
    tables.mark_tables(None, page)
    assert cells(page) == [["rule", "tau"], ["block", "2.1"]]
    assert next(page.findall(nodes.table))["classes"] == []


@pytest.mark.parametrize(("columns", "classes"), [(7, []), (8, ["many-columns"])])
def test_a_table_of_many_columns_is_set_in_small_type(tables: ModuleType, columns: int, classes: list[str]) -> None:
    page = document(["tau"] * columns, ["2.1"] * columns)
    tables.mark_tables(None, page)
    assert next(page.findall(nodes.table))["classes"] == classes


def test_long_names_can_break_and_are_copied_whole(tables: ModuleType) -> None:
    page = document(["verdict", "claim"], ["holds", "without_replacement_never_hurts"], ["holds", "a_b"])
    tables.mark_tables(None, page)
    assert [raw.astext() for raw in page.findall(nodes.raw)] == ["<wbr>"] * 3
    assert [part.astext() for part in page.findall(nodes.Text)].count("replacement_") == 1


def test_what_a_verdict_adds_is_set_apart_and_a_head_without_words_is_left_out(tables: ModuleType) -> None:
    page = document(["verdict"], ["lossless where tried (up to V=3)"], ["convicted: joint 0.1"], ["shows"])
    tables.mark_tables(None, page)
    details = [[part.astext() for part in entry.findall(nodes.inline) if "verdict-detail" in part["classes"]]
               for entry in list(page.findall(nodes.entry))[1:]]  # fmt: skip
    assert details == [["(up to V=3)"], [" joint 0.1"], []]
    bare = document(["", ""], ["theorem", "T17"])
    tables.mark_tables(None, bare)
    assert cells(bare) == [["theorem", "T17"]]
