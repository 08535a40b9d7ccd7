"""The command `specsim-real table`: a record of any kind as Markdown, CSV or LaTeX."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from real.studies.records import in_form, rows_of
from specsim.commands.options import AsCsv, AsJson, AsLatex, chosen_form

EXAMPLES = (
    "specsim-real table compare.json",
    "specsim-real table compare.json --csv",
)


def table(
    record: Annotated[Path, typer.Argument(help="A file that `compare` wrote.")],
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_json: AsJson = False,
) -> None:
    """Print a recorded comparison as Markdown, CSV, LaTeX or JSON."""
    # The form, and the record.
    from specsim.base.files import json_text

    form = chosen_form(as_json=as_json, as_markdown=False, as_csv=as_csv, as_latex=as_latex)
    study = read_record(record)
    if form == "json":
        typer.echo(json_text(study))
        return

    # Its tables; a record that was cut or edited may lack anything.
    plot = str(record.with_suffix(".png"))
    try:
        typer.echo(in_form(study, plot, "markdown" if form == "text" else form))
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        lacks = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"record {record} is not whole: {lacks}") from None


def read_record(path: Path) -> dict[str, Any]:
    """Return the record of a file; ValueError for a file without one, or a record without rows."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        nested = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise ValueError(f"record {path} is not JSON: {nested}") from None
    if not isinstance(record, dict) or not isinstance(record.get("schema"), str):
        raise ValueError(f"record {path} has no schema: it is none that specsim-real wrote")
    try:
        rows = rows_of(record)
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"record {path} is not whole: its rows cannot be read") from None
    if not rows:
        raise ValueError(f"{path} holds no finished row yet: run the same command again to carry it on")
    return record
