"""`specsim report`: records as one page that works offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from specsim.commands.json_form import json_answer
from specsim.commands.options import OUTPUT, examples, takes

EXAMPLES = examples("specsim report", "specsim report compare.json plan.json --out page.html")


class Report(NamedTuple):
    """The options of `specsim report`."""

    records: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RECORDS",
            help="Records of specsim-real, JSON of specsim plan and simulate, Parquet files of specsim sweep; without "
            "any, examples.",
        ),
    ] = None
    out: Annotated[Path, typer.Option(help="HTML file to write.", rich_help_panel=OUTPUT)] = Path("report.html")
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.", rich_help_panel=OUTPUT)] = (
        False
    )


@takes(Report)
def report(options: Report) -> None:
    """Draw records as one page that works offline, with controls that redraw it. Needs the extra `report`."""
    from specsim.base.files import check_writable, write_bytes
    from specsim.commands.plan.sentence import counted
    from specsim.report.page.html import page
    from specsim.report.page.records import read

    # Read the records and write the page.
    check_writable(options.out, ".html")
    records = [read(path) for path in options.records or []]
    written = page(records).encode()
    write_bytes(options.out, written)
    # Say what was written.
    if options.as_json:
        kinds = [record.kind for record in records]
        answer = {"out": str(options.out), "bytes": len(written), "records": kinds}
        typer.echo(json_answer("specsim/report", answer, indent=None))
    else:
        shown = counted(len(records), "record") if records else "examples, as no record is given"
        typer.echo(f"{options.out}: {shown}, {len(written) / 1e6:.2f} MB, opens without a network")
