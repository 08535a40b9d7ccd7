"""Small studies, executors to run them on, and what their files hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from specsim.base import parquet
from specsim.commands.sweep.pools import Pool

PLAN = Path(__file__).with_name("study.toml").read_text(encoding="utf-8")
SIMULATE = """
kind = "simulate"
[grid]
target = "law:1/3,2/3"
draft = "law:2/3,1/3"
rule = ["tokenwise", "block"]
gamma = [1, 2]
seed = { from = 0, to = 3 }
blocks = 2000
sequences = 50
"""
Opened = Callable[[], AbstractContextManager[Pool]]


@contextmanager
def _threads(count: int) -> Iterator[Pool]:
    with ThreadPoolExecutor(count) as executor:
        yield Pool(executor)


def threads(count: int = 1) -> Opened:
    """Any executor will do: threads start at once."""
    return partial(_threads, count)


def study_file(folder: Path, text: str = PLAN) -> Path:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def rows_of(out: Path) -> list[dict[str, Any]]:
    """Rows of a Parquet file."""
    result: list[dict[str, Any]] = parquet.table(out).to_pylist()
    return result
