"""The table of K independent paths at equal nodes says what its record holds, and what the record of trees holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import table_paths as bench

ROOT = Path(__file__).parents[2]
RECORD: dict[str, Any] = json.loads((bench.HERE / "paths.json").read_text(encoding="utf-8"))
LOSSLESS = [name for name in bench.RULES if "lossy" not in name]


def test_the_table_is_of_the_record() -> None:
    text = (bench.HERE / "paths.txt").read_text(encoding="utf-8")
    assert bench.shown(RECORD) == text
    assert text.strip() in (ROOT / "docs/results/trees.md").read_text(encoding="utf-8")
    assert RECORD["blocks"] == bench.BLOCKS * bench.SEQUENCES


def test_every_rule_has_every_budget_and_an_interval() -> None:
    for run in RECORD["runs"]:
        assert [(row["rule"], row["budget"]) for row in run["rows"]] == [
            (rule, budget) for rule in bench.RULES for budget in bench.BUDGETS
        ]
        for row in run["rows"]:
            assert row["interval"][0] < row["tau"] < row["interval"][1]
            assert row["nodes"] <= row["paths"] * row["tokens"] <= row["budget"]
            assert row["tau"] < row["bound"][2] or row["rule"] not in LOSSLESS


def test_no_lossless_rule_is_above_the_optimum() -> None:
    """The certified value of the program; `lifted` is the nearest, within a third of a percent."""
    for row in RECORD["exact"]:
        best = row["optimum"] + row["gap"] + 1e-9
        assert all(row[rule] <= best for rule in LOSSLESS)
        assert row["lifted"] == max(row[rule] for rule in LOSSLESS) > 0.996 * row["optimum"]
        assert row["optimum"] <= row["F_K"] + 1e-9
        assert row["spectr_gbv (lossy)"] < row["lifted"]
    least = min(row["lifted"] / row["optimum"] for row in RECORD["exact"])
    page = " ".join((ROOT / "docs/results/trees.md").read_text(encoding="utf-8").split())
    assert f"`lifted` has at least {100 * least:.1f} % of its tau" in page


def test_the_record_of_trees_has_the_same_numbers() -> None:
    """Same models, texts and seeds, from 8 nodes on: where the best shape is the same, so is tau, up to rounding."""
    trees = json.loads((ROOT / "real/results/trees.json").read_text(encoding="utf-8"))
    same = 0
    for ours, theirs in zip(RECORD["runs"], trees["runs"], strict=True):
        assert ours["name"] == theirs["name"]
        known = {
            (row["rule"].partition(",")[0], row["budget"], row["shape"]): row["tau"]
            for row in theirs["rows"]
            if row["topology"] == "i.i.d. paths" and not row["rule"].startswith("tokenwise")
        }
        for row in ours["rows"]:
            tau = known.get((row["rule"], row["budget"], f"{row['paths']} paths of {row['tokens']}"))
            if tau is not None:
                assert tau == pytest.approx(row["tau"], rel=1e-3 if "recorded" in ours["name"] else 1e-9)
                same += 1
    assert same >= 12
