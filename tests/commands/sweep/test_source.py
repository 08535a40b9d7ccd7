"""Numbers are of the source that is there now, two runs of one file lose no row, and no file is run unasked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.studies import rows_of, study_file, threads
from typer.testing import CliRunner

pytest.importorskip("pyarrow", reason="pyarrow (extra `sweep`) is not installed")
pytest.importorskip("duckdb", reason="duckdb (extra `sweep`) is not installed")

from specsim.base import source
from specsim.cli import app
from specsim.commands.sweep import pools, run, store
from specsim.commands.sweep.study import key, points, read

ROOT = Path(__file__).parents[3]
STUDY = """
kind = "acceptance"
[grid]
target = "law:1/2,.3,.2"
draft = "law:.1,.3,.6"
rule = "mine.py"
num_drafts = [1, 2]
"""
CONFIG = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "intermediate_size": 512,
    "vocab_size": 1000,
}
RULE = "from specsim.verify.{family}.{name} import *\nTHEOREM = 'open'\n"


@pytest.fixture
def invoked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The command in a folder of its own, without processes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pools, "processes", lambda count: threads(count)())
    return lambda *words: CliRunner().invoke(app, [*words])


def rule(path: Path, name: str, family: str = "step") -> None:
    path.write_text(RULE.format(name=name, family=family), encoding="utf-8")


def test_a_rule_file_that_changed_is_new_work(tmp_path: Path, invoked: Callable[..., Any]) -> None:
    """0.64 of the old rule once, where 0.416 is right: the key held the path alone."""
    study_file(tmp_path, STUDY)
    rule(tmp_path / "mine.py", "recursive")
    first = invoked("sweep", "study.toml")
    assert first.exit_code == 0
    assert first.stderr == "study.toml names the rule file mine.py, which is run\n"
    assert [row["acceptance"] for row in rows_of(tmp_path / "rows.parquet")] == pytest.approx([0.6, 0.64])
    assert "2 of 2 rows\n" in invoked("sweep", "study.toml").stdout  # nothing has changed: nothing is run
    rule(tmp_path / "mine.py", "naive")
    again = invoked("sweep", "study.toml")
    assert again.exit_code == 0
    assert again.stdout.startswith("2 rows made anew: the source of mine.py has changed\n")
    assert [row["acceptance"] for row in rows_of(tmp_path / "rows.parquet")] == pytest.approx([0.26, 0.416])
    assert json.loads(invoked("sweep", "study.toml", "--json").stdout)["anew"] == ""


def test_what_a_rule_file_imports_counts(tmp_path: Path, invoked: Callable[..., Any]) -> None:
    helper = tmp_path / "helper_of_mine.py"
    helper.write_text("from specsim.verify.step import naive\n", encoding="utf-8")
    text = "import helper_of_mine\nfrom specsim.verify.step.recursive import *\nTHEOREM = 'open'\n"
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    study = read(study_file(tmp_path, STUDY))
    before = [key(study.kind, one) for one in points(study)]
    helper.write_text("from specsim.verify.step import kseq\n", encoding="utf-8")
    assert not set(before) & {key(study.kind, one) for one in points(study)}
    sys.modules.pop("helper_of_mine")


def test_a_config_that_changed_is_new_work(tmp_path: Path, invoked: Callable[..., Any]) -> None:
    """A speedup of 0.119 once, where 1.688 is right."""
    text = (
        'kind = "plan"\n[grid]\nalpha = 0.8\ngamma = 2\ntarget = "llama-3.1-8b"\nhardware = "h100-sxm"\ndraft = "c"\n'
    )
    study_file(tmp_path, text)
    (tmp_path / "c").mkdir()
    found = []
    for layers in (4, 400):
        (tmp_path / "c" / "config.json").write_text(json.dumps({**CONFIG, "num_hidden_layers": layers}))
        ended = invoked("sweep", "study.toml")
        assert ended.exit_code == 0, ended.stderr
        found.append((ended.stdout, rows_of(tmp_path / "rows.parquet")[0]["speedup"]))
    assert found[1][0].startswith("1 row made anew: the source of c has changed\n")
    assert abs(found[1][1] - found[0][1]) > 0.1


LATE = """
import importlib, json, pathlib
from specsim.verify.step.recursive import *
THEOREM = 'open'
def of():
    return importlib.import_module(json.loads((pathlib.Path(__file__).parent / "c.json").read_text()))
def prepare(p, q, num_drafts): return of().prepare(p, q, num_drafts)
def verify(plan, drafts, u): return of().verify(plan, drafts, u)
def transition(plan, drafts): return of().transition(plan, drafts)
def acceptance(plan): return of().acceptance(plan)
"""


def test_what_a_rule_reads_only_while_it_runs_is_new_work(tmp_path: Path, invoked: Callable[..., Any]) -> None:
    """0.64 of the old file once, where 0.416 is right: no key can hold what is read after it was made."""
    study_file(tmp_path, STUDY)
    (tmp_path / "mine.py").write_text(LATE, encoding="utf-8")
    (tmp_path / "c.json").write_text('"specsim.verify.step.recursive"')
    assert invoked("sweep", "study.toml").exit_code == 0
    assert "2 of 2 rows\n" in invoked("sweep", "study.toml").stdout
    (tmp_path / "c.json").write_text('"specsim.verify.step.naive"')
    again = invoked("sweep", "study.toml")
    assert again.stdout.startswith("2 rows made anew: c.json, which a rule reads, has changed\n")
    assert [row["acceptance"] for row in rows_of(tmp_path / "rows.parquet")] == pytest.approx([0.26, 0.416])
    assert "2 of 2 rows\n" in invoked("sweep", "study.toml").stdout


def test_a_rule_that_asks_a_process_is_said(tmp_path: Path, invoked: Callable[..., Any]) -> None:
    study_file(tmp_path, STUDY)
    asks = f"import subprocess\nsubprocess.run([{sys.executable!r}, '-c', ''], check=True)\n"
    (tmp_path / "mine.py").write_text(asks + RULE.format(name="recursive", family="step"), encoding="utf-8")
    ended = invoked("sweep", "study.toml")
    assert ended.stderr.endswith(
        "\nnote: a rule depends on answers of another process: if these change, nothing is made anew\n"
    )


def test_a_package_that_changed_is_new_work(
    tmp_path: Path, invoked: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    study_file(tmp_path)
    invoked("sweep", "study.toml")
    monkeypatch.setattr(source, "package", lambda: "other")
    said = invoked("sweep", "study.toml").stdout
    assert said.startswith("30 rows made anew: the source of specsim has changed\n")
    assert "30 of 30 rows, 30 of them new" in said


def test_the_package_is_every_file_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "PACKAGE", tmp_path / "specsim")
    (tmp_path / "specsim" / "data").mkdir(parents=True)
    seen = set()
    for path, text in (("a.py", "1"), ("a.py", "2"), ("data/devices.csv", "1"), ("data/devices.csv", "2")):
        (tmp_path / "specsim" / path).write_text(text)
        source.package.cache_clear()
        seen.add(source.package())
    source.package.cache_clear()
    assert len(seen) == 4


def test_a_run_beside_another_is_refused(tmp_path: Path, invoked: Callable[..., Any]) -> None:
    """The slower of two once replaced the complete file by its own rows, one short. A lock ends with its process."""
    study_file(tmp_path)
    code = "import sys, time; from pathlib import Path; from specsim.base.locks import locked\n"
    code += "with locked(Path('rows.parquet')):\n print('held', flush=True); time.sleep(60)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        ended = invoked("sweep", "study.toml")
        assert ended.exit_code == 2
        assert ended.stderr == (
            f"error: output rows.parquet is being written by another run (process {other.pid}): wait until it ends, "
            "or give another\n"
        )
        other.send_signal(signal.SIGKILL)
    assert invoked("sweep", "study.toml").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.parquet", "study.toml"]  # no lock is left


def test_rows_of_a_run_that_no_lock_kept_out_stay(tmp_path: Path, invoked: Callable[..., Any]) -> None:
    """Where a file system has no locks: what another run has put into the file meanwhile is merged by its key."""
    study = read(study_file(tmp_path))
    order, out = [key(study.kind, one) for one in points(study)], tmp_path / "rows.parquet"
    assert run.made(study, out, order, range(len(order)), threads()).complete
    store.write_part(out, study.kind, rows_of(out)[:1], {})

    def interrupted() -> Any:
        raise KeyboardInterrupt

    # It began before there was a file, and ends after its first row.
    assert run.made(study, out, order, range(len(order)), interrupted).complete
    assert len(rows_of(out)) == len(order)


def test_parts_of_another_run_stay(tmp_path: Path) -> None:
    study = read(study_file(tmp_path))
    out = tmp_path / "rows.parquet"
    order = [key(study.kind, one) for one in points(study)]
    run.made(study, out, order, range(3), threads())
    there = rows_of(out)
    store.write_part(out, study.kind, there[:1], {})
    read_parts = [*store.parts(out).glob("*.parquet")]
    store.write_part(out, study.kind, there[1:2], {})  # after the first run has read what is there
    store.remove_parts(out, read_parts)
    assert [row["key"] for path in store.parts(out).glob("*.parquet") for row in rows_of(path)] == [there[1]["key"]]


@pytest.mark.parametrize("where", ["../evil.py", "{folder}/evil.py", "link.py"])
def test_a_rule_file_of_another_folder_is_not_run_unasked(
    where: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("elsewhere")
    for path in (folder / "evil.py", tmp_path / "evil.py"):
        text = f"import pathlib\npathlib.Path({str(tmp_path / 'done')!r}).touch()\n"
        path.write_text(text + RULE.format(name="naive", family="step"))
    study = tmp_path / "study"
    study.mkdir()
    (study / "link.py").symlink_to(folder / "evil.py")
    monkeypatch.chdir(study)
    monkeypatch.setattr(pools, "processes", lambda count: threads(count)())
    name = where.format(folder=folder)
    study_file(study, STUDY.replace("mine.py", name))
    ended = CliRunner().invoke(app, ["sweep", "study.toml"])
    assert ended.exit_code == 2
    assert ended.stderr == (
        f"error: study.toml names the rule file {name}, which would be run, and is not in its folder: read the file, "
        "and give --trust to run it\n"
    )
    assert not (tmp_path / "done").exists()
    trusted = CliRunner().invoke(app, ["sweep", "study.toml", "--trust"])
    assert trusted.exit_code == 0
    assert trusted.stderr == f"study.toml names the rule file {name}, which is run\n"
    assert (tmp_path / "done").exists()


def test_a_study_of_another_folder_runs_no_file_beside_it_unasked(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, invoked: Callable[..., Any]
) -> None:
    """A study and its rule file that somebody sent."""
    folder = tmp_path_factory.mktemp("sent")
    (folder / "evil.py").write_text("raise SystemExit('run')\n")
    study_file(folder, STUDY.replace("mine.py", str(folder / "evil.py")))
    refused = invoked("sweep", str(folder / "study.toml")).stderr
    assert (
        "evil.py, which would be run, and is not in the working directory: read the file, and give --trust" in refused
    )


@pytest.mark.parametrize("place", ['[[case]]\nrule = "{}"\n', '[grid]\nrule = ["naive", "{}"]\n'])
def test_wherever_it_is_named(place: str, tmp_path: Path, invoked: Callable[..., Any]) -> None:
    (tmp_path.parent / "evil.py").write_text("raise SystemExit('run')\n")
    study_file(tmp_path, 'kind = "acceptance"\n' + place.format(tmp_path.parent / "evil.py"))
    assert "--trust" in invoked("sweep", "study.toml").stderr


def test_other_kinds_take_rule_files(tmp_path: Path, invoked: Callable[..., Any]) -> None:
    """A chain rule's tau, and simulations of a step rule, a chain rule and a tree's step rule."""
    rule(tmp_path / "chain.py", "block", "chain")
    rule(tmp_path / "step.py", "recursive")
    laws = 'target = "law:1/3,2/3"\ndraft = "law:2/3,1/3"\n'
    small = "blocks = 200\nsequences = 10\n"
    studies = [
        'kind = "block"\n[grid]\ngamma = 2\nrule = ["chain.py", "block"]\n' + laws,
        'kind = "simulate"\n[grid]\ngamma = 2\nrule = ["chain.py", "block"]\n' + laws + small,
        'kind = "simulate"\n[grid]\ngamma = 2\nnum_drafts = 2\nrule = ["step.py", "recursive"]\n' + laws + small,
        'kind = "simulate"\n[grid]\ntree = "2"\nrule = "tokenwise"\nstep = ["step.py", "recursive"]\n' + laws + small,
    ]
    for i, text in enumerate(studies):
        study_file(tmp_path, text)
        ended = invoked("sweep", "study.toml", "--out", f"{i}.parquet")
        assert ended.exit_code == 0, ended.stderr
        own, shipped = rows_of(tmp_path / f"{i}.parquet")
        assert own["tau"] == shipped["tau"]
        assert own["refused"] is None


@pytest.mark.parametrize(
    "said", ["[" * 100_000, '{"schema": "specsim-sweep/1"}', '{"schema": "specsim-sweep/1", "kind": 3, "version": "0"}']
)
def test_a_hostile_file_is_one_line(said: str, tmp_path: Path, invoked: Callable[..., Any]) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    table = arrow.table({"key": ["a"]}).replace_schema_metadata({b"specsim": said.encode()})
    parquet.write_table(table, tmp_path / "rows.parquet")
    study_file(tmp_path)
    page = ("report", "--out", "page.html", "rows.parquet")
    for words in (("sweep", "study.toml"), ("sweep", "--show", "select 1"), page):
        ended = invoked(*words)
        assert ended.exit_code == 2
        assert ended.stderr.startswith("error: rows.parquet is no Parquet file of specsim sweep")
        assert ended.stderr.count("\n") == 1
