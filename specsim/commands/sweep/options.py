"""The options of `specsim sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from specsim.commands.options import OUTPUT, AsCsv, AsJson, AsLatex, AsMarkdown, examples

EXAMPLES = examples(
    "specsim sweep study.toml --out rows.parquet",
    "specsim sweep study.toml --out rows.parquet --workers 1",
    "specsim sweep --out rows.parquet \\",
    '    --show "select gamma, max(speedup) from rows group by gamma"',
)


class Sweep(NamedTuple):
    """The options of `specsim sweep`."""

    study: Annotated[
        Path | None, typer.Argument(help="TOML file with the kind of study and its grid. Not needed with --show alone.")
    ] = None
    out: Annotated[
        Path,
        typer.Option(
            help="Parquet file of the rows. Unfinished rows are kept in a folder beside it.", rich_help_panel=OUTPUT
        ),
    ] = Path("rows.parquet")
    workers: Annotated[
        int | None,
        typer.Option(help="Number of processes on this machine. [default: one per core]", show_default=False),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(help="Dask cluster instead of processes, e.g. tcp://host:8786; local:4 starts one here."),
    ] = None
    force: Annotated[
        bool, typer.Option("--force", help="Delete the finished rows and begin anew.", rich_help_panel=OUTPUT)
    ] = False
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Run rule files outside the folder of the study, or outside the working directory, too."
        ),
    ] = False
    show: Annotated[
        str | None, typer.Option(help="SQL query (DuckDB) over the finished rows, a table named `rows`.")
    ] = None
    as_csv: AsCsv = False
    as_latex: AsLatex = False
    as_markdown: AsMarkdown = False
    as_json: AsJson = False
