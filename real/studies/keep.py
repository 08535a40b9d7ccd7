"""Records of long runs: written after every row, valid however the run ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from specsim.base.files import check_writable, write_json


def outputs(out: Path) -> None:
    """ValueError unless the record and its plot can be written."""
    if out.suffix != ".json":
        raise ValueError(f"out {out} must end in .json (the plot takes the same name with .png)")
    check_writable(out)
    check_writable(out.with_suffix(".png"))


@contextmanager
def kept(record: dict[str, Any], out: Path) -> Iterator[None]:
    """Mark a record complete if its run ends well; else say why it did not, and keep what there is.

    An interruption, a lost device, memory that ran out and numbers that are not finite all end here.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill keeps rows as Ctrl-C does
    try:
        yield
        record["complete"] = True
    except KeyboardInterrupt:
        record["failed"] = "interrupted"
    except (RuntimeError, MemoryError, ValueError) as error:
        if not rows_of(record):  # nothing was measured: an ordinary error
            raise
        record["failed"] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    write_json(out, record) if rows_of(record) else None


def rows_of(record: dict[str, Any]) -> int:
    """How many rows a record holds."""
    return sum(len(run.get("rows", [])) + len(run.get("pairs", [])) for run in [record, *record.get("runs", [])])


def finish(
    record: dict[str, Any], out: Path, console: Console, shown: Callable[[dict[str, Any]], Any],
    plot: Callable[[Path, Any], None],
) -> None:  # fmt: skip
    """Show and plot what was measured; status 130 after an interruption, 1 after a failure."""
    rows = rows_of(record)
    if not record["complete"]:
        console.print(f"{record['failed']}: {rows} finished rows kept", markup=False)
    if rows:
        console.print(shown(record))
        try:
            plot(out.with_suffix(".png"), record)
            console.print(f"written: {out} and {out.with_suffix('.png')}")
        except ModuleNotFoundError:
            console.print(f"written: {out} (no plot: install the extra `plot`)")
    if not record["complete"]:
        raise typer.Exit(130 if record["failed"] == "interrupted" else 1)
