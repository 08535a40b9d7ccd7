"""What a page leaves out of records, and the costs that its controls start with: those that a plan was asked for."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import specsim
from specsim.cli import app
from specsim.report.page import charts, costs, html, rows
from specsim.report.page.records import Record, made_by, read

ROOT = Path(__file__).parents[2]
COMPARED: dict[str, Any] = {
    "rule": "tokenwise", "gamma": 3, "seed": 0, "refused": None,
    **{f"{name}_{end}": 1.0 for name in ("tau", "speedup") for end in ("predicted", "measured", "low", "high")},
}  # fmt: skip
SIMULATED: dict[str, Any] = {"rule": "block", "gamma": 1, "tree": None, "seed": 0, "kept": [1, 3], "refused": None}


def test_rows_that_were_refused_are_left_out() -> None:
    """They have no numbers."""
    refused = dict.fromkeys(COMPARED) | {"rule": "block", "gamma": 9, "seed": 1, "refused": "no such block"}
    found = list(rows.compared(Record("rows", "sweep compare", [COMPARED, refused])))
    assert [row["what"] for row in found] == ["tokenwise, seed 0, gamma 3"] * 2
    without = SIMULATED | {"seed": 1, "kept": None, "refused": "no such block"}
    laws = list(rows.lengths(Record("rows", "sweep simulate", [without, SIMULATED])))
    assert [(row["series"], row["share"]) for row in laws] == [
        ("rows: block, gamma 1, seed 0", 0.25),
        ("rows: block, gamma 1, seed 0", 0.75),
    ]


def test_a_file_that_has_one_name_of_a_plan_is_none(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"sentence": "Yes.", "tau": 3.0}))
    with pytest.raises(ValueError, match="is no record that a page shows"):
        read(path)


def planned(line: str) -> costs.Costs:
    ended = CliRunner().invoke(app, ["plan", "0.8", *line.split(), "--json"])
    assert ended.exit_code == 0, ended.output
    return costs.costs([Record("plan", "plan", json.loads(ended.stdout))])


def test_the_costs_of_a_page_are_those_that_were_asked_for() -> None:
    """Overhead in milliseconds, a draft on fewer devices, and a curve of passes among them."""
    models = "--target llama-3.1-70b --draft llama-3.2-1b --hardware h100-sxm --tp 4 --draft-tp 2 --overhead 3"
    ways = {"tensor_parallel": 4, "draft_tensor_parallel": 2, "overhead_s": 3e-3}
    same = specsim.roofline("llama-3.1-70b", "llama-3.2-1b", "h100-sxm", **ways)
    assert planned(models).latency.cycle(3, 8, 1024) == same.cycle(3, 8, 1024)
    declared = planned("--cost-ratio 0.1 --verify-cost 1,1.2,1.5 --overhead 0.25").latency
    assert declared.cycle(2).value == pytest.approx(2 * 0.1 + 1.5 + 0.25)


def titles(found: list[html.Section]) -> list[str]:
    return [("Example: " if one.is_example else "") + one.title for one in found]


def test_examples_are_called_so_and_stand_beside_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """An acceptance study once came with 2.55x of a pair of models that nobody had named."""
    monkeypatch.setattr(html, "_script", lambda: "")
    assert all(title.startswith("Example: ") for title in titles(html.sections([])))
    page = html.page([])
    assert "Examples: no record is given, and nothing here was measured by you." in page
    assert page.count("<h2>Example: ") == len(html.sections([])) >= 4
    assert "Records: ." not in page
    bundled = read(ROOT / "real" / "results" / "bundled.json")
    names = ["The answer", "What it rests on", "Block length", "Predicted beside measured", "Laws of the block length"]
    assert titles(html.sections([bundled])) == names
    page = html.page([bundled])
    assert "Example" not in page
    assert "llama-3.1-70b" not in page


def test_a_page_says_how_its_records_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Command, machine, date and versions, as the record has them."""
    monkeypatch.setattr(html, "_script", lambda: "")
    bundled = read(ROOT / "real" / "results" / "bundled.json")
    told = bundled.held["provenance"]
    page = html.page([bundled])
    for words in (
        told["command"],
        told["machine"]["processor"],
        told["date"][:10],
        f"torch {told['versions']['torch']}",
    ):
        assert escape(words) in page
    printed = json.loads(CliRunner().invoke(app, ["plan", "0.8", "--cost-ratio", "0.05", "--json"]).stdout)
    command, machine, date, versions = made_by(Record("plan", "plan", printed))
    assert command.split()[0] == "specsim"  # and the words of this process, which may have none
    assert machine.startswith("processor ")
    assert date == printed["provenance"]["date"][:10]
    assert f"specsim-llm {specsim.__version__}" in versions
    rows_ = [{"refused": None}, {"refused": "why"}]
    assert made_by(Record("r", "sweep plan", rows_, "0.1.0")) == (
        "sweep plan: 2 rows, 1 refused",
        "",
        "",
        "specsim 0.1.0",
    )
    for damaged in ({"provenance": 3}, {"provenance": {"machine": "x", "versions": None}}, {}):
        assert made_by(Record("x", "compare", damaged))[1] == ""


def test_rows_that_are_not_drawn_are_counted() -> None:
    """Of 96 rows the block lengths once showed six seeds of one setting, and left the rest out unsaid."""
    one = {"refused": None, "gamma": 2, "tree": None, "rule": "block", "seed": 0, "kept": [1, 2, 1]}
    for count, said in ((6, []), (96, ["Of s the first 6 rows are drawn, of 96."])):
        record = Record("s", "sweep simulate", [one] * count)
        assert list(rows.not_drawn(record)) == said
        section = next(one for one in html.sections([record]) if one.title == "Laws of the block length")
        assert all(words in section.words for words in said)


def test_a_plan_whose_costs_are_not_known_shows_no_others() -> None:
    """Costs of a comparison's own times cannot be made again: those of another pair took their place, unsaid."""
    asked = {"overhead": None, "cost_ratio": None, "target": "nobody", "draft": "none", "hardware": "h100-sxm"}
    asked |= {"tp": 1, "draft_tp": None, "dtype": None}
    record = Record("plan", "plan", {"asked": asked, "points": [], "sentence": ""})
    assert titles(html.sections([record])) == ["The answer", "What it rests on"]


def test_the_page_begins_with_the_answer_and_what_it_rests_on(tmp_path: Path) -> None:
    plan = CliRunner().invoke(app, ["plan", "0.8", "--cost-ratio", "0.05", "--json"]).stdout
    run = "simulate --target law:1/3,2/3 --draft law:2/3,1/3 --gamma 2 --blocks 200 --sequences 10 --json"
    (tmp_path / "plan.json").write_text(plan)
    (tmp_path / "simulate.json").write_text(CliRunner().invoke(app, run.split()).stdout)
    names = [tmp_path / "plan.json", ROOT / "real" / "results" / "bundled.json", tmp_path / "simulate.json"]
    first, second, *_ = html.sections([read(name) for name in names])
    assert (first.title, second.title) == ("The answer", "What it rests on")
    assert f"plan: {json.loads(plan)['sentence']}" in first.below
    assert "bundled: Measured fastest: gamma" in first.below
    assert "simulate: A target call emits " in first.below


RESULTS = ROOT / "real" / "results"


@pytest.mark.parametrize(("name", "panels"), [("bundled", 2), ("block", 2), ("forced", 1)])
def test_lengths_are_drawn_with_their_predictions(name: str, panels: int) -> None:
    """A comparison has tau and speedup by length; where acceptance is forced, tau says nothing."""
    record = read(RESULTS / f"{name}.json")
    section = next(one for one in html.sections([record]) if one.title == "Block length")
    assert [chart["title"] for chart in section.charts] == [f"{name}: {what}" for what in ("tau", "speedup")][-panels:]
    speedups = section.charts[-1]["data"]["values"]
    runs = record.held.get("runs", [record.held])
    pairs = [pair for run in runs for pair in run.get("pairs", run.get("rows"))]
    assert [row["measured"] for row in speedups] == [pair["speedup"]["measured"] for pair in pairs]
    assert [row["gamma"] for row in speedups] == [pair["gamma"] for pair in pairs]
    assert len({row["series"] for row in speedups}) == len(runs)
    # One series needs no legend.
    assert (section.charts[-1]["encoding"]["color"]["legend"] is None) == (len(runs) == 1)


def test_many_rules_are_ranked_by_name() -> None:
    """Of 23 lines two once had the same orange, and a legend of 23 names could not be read beside them."""
    rows_ = [{"panel": "t", "rule": f"rule {i}", "nodes": n, "tau": i * n} for i in range(23) for n in (1, 2)]
    drawn = charts.trees(rows_)
    assert drawn["layer"][0]["encoding"]["y"]["sort"] == [f"rule {i}" for i in reversed(range(23))]
    assert drawn["layer"][-1]["encoding"]["text"] == {"field": "rule"}
    few = [{"panel": "t", "rule": f"rule {i}", "drafts": 1, "value": 0.5, "optimum": False} for i in range(11)]
    assert "layer" in charts.accepted(few)
    assert "layer" not in charts.accepted(few[:10])


def test_cells_of_a_narrow_page_name_their_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_script", lambda: "")
    page = html.page([read(RESULTS / "bundled.json")])
    assert '<div class="stacked">' in page
    assert '<td data-name="record">bundled</td>' in page
