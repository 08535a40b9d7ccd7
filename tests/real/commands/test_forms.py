"""Tables, Markdown and JSON of one record: the same numbers, nothing else on standard output, one form at a time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import real
import real.cli
from real.studies import runner
from real.studies.drafts import measure, report
from specsim.report.forms import blocks_of, latex_table

RESULTS = Path(real.__file__).parent / "results"
STUDIES = {  # words -> record
    "compare tiny --out {}": "bundled",
    "compare tiny --rule tokenwise,block --out {}": "block",
    "forced --out {}": "forced",
    "drafts --out {}": "drafts",
    "trees --out {}": "trees",
}


def run(*words: str) -> Any:
    return CliRunner().invoke(real.cli.app, list(words))


@pytest.fixture(params=STUDIES)
def finished(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], Path]:
    """The words of a study that is recorded, and its record: what is there counts as this very study."""
    name = STUDIES[request.param]
    out = tmp_path / f"{name}.json"
    out.write_bytes((RESULTS / f"{name}.json").read_bytes())
    monkeypatch.setattr(runner, "earlier_record", lambda out, schema, what, force: json.loads(out.read_text()))
    return request.param.format(out).split(), out


def test_json_is_the_record(finished: tuple[list[str], Path]) -> None:
    words, out = finished
    ended = run(*words, "--json")
    assert ended.exit_code == 0, ended.output
    assert ended.stdout == out.read_text()
    assert "holds this study" in " ".join(ended.stderr.split())
    assert run("table", str(out), "--json").stdout == out.read_text()


def test_markdown_is_that_of_table(finished: tuple[list[str], Path]) -> None:
    words, out = finished
    ended = run(*words, "--markdown")
    assert ended.exit_code == 0, ended.output
    assert ended.stdout == run("table", str(out)).stdout
    assert ended.stdout.startswith("|") or "\n|" in ended.stdout


def test_csv_and_latex_have_the_rows_of_markdown(finished: tuple[list[str], Path]) -> None:
    """LaTeX with the same cells; CSV with every digit of the record, so that its cells are others."""
    words, out = finished
    tables = [block for block in blocks_of(run(*words, "--markdown").stdout) if not isinstance(block, str)]
    for form in ("csv", "latex"):
        ended = run(*words, f"--{form}")
        assert ended.exit_code == 0, ended.output
        assert ended.stdout == run("table", str(out), f"--{form}").stdout
        for table in tables:
            assert form == "csv" or latex_table(table) in ended.stdout
        assert "![" not in ended.stdout


def test_a_table_has_its_words_beside_it(finished: tuple[list[str], Path]) -> None:
    words, _ = finished
    ended = run(*words)
    assert "holds this study" in " ".join(ended.stdout.split())
    assert ended.stderr == ""


def test_a_stopped_record_is_json_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = {"complete": False, "failed": "interrupted", "provenance": {"prompts": 5}, "turns": [{}], "pairs": []}
    printed: list[str] = []
    monkeypatch.setattr("typer.echo", printed.append)
    study = runner.Study("x", "kind/1", str, print)
    with pytest.raises(typer.Exit) as stopped:
        runner.finish(record, tmp_path / "x.json", None, study, form="json")  # type: ignore[arg-type]
    assert stopped.value.exit_code == 130
    assert [json.loads(text) for text in printed] == [record]


def test_a_fresh_record_is_what_the_file_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study at tiny sizes, from the first text to the record; what it would compute is another test's."""
    out = tmp_path / "drafts.json"
    monkeypatch.setattr(measure, "SYNTHETIC", ())
    monkeypatch.setattr(measure, "measure", lambda rows, counts, **told: {"name": rows.name, "rows": [{"value": 0.1}]})
    monkeypatch.setattr(report, "write_plot", lambda path, record: None)
    monkeypatch.setattr(report, "table", lambda record: "no table where JSON is asked for")
    words = f"drafts --positions 2 --samples 2 --num-drafts 1,2 --count 1 --max-tokens 3 --json --out {out}"
    ended = run(*words.split())
    assert ended.exit_code == 0, ended.output
    assert ended.stdout == out.read_text()
    assert json.loads(ended.stdout)["complete"] is True


@pytest.mark.parametrize(
    ("words", "both"),
    [
        ("compare tiny --json --markdown", "--json and --markdown"),
        ("compare tiny --json --wide", "--json and --wide"),
        ("compare tiny --csv --wide", "--csv and --wide"),
        (f"table {RESULTS / 'bundled.json'} --csv --latex", "--csv and --latex"),
        ("compare tiny --markdown --wide", "--markdown and --wide"),
        ("forced --json --markdown", "--json and --markdown"),
        ("drafts --json --markdown", "--json and --markdown"),
        ("trees --json --markdown", "--json and --markdown"),
        ("train-pair --out x --json --markdown", "--json and --markdown"),
        ("train-images --json --markdown", "--json and --markdown"),
        ("train-drafters --json --markdown", "--json and --markdown"),
        ("systems --json --markdown", "--json and --markdown"),
        ("taxonomy --json --markdown", "--json and --markdown"),
    ],
)
def test_one_form_at_a_time(words: str, both: str) -> None:
    ended = run(*words.split())
    said = f"error: {both} are both given: the output has one form at a time\n"
    assert (ended.exit_code, ended.stdout, ended.stderr) == (2, "", said)


def test_every_command_that_prints_a_result_has_json() -> None:
    for name in real.cli.COMMANDS:
        assert "--json" in run(name, "-h").output, name


WITHOUT = """
import json, sys
from pathlib import Path
class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "tokenizers", "safetensors"):
            raise ImportError(name + " is loaded")
sys.meta_path.insert(0, Refused())
from typer.testing import CliRunner
import real.cli
import real.studies.compare.command, real.studies.compare.kinds, real.studies.drafts.command
import real.studies.forced.command, real.studies.trees.command
from real.studies import runner
for words, path in {cases!r}:
    runner.earlier_record = lambda out, schema, what, force: json.loads(Path(path).read_text())
    ended = CliRunner().invoke(real.cli.app, words.split())
    assert ended.exit_code == 0, (words, ended.output, ended.exception)
    assert ended.stdout
"""


def test_a_finished_record_is_shown_without_torch(tmp_path: Path) -> None:
    cases = []
    for (words, name), form in zip(STUDIES.items(), ("", " --json", "", "", " --markdown"), strict=True):
        cases.append((words.format(tmp_path / "x.json") + form, str(RESULTS / f"{name}.json")))
    tree = tmp_path / "tree.json"
    tree.write_text(json.dumps({"schema": "specsim-compare-trees/1", "complete": True, "provenance": {}, "rows": []}))
    cases.append(("compare tiny --tree 2,1 --json", str(tree)))
    found = subprocess.run([sys.executable, "-c", WITHOUT.format(cases=cases)], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        (["--json"], lambda text: json.loads(text)["measured"] == {"kl_written": 0.25}),
        ([], lambda text: text == "measured     value\n----------  ------\nkl written  0.2500\n"),
        (["--markdown"], lambda text: text == "| measured | value |\n| --- | ---: |\n| kl written | 0.2500 |\n"),
    ],
    ids=["json", "table", "markdown"],
)
def test_train_pair(form: list[str], wanted: Callable[[str], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    record = {"measured": {"kl_written": 0.25}, "seconds": 3}
    monkeypatch.setattr("real.train.pair.train_pair", lambda *args, **told: record)
    ended = run("train-pair", "--out", "somewhere", *form)
    assert ended.exit_code == 0, ended.output
    assert wanted(ended.stdout), ended.stdout
