"""Systems are found by listing their folder; runs are kept, resumed, refused and shown."""

from __future__ import annotations

import csv
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.toy_system import COIN
from typer.testing import CliRunner

import real.cli
from real.papers import systems
from real.papers.lab import contract, records, report
from real.papers.lab.contract import Lab, Record
from real.papers.models import store
from real.studies.intervals import Estimate
from specsim.base import imports

OTHER = COIN.replace('"Coin"', '"Die"').replace("Estimate(2.0, 1.5, 2.5)", "Estimate(1.2, 0.5, 2.5)")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A second directory of the package, with two systems in it."""
    files = tmp_path / "files"
    files.mkdir()
    (files / "coin.py").write_text(COIN)
    (files / "die.py").write_text(OTHER)
    monkeypatch.setattr(systems, "__path__", [*systems.__path__, str(files)])
    importlib.invalidate_caches()
    yield files
    for path in files.glob("*.py"):
        sys.modules.pop(f"real.papers.systems.{path.stem}", None)


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(real.cli.app, ["systems", *map(str, words)])


def runs(name: str = "coin") -> int:
    """How often it was run."""
    return len(vars(systems.find(name))["RUNS"])


def test_adding_a_system_is_one_file(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "records" / "deep"
    ended = run("coin", "die", "--out", out)
    assert ended.exit_code == 0, ended.output
    shown = " ".join(ended.stdout.split())
    assert "Coin Heads come" in shown
    assert all(word in shown for word in ("2.0", "[1.5,", "2.5]", "shows"))
    held = json.loads((out / "coin.json").read_text())
    assert (held["verdict"], held["complete"], held["test"]) == (
        "shows",
        True,
        "The interval of heads over tails excludes 1.",
    )
    assert json.loads((out / "die.json").read_text())["verdict"] == "does not show"
    assert {"date", "machine", "versions", "command", "share", "seed"} <= held["provenance"].keys()
    assert sorted(path.name for path in out.iterdir()) == ["coin.json", "die.json"]
    pages = report.pages(report.recorded(out), ["coin", "die"])
    assert "| Coin | [0000.00001](https://arxiv.org/abs/0000.00001) | Heads come 2.0 times" in pages["systems"]
    assert "| Die |" in pages["axes"]
    assert "| heads, predicted | 0.6 | predicted |" in pages["numbers"]
    assert "### Coin (`coin`)" in pages["numbers"]
    assert {"coin", "die"} <= set(systems.names())
    told = json.loads(CliRunner().invoke(real.cli.app, ["taxonomy", "--json"]).stdout)["drafting"]
    assert {"Coin", "Die"} <= set(told["smaller model"]) - set(told["n-grams"])


def test_rows_fit_into_80_columns(folder: Path, tmp_path: Path) -> None:
    lines = run("coin", "die", "--out", tmp_path).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    head = next(line for line in lines if "claim" in line)
    assert all(word in head for word in ("system", "claim", "ours", "verdict", "seconds")), "a row, not a stack"


def test_every_system_of_the_folder_fits_too() -> None:
    """With whatever claim it states; a number in the place of its own."""
    for name in systems.names():
        system = systems.find(name)
        found = Record({}, {system.HEADLINE: Estimate(0.29041, 0.28213, 0.29987)}, {})
        held = {"found": contract.as_json(found), "seconds": 123.4}
        row = report.row(system, held, "does not show")
        shown = report.in_columns([row], 80).splitlines()
        assert max(map(len, shown)) <= 80, name
        assert "claim" in shown[0] or "claim" in shown[1], f"{name}: a row, not a stack"


def test_json_is_what_the_files_hold(folder: Path, tmp_path: Path) -> None:
    ended = run("coin", "die", "--out", tmp_path, "--json")
    assert ended.exit_code == 0, ended.output
    files = {name: json.loads((tmp_path / f"{name}.json").read_text()) for name in ("coin", "die")}
    assert json.loads(ended.stdout) == {"schema": "specsim-real/systems/1", "systems": files}


def test_markdown_has_the_claims(folder: Path, tmp_path: Path) -> None:
    ended = run("coin", "--out", tmp_path, "--markdown")
    assert ended.exit_code == 0, ended.output
    assert ended.stdout.startswith("| system | paper | claim |")
    assert "| Die |" not in ended.stdout


def test_csv_has_intervals_in_columns_of_their_own(folder: Path, tmp_path: Path) -> None:
    first, *_, last = run("coin", "--out", tmp_path, "--csv").stdout.split("\n\n")
    assert [row["ours high"] for row in csv.DictReader(first.splitlines())] == ["2.5"]
    assert last.splitlines()[1::2] == ["Coin,heads over tails,2.0,1.5,2.5,measured", "Coin,bias,0.5,,,exact"]


def test_a_finished_system_is_not_run_again(folder: Path, tmp_path: Path) -> None:
    run("coin", "--out", tmp_path)
    again = run("coin", "die", "--out", tmp_path)
    assert again.exit_code == 0, again.output
    assert "coin: recorded " in again.stderr
    assert "Coin" in again.stdout
    assert (runs("coin"), runs("die")) == (1, 1)
    run("coin", "--out", tmp_path, "--force")
    assert runs("coin") == 2


def test_a_record_of_another_test_is_stale(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("coin", "--out", tmp_path)
    monkeypatch.setattr(systems.find("coin"), "TEST", "The interval of heads over tails excludes 3.")
    page = report.pages(report.recorded(tmp_path), ["coin"])["systems"]
    assert "| stale: its TEST has changed since the record was made |" in page
    assert "shows" not in page
    again = run("coin", "--out", tmp_path)
    assert "coin: stale, its TEST has changed since the record was made: it is run anew" in again.stderr
    assert runs("coin") == 2
    assert "excludes 3" in json.loads((tmp_path / "coin.json").read_text())["test"]


def test_a_record_of_other_weights_is_stale(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "WEIGHTS", tmp_path)
    coin = systems.find("coin")
    monkeypatch.setattr(coin, "MODELS", ("toy",))
    ended = run("coin", "--out", tmp_path / "out")
    assert (ended.exit_code, runs("coin")) == (2, 0)
    assert ended.stderr == "error: weights of toy are not there: `specsim-real train-images toy` makes them anew\n"
    (tmp_path / "toy.safetensors").write_bytes(b"first")
    assert run("coin", "--out", tmp_path / "out").exit_code == 0
    assert "recorded" in run("coin", "--out", tmp_path / "out").stderr
    (tmp_path / "toy.safetensors").write_bytes(b"second")
    again = run("coin", "--out", tmp_path / "out")
    assert "coin: stale, the weights of toy have changed" in again.stderr
    assert runs("coin") == 2


def test_a_record_of_other_code_is_stale(folder: Path, tmp_path: Path) -> None:
    """The system's own code; a record without digests says nothing of it."""
    run("coin", "--out", tmp_path)
    path = tmp_path / "coin.json"
    held = json.loads(path.read_text())
    assert "real.papers.systems.coin" in held["code"]
    path.write_text(json.dumps(held | {"code": {"real.papers.systems.coin": "another"}}))
    assert "coin: stale, its code has changed" in run("coin", "--out", tmp_path).stderr
    path.write_text(json.dumps({key: value for key, value in held.items() if key != "code"}))
    assert "coin: stale, its code has changed" in run("coin", "--out", tmp_path).stderr
    assert runs("coin") == 3


@pytest.mark.parametrize("module", ["real.studies.intervals", "specsim.base.arrays"])
def test_a_record_of_other_imported_code_is_run_anew(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    """Imported by the file, or by what it imports."""
    run("coin", "--out", tmp_path)
    honest = imports.code
    monkeypatch.setattr(imports, "code", lambda name: "another" if name == module else honest(name))
    again = run("coin", "--out", tmp_path)
    assert f"coin: stale, code that it imports has changed ({module}): it is run anew" in again.stderr
    assert "coin: recorded " in run("coin", "--out", tmp_path).stderr
    assert runs("coin") == 2


def test_the_code_of_a_system_is_whatever_it_imports_or_names() -> None:
    """Also controllers that `discover` finds by a text, and the loop that its axes name."""
    found = records.code(systems.find("disco"))
    imported = {"real.papers.systems.disco", "real.papers.lab.rollouts", "real.signals", "real.decode.loop"}
    named = {"specsim.control.heuristic", "specsim.control.roc", "specsim.verify.chain.tokenwise"}
    assert imported | named <= found.keys()
    assert not {name for name in found if name.startswith("specsim.testing")}
    assert records.code(systems.find("mllm")).keys() != found.keys()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"verdict": "contradicts"}, "its verdict is judged otherwise"),
        ({"found": {"exact": {}, "measured": {}, "predicted": {}}}, "its HEADLINE is none of the record's numbers"),
        ({"found": {}}, "its record is not whole"),
    ],
)
def test_a_record_that_says_something_else_is_stale(
    folder: Path, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    run("coin", "--out", tmp_path)
    path = tmp_path / "coin.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    again = run("coin", "--out", tmp_path)
    assert f"coin: stale, {reason}" in again.stderr
    assert json.loads(path.read_text())["verdict"] == "shows"


def test_ctrl_c_keeps_what_has_ended(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = systems.find("die").run

    def stopped(lab: Lab) -> Record:
        raise KeyboardInterrupt

    monkeypatch.setattr(systems.find("die"), "run", stopped)
    ended = run("coin", "die", "--out", tmp_path)
    assert ended.exit_code == 130
    assert f"interrupted: 1 of 2 systems recorded in {tmp_path}; the same command carries on" in ended.stderr
    assert "Coin" in ended.stdout
    assert [path.name for path in tmp_path.glob("*.json")] == ["coin.json"]
    monkeypatch.setattr(systems.find("die"), "run", honest)
    assert run("coin", "die", "--out", tmp_path).exit_code == 0
    assert (runs("coin"), runs("die")) == (1, 1)


def test_a_trial_does_not_replace_a_record(folder: Path, tmp_path: Path) -> None:
    run("coin", "--out", tmp_path)
    ended = run("coin", "--out", tmp_path, "--share", "0.1")
    assert ended.exit_code == 2
    assert "coin.json holds another study (share is 1.0, here 0.1)" in ended.stderr
    assert runs("coin") == 1


def test_what_a_system_is_told(folder: Path, tmp_path: Path) -> None:
    assert run("coin", "--out", tmp_path, "--share", "0.25", "--seed", "7").exit_code == 0
    (lab,) = vars(systems.find("coin"))["RUNS"]
    assert run("die", "--out", tmp_path, "--share", "0.25").stderr.startswith("a trial on 0.25 of the texts: ")
    assert "a trial" not in run("coin", "--out", tmp_path / "whole").stderr
    assert (lab.seed, lab.share) == (7, 0.25)
    assert (lab.texts(1000), lab.texts(10), lab.texts(4)) == (250, 8, 4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nonsense", "system 'nonsense' is unknown; known: "),
        ("contract", "system 'contract' is unknown; known: "),
        ("coin --share 0", "share must be above 0 and at most 1, got 0.0"),
        ("coin --share 1.5", "share must be above 0 and at most 1, got 1.5"),
        ("coin --share nan", "share must be above 0 and at most 1, got nan"),
        ("coin --threads 0", "threads must be at least 1, got 0"),
        ("coin --json --markdown", "--json and --markdown are both given"),
        ("coin --out file", "cannot be written"),
    ],
)
def test_bad_input_is_one_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    ended = run(*words.split())
    assert (ended.exit_code, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert message in ended.stderr
    assert runs("coin") == 0


def test_a_file_that_is_no_record_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "coin.json").write_text("{}")
    ended = run("coin", "--out", tmp_path)
    assert (ended.exit_code, runs("coin")) == (2, 0)
    assert "coin.json is there and is no record: give another --out, or --force to replace it" in ended.stderr


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('TEST = "The', 'TASTE = "The', "system 'coin' needs TEST, a text, got None"),
        ('NAME = "Coin"', "NAME = 3", "system 'coin' needs NAME, a text, got 3"),
        ("Heads come 2.0 times", "2.0 times as many heads", "system 'coin' needs a CLAIM that begins with a word, got"),
        ("MODELS = ()", "MODELS = []", "system 'coin' needs MODELS, a tuple"),
        ("for axis in NAMES}", "for axis in NAMES[1:]}", "system 'coin' needs AXES, a dict that says something of"),
        ('+ ": or so"', '+ "!: or so"', "system 'coin' has AXES\\['drafting'\\] = 'smaller model!', which nobody"),
        ("def verdict(", "def judged(", "system 'coin' needs a function verdict"),
    ],
)
def test_a_file_that_is_no_system(folder: Path, right: str, wrong: str, message: str) -> None:
    assert COIN.count(right) == 1
    (folder / "coin.py").write_text(COIN.replace(right, wrong))
    with pytest.raises(ValueError, match=f"^{message}"):
        systems.find("coin")


def test_errors_of_a_run_name_the_system(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems.find("coin"), "verdict", lambda record: "perhaps")
    ended = run("coin", "--out", tmp_path)
    said = "error: system 'coin': verdict 'perhaps' is none; known: shows, does not show, contradicts\n"
    assert (ended.exit_code, ended.stderr) == (2, said)
    assert list(tmp_path.glob("*.json")) == []
