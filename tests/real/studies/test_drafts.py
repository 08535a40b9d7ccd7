"""The command that compares draft schemes on a pair's own rows: its record, table and plot."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from real import TINY
from real.cli import app
from real.decode.warp import Warping
from real.load_pair import load
from real.studies.drafts import report as drafts_report
from real.studies.drafts.measure import SYNTHETIC, numbers, synthetic, written

SMALL = ["--positions", "5", "--samples", "4", "--num-drafts", "1,2", "--count", "2", "--max-tokens", "6"]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("drafts") / "drafts.json"
    result = CliRunner().invoke(app, ["drafts", *SMALL, "--out", str(out)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "distinct" in result.output
    return out


def test_record_holds_every_group(record: Path) -> None:
    found = json.loads(record.read_text())
    assert found["schema"] == drafts_report.SCHEMA
    assert found["complete"]
    assert [g["name"] for g in found["runs"]] == ["bundled pair", *SYNTHETIC]
    for group in found["runs"]:
        assert group["positions"] == 5
        assert {c["num_drafts"] for c in group["rows"]} == {1, 2}
        assert all(0 <= c["value"] <= 1 for c in group["rows"])
        assert sum(group["distinct"][1]["frequencies"]) == pytest.approx(1)


def test_table_and_plot(record: Path) -> None:
    result = CliRunner().invoke(app, ["table", str(record)], catch_exceptions=False)
    lines = [line for line in result.output.splitlines() if line.startswith("| bundled pair")]
    assert len(lines) == 1  # two drafts: four and eight were not asked for
    group = json.loads(record.read_text())["runs"][0]
    best = drafts_report.point(group, "optimal", "distinct", 2)
    assert best is not None
    assert f"{best['value']:.4f}" in lines[0]
    assert record.with_suffix(".png").stat().st_size > 10_000


def test_rows_are_those_of_both_models() -> None:
    pair = load(TINY / "target", TINY / "draft")
    ids = list(pair.tokenizer("def f(x):\n")["input_ids"])
    rows = written(pair, [ids], rows=100, max_tokens=8, warping=Warping(top_k=3), seed=0, name="a")
    assert rows.p.shape == rows.q.shape
    assert len(rows.p) <= 8
    assert np.allclose(rows.p.sum(axis=-1), 1, atol=1e-12)
    assert ((rows.p > 0).sum(axis=-1) <= 3).all()
    assert np.abs(rows.p - rows.q).sum(axis=-1).min() > 0


def test_number_of_distinct_tokens() -> None:
    """The frequencies have the exact mean."""
    rows = synthetic("synthetic and peaked, V = 300", 20, seed=0)
    found = numbers(rows.q, 3)
    freq = np.array(found["frequencies"])
    assert freq.sum() == pytest.approx(1, abs=1e-8)
    assert (freq * np.arange(len(freq))).sum() == pytest.approx(found["expected"], abs=1e-7)
    assert found["expected"] == pytest.approx(3, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--positions", "0"], "positions must be at least 1, got 0"),
        (["--samples", "1"], "samples must be at least 2, got 1"),
        (["--num-drafts", "0-2"], "num_drafts must be at least 1, got 0"),
        (["owner/target"], "owner/target needs a draft: give both models, or name a pair"),
    ],
)
def test_bad_input(options: list[str], message: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["drafts", *options, "--out", str(tmp_path / "x.json")])
    assert result.exit_code == 2
    assert message in result.output
    assert not list(tmp_path.iterdir())
