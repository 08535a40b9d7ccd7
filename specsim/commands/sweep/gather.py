"""Chunks of points through an executor, until every one is done: a worker that dies costs time, and no row."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, TypeVar

from specsim.commands.sweep import work
from specsim.commands.sweep.pools import Pool

AHEAD = 256  # chunks that are handed out at once
GONE = 30  # seconds in which nothing ends before it is asked whether any worker is left
TRIES = 5  # how often in a row workers may die before any chunk is done
Chunk = Sequence[int]  # places of points in their study
T = TypeVar("T")


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of so many, the last one shorter.

    Examples
    --------
    >>> list(chunks("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def gather(
    open_pool: Callable[[], AbstractContextManager[Pool]],
    kind: str,
    todo: Iterable[Chunk],
    points: Callable[[Chunk], list[dict[str, Any]]],
    keep: Callable[[Chunk, list[dict[str, Any]]], None],
) -> None:
    """Compute the points of every chunk, and hand their outputs to `keep`, once, as soon as they are there.

    A pool that broke, as one of processes does when one of them dies, or that has no worker left, is
    opened anew. ChildProcessError where workers die over and over and nothing is done in between.
    """
    left, barren = deque(todo), 0
    while left:
        running: dict[Future[Any], Chunk] = {}
        try:
            with open_pool() as pool:
                while left or running:
                    while left and len(running) < AHEAD:
                        future = pool.executor.submit(work.computed, kind, points(left[0]))
                        running[future] = left.popleft()
                    done = wait(running, GONE, return_when=FIRST_COMPLETED).done
                    if not done and not pool.alive():
                        raise BrokenExecutor("no worker is left")
                    for future in done:
                        try:
                            outputs = future.result()
                        except pool.lost:
                            left.append(running.pop(future))
                            barren = _died(barren, points(left[-1])[0])
                        else:
                            keep(running.pop(future), outputs)
                            barren = 0
        except BrokenExecutor:
            left.extend(running.values())
            barren = _died(barren, points(left[0])[0])


def _died(barren: int, at: Mapping[str, Any]) -> int:
    """One more death in a row; too many are an error."""
    if barren + 1 < TRIES:
        return barren + 1
    shown = ", ".join(f"{name} = {value}" for name, value in at.items() if value is not None)
    raise ChildProcessError(f"workers died {TRIES} times in a row before they finished a row, as at {shown}")
