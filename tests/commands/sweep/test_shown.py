"""SQL over the rows of a sweep: tables in terminals of two widths, Markdown, JSON, and no way out of the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.studies import PLAN, study_file, threads
from typer.testing import CliRunner

pytest.importorskip("pyarrow", reason="pyarrow (extra `sweep`) is not installed")
pytest.importorskip("duckdb", reason="duckdb (extra `sweep`) is not installed")

import specsim
from specsim.cli import app
from specsim.commands.sweep import pools, run
from specsim.commands.sweep.options import Sweep
from specsim.report import text

BEST = (
    "select alpha, cost_ratio, arg_max(gamma, speedup) as gamma, max(speedup) as speedup from rows "
    "group by all order by all"
)


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pools, "processes", lambda count: threads()())
    run.run(Sweep(study_file(tmp_path, PLAN), tmp_path / "rows.parquet"))
    return tmp_path / "rows.parquet"


def shown(out: Path, *words: str) -> str:
    ended = CliRunner().invoke(app, ["sweep", "--out", str(out), *words])
    assert (ended.exit_code, ended.stderr) == (0, "")
    return ended.output


def test_a_query_is_a_table(out: Path) -> None:
    lines = shown(out, "--show", BEST).splitlines()
    assert lines[0].split() == ["alpha", "cost_ratio", "gamma", "speedup"]
    assert len(lines) == 2 + 6
    best = specsim.optimal_gamma(0.8, cost_ratio=0.2, max_gamma=4)
    assert lines[-1].split() == ["0.8", "0.2", str(best.gamma), f"{best.speedup:.6g}"]
    assert shown(out, "--show", BEST, "--markdown").startswith("| alpha | cost_ratio | gamma | speedup |\n| ---: |")


def test_a_query_is_json(out: Path) -> None:
    query = "select 1 as a, null as b, 'nan'::double as c, [1, 2] as d"
    found = json.loads(shown(out, "--json", "--show", query))["rows"]
    assert found == [{"a": 1, "b": None, "c": None, "d": [1, 2]}]


@pytest.mark.parametrize("width", [80, 120])
def test_wide_tables_fit_a_terminal(width: int, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "terminal_width", lambda stream=None: width)
    for query in (BEST, "select * from rows limit 2"):
        lines = shown(out, "--show", query).splitlines()
        assert max(map(len, lines)) <= width
        assert "…" not in "".join(lines)


def test_a_query_reads_nothing_but_the_rows(out: Path) -> None:
    secret = out.with_name("secret.csv")
    secret.write_text("a,b\n1,2\n")
    for query in (f"select * from '{secret}'", f"copy rows to '{out}.csv'", "install httpfs", "set threads = 1"):
        ended = CliRunner().invoke(app, ["sweep", "--out", str(out), "--show", query])
        assert ended.exit_code == 2
        assert ended.stderr.startswith("error: show ")
        assert ended.stderr.count("\n") == 1
    assert not Path(f"{out}.csv").exists()


def test_rows_that_are_not_there(tmp_path: Path) -> None:
    for words, said in (
        (["--show", "select 1"], "rows.parquet cannot be read: No such file or directory"),
        ([], "give a study, as study.toml, or --show with SQL"),
        (["--show", "select 1", "--force"], "--force is for running a study, and none is given"),
    ):
        ended = CliRunner().invoke(app, ["sweep", "--out", str(tmp_path / "rows.parquet"), *words])
        assert ended.exit_code == 2
        assert said in ended.stderr
        assert ended.stderr.count("\n") == 1
