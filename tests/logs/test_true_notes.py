"""Notes on a log are true of that log: none of a throughput that it does not print, or of lines that it has not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specsim.logs.read import read_log
from specsim.logs.record import EngineLog

COUNTS = (
    "SpecDecoding metrics: Mean acceptance length: 2.50, Accepted: 1500 tokens, Drafted: 2000 tokens, "
    "{}Per-position acceptance rate: 0.900, 0.600\n"
)
SPEEDS = "Accepted throughput: 150.0 tokens/s, Drafted throughput: 200.0 tokens/s, "
SPEED = "Avg generation throughput: {} tokens/s, Running: 4 reqs\n"


def read(folder: Path, text: str, **options: Any) -> tuple[EngineLog, ...]:
    (folder / "on.log").write_text(text, encoding="utf-8")
    return read_log(folder / "on.log", **options)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("speeds", ["", SPEEDS], ids=["counts alone", "timed"])
def test_a_throughput_that_is_not_printed_contradicts_nothing(speeds: str, count: int, tmp_path: Path) -> None:
    """It was taken for 0, so that every block emitted "2500 tokens more than the throughput of their intervals"."""
    (run,) = read(tmp_path, COUNTS.format(speeds) * count)
    assert run.blocks == 1000 * count
    assert run.notes == ()


def test_a_throughput_that_is_printed_and_too_small_is_named(tmp_path: Path) -> None:
    (run,) = read(tmp_path, SPEED.format("10.0") + COUNTS.format(SPEEDS))
    assert any("tokens more than the throughput of their intervals" in note for note in run.notes)


def test_counts_before_the_first_throughput_say_nothing_of_the_others(tmp_path: Path) -> None:
    """A log that begins in the middle: the interval behind it is as it would be alone."""
    rest = SPEED.format("250.0") + COUNTS.format(SPEEDS)
    (alone,), (cut,) = read(tmp_path, rest), read(tmp_path, COUNTS.format(SPEEDS) + rest)
    assert (cut.coverage, cut.notes) == (alone.coverage, alone.notes)


DECODE = (
    "[2026-09-02 10:00:00{}] Decode batch, #running-req: {}, #token: 1, accept len: 2.50, "
    "gen throughput (token/s): 100.00, #queue-req: 0\n"
)
PROMPT = "[2026-09-02 10:00:00] Prefill batch, #new-seq: 1\n"


@pytest.mark.parametrize(
    ("text", "untimed", "lines"),
    [
        (DECODE.format("", 1) * 2, 1, 2),
        (DECODE.format("", 1) * 4, 1, 4),
        (DECODE.format("", 1) * 2 + PROMPT + DECODE.format("", 1) * 2, 2, 4),
        (DECODE.format(" DP0", 1) * 2 + DECODE.format(" DP1", 1) * 2, 2, 4),
    ],
)
def test_lines_of_sglang_without_a_time_are_counted(text: str, untimed: int, lines: int, tmp_path: Path) -> None:
    """The first of two lines was "behind a prompt", of which the log had none."""
    (run,) = read(tmp_path, text)
    said = f"{untimed} of {lines} decode lines count for no times, as the first of the log or behind a prompt: "
    assert [note for note in run.notes if "decode lines" in note] == [said + "the interval of such a line began before"]


def test_batches_of_sglang_without_such_a_line_say_nothing_of_it(tmp_path: Path) -> None:
    runs = read(tmp_path, DECODE.format("", 1) * 4 + DECODE.format("", 4) * 3, by_batch=True)
    assert [run.batch for run in runs] == [1, 4]
    assert not any("decode lines" in note for note in runs[1].notes)


SERVER = "eval time = 1020.0 ms / {} tokens\ndraft acceptance = 0.5 ( {} accepted / {} generated)\n"


@pytest.mark.parametrize(("drafted", "said"), [(60, True), (69, True), (70, False), (140, False)])
def test_fewer_drafts_than_cycles_are_said(drafted: int, said: bool, tmp_path: Path) -> None:
    """101 tokens with 30 accepted drafts are 70 cycles: with 60 drafts, ten of them or more had none."""
    (run,) = read(tmp_path, SERVER.format(101, 30, drafted).replace("0.5", f"{30 / drafted:.5f}"))
    assert run.blocks == 70
    assert any(note.startswith("some cycles had no draft") for note in run.notes) is said
