"""Chunks of points through an executor until all are done: a worker that dies costs time, and no row."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, TypeVar

from specsim.commands.sweep import work
from specsim.commands.sweep.pools import Pool

# Chunks that are handed out at once: enough for all workers, few enough for memory.
AHEAD = 256
# Seconds without a finished chunk after which the pool is asked whether it has a worker left.
GONE = 30
# Deaths of workers in a row, without a finished chunk, at which the run ends.
TRIES = 5
# Places of points in their study.
Chunk = Sequence[int]
T = TypeVar("T")


def chunk_size(count: int, most: int) -> int:
    """Return how many of `count` points a worker takes at once: `most`, or fewer, so that many workers have some.

    Examples
    --------
    >>> chunk_size(200, 50), chunk_size(100_000, 50)
    (1, 50)
    """
    return min(most, -(-count // AHEAD))


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of `size` items, the last one shorter.

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
    """Compute the points of every chunk; call `keep` once with the outputs of each finished chunk.

    A pool that broke, as a pool of processes does when a process dies, or that has no worker left, is
    opened anew. ChildProcessError if workers die `TRIES` times and finish no chunk in between.
    """
    # Chunks that nobody computes yet, and deaths of workers since the last finished chunk.
    left, barren = deque(todo), 0
    while left:
        running: dict[Future[Any], Chunk] = {}
        try:
            with open_pool() as pool:
                while left or running:
                    # Hand out chunks, and wait until one is done.
                    while left and len(running) < AHEAD:
                        future = pool.executor.submit(work.computed, kind, points(left[0]))
                        running[future] = left.popleft()
                    finished = wait(running, GONE, return_when=FIRST_COMPLETED).done
                    if not finished and not pool.alive():
                        raise BrokenExecutor("no worker is left")
                    # Keep outputs; a chunk whose worker died is computed again.
                    for future in finished:
                        try:
                            outputs = future.result()
                        except pool.lost:
                            left.append(running.pop(future))
                            first_point, *_ = points(left[-1])
                            barren = _died(barren, first_point)
                        else:
                            keep(running.pop(future), outputs)
                            barren = 0
        except BrokenExecutor:
            left.extend(running.values())
            first_point, *_ = points(left[0])
            barren = _died(barren, first_point)


def _died(barren: int, point: Mapping[str, Any]) -> int:
    """Return barren + 1, the deaths in a row; ChildProcessError, naming the point, for too many."""
    if barren + 1 < TRIES:
        return barren + 1
    shown = ", ".join(f"{name} = {value}" for name, value in point.items() if value is not None)
    raise ChildProcessError(f"workers died {TRIES} times in a row before they finished a row, as at {shown}")
