"""One runner for all studies: begin or carry on a record, write it after each row, show it.

A record is valid however its run ends.
"""

from __future__ import annotations

import itertools
import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

from real.studies.progress import begin_bar, progress_bar
from real.studies.records import in_form, rows_of
from specsim.base.files import check_writable, json_text, write_json
from specsim.commands.options import OUTPUT, Form

Force = Annotated[bool, typer.Option("--force", help="Measure anew, whatever record is there.", rich_help_panel=OUTPUT)]
OUT = "JSON record; a PNG goes beside it. [default: {0}.json; where that is of another study, {0}-2.json and so on]"
# Entries in which provenances of one study may differ; the last is known only once the target is
# loaded.
_WHEN = {"date", "command", "chat_template"}


class Output(NamedTuple):
    """Where the record of a study goes, and how it is shown: the options of these names."""

    out: Path | None
    force: bool
    form: Form


class Study(NamedTuple):
    """A kind of study: the name of its default file, and its records' schema, table and plot."""

    name: str
    schema: str
    table: Callable[[dict[str, Any]], Any]
    plot: Callable[[Path, Any], None]


class Run(NamedTuple):
    """A study that is being measured: its record, and functions that save it and show its progress.

    `save()` keeps the record as it is now; `stages(total)` begins a bar of so many stages, and
    returns a function that names the next one.
    """

    record: dict[str, Any]
    save: Callable[[], None]
    stages: Callable[[int | None], Callable[[str], None]]


def run(
    study: Study,
    provenance: dict[str, Any],
    output: Output,
    prepare: Callable[[dict[str, Any]], Callable[[Run], None]],
) -> None:
    """Show the record of a study, after measuring the rows that it lacks.

    Parameters
    ----------
    study : Study
        The kind of study.
    provenance : dict
        Its provenance: a record of another one is not carried on.
    output : Output
        Where the record goes, and how it is shown.
    prepare : callable
        Is called if there is something to measure, with the unfinished record of this study ({}
        where there is none). It loads models, checks what depends on them, and returns the function
        that measures: this one adds to the record of the `Run` that it is given.
    """
    # A complete record is shown again.
    out = record_path(output.out, study.name, study.schema, provenance)
    old = earlier_record(out, study.schema, provenance, force=output.force)
    if old is not None and old["complete"]:
        return finish(old, out, Console(), study, form=output.form, again=True)

    # Measure what is missing.
    measure = prepare(old or {})
    record = {"schema": study.schema, "complete": False, "provenance": provenance}
    with recording(record, out), progress_bar() as progress:
        measure(Run(record, partial(write_json, out, record), partial(begin_bar, progress)))
    finish(record, out, Console(), study, form=output.form)


def check_outputs(out: Path) -> None:
    """Refuse a path at which the record or its plot cannot be written.

    Folders that are not there will be made.
    """
    if out.suffix != ".json":
        raise ValueError(f"out {out} must end in .json (the plot takes the same name with .png)")
    for path in (out, out.with_suffix(".png")):
        # Of a path in folders that are not there, the first folder to be made is checked.
        nearest = next(folder for folder in path.parents if folder.exists())
        check_writable(path if path.parent.exists() else nearest / path.parts[len(nearest.parts)])


def record_path(out: Path | None, name: str, schema: str, provenance: dict[str, Any]) -> Path:
    """The path of a study's record: the option, or the first default that is free or its own.

    Parameters
    ----------
    out : Path or None
        The option.
    name : str
        The default is NAME.json, then NAME-2.json and so on: no study ends because another one is
        there.
    schema, provenance : str, dict
        As for `earlier_record`.
    """
    if out is not None:
        return out
    for number in itertools.count(1):
        path = Path(f"{name}.json" if number == 1 else f"{name}-{number}.json")
        is_free = not path.exists() and not path.with_suffix(".png").exists()
        if is_free or (path.exists() and _other_study(path, schema, provenance) is None):
            return path
    raise AssertionError("there is always a free number")


def earlier_record(out: Path, schema: str, provenance: dict[str, Any], *, force: bool) -> dict[str, Any] | None:
    """The record that is there already, to be carried on or shown.

    None if there is no record, or with `force`.

    Parameters
    ----------
    out : Path
        Where it would be.
    schema, provenance : str, dict
        Its kind, and the provenance of the study to be run.
    force : bool
        Whether to replace it, whatever it is.

    Raises
    ------
    ValueError
        There is a file that is no record, or the record of another study.
    """
    if force or not out.exists():
        return None
    reason = _other_study(out, schema, provenance)
    if reason is not None:
        raise ValueError(f"out {out} {reason}: give another --out, or --force to replace it")
    return dict(json.loads(out.read_text(encoding="utf-8")))


def _other_study(path: Path, schema: str, provenance: dict[str, Any]) -> str | None:
    """Return the reason why a file is not the record of this study; None if it is."""
    # Read it; a record has a schema, and a provenance with a date.
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        kind, old = record["schema"], record["provenance"]
        kind, old["date"], record["complete"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "is there and is no record"
    if kind != schema:
        return f"holds a record of another kind ({kind}, not {schema})"

    # Compare the provenances, this one in the form that a file gives back.
    new = json.loads(json.dumps(provenance))
    for name in sorted((new.keys() | old.keys()) - _WHEN):
        if new.get(name) != old.get(name):
            old_value, new_value = f"{old.get(name)!r:.60}", f"{new.get(name)!r:.60}"
            return f"holds another study ({name} is {old_value}, here {new_value})"
    return None


@contextmanager
def recording(record: dict[str, Any], out: Path) -> Iterator[None]:
    """Mark a record complete if its run ends well; else write why it did not into the record.

    The rows so far are saved. An interruption, a lost device, memory that ran out and numbers that
    are not finite all end here.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    if threading.current_thread() is threading.main_thread():
        # A polite kill saves rows as Ctrl-C does.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
        record["complete"] = True
    except KeyboardInterrupt:
        record["failed"] = "interrupted"
    except (RuntimeError, MemoryError, ValueError) as error:
        # Without a row this is an ordinary error.
        if not rows_of(record):
            raise
        record["failed"] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    if rows_of(record):
        write_json(out, record)


def finish(
    record: dict[str, Any],
    out: Path,
    console: Console,
    study: Study,
    *,
    form: Form = "text",
    again: bool = False,
) -> None:
    """Show and plot a record, measured now or before.

    The status is 130 after an interruption, 1 after a failure. Sentences for a person go to
    standard error where a program, or a document, reads standard output.
    """
    # Why it is not complete.
    rows = rows_of(record)
    aside = console if form == "text" else Console(stderr=True)
    if not record["complete"]:
        aside.print(f"{record['failed']}{_saved(record, rows)}", markup=False, highlight=False)

    # The tables.
    if form == "json":
        typer.echo(json_text(record))
    elif rows and form != "text":
        typer.echo(in_form(record, str(out.with_suffix(".png")), form))
    elif rows:
        console.print(study.table(record), crop=False)

    # Where it is saved, with its plot.
    if rows:
        if again:
            day = record["provenance"]["date"][:10]
            ending = f"{out} holds this study, measured {day} (--force measures it anew)"
        else:
            ending = _plotted(record, out, study.plot)
        aside.print("\n" + ending, markup=False, highlight=False, soft_wrap=True)
    if not record["complete"]:
        raise typer.Exit(130 if record["failed"] == "interrupted" else 1)


def _saved(record: dict[str, Any], rows: int) -> str:
    """Return the end of the sentence on why a run stopped: how much is saved for the next run.

    rows: finished rows. Comparisons save their prompts ("turns") instead.
    """
    prompts = len(record.get("turns", []))
    if not rows and not prompts:
        return "; nothing was kept"
    if prompts:
        saved = f"{prompts} of {record['provenance']['prompts']} prompts kept"
    else:
        saved = f"{rows} finished row{'s' if rows > 1 else ''} kept"
    return f": {saved}; the same command carries on"


def _plotted(record: dict[str, Any], out: Path, plot: Callable[[Path, Any], None]) -> str:
    """Write the plot beside the record; return a sentence that names the files."""
    try:
        plot(out.with_suffix(".png"), record)
    except ModuleNotFoundError:
        return f"written: {out} (no plot: install the extra `plot`)"
    return f"written: {out} and {out.with_suffix('.png')}"
