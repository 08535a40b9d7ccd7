"""Tables of `specsim-real` in a terminal: whole at 80 and 120 columns and piped, the answer first."""

from __future__ import annotations

import copy
import importlib
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers import comparisons
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

import real
import real.cli
from real.studies import records
from real.studies.compare import answer, report, rules_report, tree_report
from real.studies.drafts import report as drafts_report
from real.studies.forced import report as forced_report
from real.studies.runner import Study, finish
from real.studies.trees import report as trees_report

RESULTS = Path(real.__file__).parent / "results"
TABLES: dict[str, tuple[str, Callable[..., Any], int]] = {  # name: (record, table, most columns)
    "compare": ("bundled", answer.table, 80),
    "compare, cost emulation": ("widened", answer.table, 80),
    "compare, wide": ("bundled", partial(answer.table, wide=True), 80),
    "several rules": ("block", rules_report.table, 80),
    "several rules, wide": ("block", partial(rules_report.table, wide=True), 80),
    "forced": ("forced", forced_report.table, 80),
    "drafts": ("drafts", drafts_report.table, 80),
    "trees": ("trees", trees_report.table, 80),
}
MADE_UP = "trees beside chains"
COMPARED = [MADE_UP, *(path.stem for path in sorted(RESULTS.glob("compare-trees*.json")))]
for _name in COMPARED:
    TABLES |= {
        _name: (_name, tree_report.table, 80),
        f"{_name}, wide": (_name, partial(tree_report.table, wide=True), 80),
    }


def recorded(name: str) -> dict[str, Any]:
    if name == MADE_UP:
        return comparisons.of_trees()
    return dict(json.loads((RESULTS / f"{name}.json").read_text()))


def printed(record: dict[str, Any], table: Callable[..., Any], width: int, terminal: bool) -> str:
    """As `finish` prints it; a pipe has no colours and no width of its own."""
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None)
    study = Study("record", record["schema"], table, lambda path, record: None)
    finish(record, Path("record.json"), console, study, again=True)
    return file.getvalue()


def numbers(record: dict[str, Any]) -> list[str]:
    """Cells that must be there in full."""
    cells = []
    for run in record.get("runs", [record]):
        for row in [*run.get("pairs", []), *run.get("rows", [])]:
            if "tree" in row:
                for shown in (
                    tree_report._predicted(row["tau"]["predicted"]),
                    *map(tree_report._stacked, (row["tau"], row["speedup"])),
                ):
                    cells += shown.split("\n")
            elif "target_calls" in row:
                cells += [report.span(row["tau"], 2), report.span(row["speedup"], 2)]
            elif "tau_predicted" in row:
                cells += [f"{row['cycle_s_measured'] * 1e3:.1f}", f"{row['speedup']['error']:+.1%}"]
            elif "topology" in row:
                cells.append(trees_report._number(row["tau"], row["interval"]))
    for group in record.get("runs", []):
        if "positions" in group:
            keys = [(key, k) for key in drafts_report.COLUMNS.values() for k in drafts_report.COMPARED]
            cells += [drafts_report._cell(drafts_report.point(group, *key, k)) for key, k in keys]
            cells += [drafts_report.numbers(group, k) for k in drafts_report.COMPARED]
    return cells


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "piped"])
@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", TABLES)
def test_tables_are_whole(name: str, width: int, terminal: bool) -> None:
    source, table, most = TABLES[name]
    record = recorded(source)
    text = printed(record, table, width, terminal)
    wanted = numbers(record)
    assert len(wanted) > 15
    assert "…" not in text
    assert [cell for cell in wanted if cell not in text] == []
    assert max(len(line) for line in text.splitlines()) <= max(width, most)


def test_the_look_can_fail() -> None:
    """The table that used to be here: rich cuts what does not fit."""

    def old(record: dict[str, Any]) -> Table:
        out = Table(*(f"column {i}" for i in range(10)))
        for row in record["pairs"]:
            out.add_row(*[report.span(row["tau"], 2)] * 10)
        return out

    record = recorded("bundled")
    text = printed(record, old, 80, True)
    assert "…" in text
    assert [cell for cell in numbers(record) if cell not in text]


@pytest.mark.parametrize("name", ["bundled", "widened", "block", "forced", "drafts", "trees", *COMPARED])
def test_markdown_is_whole(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(recorded(name)))
    result = CliRunner().invoke(real.cli.app, ["table", str(path)], terminal_width=80)
    assert result.exit_code == 0, result.output
    assert "…" not in result.output
    assert "| --- |" in result.output


def test_the_answer_comes_first() -> None:
    text = printed(recorded("widened"), answer.table, 80, False)
    first = " ".join(text.partition("\n\n")[0].split())
    assert first.startswith("Speculation pays: 1.40 [1.36, 1.44] times the speed of plain decoding at gamma 2")
    assert "Cost emulation: the target (bundled) is padded to the cost of 50 M parameters" in first
    text = printed(recorded("bundled"), answer.table, 80, False)
    assert "Cost emulation" not in text
    text = printed(recorded("block"), rules_report.table, 80, False)
    assert text.startswith("Speculation pays with the rule block: 1.37 [1.31, 1.43] times")
    for name in COMPARED:
        text = printed(recorded(name), tree_report.table, 80, False)
        assert text.startswith(("The best tree is faster", "The best chain is faster", "Best tree and best chain are"))


@pytest.mark.parametrize(
    ("interval", "measured", "said"),
    [
        ([1.1, 1.3], 1.2, "Speculation pays: 1.20 [1.10, 1.30]"),
        ([0.9, 1.3], 1.2, "Speculation may pay or not, the interval holds 1: 1.20"),
        ([0.7, 1.0], 0.9, "Speculation does not pay: 0.90"),
        (None, 1.2, "Speculation may pay or not, there are too few prompts for an interval: 1.20 times"),
    ],
)
def test_answers(interval: list[float] | None, measured: float, said: str) -> None:
    rows = [
        {"gamma": 1, "speedup": {"predicted": 0.5, "measured": measured, "interval": interval}},
        {"gamma": 2, "speedup": {"predicted": 0.8, "measured": measured / 2, "interval": None}},
    ]
    found = answer.answer(rows)
    assert found.startswith(said)
    assert "at gamma 1, the best measured; the best predicted is 0.80, at gamma 2, which is 50.0% slower." in found


def test_a_restless_machine_is_named() -> None:
    """Planted: the same records with one spread raised; none of those in the project has it."""
    for name, table in (("widened", answer.table), ("block", rules_report.table), ("forced", forced_report.table)):
        record = recorded(name)
        assert "restless" not in printed(record, table, 80, False)
        run = copy.deepcopy(record)
        run.get("runs", [run])[0]["costs"]["spread"][2] = 0.44
        text = " ".join(printed(run, table, 80, False).split())
        gamma = run.get("runs", [run])[0]["costs"]["gammas"][2]
        assert "cliff at" not in text.lower()  # steps of times that are not to be trusted
        said = f"too restless to trust a time: the middle half of those of a cycle of gamma {gamma} spans 44% of their"
        assert said in text
    run["runs"][0]["costs"]["spread"][0] = 0.5
    assert "those of a plain step spans 50%" in str(answer.restless(run["runs"]))


@pytest.mark.parametrize("schema", records.KINDS)
def test_every_kind_of_record_has_its_report(schema: str) -> None:
    report_of = importlib.import_module(f"real.studies.{records.KINDS[schema]}")
    assert schema == report_of.SCHEMA
    assert callable(report_of.markdown)


def test_no_report_is_forgotten() -> None:
    folder = Path(records.__file__).parent
    found = {
        line.split('"')[1]
        for path in folder.rglob("*report.py")
        for line in path.read_text().splitlines()
        if line.startswith("SCHEMA")
    }
    assert found == set(records.KINDS)


def test_the_first_page_shows_the_fastest_and_the_worst_row() -> None:
    """Also where neither is a power of two; an error that rounds to nothing has no sign of its own."""
    record = json.loads((RESULTS / "smollm2.json").read_text(encoding="utf-8"))
    shown = [line.split("|")[1:5] for line in report.face(record, "picture.png").splitlines() if line.startswith("| ")][
        2:
    ]
    assert [int(cells[0]) for cells in shown] == [1, 3, 7, 8]
    assert shown[1][3].strip() == "+0.8%"
    assert shown[-1][3].strip() == "+0.0%"
    for row in record["pairs"]:
        row["speedup"]["predicted"] = (
            2 * row["speedup"]["measured"] if row["gamma"] == 5 else row["speedup"]["measured"]
        )
    assert [line.split("|")[1].strip() for line in report.face(record, "").splitlines() if line.startswith("| 5 ")] == [
        "5"
    ]
