"""Records on disk: the same study is carried on or shown, another one is never replaced unless asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

import real.cli
import real.studies.compare.measure
import real.studies.drafts.measure
import real.studies.forced.measure
from real.studies.runner import Study, check_outputs, earlier_record, finish, record_path

WHAT = {"date": "2026-01-01", "command": "a", "seed": 0, "gammas": (1, 2)}


def command(*arguments: str) -> Any:
    return CliRunner().invoke(real.cli.app, list(arguments))


def test_the_same_study_is_found(tmp_path: Path) -> None:
    out = tmp_path / "x.json"
    assert earlier_record(out, "kind/1", WHAT, force=False) is None
    out.write_text(json.dumps({"schema": "kind/1", "complete": False, "provenance": WHAT}))
    found = earlier_record(out, "kind/1", WHAT | {"date": "2027-01-01", "command": "b"}, force=False)
    assert found is not None
    assert found["provenance"]["command"] == "a"
    assert earlier_record(out, "kind/1", WHAT, force=True) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "x.json is there and is no record"),
        ("[]", "x.json is there and is no record"),
        ('{"schema": "kind/1"}', "x.json is there and is no record"),
        (json.dumps({"schema": "b", "complete": True, "provenance": WHAT}), r"another kind \(b, not kind/1\)"),
        (
            json.dumps({"schema": "kind/1", "complete": True, "provenance": WHAT | {"seed": 1}}),
            r"another study \(seed is 1, here 0\): give another --out, or --force to replace it",
        ),
        (
            json.dumps({"schema": "kind/1", "complete": True, "provenance": {"date": "2026-01-01"}}),
            r"another study \(gammas is None, here \[1, 2\]\)",
        ),
    ],
)
def test_anything_else_is_refused(text: str, message: str, tmp_path: Path) -> None:
    out = tmp_path / "x.json"
    out.write_text(text)
    with pytest.raises(ValueError, match=message):
        earlier_record(out, "kind/1", WHAT, force=False)
    assert out.read_text() == text


def test_a_default_name_never_collides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another study's record goes beside a finished one, and its own is found again."""
    monkeypatch.chdir(tmp_path)
    pairs = [WHAT | {"target": target} for target in ("bundled", "mine", "yours")]

    def place(what: dict[str, Any], schema: str = "kind/1") -> str:
        return str(record_path(None, "compare", schema, what))

    names = ["compare.json", "compare-2.json", "compare-3.json"]
    for what, name in zip(pairs, names, strict=True):
        assert place(what) == name
        (tmp_path / name).write_text(json.dumps({"schema": "kind/1", "complete": False, "provenance": what}))
    assert [place(what | {"date": "2027-01-01", "command": "b"}) for what in pairs] == names
    assert place(pairs[0], "kind/2") == "compare-4.json"
    (tmp_path / "compare-4.json").write_text("no record")
    (tmp_path / "compare-5.png").write_bytes(b"a picture of something")
    assert place(pairs[0], "kind/2") == "compare-6.json"
    assert record_path(tmp_path / "compare.json", "compare", "kind/2", WHAT) == tmp_path / "compare.json"  # as asked


def test_folders_are_made_only_for_a_record(tmp_path: Path) -> None:
    check_outputs(tmp_path / "a" / "b" / "x.json")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot be written"):
        check_outputs(tmp_path / "file" / "b" / "x.json")


def test_a_stopped_comparison_is_carried_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are those of a run in one go; prompts that were finished are not decoded again; a third call shows."""
    out, whole = tmp_path / "new" / "compare.json", tmp_path / "whole.json"
    arguments = ["compare", "tiny", "--count", "3", "--max-tokens", "6", "--gamma", "1,2", "--widen", "0", "--out"]
    assert command(*arguments, str(whole)).exit_code == 0
    honest, runs = real.studies.compare.measure.decode, []

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        runs.append(kwargs["gamma"])
        if len(runs) == 3 + 3 + 2:  # three texts, one prompt, the second begun
            raise KeyboardInterrupt
        return honest(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(real.studies.compare.measure, "decode", interrupted)
        stopped = command(*arguments, str(out))
    assert stopped.exit_code == 130
    assert "interrupted: 1 of 3 prompts kept; the same command carries on" in stopped.output
    first = json.loads(out.read_text())
    assert (len(first["turns"]), first["complete"]) == (1, False)
    runs.clear()
    with monkeypatch.context() as patch:
        patch.setattr(
            real.studies.compare.measure, "decode", lambda *a, **k: runs.append(k["gamma"]) or honest(*a, **k)
        )
        result = command(*arguments, str(out))
    assert result.exit_code == 0, result.output
    assert sorted(runs) == [0] * 3 + [0, 0, 1, 1, 2, 2]
    last, single = (json.loads(path.read_text()) for path in (out, whole))
    assert last["complete"] is True
    assert "turns" not in last
    for a, b in zip(last["pairs"], single["pairs"], strict=True):
        for key in ("tau", "target_calls", "blocks_keeping_at_least"):
            assert a[key] == b[key]
    monkeypatch.setattr(real.studies.compare.measure, "compare", None)  # a finished study is shown, not run
    before = out.read_bytes()
    result = command(*arguments, str(out))
    assert result.exit_code == 0, result.output
    assert "holds this study, measured" in result.output
    assert out.read_bytes() == before
    result = command(*arguments, str(out), "--seed", "1")
    assert (result.exit_code, out.read_bytes()) == (2, before)
    assert "holds another study (seed is 0, here 1): give another --out, or --force to replace it" in result.output
    result = command(*arguments, str(out), "--force")
    assert isinstance(result.exception, TypeError) or result.exit_code == 2  # it would have run: there is no `compare`


def test_stopped_settings_and_groups_are_carried_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced = ["forced", "tiny", "tiny", "--batch", "1,2", "--context", "24", "--gamma", "1,2", "--calibrate", "1",
              "--turns", "1", "--dtype", "float32", "--out", str(tmp_path / "forced.json")]  # fmt: skip
    drafts = ["drafts", "--positions", "3", "--samples", "2", "--num-drafts", "1,2", "--count", "2",
              "--max-tokens", "4", "--out", str(tmp_path / "drafts.json")]  # fmt: skip
    for words, module in ((forced, real.studies.forced.measure), (drafts, real.studies.drafts.measure)):
        out, honest, seen = Path(words[-1]), module.measure, []

        def second(*args: Any, honest: Any = honest, seen: Any = seen, **kwargs: Any) -> Any:
            seen.append(kwargs)
            if len(seen) == 2:
                raise KeyboardInterrupt
            return honest(*args, **kwargs)

        monkeypatch.setattr(module, "measure", second)
        assert command(*words).exit_code == 130
        first = json.loads(out.read_text())
        result = command(*words)
        assert result.exit_code == 0, result.output
        last = json.loads(out.read_text())
        assert last["complete"] is True
        assert last["runs"][0] == first["runs"][0]
        assert len(seen) == 2 + len(last["runs"]) - 1
        assert "holds this study" in command(*words).output


def test_what_is_kept_after_an_interruption() -> None:
    def said(**record: Any) -> str:
        console = Console(record=True, width=100)
        held = {"failed": "interrupted", "complete": False, "provenance": {"prompts": 5}, **record}
        with pytest.raises(typer.Exit) as stopped:
            finish(held, Path("x.json"), console, Study("x", "kind/1", lambda record: "table", print))
        assert stopped.value.exit_code == 130
        return console.export_text().splitlines()[0]

    assert said() == said(turns=[]) == "interrupted; nothing was kept"
    assert said(turns=[{}] * 3) == "interrupted: 3 of 5 prompts kept; the same command carries on"
    assert said(pairs=[{}]) == "interrupted: 1 finished row kept; the same command carries on"


def test_a_record_without_rows_is_not_shown(tmp_path: Path) -> None:
    record = tmp_path / "x.json"
    record.write_text(json.dumps({"schema": "specsim-compare/2", "complete": False, "pairs": [], "turns": []}))
    result = command("table", str(record))
    assert result.exit_code == 2
    assert "holds no finished row yet" in result.output
