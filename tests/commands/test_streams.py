"""`-` is standard input or output for every file of both commands; JSON says its schema."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

import real.cli
import specsim.cli
from specsim.base.files import STANDARD_OUTPUT, write_bytes
from specsim.commands.json_form import json_answer
from specsim.commands.streams import READ, REFUSED, STANDARD_INPUT, WRITTEN, is_path, open_streams

ROOT = Path(__file__).parents[2]
APPS = {"specsim": specsim.cli.app, "specsim-real": real.cli.app}
COMMANDS = {
    (program, name): command
    for program, app in APPS.items()
    for name, command in typer.main.get_command(app).commands.items()  # type: ignore[attr-defined]
}
FILES = [
    (program, name, parameter)
    for (program, name), command in COMMANDS.items()
    for parameter in command.params
    if is_path(parameter)
]
LOG = "eval time = 1020.0 ms / 51 tokens\ndraft acceptance = 0.6 ( 30 accepted / 60 generated)\n"
COUNTS = "position,tried,kept\n1,100,80\n2,80,60\n"


@pytest.mark.parametrize(("program", "name", "parameter"), FILES, ids=lambda value: getattr(value, "name", value))
def test_every_file_is_read_written_or_refused(program: str, name: str, parameter: Any) -> None:
    values = {parameter.name: "-"}
    if f"{name} {parameter.name}" in REFUSED:
        with pytest.raises(ValueError, match=r"cannot be `-`: "):
            open_streams(name, [parameter], values)
        return
    assert (parameter.name in READ) != (parameter.name in WRITTEN)
    is_written = open_streams(name, [parameter], values)
    stream = STANDARD_OUTPUT if parameter.name in WRITTEN else STANDARD_INPUT
    assert (values, is_written) == ({parameter.name: stream}, parameter.name in WRITTEN)


def test_the_tables_name_what_there_is() -> None:
    names = {parameter.name for _, _, parameter in FILES}
    assert names >= READ | WRITTEN
    assert set(REFUSED) <= {f"{name} {parameter.name}" for _, name, parameter in FILES}


@pytest.fixture
def standard_input() -> Iterator[Callable[[str], None]]:
    """Put a text into standard input, as a pipe."""
    kept = os.dup(0)

    def put(text: str) -> None:
        reader, writer = os.pipe()
        os.write(writer, text.encode())
        os.close(writer)
        os.dup2(reader, 0)
        os.close(reader)

    yield put
    os.dup2(kept, 0)
    os.close(kept)


@pytest.mark.parametrize(
    ("words", "text", "wanted"),
    [
        ("log -", LOG, "stdin"),
        ("diagnose -", (ROOT / "tests" / "helpers" / "runs.csv").read_text(), "Slower"),
        ("plan --cost-ratio 0.05 --hazards -", COUNTS, "drafts"),
        ("validate -", (ROOT / "specsim" / "claims" / "data" / "published.csv").read_text(), "median error"),
        ("conform --counts -", '{"p": [0.5], "q": [0.5], "kept": 1}\n' * 8, "/dev/stdin: inconclusive"),
    ],
)
def test_standard_input_is_read(
    words: str, text: str, wanted: str, standard_input: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    standard_input(text)
    ended = CliRunner().invoke(specsim.cli.app, words.split())
    assert ended.stderr.count("error") == 0, ended.output
    assert wanted in ended.stdout


def test_a_file_on_standard_output_stands_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "on.csv").write_text((ROOT / "tests" / "helpers" / "runs.csv").read_text())
    ended = CliRunner().invoke(specsim.cli.app, ["log", str(tmp_path / "on.csv"), "--out", "-"])
    assert ended.exit_code == 0, ended.output
    assert ended.stdout == ""
    assert "tokens per target call" in ended.stderr
    assert capfd.readouterr().out.startswith("position,tried,kept\n1,")


def test_what_standard_output_holds_is_not_cut_off(tmp_path: Path) -> None:
    """As after `>> file`: opening /dev/stdout by its name would empty the file."""
    held, kept = tmp_path / "held", os.dup(1)
    held.write_text("before\n")
    try:
        with held.open("a") as file:
            os.dup2(file.fileno(), 1)
            write_bytes(STANDARD_OUTPUT, b"after\n")
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    assert held.read_text() == "before\nafter\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("diagnose - -", "OFF and ON are both `-`: standard input is read once"),
        (
            "simulate --target law:1/2,1/2 --draft law:1/2,1/2 --checkpoint -",
            "--checkpoint cannot be `-`: it is read to carry a run on",
        ),
        ("conform x --html - --junit -", "--html and --junit are both `-`: standard output is written once"),
    ],
)
def test_one_line_for_a_stream_that_cannot_be(words: str, message: str) -> None:
    ended = CliRunner().invoke(specsim.cli.app, words.split())
    assert (ended.exit_code in (2, 3), ended.stderr) == (True, f"error: {message}\n")


# The JSON of a study is its record, which has a schema of its own.
RECORDS = {"compare", "drafts", "forced", "table", "trees"}


def called(node: ast.expr) -> str:
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def test_every_command_says_the_schema_of_its_json() -> None:
    """`json_answer` is the only way to print JSON; it is called with each command's own name."""
    names, others = set(), set()
    for path in [*(ROOT / "specsim" / "commands").rglob("*.py"), *(ROOT / "real").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if called(node) in ("json_answer", "one_or_many"):  # type: ignore[arg-type]
                names.add(ast.literal_eval(node.args[0]) if isinstance(node.args[0], ast.Constant) else "")  # type: ignore[attr-defined]
            if called(node) == "typer.echo" and any(called(word) in ("json.dumps", "json_text") for word in node.args):  # type: ignore[arg-type, attr-defined]
                others.add(str(path.relative_to(ROOT)))
    wanted = {
        f"{program} {name}"
        for (program, name), command in COMMANDS.items()
        if any("--json" in parameter.opts for parameter in command.params) and name not in RECORDS
    }
    assert wanted == {f"{program} {name}" for program, name in COMMANDS if name not in RECORDS}
    assert {name.replace(" ", "/") for name in wanted} <= names
    assert others == {"real/studies/runner.py", "real/studies/table.py"}


@pytest.mark.parametrize(
    ("words", "schema"),
    [
        ("conform --list", "specsim/conform-list/1"),
        ("claims", "specsim/claims/1"),
        ("plan 0.8 --rate 1 --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm", "specsim/plan-rates/2"),
        ("log runs.csv", "specsim/log/1"),
        ("diagnose runs.csv", "specsim/diagnose/1"),
    ],
)
def test_json_begins_with_its_schema(words: str, schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs.csv").write_text((ROOT / "tests" / "helpers" / "runs.csv").read_text())
    ended = CliRunner().invoke(specsim.cli.app, [*words.split(), "--json"])
    assert ended.exit_code == 0, ended.output
    assert next(iter(json.loads(ended.stdout).items())) == ("schema", schema)
    assert intervals(json.loads(ended.stdout))


def intervals(held: Any) -> bool:
    """Whether what has a low end is {value, low, high}, everywhere; lists of two ends are none."""
    if isinstance(held, dict):
        is_one = "low" not in held or list(held) == ["value", "low", "high"]
        return is_one and not any("interval" in name for name in held) and all(map(intervals, held.values()))
    return not isinstance(held, list) or all(map(intervals, held))


def test_the_check_of_intervals_can_fail() -> None:
    assert not intervals({"tau": 2.0, "tau_interval": [1.0, 3.0]})
    assert not intervals([{"low": 1.0, "high": 3.0}])
    assert json.loads(json_answer("specsim/x", {"tau": 1})) == {"schema": "specsim/x/1", "tau": 1}
