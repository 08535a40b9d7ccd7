"""What a page leaves out of records, and the costs that its controls start with: those that a plan was asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import specsim
from specsim.cli import app
from specsim.report.page import costs, rows
from specsim.report.page.records import Record, read

pytestmark = pytest.mark.fast

COMPARED: dict[str, Any] = {
    "rule": "tokenwise", "gamma": 3, "seed": 0, "refused": None,
    **{f"{name}_{end}": 1.0 for name in ("tau", "speedup") for end in ("predicted", "measured", "low", "high")},
}  # fmt: skip
SIMULATED: dict[str, Any] = {"rule": "block", "gamma": 1, "tree": None, "seed": 0, "kept": [1, 3], "refused": None}


def test_rows_that_were_refused_are_left_out() -> None:
    """They have no numbers."""
    refused = dict.fromkeys(COMPARED) | {"rule": "block", "gamma": 9, "seed": 1, "refused": "no such block"}
    found = list(rows.compared(Record("rows", "sweep compare", [COMPARED, refused])))
    assert [row["what"] for row in found] == ["tokenwise, gamma 3, seed 0"] * 2
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
