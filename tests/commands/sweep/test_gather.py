"""Pools that break and workers that are lost: every chunk is computed, once, or one line says that none can be."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from helpers.studies import PLAN, Opened

from specsim.commands.sweep import gather, work
from specsim.commands.sweep.pools import Pool
from specsim.commands.sweep.study import parsed, point


def breaking(times: int) -> Opened:
    """A pool that breaks so often, after one chunk each time, and then works."""
    left = [times]

    @contextmanager
    def opened() -> Iterator[Pool]:
        with ThreadPoolExecutor(1) as executor:
            submit, count = executor.submit, [0]

            def fragile(*words: Any) -> Future[Any]:
                count[0] += 1
                if left[0] and count[0] > 1:
                    left[0] -= 1
                    raise BrokenExecutor("a process was killed")
                return submit(*words)

            executor.submit = fragile  # type: ignore[assignment]
            yield Pool(executor)

    return opened


def kept_by(opened: Opened) -> list[int]:
    found: list[int] = []
    todo, one = gather.chunks(range(12), 2), point(parsed(tomllib.loads(PLAN), ""), 0)
    gather.gather(opened, "plan", todo, lambda chunk: [one] * len(chunk), lambda chunk, outputs: found.extend(chunk))
    return found


def test_a_broken_pool_is_opened_anew() -> None:
    assert sorted(kept_by(breaking(3))) == list(range(12))


def test_a_pool_that_only_breaks_is_one_line() -> None:
    with pytest.raises(ChildProcessError, match=r"^workers died 5 times in a row before they finished a row"):
        kept_by(breaking(99))


def test_a_pool_without_workers_is_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nannies of a cluster may die, too: its futures never end then."""
    monkeypatch.setattr(gather, "GONE", 0.01)
    opens = [0]

    @contextmanager
    def opened() -> Iterator[Pool]:
        opens[0] += 1
        with ThreadPoolExecutor(1) as executor:
            if opens[0] == 1:
                executor.submit = lambda *words: Future()  # type: ignore[method-assign, assignment, misc]
            yield Pool(executor, alive=lambda: opens[0] > 1)

    assert sorted(kept_by(opened)) == list(range(12))
    assert opens == [2]


def test_a_slow_chunk_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing ends for a while, but workers are there: the pool stays, and no chunk is computed twice."""
    monkeypatch.setattr(gather, "GONE", 0.01)
    honest, opens, asked = work.computed, [0], [0]

    def slow(kind: str, points: Any) -> list[dict[str, Any]]:
        asked[0] += 1
        time.sleep(0.03)
        return honest(kind, points)

    monkeypatch.setattr(work, "computed", slow)

    @contextmanager
    def opened() -> Iterator[Pool]:
        opens[0] += 1
        with ThreadPoolExecutor(1) as executor:
            yield Pool(executor)

    assert sorted(kept_by(opened)) == list(range(12))
    assert (opens, asked) == ([1], [6])


class Killed(Exception):
    """What a cluster's future raises whose worker died."""


def test_a_lost_future_is_asked_again() -> None:
    lost = iter([0, 3, 5, 6])
    number, due = iter(range(99)), [next(lost)]

    @contextmanager
    def opened() -> Iterator[Pool]:
        with ThreadPoolExecutor(1) as executor:
            submit = executor.submit

            def losing(*words: Any) -> Future[Any]:
                if next(number) == due[0]:
                    due[0] = next(lost, -1)
                    future: Future[Any] = Future()
                    future.set_exception(Killed())
                    return future
                return submit(*words)

            executor.submit = losing  # type: ignore[assignment]
            yield Pool(executor, (Killed,))

    assert sorted(kept_by(opened)) == list(range(12))


def test_few_points_are_enough_for_many_workers() -> None:
    assert gather.chunk_size(1, 50) == gather.chunk_size(gather.AHEAD, 50) == 1
    assert gather.chunk_size(gather.AHEAD + 1, 50) == 2
    assert gather.chunk_size(10**6, 50) == 50
