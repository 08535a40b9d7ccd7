"""`specsim rules`: the table of shipped rules."""

from __future__ import annotations

import json
from typing import Annotated, NamedTuple

import typer

from specsim.commands.options import alone, examples, takes

EXAMPLES = examples("specsim rules", "specsim rules --markdown > rules.md", "specsim rules --json")


class Rules(NamedTuple):
    """The options of `specsim rules`."""

    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the whole tables as Markdown, with acceptance, tau and cost.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@takes(Rules)
def rules(told: Rules) -> None:
    """Print the table of shipped rules."""
    from specsim.report import tables
    from specsim.report.text import table

    alone("json", told.as_json, markdown=told.as_markdown)
    if told.as_json:
        head, *rows = tables.rules_rows()
        typer.echo(json.dumps([dict(zip(head, row, strict=True)) for row in rows], indent=1))
    elif told.as_markdown:
        typer.echo(tables.rules_table())
    else:
        typer.echo(table([row[:-1] for row in tables.rules_rows()]))  # that fits 80 columns
