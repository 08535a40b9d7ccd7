"""Trees at equal node budgets: a small run of the command, its table, and what the measured numbers must obey."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import real.cli
from real.cli import app
from real.studies.drafts.measure import Rows
from real.studies.trees import report as trees_report
from real.studies.trees.kinds import KINDS, branchings
from real.studies.trees.measure import greedy_block_counts, recited, steps, trigrams
from specsim import acceptance_rate
from specsim.trees import depths

SMALL = ["--nodes", "4,6", "--blocks", "2", "--sequences", "8", "--count", "2", "--max-tokens", "12"]
SMALL += ["--symbols", "5", "--recorded", "1", "--top-k", "4"]  # fewer tokens than ranks


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trees") / "trees.json"
    result = CliRunner().invoke(app, ["trees", *SMALL, "--out", str(out)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "RSD-S" in result.output
    return out


@pytest.fixture(scope="module")
def record(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text()))


def above_bound(record: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Lossless rows whose interval lies above the bound's."""
    return [
        (row["topology"], row["rule"], row["budget"])
        for run in record["runs"]
        for row in run["rows"]
        if row["bound"] and row["interval"][0] > row["bound"][2]
    ]


def test_record_holds_every_kind(record: dict[str, Any]) -> None:
    assert record["schema"] == trees_report.SCHEMA
    assert record["complete"]
    assert [run["name"] for run in record["runs"]] == ["trigrams of 5 characters", "recorded rows"]
    for run in record["runs"]:
        assert len(run["rows"]) == steps([4, 6])
        for kind in KINDS:
            assert all(trees_report.row_of(run, kind.topology, kind.name, n) for n in (4, 6)), kind
        for row in run["rows"]:
            assert row["lossless"]
            assert row["tau"] >= 1
            assert (row["interval"] is None) == (row["rule"] == "target_only")
            assert row["shape"] in row["shapes_tried"]


def test_no_lossless_rule_exceeds_its_bound(record: dict[str, Any]) -> None:
    assert above_bound(record) == []
    more = copy.deepcopy(record)
    row = next(r for r in more["runs"][1]["rows"] if r["bound"])
    row["interval"] = [row["bound"][2] + 0.01, row["bound"][2] + 1]
    assert above_bound(more) == [(row["topology"], row["rule"], row["budget"])]


def test_the_recorded_run_obeys_its_bounds() -> None:
    """Every rule is lossless and below full information; targets read no more texts than the budget has, on average."""
    record = json.loads((Path(real.cli.__file__).parent / "results" / "trees.json").read_text())
    assert record["complete"] is True
    assert trees_report.budgets(record) == [8, 16, 32]
    assert above_bound(record) == []
    rows = [row for run in record["runs"] for row in run["rows"]]
    assert len(rows) == 2 * steps([8, 16, 32])
    assert all(row["lossless"] for row in rows)
    assert max(row["nodes"] / row["budget"] for row in rows) <= 1.02


def test_the_targets_own_likeliest_texts_are_the_best_trees_nobody_draws(record: dict[str, Any]) -> None:
    for run in record["runs"]:
        for n in (4, 6):
            oracle = trees_report.row_of(run, trees_report.ORACLE, "target_only", n)
            for name in ("EAGLE-2", "likeliest texts of the draft"):
                other = trees_report.row_of(run, name, "target_only", n)
                assert oracle is not None
                assert other is not None
                assert other["tau"] < oracle["tau"]


def test_table_is_the_record(path: Path, record: dict[str, Any]) -> None:
    """Every number of the record stands in the table, and one that is changed shows."""
    text = CliRunner().invoke(app, ["table", str(path)], catch_exceptions=False).output
    assert text.rstrip("\n") == trees_report.markdown(record, str(path.with_suffix(".png")))
    for run in record["runs"]:
        for row in run["rows"]:
            name = trees_report.NAMES.get((row["topology"], row["rule"]), row["rule"])
            line = next(
                words
                for words in text.splitlines()
                if words.startswith(f"| {row['topology']} | ") and all(part in words for part in name.split(", "))
            )
            assert f"{row['tau']:.3f}" in line
            if row["interval"]:
                assert f"±{(row['interval'][1] - row['interval'][0]) / 2:.3f}" in line
    assert text.count("*full information*") == 4
    changed = copy.deepcopy(record)
    changed["runs"][1]["rows"][-1]["tau"] += 0.001
    assert trees_report.markdown(changed, "x") != trees_report.markdown(record, "x")
    changed = copy.deepcopy(record)
    changed["runs"][0]["rows"][0]["lossless"] = False
    assert "| no |" in trees_report.markdown(changed, "x")
    assert "| no |" not in text
    changed = copy.deepcopy(record)
    changed["runs"][0]["rows"][0]["nodes"] = 3.57  # of 4
    assert " (3.6 nodes)" in trees_report.markdown(changed, "x")
    changed["runs"][0]["rows"][0]["nodes"] = 3.61
    assert " (3.6 nodes)" not in trees_report.markdown(changed, "x")


def test_bold_is_what_the_intervals_do_not_tell_apart() -> None:
    """The best that can be drafted, and the rows whose intervals meet its own."""

    def row(rule: str, tau: float, half: float, topology: str = "chain") -> dict[str, Any]:
        interval = [tau - half, tau + half] if half else None
        return {"topology": topology, "rule": rule, "budget": 4, "tau": tau, "interval": interval}

    rows = [row("a", 3.0, 0.2), row("b", 2.8, 0.1), row("c", 2.7, 0.05), row("d", 2.79, 0), row("e", 2.81, 0)]
    run = {"rows": [*rows, row("target_only", 9.0, 0, trees_report.ORACLE), row("f", 4.0, 0) | {"budget": 8}]}
    assert [found["rule"] for found in trees_report.leading(run, 4)] == ["a", "b", "e"]
    assert [found["rule"] for found in trees_report.leading(run, 8)] == ["f"]


@pytest.mark.parametrize("cut", [1, 7])
def test_a_record_of_a_killed_run_can_be_shown(cut: int, record: dict[str, Any]) -> None:
    """It holds what was last written: fewer rows, and nothing of what ended it."""
    first, *_ = record["runs"]
    cut_off = record | {"complete": False, "runs": [first | {"rows": first["rows"][:cut]}]}
    assert trees_report.markdown(cut_off, "x").count("Incomplete: still running.") == 1


def test_plot(path: Path) -> None:
    assert path.with_suffix(".png").stat().st_size > 10_000


@pytest.mark.parametrize("budget", [4, 8, 16, 32])
def test_shapes_fit_the_budget(budget: int) -> None:
    """Drafted nodes; more only where siblings can be equal, and there the pilot run drops what is too large."""
    ranks = np.array([0.6, 0.15, 0.1, 0.05, 0.02, 0.01, 0.01, 0.01])
    for kind in KINDS:
        shapes = kind.shapes(budget, ranks.copy())
        assert shapes, kind
        assert len({shape.name for shape in shapes}) == len(shapes)
        for shape in shapes:
            if kind.scheme == "beam":
                assert shape.tree[0] * shape.tree[1] <= budget
            elif kind.scheme in ("without_replacement", "greedy", "hub"):
                assert len(shape.tree) <= budget
            elif kind.topology == "chain":
                assert depths(shape.tree).tolist() == list(range(1, budget + 1))
    for branching in branchings([(2,), (3,), (2, 2)], budget):
        assert budget - np.prod(branching) < np.cumprod(branching).sum() <= budget


def test_recited_rows_are_the_recorded_ones() -> None:
    """Leaving out what neither law has changes nothing; positions stay in order."""
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.full(30, 0.1), (2, 6))
    p, q = (np.where(w > 0.05, w, 0) / np.where(w > 0.05, w, 0).sum(axis=-1, keepdims=True) for w in (p, q))
    models = recited(Rows("six", p, q))
    found = acceptance_rate(models.target.rows, models.draft.rows)
    assert models.target.rows.shape[-1] < 30
    assert np.allclose(found, acceptance_rate(p, q), atol=1e-12)
    assert models.starts(3) == [0, 2, 4]


@pytest.mark.parametrize("sequences", [7, 20, 35])
def test_every_text_that_is_asked_for_is_simulated(sequences: int) -> None:
    """Groups of 16 do not divide these numbers."""
    models = trigrams("a banana and a bandana", "an anagram", 5)
    assert len(greedy_block_counts(models, 2, 3, sequences, 0).kept) == sequences


def test_trigrams_count_both_texts() -> None:
    """Characters by frequency in both; the last symbol stands for all others."""
    models = trigrams("abababac" * 20, "abab" * 20, symbols=3)
    after_ab = models.target.rows[0 * 3 + 1]
    assert after_ab.argmax() == 0
    assert models.target.rows[1 * 3 + 0].argsort()[-2:].tolist() == [2, 1]  # after "ba": b, or c as the rare one
    assert models.draft.rows[1 * 3 + 0].argmax() == 1
    assert models.target.rows.shape == (9, 3)
    assert models.starts(3) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--nodes", "2,8"], "nodes must be at least 4, got 2"),
        (["--nodes", "8,x"], "nodes has 'x', which is no whole number"),
        (["--blocks", "0"], "blocks must be at least 1, got 0"),
        (["--sequences", "3"], "sequences must be at least 4, got 3"),
        (["--symbols", "3"], "symbols must be at least 4, got 3"),
        (["--top-k", "3"], "top_k must be at least 4, got 3"),
        (["--top-k", "-1"], "top_k"),
    ],
)
def test_bad_input(options: list[str], message: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["trees", *options, "--out", str(tmp_path / "x.json")])
    assert result.exit_code == 2
    assert message in result.output
    assert not list(tmp_path.iterdir())
