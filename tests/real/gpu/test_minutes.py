"""`python -m real.gpu` ends in time and carries on; nothing that a borrowed machine lacks ends it in another way."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from real.decode import graphs
from real.gpu import device, law
from real.gpu import run as runner
from real.gpu.book import Part, Task, row_task, run_part

CPU = torch.device("cpu")


def run(folder: Path, tasks: list[Task], **options: Any) -> dict[str, Any]:
    return run_part(Part("rules", {}, tasks), folder, {"tiny": True}, CPU, **options)


PACKAGES = {
    "torch": "this needs torch: install the extra `real` (specsim-llm[real])",
    "array_api_compat": "this needs array-api-compat, which is not installed: pip install array-api-compat",
    "typer": "this needs typer, which is not installed: pip install typer",
}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_that_is_missing_is_one_line(package: str, tmp_path: Path) -> None:
    code = (
        "import runpy, sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {package!r}: raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        f"sys.argv = ['real.gpu', '--device', 'cpu', '--out', {str(tmp_path)!r}]\n"
        "runpy.run_module('real.gpu', run_name='__main__')"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (found.returncode, len(found.stderr.splitlines())) == (2, 1), found.stderr
    assert found.stderr == f"error: {PACKAGES[package]}\n"


def test_a_row_is_given_up_when_the_time_is_up_and_begun_anew(tmp_path: Path) -> None:
    """Whatever it waits for; a row that yields what it has, as `compare` does, keeps it as part of a row."""
    calls: list[str] = []

    def rows(wanted: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        for key in wanted:
            calls.append(key)
            if calls.count("b") == 1 and key == "b":
                try:
                    time.sleep(60)
                except KeyboardInterrupt:
                    yield key, {"partial": "two of three"}
                    raise
            yield key, {}

    tasks = [Task(["a", "b", "c"], rows)]
    began = time.monotonic()
    found = run(tmp_path, tasks, budget=0.2)
    assert time.monotonic() - began < 30
    assert [(row["key"], row.get("partial")) for row in found["rows"]] == [("a", None), ("b", "two of three")]
    assert (found["complete"], found["stopped"]) == (False, "budget")
    again = run(tmp_path, tasks, budget=60)
    assert (again["complete"], calls) == (True, ["a", "b", "b", "c"])


def test_minutes_are_those_of_all_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second part has what the first one left, and no part begins once they are spent."""
    now, budgets = [0.0], list[float]()

    def measured(part: Part, *args: Any, budget: float, **more: Any) -> dict[str, Any]:
        budgets.append(budget)
        now[0] += 200
        return {"rows": [], "stopped": "budget" if len(budgets) == 2 else None}

    monkeypatch.setattr(runner.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(runner, "run_part", measured)
    monkeypatch.setattr(runner, "part_of", lambda name, *rest: Part(name, {}, []))
    assert len(runner.run(["parity", "rules", "trees"], CPU, tmp_path, True, 480.0)) == 2
    assert budgets == [480.0, 280.0]


def test_a_law_test_captures_its_cycle_once_for_all_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture takes longer than a batch; the last batch may be smaller, and has its own."""
    honest, captures = graphs.captured, list[int]()

    def counted(*told: Any) -> Any:
        captures.append(1)
        return honest(*told)

    monkeypatch.setattr(graphs, "captured", counted)
    found = law.tested(CPU, torch.float32, True, 90, 30, planted=False)
    assert (found["texts"], len(captures)) == (90, 1)


def test_no_plot_is_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without matplotlib the records are written, and the next part begins."""

    def no_plot(path: Path, record: dict[str, Any]) -> None:
        raise ImportError("a plot needs matplotlib: install the extra `plot`")

    rows = [row_task("a", lambda: {"speedup": {}})]
    monkeypatch.setattr(runner, "part_of", lambda name, *rest: Part(name, {}, rows, no_plot))
    found = runner.run(["parity", "rules"], CPU, tmp_path, True, time.monotonic() + 60)
    assert [one["complete"] for one in found] == [True, True]


def test_attention_is_pinned() -> None:
    before = torch.backends.cuda.cudnn_sdp_enabled()
    try:
        device.pin_attention()
        assert not torch.backends.cuda.cudnn_sdp_enabled()
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)
