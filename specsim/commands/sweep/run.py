"""One run of `specsim sweep`, from words to words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from specsim.base import check, limits, source
from specsim.base.locks import locked
from specsim.commands.json_form import json_answer
from specsim.commands.options import form_of
from specsim.commands.plan.sentence import counted
from specsim.commands.sweep import pools, shown, store
from specsim.commands.sweep.gather import Chunk, chunk_size, chunks, gather
from specsim.commands.sweep.options import Sweep
from specsim.commands.sweep.shown import Outcome
from specsim.commands.sweep.study import Study, key, made_with, point, points, read
from specsim.commands.sweep.work import LATE, UNKNOWN
from specsim.simulation.shards import CORES

# Seconds between two parts: rows that a killed process has finished since the last part are computed again.
FLUSH = 1.0


def run(options: Sweep) -> tuple[str, bool]:
    """Run the study, or answer the query; return the text to print, and whether every row is there."""
    # A query alone.
    form = form_of(options)
    if options.study is None:
        if options.show is None:
            raise ValueError("give a study, as study.toml, or --show with SQL for the rows of --out")
        for name in ("force", "trust", "workers"):
            if getattr(options, name):
                raise ValueError(f"--{name} is for running a study, and none is given")
        return shown.rows(options.out, options.show, form), True
    # Refuse wrong options before any work.
    if options.workers is not None:
        check.integer(options.workers, "workers", 1, limits.MAX_THREADS)
        if options.scheduler is not None:
            raise ValueError("--workers and --scheduler are both given: a scheduler has workers of its own")
    if options.scheduler is not None:
        pools.check_scheduler(options.scheduler)
    study = read(options.study, trust=options.trust, tell=partial(typer.echo, err=True))
    if study.kind.timed and options.scheduler is None and (options.workers or 1) > 1:
        raise ValueError(
            f"rows of kind {study.kind.name} are measured times: --workers must be 1, got {options.workers}"
        )
    store.check_out(options.out)
    if options.show is not None:
        shown.check_sql(options.show, store.schema(study.kind))
    # Compute the rows that are missing.
    order = [key(study.kind, inputs) for inputs in points(study)]
    workers = options.workers or (1 if study.kind.timed else CORES)
    opened = (
        partial(pools.processes, workers) if options.scheduler is None else partial(pools.cluster, options.scheduler)
    )
    with locked(options.out):
        work = _missing(options, study, order)
        outcome = made(study, options.out, order, work.missing, opened, forget=work.forget)._replace(anew=work.anew)
    # The query, JSON, or a summary.
    if options.show is not None and outcome.complete:
        return shown.rows(options.out, options.show, form), True
    if form == "json":
        refused = 0
        if outcome.rows:
            refused, _ = shown.refused(options.out)
        fields = {"out": str(options.out), **outcome._asdict(), "complete": outcome.complete, "refused": refused}
        return json_answer("specsim/sweep", fields), outcome.complete
    return shown.summary(options.out, outcome), outcome.complete


class Work(NamedTuple):
    """The points of a study to compute.

    missing: their places in the study. anew: why some are computed again, "" if none is. forget:
    whether the rows in the file are ignored.
    """

    missing: list[int]
    anew: str = ""
    forget: bool = False


def _missing(options: Sweep, study: Study, order: Sequence[str]) -> Work:
    """Return the work that is left, and why some of it is done again.

    order: the key of each point's row. A key holds a hash of the source that computes the row.
    """
    # With --force every point.
    everything = list(range(len(order)))
    if options.force:
        store.remove_parts(options.out)
        return Work(everything, forget=True)

    # Without, points whose key the file does not have; rows of changed source have other keys.
    finished = store.held(options.out, study.kind)
    stale = store.stale(finished, study, frozenset(order), options.out)
    missing = [i for i, row_key in enumerate(order) if row_key not in finished.keys]

    # No key holds a file that a rule opened only while it ran: if one has changed, all are run.
    if changed_files := source.changed(store.read_late(finished)):
        store.remove_parts(options.out)
        reason = f"{' and '.join(changed_files)}, which a rule reads, has changed"
        return Work(everything, f"{counted(len(finished.keys), 'row')} made anew: {reason}", forget=True)

    # Rows that are computed again: name the sources that have changed.
    if not stale:
        return Work(missing)
    sources = made_with(study)
    changed = [name for name in sources if finished.sources.get(name) != sources[name]]
    names = " and ".join(changed) or "what made them"
    return Work(missing, f"{counted(len(stale), 'row')} made anew: the source of {names} has changed")


def made(
    study: Study,
    out: Path,
    order: Sequence[str],
    missing: Sequence[int],
    opened: Callable[[], Any],
    *,
    forget: bool = False,
) -> Outcome:
    """Run the rows that are missing and merge all that are finished, also after Ctrl-C.

    forget: rows that are in the file count for nothing.
    """
    # Outputs wait in a buffer, and are written about once a second.
    start, sources = time.monotonic(), made_with(study)
    buffer: list[dict[str, Any]] = []
    unknown: set[str] = set()
    written = start

    def flush() -> None:
        """Write the buffer as a part."""
        nonlocal written
        if buffer:
            store.write_part(out, study.kind, buffer, sources)
            buffer.clear()
        written = time.monotonic()

    with _progress(len(order), len(order) - len(missing)) as advance:

        def keep(chunk: Chunk, outputs: list[dict[str, Any]]) -> None:
            """Put finished rows into the buffer, and write it once a second."""
            for output in outputs:
                # A worker of another machine has files that are not here.
                late = output.pop(LATE, {})
                sources.update({store.LATE + path: digest for path, digest in late.items() if Path(path).is_file()})
                unknown.add(output.pop(UNKNOWN, ""))
            buffer.extend(
                {"key": order[i], **point(study, i), **output} for i, output in zip(chunk, outputs, strict=True)
            )
            advance(len(chunk))
            if time.monotonic() - written >= FLUSH:
                flush()

        try:
            if missing:
                missing_chunks = chunks(missing, chunk_size(len(missing), study.kind.chunk))
                gather(opened, study.kind.name, missing_chunks, lambda chunk: [point(study, i) for i in chunk], keep)
        except KeyboardInterrupt:
            # Finished rows are kept, and counted in the outcome.
            pass
        finally:
            flush()
    # Print what no key holds.
    for words in sorted(unknown - {""}):
        typer.echo(f"note: {words}", err=True)
    # One file of all rows.
    before = len(order) - len(missing)
    table = store.merge(out, study.kind, order, sources, anew=forget) if store.parts(out).is_dir() else None
    rows = before if table is None else table.num_rows
    return Outcome(rows, rows - before, len(order), time.monotonic() - start)


@contextmanager
def _progress(size: int, finished: int) -> Iterator[Callable[[int], None]]:
    """Show rows, their rate and the time left on a terminal's standard error; yield the function that counts rows."""
    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=size, completed=finished, rate="")
        start, new = time.monotonic(), 0

        def advance(count: int) -> None:
            """Count finished rows."""
            nonlocal new
            new += count
            bar.update(task, advance=count, rate=f"{new / max(time.monotonic() - start, 1e-9):.1f} rows/s")

        yield advance
