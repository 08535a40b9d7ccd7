"""The record of how many kernels a GPU launches for each rule is what the code gives."""

from __future__ import annotations

import json
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import table_kernels as bench  # noqa: E402

from specsim import discover  # noqa: E402
from specsim.trees import k_ary  # noqa: E402

RECORD = json.loads((bench.HERE / "kernels.json").read_text(encoding="utf-8"))
CALLS = {f"{rule}/{column}": call for rule, column, call in bench.calls()}
ONCE = {key.rpartition("/")[0]: key for key in CALLS}.values()  # the last column of each rule


def marked(key: str) -> Any:
    marks = () if key in ONCE else pytest.mark.slow
    return pytest.param(key, marks=marks)


@pytest.mark.parametrize("key", [marked(key) for key in CALLS])
def test_the_record_is_what_the_code_gives(key: str) -> None:
    found, recorded = bench.count_kernels(*CALLS[key]), RECORD["now"].get(key, 0)
    # A search of many steps ends by rounding, which differs between processors: one call in a thousand.
    assert abs(found - recorded) <= recorded // 1000, (
        f"{key}: {found}; python tests/bench/table_kernels.py writes the record anew"
    )


def test_every_rule_is_recorded() -> None:
    """And none that is there no more."""
    assert list(RECORD["now"]) == list(CALLS)
    text = (bench.HERE / "kernels.txt").read_text(encoding="utf-8")
    assert text == bench.shown(RECORD["now"], RECORD["before"])


def test_what_was_before_is_shown_where_it_differs() -> None:
    now, before = {"step/a/1": 3, "step/a/4": 5, "tree/b/hub": 7, "tree/c/hub": 9}, {"step/a/1": 3, "step/a/4": 8}
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in bench.shown(now, before | {"tree/c/hub": 8}).splitlines()
    ]
    assert rows[2] == ["`step/a`", "3", "", "5 (8)", ""]
    assert rows[-2:] == [["`tree/b`", *[""] * 5, "7", ""], ["`tree/c`", *[""] * 5, "9 (8)", ""]]


@pytest.mark.parametrize(("rule", "alone", "more"), [("univer", 285, 70), ("lifted", 260, 73)])
def test_siblings_are_planned_at_once(rule: str, alone: int, more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One plan whatever the number of children, the labels of all drafts in one pass; a single child is no search."""
    found = []
    for n in (1, 2, 3):
        monkeypatch.setitem(bench.SHAPES, "iid", k_ary((n,)))
        found.append(bench.count_kernels(*bench._tree(discover.find("tree", rule), "iid")))
    assert found[0] <= alone
    assert found[1] - found[0] <= more
    assert found[2] - found[1] <= 25
