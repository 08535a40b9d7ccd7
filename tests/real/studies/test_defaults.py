"""Defaults of comparisons: `real.compare` and the command have the same for SmolLM2; records are named by pairs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import real
import real.cli
import real.studies.compare.command
import real.studies.compare.from_python
import real.studies.compare.subject
from real import TINY
from real.origin import Origin
from real.studies import provenance
from real.studies.compare.command import usual_of
from real.studies.settings import record_name


@pytest.mark.parametrize("words", ["", "--rule tokenwise,block", "--gamma 2 --chat"])
def test_defaults_of_smollm2_are_the_commands(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts, template, lengths and timed prompts: one provenance, but for what the pair here has in its files."""
    found = list[dict[str, Any]]()

    def ended(study: Any, what: dict[str, Any], *rest: Any) -> None:
        found.append(what)

    monkeypatch.setattr(real.studies.compare.command, "run", ended)
    monkeypatch.setattr(real.studies.compare.command, "checked_pair", lambda target, draft: ("smollm2", "x"))
    monkeypatch.setattr(real.studies.compare.subject.provenance, "weights", lambda place: "")
    monkeypatch.setattr(real.studies.compare.from_python, "prepared", lambda *told: lambda run: None)
    given = {"rules": ["tokenwise", "block"]} if "rule" in words else {"gammas": [2], "chat": True} if words else {}
    assert CliRunner().invoke(real.cli.app, ["compare", "smollm2", *words.split()]).exit_code == 0
    named = dataclasses.replace(real.load(TINY / "target", TINY / "draft"), origin=Origin("smollm2", "x"))
    what = real.compare(named, **given).record["provenance"]
    alike = found[0].keys() - {"date", "command", "threads"}
    assert {key: what.get(key) for key in alike} == json.loads(json.dumps({key: found[0][key] for key in alike}))
    assert (what["prompt_set"], what["prompts"]) == ("chat:test", usual_of("smollm2").prompts)
    assert what.get("timed_prompts") == (None if "rule" in words else 3)


@pytest.mark.parametrize(
    ("target", "draft", "name"),
    [
        ("", "", "compare-tiny"),
        ("smollm2", "smollm2/exit_5", "compare-smollm2-exit_5"),
        ("models/big.Q4_0.gguf", "./small/", "compare-big.Q4_0-small"),
        ("Qwen/Qwen3-4B", "Qwen/Qwen3-0.6B", "compare-Qwen3-4B-Qwen3-0.6B"),
        ("a b/c d", "ü:*", "compare-c_d-ü_"),
    ],
)
def test_a_record_is_named_by_its_pair(target: str, draft: str, name: str) -> None:
    assert record_name(target, draft) == name


def test_a_folder_named_by_a_dot_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    assert record_name(".", ".") == "compare-mine-mine"


def test_no_study_replaces_a_finished_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same command shows its record again; another seed of the same pair goes beside it."""
    monkeypatch.chdir(tmp_path)
    words = "compare tiny --widen 0 --count 1 --max-tokens 4 --gamma 1"
    first = Path("compare-tiny.json")
    for _ in range(2):
        assert CliRunner().invoke(real.cli.app, words.split()).exit_code == 0
    kept = first.read_text()
    assert CliRunner().invoke(real.cli.app, [*words.split(), "--seed", "1"]).exit_code == 0
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["compare-tiny-2.json", "compare-tiny.json"]
    assert first.read_text() == kept


def test_a_gguf_file_that_changed_is_another_study(tmp_path: Path) -> None:
    file = tmp_path / "a.gguf"
    file.write_bytes(b"GGUF")
    before = provenance.weights(str(file))
    assert before is not None
    assert provenance.weights(str(file)) == before
    file.write_bytes(b"GGUF, other weights")
    assert provenance.weights(str(file)) != before
