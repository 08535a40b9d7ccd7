"""`python -m real.gpu`, at tiny sizes on a CPU: records that last, faults that are found, input that is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from real.gpu import book, device, law, lines, markdown
from real.gpu import command as gpu
from real.gpu.book import Part, Task, row_task, run_part
from real.gpu.law import DrawsFromTarget
from real.gpu.parts import NAMES, pair, parity, rules, shapes
from real.gpu.table import NOTHING, TABLES
from specsim.commands import errors
from specsim.verify.chain import tokenwise

CPU = torch.device("cpu")


def command(folder: Path, *arguments: str) -> Any:
    return CliRunner().invoke(gpu.app, [*arguments, "--tiny", "--device", "cpu", "--out", str(folder)])


def record(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / f"{name}.json").read_text())  # type: ignore[no-any-return]


def run(folder: Path, tasks: list[Task], **options: Any) -> dict[str, Any]:
    return run_part(Part("rules", {}, tasks), folder, {"tiny": True}, CPU, **options)


def rows_of(keys: list[str], fail: dict[str, BaseException], wanted: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for key in wanted:
        if key in fail:
            raise fail[key]
        yield key, {"value": keys.index(key)}


def test_every_part_has_a_table() -> None:
    assert tuple(TABLES) == NAMES


def test_help_needs_no_torch() -> None:
    code = (
        "import sys; sys.modules.update(torch=None, transformers=None)\n"
        "from typer.testing import CliRunner\n"
        "from real.gpu.command import app\n"
        "for option in ('-h', '--help'):\n"
        "    shown = CliRunner().invoke(app, [option])\n"
        "    assert shown.exit_code == 0 and 'parity, shapes, pair, rules' in shown.output, shown.output\n"
        "ended = CliRunner().invoke(app, ['nonsense'])\n"
        "assert ended.exit_code == 2 and 'is unknown' in ended.stderr, ended.stderr\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr


def test_a_failed_row_costs_no_other_and_is_tried_again(tmp_path: Path) -> None:
    keys, fail = ["a", "b", "c"], dict[str, BaseException](b=RuntimeError("no\nluck"))
    tasks = [Task(keys, partial(rows_of, keys, fail)), row_task("d", lambda: {"value": 3})]
    found = run(tmp_path, tasks)
    assert (found["complete"], found["stopped"]) == (False, "rows failed")
    assert [row["key"] for row in found["rows"]] == ["a", "b", "d"]
    assert found["rows"][1]["failed"] == "RuntimeError: no"
    assert found == record(tmp_path, "rules")
    fail.clear()
    again = run(tmp_path, tasks)
    assert again["complete"]
    assert [again["rows"][0], again["rows"][1]] == [found["rows"][0], found["rows"][2]]  # kept as they were
    assert {row["key"]: row["value"] for row in again["rows"]} == {"a": 0, "b": 1, "c": 2, "d": 3}


def test_a_spent_budget_begins_no_other_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(book.time, "monotonic", lambda: now[0])

    def slow(wanted: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        for key in wanted:
            now[0] += 60
            yield key, {}

    tasks = [Task(["a", "b"], slow), Task(["c"], slow), row_task("d", lambda: {})]
    found = run(tmp_path, tasks, budget=100)
    assert [row["key"] for row in found["rows"]] == ["a", "b"]
    assert (found["complete"], found["stopped"]) == (False, "budget")
    assert run(tmp_path, tasks, budget=100)["complete"]


def test_a_lost_device_ends_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost() -> dict[str, Any]:
        raise RuntimeError("CUDA error: device lost")

    monkeypatch.setattr(book, "alive", lambda device: False)
    found = run(tmp_path, [row_task("a", lambda: {}), row_task("b", lost), row_task("c", lambda: {})])
    assert [row["key"] for row in record(tmp_path, "rules")["rows"]] == ["a", "b"]
    assert (found["complete"], found["stopped"]) == (False, "device lost")


def test_a_record_of_another_machine_is_set_aside(tmp_path: Path) -> None:
    run(tmp_path, [row_task("a", lambda: {})])
    old = (tmp_path / "rules.json").read_bytes()
    found = run_part(Part("rules", {"calls": 2}, [row_task("b", lambda: {})]), tmp_path, {"tiny": True}, CPU)
    assert [row["key"] for row in found["rows"]] == ["b"]
    assert (tmp_path / "rules.old-1.json").read_bytes() == old
    (tmp_path / "rules.json").write_text("{torn")
    assert run(tmp_path, [row_task("a", lambda: {})])["complete"]
    assert (tmp_path / "rules.old-2.json").read_text() == "{torn"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "part 'nosuch' is unknown; known: parity, shapes, pair, rules, trees, smollm2"),
        ([], "device cuda: torch"),
        (["rules", "--device", "tpu"], "device 'tpu' is unknown; known: cuda, cpu"),
        (["rules", "--device", "cpu", "--minutes", "0"], "minutes must be positive and finite, got 0"),
        (["rules", "--device", "cpu", "--minutes", "nan"], "minutes must be positive and finite, got nan"),
        (["rules", "--device", "cpu", "--minutes", "inf"], "minutes must be positive and finite, got inf"),
        (["rules", "--device", "cpu", "--out", __file__], "cannot be made"),
    ],
)
def test_bad_input(arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device.torch.cuda, "is_available", lambda: False)
    result = CliRunner().invoke(gpu.app, arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_words_for_a_number_of_minutes_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["real.gpu", "rules", "--minutes", "x"])
    with pytest.raises(SystemExit) as ended:
        errors.run("real.gpu.command")
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert "--minutes" in line
    assert "'x'" in line


def test_attention_kernels_have_names() -> None:
    found = device.attention_kernels(CPU)
    assert found.keys() == {"one token", "masked"}
    assert set(found.values()) <= {"math", "flash_attention", "efficient_attention", "cudnn_attention"}


def test_tables_are_shown_once_they_exist(tmp_path: Path) -> None:
    assert markdown(tmp_path) == NOTHING
    made = {"gpu": {"name": "some GPU", "driver": "1"}, "versions": {"torch": "2"}, "tiny": False}
    made |= {"date": "2026-11-22T10:00:00", "command": "python -m real.gpu rules"}
    found = {"schema": "specsim-gpu-rules/1", "complete": True, "provenance": made, "rows": []}
    (tmp_path / "rules.json").write_text(json.dumps(found))
    shown = "`rules`: 2026-11-22, some GPU (driver 1), torch 2: `python -m real.gpu rules`."
    assert markdown(tmp_path) == shown


@pytest.mark.slow
def test_all_parts(tmp_path: Path) -> None:
    result = command(tmp_path)
    assert result.exit_code == 0, result.output
    # Part smollm2, the last, has a column that is measured on a GPU only.
    assert lines.MISSING not in result.stdout.partition("`smollm2`")[0]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert {path.name for path in before} == {*(f"{name}.json" for name in NAMES), "shapes.png", "pair.png"}
    for name in NAMES:
        found = record(tmp_path, name)
        assert (found["schema"], found["complete"], found["stopped"]) == (f"specsim-gpu-{name}/1", True, None)
        said = {"date", "machine", "versions", "gpu", "device", "attention", "settings", "command"}
        assert said <= found["provenance"].keys()
        assert all(row["seconds"] >= 0 for row in found["rows"])
    verdicts = {row["key"]: row.get("passed") for row in record(tmp_path, "parity")["rows"]}
    assert verdicts.pop("planted/float32") is None
    assert set(verdicts.values()) == {True}
    assert any(row.get("killed") for row in record(tmp_path, "parity")["rows"])
    assert command(tmp_path).exit_code == 0
    assert all(path.read_bytes() == data for path, data in before.items() if path.suffix == ".json")


@pytest.mark.slow
def test_a_verifier_that_is_wrong_fails_the_law_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted where the loop must pass, and the honest rule where the fault should be: every verdict turns."""
    honest = law._counts
    swapped = lambda rule: DrawsFromTarget() if rule is tokenwise else tokenwise  # noqa: E731
    monkeypatch.setattr(law, "_counts", lambda a, b, rule, *rest: honest(a, b, swapped(rule), *rest))
    passed = {"cases": 1, "tokens": 1, "different": [], "passed": True}
    monkeypatch.setattr(parity, "same_tokens", lambda *args: passed)
    result = command(tmp_path, "parity")
    assert result.exit_code == 1
    rows = {row["key"]: row for row in record(tmp_path, "parity")["rows"]}
    verdicts = {row.get("passed", row.get("killed")) for key, row in rows.items() if not key.startswith("tokens")}
    assert verdicts == {False}
    assert result.stdout.count("**failed**") == 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parity", "shapes"])
def test_an_interrupted_part_goes_on(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two tasks, and in the middle of one."""
    honest_test, honest_measure, calls = law.tested, shapes.measure, []

    def stopped_test(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return honest_test(*args, **options)

    def stopped_measure(*args: Any, **options: Any) -> Any:
        for found in honest_measure(*args, **options):
            calls.append(1)
            if len(calls) == 6:
                raise KeyboardInterrupt
            yield found

    with monkeypatch.context() as patch:
        patch.setattr(law, "tested", stopped_test)
        patch.setattr(shapes, "measure", stopped_measure)
        result = command(tmp_path, name)
    assert result.exit_code == 130
    assert "finished rows are kept" in result.stderr
    part = record(tmp_path, name)
    assert (part["complete"], part["stopped"]) == (False, "interrupted")
    assert len(part["rows"]) >= 4
    assert command(tmp_path, name).exit_code == 0
    whole = record(tmp_path, name)
    assert whole["complete"]
    assert whole["rows"][:4] == part["rows"][:4]
    assert len({row["key"] for row in whole["rows"]}) == len(whole["rows"])


@pytest.mark.slow
def test_a_comparison_that_was_stopped_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`compare` yields what it has before it raises; such rows are kept, but not taken for whole ones."""
    honest = pair.measure.decode
    calls: list[int] = []

    def stopped(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 7:  # in the second of two prompts
            raise KeyboardInterrupt
        return honest(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(pair.measure, "decode", stopped)
        assert command(tmp_path, "pair").exit_code == 130
    rows = record(tmp_path, "pair")["rows"]
    assert [row["key"] for row in rows if "partial" in row][-2:] == ["eager/gamma 1", "eager/gamma 3"]
    assert "- partial: eager/gamma 3: fewer than 2 prompts: KeyboardInterrupt" in markdown(tmp_path)
    assert command(tmp_path, "pair").exit_code == 0
    assert record(tmp_path, "pair")["complete"]
    assert not any("partial" in row for row in record(tmp_path, "pair")["rows"])
    assert not (tmp_path / "pair-weights").exists()


@pytest.mark.slow
def test_memory_that_runs_out_is_said_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = shapes.measure

    def too_big(*args: Any, **options: Any) -> Any:
        for found in honest(*args, **options):
            yield found
            if options["batch"] == 2:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB.\nmore")

    monkeypatch.setattr(shapes, "measure", too_big)
    assert command(tmp_path, "shapes").exit_code == 1
    found = record(tmp_path, "shapes")
    failed = {row["key"]: row["failed"] for row in found["rows"] if "failed" in row}
    assert failed.keys() == {f"tiny-grouped/{mode}/batch 2/gamma 1" for mode in ("graphs", "eager")}
    for reason in failed.values():
        assert reason.startswith("MemoryError: caches and logits of 2 texts of 48 tokens")
        assert "try batch 1" in reason
    assert sum("speedup" in row for row in found["rows"]) == 4
    assert lines.MISSING in markdown(tmp_path)
    assert "- failed: tiny-grouped/graphs/batch 2/gamma 1: MemoryError" in markdown(tmp_path)


@pytest.mark.slow
def test_a_device_lost_in_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*args: Any, **options: Any) -> Any:
        raise RuntimeError("CUDA error: unspecified launch failure")

    monkeypatch.setattr(rules, "seconds_of", lost)
    monkeypatch.setattr(book, "alive", lambda device: False)
    result = command(tmp_path, "rules")
    assert result.exit_code == 1
    assert "the device is lost" in result.stderr
    found = record(tmp_path, "rules")
    assert (len(found["rows"]), found["stopped"]) == (1, "device lost")
    assert "launch failure" in found["rows"][0]["failed"]
