"""Where rows are computed: processes of this machine, or a Dask cluster, each as a `concurrent.futures.Executor`."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from queue import Empty, SimpleQueue
from types import ModuleType
from typing import Any, NamedTuple

from specsim.base import extras, limits
from specsim.commands.sweep import work

# Seconds that a scheduler may take to answer.
ANSWER = 10
LOCAL = "local:"
# The variable for the threads of NumPy in each process: there is one process for each core.
THREADS = "OMP_NUM_THREADS"


class Pool(NamedTuple):
    """Where rows are computed.

    lost: the errors of futures whose worker died while the pool goes on. alive: whether a worker is left.
    """

    executor: Executor
    lost: tuple[type[BaseException], ...] = ()
    # An executor of processes raises by itself when a worker dies.
    alive: Callable[[], bool] = lambda: True


def check_scheduler(scheduler: str) -> None:
    """Raise ValueError unless it is an address or local:N."""
    count = scheduler.removeprefix(LOCAL)
    if scheduler.startswith(LOCAL):
        if not count.isdigit() or not 1 <= int(count[:9]) <= limits.MAX_THREADS:
            raise ValueError(
                f"scheduler {scheduler!r:.60}: local:N starts 1 to {limits.MAX_THREADS} workers, as local:4"
            )
    elif "://" not in scheduler:
        raise ValueError(
            f"scheduler {scheduler!r:.60} is no address: give tcp://host:8786, or local:4 to start one here"
        )


@contextmanager
def processes(count: int) -> Iterator[Pool]:
    """Yield a pool of `count` processes; if the block is left early, kill them and all that they started."""
    # Start all of them at once.
    before = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=work.begin)
    try:
        with _launching(), _no_program():
            for _ in range(count):
                executor.submit(os.getpid)
        yield Pool(executor)
        executor.shutdown()
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            _kill(child.pid)
        raise


@contextmanager
def _launching() -> Iterator[None]:
    """Let processes started inside ignore Ctrl-C, which their parent handles, and give NumPy one thread."""
    # Only the main thread may change how signals are handled.
    threads, is_main = os.environ.get(THREADS), threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    os.environ[THREADS] = threads or "1"
    try:
        yield
    finally:
        if threads is None:
            del os.environ[THREADS]
        if is_main:
            signal.signal(signal.SIGINT, handler)


@contextmanager
def _no_program() -> Iterator[None]:
    """Keep processes started inside from importing the program that started this one."""
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


def _kill(pid: int | None) -> None:
    """Kill the group of processes that a worker leads, or the worker alone if it leads none yet."""
    if pid is None:
        return
    try:
        if hasattr(os, "killpg") and os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        else:
            # Windows has no groups and no SIGKILL, but SIGTERM.
            os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass


def _answer(ask: Callable[[], Any]) -> Any:
    """Return the answer of `ask`; None if it fails, or takes too long.

    The time limit of a client is for the connection alone: a server that accepts it and is silent would block for ever.
    """
    answers: SimpleQueue[Any] = SimpleQueue()

    def wait() -> None:
        """Put the answer into the queue, None if it fails."""
        try:
            answers.put(ask())
        except (OSError, ValueError):
            answers.put(None)

    threading.Thread(target=wait, daemon=True).start()
    try:
        return answers.get(timeout=ANSWER)
    except Empty:
        return None


@contextmanager
def cluster(scheduler: str) -> Iterator[Pool]:
    """Yield a pool of a Dask scheduler's workers; ValueError without an answer, or a worker, within 10 seconds."""
    with extras.needed("--scheduler"):
        from distributed import Client, LocalCluster
        from distributed.scheduler import KilledWorker
    with ExitStack() as stack:
        address = scheduler
        if scheduler.startswith(LOCAL):
            # All the time, as a worker that dies is started anew.
            stack.enter_context(_no_program())
            address = stack.enter_context(
                LocalCluster(
                    n_workers=int(scheduler.removeprefix(LOCAL)),
                    threads_per_worker=1,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                )
            )
        # Connect, and wait for a worker.
        client = _answer(lambda: Client(address, timeout=ANSWER, set_as_default=False))
        if client is None:
            raise ValueError(f"scheduler {scheduler!r:.60} does not answer within {ANSWER} seconds")
        stack.enter_context(client)
        try:
            client.wait_for_workers(1, timeout=ANSWER)
        except TimeoutError:
            raise ValueError(f"scheduler {scheduler!r:.60} has no worker within {ANSWER} seconds") from None
        yield Pool(
            client.get_executor(pure=False),
            (KilledWorker, CancelledError),
            lambda: bool(client.scheduler_info()["workers"]),
        )
