"""`specsim rules`: the table of shipped rules."""

from __future__ import annotations

from typing import NamedTuple

import typer

from specsim.commands.json_form import json_answer
from specsim.commands.options import AsCsv, AsJson, AsLatex, AsMarkdown, examples, form_of, takes

EXAMPLES = examples("specsim rules", "specsim rules --csv > rules.csv", "specsim rules --json")


class Rules(NamedTuple):
    """The options of `specsim rules`."""

    as_csv: AsCsv = False
    as_latex: AsLatex = False
    as_markdown: AsMarkdown = False
    as_json: AsJson = False


@takes(Rules)
def rules(options: Rules) -> None:
    """Print the table of shipped rules."""
    from specsim.report import tables
    from specsim.report.forms import table

    form = form_of(options)
    if form == "json":
        head, *rows = tables.rules_rows()
        typer.echo(json_answer("specsim/rules", {"rules": [dict(zip(head, row, strict=True)) for row in rows]}))
    elif form == "markdown":
        typer.echo(tables.rules_table())
    elif form == "text":
        # The last two columns do not fit into 80; what the last one says stands beside the name.
        head, *rows = tables.rules_rows()
        names = [f"{row[0]} (as {row[-1]})" if row[-1] else row[0] for row in rows]
        short = [[name, *row[1:-2]] for name, row in zip(names, rows, strict=True)]
        typer.echo(table([head[:-2], *short]))
    else:
        typer.echo(table(tables.rules_rows(), form))
