"""`specsim plots`: the pictures of the documentation, drawn anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from specsim.commands.options import examples, takes

EXAMPLES = examples("specsim plots pictures")


class Plots(NamedTuple):
    """The options of `specsim plots`."""

    folder: Annotated[
        Path, typer.Argument(help="Where plan.png, validation.png and lengths.png go; made if it is not there.")
    ]
    as_json: Annotated[bool, typer.Option("--json", help="Print the names of the files as JSON.")] = False


@takes(Plots)
def plots(told: Plots) -> None:
    """Draw the plots of the documentation anew. Needs the extra `plot`."""
    from specsim.report.plots import write_all

    paths = write_all(told.folder)
    if told.as_json:
        typer.echo(json.dumps([str(path) for path in paths]))
        return
    for path in paths:
        typer.echo(path)
