"""vLLM's warning that it gives up CUDA graphs of whole passes once it speculates is said beside the acceptance."""

from __future__ import annotations

from pathlib import Path

from helpers.log_files import read
from typer.testing import CliRunner

from specsim.cli import app
from specsim.logs.read import read_log

WARNING = (
    "WARNING 01-01 09:59:00 [c.py:1] CUDAGraphMode.FULL_AND_PIECEWISE is not supported with spec-decode for attention "
    "backend {} (support: AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE); setting cudagraph_mode=PIECEWISE\n"
)
ENGINE = "INFO 01-01 10:00:{} [l.py:1] Engine 000: Avg generation throughput: {} tokens/s, Running: {} reqs\n"
SPEC = (
    "INFO 01-01 10:00:{} [m.py:1] SpecDecoding metrics: Mean acceptance length: 2.50, Accepted: 150 tokens, "
    "Drafted: 200 tokens, Per-position acceptance rate: 0.900, 0.600\n"
)
LINES = ENGINE.format("10", "25.0", 1) + SPEC.format("10")


def test_the_warning_is_a_note(tmp_path: Path) -> None:
    (run,) = read(WARNING.format("FlashInferBackend") + LINES, tmp_path)
    (note,) = [note for note in run.notes if "CUDA graph" in note]
    assert "(cudagraph_mode=PIECEWISE), because attention backend FlashInferBackend cannot" in note
    (silent,) = read(LINES, tmp_path)
    assert not any("CUDA graph" in note for note in silent.notes)


def test_every_batch_of_a_log_has_the_note(tmp_path: Path) -> None:
    lines = "".join(
        ENGINE.format(10 * i, 25.0 * size, size) + SPEC.format(10 * i) for i, size in enumerate([1, 1, 8, 8], 1)
    )
    (tmp_path / "on.log").write_text(WARNING.format("FlashInferBackend") + lines)
    runs = read_log(tmp_path / "on.log", by_batch=True)
    assert [any("CUDA graph" in note for note in run.notes) for run in runs] == [True] * len(runs)
    assert len(runs) == 2


def test_diagnose_says_it(tmp_path: Path) -> None:
    off, on = tmp_path / "off.log", tmp_path / "on.log"
    off.write_text(ENGINE.format("10", "20.0", 1))
    on.write_text(WARNING.format("FlashInferBackend") + LINES)
    said = " ".join(CliRunner().invoke(app, ["diagnose", str(off), str(on)]).output.split())
    assert "with drafts the server captures no whole pass as a CUDA graph" in said
