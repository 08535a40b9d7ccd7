"""The command `specsim sweep`; its body is imported when it runs."""

from __future__ import annotations

import typer

from specsim.commands.errors import INTERRUPTED
from specsim.commands.options import form_of, takes
from specsim.commands.sweep.options import Sweep


@takes(Sweep)
def sweep(options: Sweep) -> None:
    """Run a study over a grid, on processes or a cluster; rows go to a Parquet file. Needs the extra `sweep`.

    The same command carries on where a run was interrupted.
    """
    from specsim.commands.sweep import run

    form = form_of(options)
    if form not in ("text", "json") and options.show is None:
        raise ValueError(f"--{form} is a form of the table that --show prints; give --show with an SQL query")
    output, finished = run.run(options)
    typer.echo(output)
    if not finished:
        raise typer.Exit(INTERRUPTED)
