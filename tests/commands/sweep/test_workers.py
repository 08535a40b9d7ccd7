"""Real workers: processes and clusters whose workers are killed, Ctrl-C, and a parent that is killed itself."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.studies import PLAN, SIMULATE, rows_of, study_file, threads

pytest.importorskip("pyarrow", reason="pyarrow (extra `sweep`) is not installed")

from specsim.commands.sweep import pools, run, store
from specsim.commands.sweep.study import Study, key, points, read

COMMAND = [sys.executable, "-m", "specsim", "sweep"]
COMPARE = """
kind = "compare"
[grid]
gamma = { from = 1, to = 4 }
seed = { from = 0, to = 4 }
count = 1
max_tokens = 8
widen = 0
"""


def ordered(path: Path) -> tuple[Study, list[str]]:
    study = read(path)
    return study, [key(study.kind, one) for one in points(study)]


def serial(folder: Path, study: Study, order: list[str]) -> bytes:
    """The file of a run on one thread, without any kill."""
    out = folder / "serial.parquet"
    run.made(study, out, order, range(len(order)), threads())
    return out.read_bytes()


def killing(delays: list[float], victims: Any) -> threading.Thread:
    """Kill one of the processes that `victims()` names, after each delay."""

    def kill() -> None:
        for delay in delays:
            time.sleep(delay)
            found = victims()
            if found:
                os.kill(random.Random(delay).choice(found), signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    return thread


def children() -> list[int]:
    return [child.pid for child in multiprocessing.active_children() if child.pid is not None]


def test_a_killed_process_costs_no_row(tmp_path: Path) -> None:
    """One of two is killed as soon as it is there, before it can finish anything."""
    study, order = ordered(study_file(tmp_path, SIMULATE))
    thread = killing([0.3], children)
    run.made(study, tmp_path / "rows.parquet", order, range(len(order)), partial(pools.processes, 2))
    thread.join()
    assert (tmp_path / "rows.parquet").read_bytes() == serial(tmp_path, study, order)
    assert children() == []


def finished_parts(out: Path, least: int = 1) -> None:
    """Wait until so many parts are there."""
    deadline = time.monotonic() + 120
    while len(list(store.parts(out).glob("*.parquet"))) < least:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    """The command, which hears SIGINT whatever shell runs the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [*COMMAND, "study.toml", "--out", "rows.parquet", *words],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)


LONG = SIMULATE.replace("{ from = 0, to = 3 }", "{ from = 0, to = 9999 }").replace("2000", "5000")


def descendants(pid: int) -> list[int]:
    """Processes below one, from /proc."""
    threads_of = Path(f"/proc/{pid}/task").glob("*/children")
    found = [int(word) for path in threads_of for word in path.read_text().split()]
    return found + [below for one in found for below in descendants(one)]


def gone(pids: list[int]) -> None:
    """Wait until none of these processes runs."""
    deadline = time.monotonic() + 30
    while alive := [pid for pid in pids if _running(pid)]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are read from /proc")
def test_ctrl_c_leaves_rows_and_no_process(tmp_path: Path) -> None:
    study_file(tmp_path, LONG)
    process = started(tmp_path, "--workers", "1", "--json")
    out = tmp_path / "rows.parquet"
    finished_parts(out)
    below = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    said, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert json.loads(said)["complete"] is False
    assert json.loads(said)["rows"] == len(rows_of(out)) > 0
    assert not store.parts(out).exists()
    assert below
    gone(below)


def _running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_scheduler_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    """It accepts the connection, and says nothing: a client of Dask alone would wait for ever."""
    pytest.importorskip("distributed", reason="distributed (extra `sweep`) is not installed")
    study_file(tmp_path)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        code = "from specsim.commands.sweep import pools; from specsim.cli import app; pools.ANSWER = 0.5; app()"
        words = [sys.executable, "-c", code, "sweep", "study.toml", "--scheduler", address]
        ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    said = f"error: scheduler '{address}' does not answer within 0.5 seconds\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", said)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study.toml"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of distributed, as its workers die
def test_four_workers_of_a_cluster_killed_at_random_moments(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="distributed (extra `sweep`) is not installed")
    text = SIMULATE.replace("{ from = 0, to = 3 }", "{ from = 0, to = 9 }").replace("2000", "20000")
    study, order = ordered(study_file(tmp_path, text))
    out, moments, killed = tmp_path / "rows.parquet", random.Random(17), []

    def kill() -> None:
        finished_parts(out)
        for _ in range(4):
            time.sleep(0.3 * moments.random())
            killed.append(moments.choice(_workers(os.getpid())))
            os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    run.made(study, out, order, range(len(order)), partial(pools.cluster, "local:4"))
    thread.join(timeout=1)
    assert len(killed) == 4
    assert [row["key"] for row in rows_of(out)] == order
    assert out.read_bytes() == serial(tmp_path, study, order)


def _workers(pid: int) -> list[int]:
    """Worker processes of a local cluster: children that run Python code handed to them."""
    return [one for one in descendants(pid) if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


@pytest.mark.slow
def test_twenty_comparisons_are_resumed_after_a_kill(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch (extra `real`) is not installed")
    study_file(tmp_path, COMPARE)
    out = tmp_path / "rows.parquet"
    process = started(tmp_path)
    finished_parts(out, 3)
    process.kill()
    process.communicate(timeout=60)
    kept = {row["key"]: row for part in store.parts(out).glob("*.parquet") for row in rows_of(part)}
    ended = subprocess.run([*COMMAND, "study.toml", "--out", "rows.parquet"], cwd=tmp_path, timeout=600)
    assert ended.returncode == 0
    found = {row["key"]: row for row in rows_of(out)}
    assert len(rows_of(out)) == len(found) == 20
    assert len(kept) >= 3
    assert {name: found[name] for name in kept} == kept  # measured once
    assert all(row["tau_measured"] >= 1 and row["refused"] is None for row in found.values())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are read from /proc")
def test_a_small_study_resumed_after_a_kill(tmp_path: Path) -> None:
    """The quick sibling: simulations, and the same bytes as without a kill. No worker outlives its parent."""
    study, order = ordered(study_file(tmp_path, SIMULATE.replace("{ from = 0, to = 3 }", "{ from = 0, to = 24 }")))
    out = tmp_path / "rows.parquet"
    process = started(tmp_path, "--workers", "1")
    finished_parts(out)
    below = descendants(process.pid)
    process.kill()
    process.communicate(timeout=60)
    gone(below)
    assert not out.exists()
    there = store.held(out, study.kind).keys
    run.made(study, out, order, [i for i, one in enumerate(order) if one not in there], threads())
    assert out.read_bytes() == serial(tmp_path, study, order)
    assert 0 < len(there) < len(order)


def test_a_plan_on_processes_is_that_of_threads(tmp_path: Path) -> None:
    study, order = ordered(study_file(tmp_path, PLAN))
    run.made(study, tmp_path / "rows.parquet", order, range(len(order)), partial(pools.processes, 2))
    assert (tmp_path / "rows.parquet").read_bytes() == serial(tmp_path, study, order)
