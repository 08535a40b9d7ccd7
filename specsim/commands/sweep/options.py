"""`specsim sweep`: what it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from specsim.commands.errors import INTERRUPTED
from specsim.commands.options import alone, examples, takes

EXAMPLES = examples(
    "specsim sweep study.toml --out rows.parquet",
    "specsim sweep study.toml --out rows.parquet --resume --workers 1",
    "specsim sweep --out rows.parquet \\",
    '    --show "select gamma, max(speedup) from rows group by gamma"',
)


class Sweep(NamedTuple):
    """What `specsim sweep` is told."""

    study: Annotated[
        Path | None, typer.Argument(help="A TOML file: the kind of study and its grid. Not needed with --show alone.")
    ] = None
    out: Annotated[
        Path, typer.Option(help="Parquet file of the rows; unfinished ones stand in a folder beside it.")
    ] = Path("rows.parquet")
    workers: Annotated[
        int | None, typer.Option(help="Processes on this machine. [default: one a core]", show_default=False)
    ] = None
    scheduler: Annotated[
        str | None, typer.Option(help="Instead: a Dask cluster, as tcp://host:8786, or local:4 to start one here.")
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Run the rows that are missing, and keep the others.")] = (
        False
    )
    force: Annotated[bool, typer.Option("--force", help="Begin anew, whatever rows are there.")] = False
    trust: Annotated[
        bool, typer.Option("--trust", help="Run rule files that the study names and that are not in its folder.")
    ] = False
    show: Annotated[
        str | None, typer.Option(help="SQL to run over the finished rows, a table called `rows` (DuckDB's dialect).")
    ] = None
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@takes(Sweep)
def sweep(told: Sweep) -> None:
    """Run a study over a grid, on processes or a cluster; rows go to a Parquet file. Needs the extra `sweep`."""
    from specsim.commands.sweep import run

    alone("json", told.as_json, markdown=told.as_markdown)
    if told.resume and told.force:
        raise ValueError("--resume and --force are both given: keep the rows that are there, or begin anew")
    said, finished = run.run(told)
    typer.echo(said)
    if not finished:
        raise typer.Exit(INTERRUPTED)
