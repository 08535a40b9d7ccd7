"""`specsim rules`: the table of shipped rules, in the terminal or in a document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from specsim.commands.options import alone, examples, takes

EXAMPLES = examples("specsim rules", "specsim rules --markdown > rules.md", "specsim rules --json")


class Rules(NamedTuple):
    """What `specsim rules` is told."""

    brief: Annotated[bool, typer.Option("--brief", help="Four columns, for a README (markers: brief).")] = False
    write: Annotated[Path | None, typer.Option(help="Refresh the table between the markers of this file.")] = None
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown: the whole tables, with acceptances, tau and costs.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@takes(Rules)
def rules(told: Rules) -> None:
    """Print the table of shipped rules, or refresh it in a document."""
    from specsim.base.files import check_writable, write_bytes
    from specsim.report import tables
    from specsim.report.markers import refresh
    from specsim.report.text import table

    alone("json", told.as_json, markdown=told.as_markdown, brief=told.brief, write=told.write)
    alone("markdown", told.as_markdown, write=told.write)
    if told.write is not None:
        text = _read(told.write)
        check_writable(told.write)
        name = "brief" if told.brief else "rules"
        refresh(text, name, "")  # the markers, before the work
        made = tables.rules_brief() if told.brief else tables.rules_table()
        write_bytes(told.write, refresh(text, name, made).encode())
    elif told.as_json:
        head, *rows = tables.rules_rows()
        typer.echo(json.dumps([dict(zip(head, row, strict=True)) for row in rows], indent=1))
    elif told.brief:
        typer.echo(tables.rules_brief())
    elif told.as_markdown:
        typer.echo(tables.rules_table())
    else:
        typer.echo(table([row[:-1] for row in tables.rules_rows()]))  # that fits 80 columns


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text") from None
