"""The command `specsim-real table`: a record of any kind as Markdown, CSV or LaTeX."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from real.studies.records import in_form, rows_of
from specsim.commands.options import AsCsv, AsJson, AsLatex, chosen_form

EXAMPLES = (
    "specsim-real table compare.json",
    "specsim-real table compare.json --csv",
    "specsim-real table compare.json --write results.md",
)


def table(
    record: Annotated[Path, typer.Argument(help="A file that `compare` wrote.")],
    write: Annotated[Path | None, typer.Option(help="Refresh the table between this file's markers.")] = None,
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_json: AsJson = False,
) -> None:
    """Print a recorded comparison as Markdown, CSV, LaTeX or JSON, or refresh it in a Markdown document.

    In the document it stands between markers with the record's name.
    """
    from specsim.base.files import json_text, write_bytes
    from specsim.report.markers import refresh

    form = chosen_form(as_json=as_json, as_markdown=False, as_csv=as_csv, as_latex=as_latex, write=write)
    found = read_record(record)
    if form == "json":
        typer.echo(json_text(found))
        return
    # A picture's path in a document starts at the document's folder.
    plot = record.with_suffix(".png")
    try:
        picture = str(plot) if write is None else relative(plot, write.parent)
        text = in_form(found, picture, "markdown" if form == "text" else form)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        lacks = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"record {record} is not whole: {lacks}") from None
    if write is None:
        typer.echo(text)
        return
    try:
        page = write.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{write} is no text in UTF-8") from None
    write_bytes(write, refresh(page, record.stem, text).encode())


def read_record(path: Path) -> dict[str, Any]:
    """A record with rows; ValueError for anything else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        nested = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise ValueError(f"record {path} is not JSON: {nested}") from None
    if not isinstance(found, dict) or not isinstance(found.get("schema"), str):
        raise ValueError(f"record {path} has no schema: it is none that specsim-real wrote")
    try:
        rows = rows_of(found)
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"record {path} is not whole: its rows cannot be read") from None
    if not rows:
        raise ValueError(f"{path} holds no finished row yet: run the same command again to carry it on")
    return found


def relative(path: Path, folder: Path) -> str:
    """The path as seen from the folder, with slashes."""
    return Path(os.path.relpath(path, folder)).as_posix()
