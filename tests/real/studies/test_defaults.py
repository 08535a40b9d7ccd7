"""`real.compare` and `specsim-real compare` have the same defaults for SmolLM2."""

from __future__ import annotations

import dataclasses
import json
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
from real.studies.compare.command import usual_of


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
