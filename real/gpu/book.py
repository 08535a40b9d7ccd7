"""A part of the measurements and its record, which is written after each row and can be carried on."""

from __future__ import annotations

import itertools
import json
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch

from real.gpu.device import alive, free, reason
from real.gpu.parts import MINUTES
from specsim.base.files import write_json

Row = dict[str, Any]


class TimeIsUp(KeyboardInterrupt):
    """The time of a run is over; handlers of Ctrl-C handle it, too."""


class Task(NamedTuple):
    """Rows that are measured together: `run` takes the keys still wanted, and yields each with its row."""

    keys: list[str]
    run: Callable[[list[str]], Iterable[tuple[str, Row]]]


class Part(NamedTuple):
    """A part: name, settings for its provenance, tasks in order, plot, and cleaning when complete.

    `skipped` names what has to be installed before anything can be measured.
    """

    name: str
    settings: dict[str, Any]
    tasks: list[Task]
    plot: Callable[[Path, dict[str, Any]], None] | None = None
    clean: Callable[[], None] = lambda: None
    skipped: str | None = None


def row_task(key: str, measure: Callable[[], Row]) -> Task:
    """A task of one row."""
    return Task([key], lambda wanted: [(key, measure())])


def is_finished(record: dict[str, Any], key: str) -> bool:
    """Whether a row was measured completely."""
    return any(row["key"] == key and not {"failed", "partial"} & row.keys() for row in record["rows"])


def is_good(row: Row) -> bool:
    """Whether a row is complete and has the verdict that it must have."""
    return not {"failed", "partial"} & row.keys() and bool(row.get("passed", row.get("killed", True)))


def opened(path: Path, name: str, what: dict[str, Any]) -> dict[str, Any]:
    """The record to carry on if machine and settings are the same; else a new one.

    A record of another machine or setting, or a damaged one, is set aside under another name: a
    measurement is never overwritten by another.
    """
    schema = f"specsim-gpu-{name}/1"
    # In the form that a file gives back.
    what = json.loads(json.dumps(what))
    if path.exists():
        old = read(path)
        if old is not None and old.get("schema") == schema and _same(old["provenance"], what):
            return old
        names = (path.with_name(f"{name}.old-{i}.json") for i in itertools.count(1))
        path.rename(next(other for other in names if not other.exists()))
    return {"schema": schema, "complete": False, "stopped": None, "provenance": what, "rows": []}


def read(path: Path) -> dict[str, Any] | None:
    """A record, or None where there is none that can be read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return record if {"schema", "provenance", "rows"} <= record.keys() else None
    except (OSError, ValueError, AttributeError):
        return None


def _same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether two provenances are the same but for date and command."""
    return all(a.get(key) == b.get(key) for key in (a.keys() | b.keys()) - {"date", "command"})


def run_part(
    part: Part,
    folder: Path,
    what: dict[str, Any],
    device: torch.device,
    *,
    budget: float = 60 * MINUTES,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure the rows of a part that are not there yet, until all are or the budget is spent.

    A row that is unfinished when the time is up is dropped, and measured anew by the next run.

    Parameters
    ----------
    part : Part
        The part to measure.
    folder : Path
        Folder of its record.
    what : dict
        Provenance.
    device : torch.device
        Checked after a row that failed: a lost device ends the run.
    budget : float
        Seconds.
    say : callable
        Called with a line on each row.

    Returns
    -------
    dict
        The record as written; `stopped` says why it is not complete: budget, rows failed, device
        lost, interrupted.
    """
    # The record; it counts as interrupted until its end is known.
    path = folder / f"{part.name}.json"
    record = opened(path, part.name, what | {"settings": part.settings})
    if record["complete"]:
        return record
    record |= {"budget_s": budget, "stopped": "interrupted"}
    ends, began = time.monotonic() + budget, [time.monotonic()]

    def add(key: str, row: Row) -> None:
        """Write a row into the record, in place of an older one with its key."""
        now = time.monotonic()
        row = {"key": key} | row | {"seconds": round(now - began[0], 2)}
        began[0] = now
        rows = [*(r for r in record["rows"] if r["key"] != key), row]
        write_json(path, record | {"rows": rows})
        record["rows"] = rows
        state = row.get("failed") or row.get("partial") or "done"
        say(f"{part.name}: {key}: {state} ({row['seconds']} s)")

    # Tasks one after the other, until the time is up or the device is lost.
    lost = is_late = False
    try:
        with alarm(budget):
            for task in part.tasks:
                wanted = [key for key in task.keys if not is_finished(record, key)]
                if wanted and time.monotonic() < ends:
                    lost = not _measured(task, wanted, add, ends) and not alive(device)
                    if lost:
                        break
                    free(device)
    except TimeIsUp:
        is_late = True
        say(f"{part.name}: the time was up before a row ended; the next run begins that row anew")

    # Why it ended.
    complete = all(is_finished(record, key) for task in part.tasks for key in task.keys)
    stopped: str | None = "rows failed"
    if complete:
        stopped = None
    elif lost:
        stopped = "device lost"
    elif is_late or time.monotonic() >= ends:
        stopped = "budget"
    record |= {"complete": complete, "stopped": stopped}
    write_json(path, record)
    if complete:
        part.clean()
    return record


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise `TimeIsUp` inside after this many seconds.

    It does nothing in a thread or on Windows, which have no such clock.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: Any) -> None:
        """Handle the signal of the clock."""
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _measured(task: Task, wanted: list[str], add: Callable[[str, Row], None], ends: float) -> bool:
    """Run a task until its end or the time `ends`; False if it failed.

    Time on a GPU is borrowed, so no error of one row may cost the others.
    """
    left = list(wanted)
    try:
        for key, row in task.run(wanted):
            add(key, row)
            left = [other for other in left if other != key]
            if time.monotonic() >= ends:
                break
    except Exception as error:
        if left:
            add(left[0], {"failed": reason(error)})
        return False
    return True
