"""A part of the measurements and its record, which is written after each row and can be carried on.

A record is a dictionary, as JSON holds it: `schema`, `provenance`, `rows`, `complete` and `stopped`.
A row has its name as `key`, and its values. These keys of a row have a meaning in all parts:

- `failed`: why the row could not be measured; it has no values.
- `partial`: why the row has fewer prompts than it should; its values are right.
- `passed` or `killed`: the verdict of a check, which must be true.

Rows with `failed` or `partial` are measured again by the next run.
"""

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
    """Rows that are measured together.

    keys: names of all its rows. run: takes the keys that are still wanted, and yields each of them
    with its row.
    """

    keys: list[str]
    run: Callable[[list[str]], Iterable[tuple[str, Row]]]


class Part(NamedTuple):
    """A part of the measurements.

    settings: go into the provenance of its record. tasks: run in this order. plot: writes the
    picture of a record to a path. clean: called once every row is measured. skipped: what has to be
    installed before anything can be measured; None if nothing has to be.
    """

    name: str
    settings: dict[str, Any]
    tasks: list[Task]
    plot: Callable[[Path, dict[str, Any]], None] | None = None
    clean: Callable[[], None] = lambda: None
    skipped: str | None = None


def row_task(key: str, measure: Callable[[], Row]) -> Task:
    """Return the task of one row: `measure` returns the row without its key."""
    return Task([key], lambda wanted: [(key, measure())])


def is_finished(record: dict[str, Any], key: str) -> bool:
    """Return whether the row with this key was measured completely."""
    return any(row["key"] == key and not {"failed", "partial"} & row.keys() for row in record["rows"])


def is_good(row: Row) -> bool:
    """Return whether a row is complete and has the verdict that it must have."""
    return not {"failed", "partial"} & row.keys() and bool(row.get("passed", row.get("killed", True)))


def opened(path: Path, name: str, run_provenance: dict[str, Any]) -> dict[str, Any]:
    """Return the record at a path if its provenance is that of this run, so that it is carried on; else a new one.

    A record of another machine or setting, or a damaged one, is set aside under another name: a
    measurement is never overwritten by another.
    """
    schema = f"specsim-gpu-{name}/1"
    # Lists in place of tuples, as the provenance that was read from a file has them.
    provenance = json.loads(json.dumps(run_provenance))

    # A record that is there is carried on, or set aside under the first free name.
    if path.exists():
        old = read(path)
        if old is not None and old.get("schema") == schema and _is_same_run(old["provenance"], provenance):
            return old
        free_paths = (path.with_name(f"{name}.old-{i}.json") for i in itertools.count(1))
        path.rename(next(other for other in free_paths if not other.exists()))
    return {"schema": schema, "complete": False, "stopped": None, "provenance": provenance, "rows": []}


def read(path: Path) -> dict[str, Any] | None:
    """Return the record of a file; None if there is no file or it is not a record."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return record if {"schema", "provenance", "rows"} <= record.keys() else None
    except (OSError, ValueError, AttributeError):
        return None


def _is_same_run(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Return whether two provenances are the same but for date and command."""
    return all(a.get(key) == b.get(key) for key in (a.keys() | b.keys()) - {"date", "command"})


def run_part(
    part: Part,
    folder: Path,
    provenance: dict[str, Any],
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
    provenance : dict
        Provenance of the run; the part's settings are added to it.
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
    record = opened(path, part.name, provenance | {"settings": part.settings})
    if record["complete"]:
        return record
    record |= {"budget_s": budget, "stopped": "interrupted"}
    row_began = time.monotonic()
    ends = row_began + budget

    def add(key: str, row: Row) -> None:
        """Write a row into the record, in place of an older one with its key, and say so."""
        # A row takes the time since the row before.
        nonlocal row_began
        now = time.monotonic()
        row = {"key": key} | row | {"seconds": round(now - row_began, 2)}
        row_began = now

        # The file first: if that is interrupted, the record in memory is still that of the file.
        rows = [*(other for other in record["rows"] if other["key"] != key), row]
        write_json(path, record | {"rows": rows})
        record["rows"] = rows
        state = row.get("failed") or row.get("partial") or "done"
        say(f"{part.name}: {key}: {state} ({row['seconds']} s)")

    # Tasks one after the other, until the time is up or the device is lost.
    is_lost = is_late = False
    try:
        with alarm(budget):
            for task in part.tasks:
                wanted = [key for key in task.keys if not is_finished(record, key)]
                if wanted and time.monotonic() < ends:
                    is_lost = not _run_task(task, wanted, add, ends) and not alive(device)
                    if is_lost:
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
    elif is_lost:
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
    """Raise `TimeIsUp` inside the context once this many seconds have passed.

    In a thread and on Windows, which have no such alarm, nothing is raised.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: Any) -> None:
        """Raise `TimeIsUp`, as the handler of the alarm's signal."""
        raise TimeIsUp

    # A timer of 0 seconds never rings, hence the least time. At the end the earlier handler is set
    # again.
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _run_task(task: Task, wanted: list[str], add: Callable[[str, Row], None], ends: float) -> bool:
    """Run a task until its end or the time `ends`, and add its rows; return False if it failed.

    An error becomes a failed row, that of the first key without a row: time on a GPU is borrowed,
    so no error of one task may cost the others.
    """
    missing = list(wanted)
    try:
        for key, row in task.run(wanted):
            add(key, row)
            missing = [other for other in missing if other != key]
            if time.monotonic() >= ends:
                break
    except Exception as error:
        if missing:
            add(missing[0], {"failed": reason(error)})
        return False
    return True
