"""`specsim` as a process: in terminals of two widths, in pipes, on a full disk, interrupted."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest
from helpers import studies
from typer.testing import CliRunner

from specsim.cli import app
from specsim.report import text

COMMAND = [sys.executable, "-m", "specsim"]
LAWS = ["simulate", "--target", "law:1/3,2/3", "--draft", "law:2/3,1/3", "--gamma", "2"]
SHORT = [*LAWS, "--blocks", "2000", "--sequences", "100"]
PLAN = ["plan", "0.8", "--cost-ratio", "0.05"]
MODELS = ["--target", "llama-3.1-70b", "--draft", "llama-3.2-1b", "--hardware", "h100-sxm", "--tp", "4"]
PAIR = ["plan", *MODELS, "0.8", "--batch", "1,256", "--context", "1k,16k"]
FIT = ["validate", "--fit", "magicdec-001,magicdec-007,magicdec-014"]


def piped(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=120, **options)


def in_terminal(words: list[str], columns: int, stream: str = "stdout", status: int = 0) -> str:
    """What a command prints to a terminal of so many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    plain = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: slave}
    process = subprocess.Popen([*COMMAND, *words], env=plain, **streams)
    os.close(slave)
    data = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not chunk:
            break
        data += chunk
    os.close(master)
    assert process.wait(timeout=60) == status
    return data.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(("words", "columns"), [(PAIR, 80), (SHORT, 80), (FIT, 120), (["plan", "-h"], 80)])
def test_nothing_is_cut_in_a_terminal(words: list[str], columns: int) -> None:
    shown = in_terminal(words, columns)
    assert "…" not in shown
    assert not re.search(r"\x1b\[[\d;]*m", shown)  # numbers in one colour, that of all
    heads = [i for i, line in enumerate(shown.splitlines()) if re.match(r" *(kept|batch|source) ", line)]
    for head in heads:
        for line in shown.splitlines()[head:]:
            if not line or line.startswith(("fitted", "note")):
                break
            assert len(line) <= columns
    assert heads or words[-1] in ("--help", "-h")


def test_an_error_is_broken_between_words_in_a_terminal() -> None:
    """It is one line elsewhere, for programs; a terminal broke it in the middle of words."""
    words = ["plan", "0.8", "--target", "llama-3.1-8b", "--draft", "ngram", "--hardware", "h100-sxm"]
    shown = in_terminal(words, 80, stream="stderr", status=2).splitlines()
    assert len(shown) > 2
    assert all(len(line) <= 80 for line in shown)
    (line,) = piped(*words).stderr.splitlines()
    assert " ".join(part.strip() for part in shown) == line


ROOM = Path(__file__).parents[1]
LOGS = ROOM / "logs" / "samples"
RATES = ["0.7", *MODELS[:6], "--rate", "2", "--max-gamma", "2"]
READS = {
    "log": ["log", str(LOGS / "vllm_metrics.txt")],
    "log of blocks that differ": ["log", str(LOGS / "llamacpp.log")],
    "diagnose": ["diagnose", str(ROOM / "helpers" / "runs.csv")],
    "diagnose without parts": ["diagnose", str(LOGS / "runs.csv")],
    "plan": ["plan", *RATES],
    "help of log": ["log", "-h"],
    "help of diagnose": ["diagnose", "-h"],
    "help of sweep": ["sweep", "-h"],
    "help of report": ["report", "-h"],
}


def shown(words: list[str], columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command prints to a terminal of so many columns, in this process."""
    monkeypatch.setattr(text, "terminal_width", lambda stream=None: columns)
    found = CliRunner().invoke(app, words, terminal_width=columns)
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("case", READS)
def test_everything_fits_and_nothing_is_cut(case: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of commands that read logs or plan for a rate: text is broken between words, and no word is lost."""
    if case.startswith("help") and columns < 80:
        columns = 80  # help is written for no less
    narrow, wide = (shown(READS[case], width, monkeypatch) for width in (columns, 400))
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= columns
    if "plan" not in case:  # whose table changes its form
        assert _words(narrow) == _words(wide)


def _words(said: str) -> list[str]:
    return sorted(word for word in said.split() if set(word) != {"-"})


@pytest.mark.parametrize("columns", [80, 120])
def test_a_sweep_and_its_page_fit(columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow (extra `sweep`) is not installed")
    pytest.importorskip("duckdb", reason="duckdb (extra `sweep`) is not installed")
    from specsim.commands.sweep import pools
    from specsim.report.page import html

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pools, "processes", lambda count: studies.threads()())
    monkeypatch.setattr(html, "_script", lambda: "")
    studies.study_file(tmp_path)
    for words, said in (
        (["sweep", "study.toml"], "rows.parquet: 30 of 30 rows"),
        (["sweep", "--show", "select * from rows"], "target steps"),
        (["sweep", "--show", "select alpha, gamma, speedup from rows limit 1"], "speedup"),
        (["report", "--out", "page.html", "rows.parquet"], "page.html: 1 record, "),
        (["report", "--out", "page.html"], "page.html: examples, as no record is given, "),
    ):
        found = shown(words, columns, monkeypatch)
        assert said in found
        assert "…" not in found
        assert max(map(len, found.splitlines())) <= columns


@pytest.mark.parametrize("words", [READS["log"], READS["diagnose"], READS["plan"]], ids=lambda words: words[0])
def test_a_terminal_is_asked_for_its_width(words: list[str]) -> None:
    assert max(map(len, in_terminal(words, 72).splitlines())) <= 72


def test_a_long_run_shows_the_time_left() -> None:
    assert re.search(r"\d+%\x1b\[0m \x1b\[36m\d:\d\d:\d\d", in_terminal([*LAWS, "--blocks", "5e5"], 80, "stderr"))


@pytest.mark.parametrize("words", [["--help"], PLAN], ids=" ".join)
def test_a_full_disk_is_one_line(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run([*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (1, "error: standard output: No space left on device\n")


@pytest.mark.parametrize("words", [["--help"], PLAN], ids=" ".join)
def test_a_closed_pipe_is_silent(words: list[str]) -> None:
    """As for `| head -1`: the reader is gone before the first line is written."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        ended = subprocess.run([*COMMAND, *words], stdout=closed, stderr=subprocess.PIPE, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_closed_standard_output_is_no_traceback() -> None:
    ended = subprocess.run(f"{sys.executable} -m specsim --version >&-", shell=True, stderr=subprocess.PIPE, text=True)
    assert ended.stderr == ""


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def start(words: list[str], **options: Any) -> subprocess.Popen[str]:
    """A process that hears SIGINT, also where a shell runs the tests in the background and has it ignored."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen([*COMMAND, *words], **pipes, start_new_session=True, **options)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("module", ["typer", "numpy"])
def test_ctrl_c_while_starting(tmp_path: Path, module: str) -> None:
    """A package that takes long to import stands for any."""
    (tmp_path / f"{module}.py").write_text("import time; print('importing', flush=True); time.sleep(60)")
    process = start(PLAN, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert process.stdout is not None
    assert process.stdout.readline() == "importing\n"
    assert interrupted(process) == (130, "", "")


def test_ctrl_c_keeps_what_was_finished(tmp_path: Path) -> None:
    path = tmp_path / "new" / "run.npz"
    words = [*LAWS, "--blocks", "2e6", "--checkpoint", str(path), "--json"]
    process = start(words)
    deadline = time.monotonic() + 100
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    status, out, err = interrupted(process)
    assert (status, err) == (130, "")
    assert json.loads(out)["finished"] is False
    assert json.loads(out)["blocks"] in (256 * n * 1954 for n in (1, 2, 3))


def test_a_finished_checkpoint_prints_its_numbers_again(tmp_path: Path) -> None:
    words = [*SHORT, "--checkpoint", str(tmp_path / "made" / "run.npz")]
    first, again = piped(*words), piped(*words)
    assert (first.returncode, again.returncode) == (0, 0)
    assert again.stdout == first.stdout
    kept = (tmp_path / "made" / "run.npz").read_bytes()
    other = piped(*words, "--seed", "1")
    assert other.returncode == 2
    assert other.stderr.endswith("is of another simulation: seed is 0 in one and 1 in the other\n")
    assert (tmp_path / "made" / "run.npz").read_bytes() == kept
    assert piped(*words, "--seed", "1", "--force").returncode == 0
    assert (tmp_path / "made" / "run.npz").read_bytes() != kept


def test_a_pipe_given_for_a_picture_gets_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE)
    assert piped(*PLAN, "--plot", str(tmp_path / "pipe")).returncode == 0
    assert reader.communicate(timeout=30)[0].startswith(b"\x89PNG")
    assert (tmp_path / "pipe").is_fifo()
