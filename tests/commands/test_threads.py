"""Must show: logs written from public threads give the cause that the thread found, or say what is missing."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from specsim.commands.diagnose import sentence, text
from specsim.logs.read import read_log
from specsim.speed.diagnosis import Diagnosis, diagnose

THREADS = tomllib.loads(Path(__file__).with_name("threads.toml").read_text(encoding="utf-8"))["thread"]
SECONDS = 1.0


def answer(thread: dict[str, Any], folder: Path) -> Diagnosis:
    """The files as an engine's user would have them, read and explained."""
    paths = []
    for i, said in enumerate([thread["off"], *thread["on"]]):
        paths.append(folder / f"{i}.log")
        paths[-1].write_text(said.strip() + "\n")
    off, *on = map(read_log, paths)
    return diagnose(off, [run for runs in on for run in runs])


@pytest.mark.parametrize("thread", THREADS, ids=lambda thread: thread["name"])
def test_a_thread_gets_its_cause_or_what_is_missing(thread: dict[str, Any], tmp_path: Path) -> None:
    start = time.process_time()
    found = answer(thread, tmp_path)
    said = text(found)
    assert time.process_time() - start < SECONDS
    assert said.startswith(sentence(found))
    assert (found.verdict, found.cause) == (thread["verdict"], thread["cause"])
    assert thread["says"] in sentence(found)
    assert list(found.missing) == thread["missing"]
    if "mend" in thread:
        what, basis, value = thread["mend"]
        (mend,) = (one for one in found.mends if (one.what, one.basis) == (what, basis))
        assert mend.value == pytest.approx(value, abs=0.005)


def test_there_are_enough_threads_with_their_sources() -> None:
    assert len(THREADS) >= 8
    assert all("#" in thread["name"] and "20" in thread["seen"] and thread["found"] for thread in THREADS)
    assert sum(bool(thread["cause"]) for thread in THREADS) >= 8


def test_a_tree_table_tells_all_three_terms_apart(tmp_path: Path) -> None:
    (thread,) = (one for one in THREADS if one["name"].endswith("SpecForge#339"))
    found = answer(thread, tmp_path)
    assert [part.names for part in found.parts] == [("drafting",), ("verifying",), ("fixed work",)]


def test_batches_stand_beside_each_other(tmp_path: Path) -> None:
    (thread,) = (one for one in THREADS if one["name"].endswith("AngelSlim#163"))
    found = answer(thread, tmp_path)
    assert [batch for batch, _ in found.by_batch] == [1, 4, 8, 32, 64]
    assert found.by_batch[-1][1].value == pytest.approx(1307.95 / 1237.84)
