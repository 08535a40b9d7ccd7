"""The command `specsim-real table`: a record of any kind as Markdown."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from real.studies.keep import rows_of

EXAMPLES = (
    "specsim-real table compare.json",
    "specsim-real table compare.json --write results.md",
)


def table(
    record: Annotated[Path, typer.Argument(help="A file that `compare` wrote.")],
    write: Annotated[Path | None, typer.Option(help="Refresh the table between this file's markers.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record itself, as JSON.")] = False,
) -> None:
    """Print a recorded comparison as Markdown, or refresh it in a document (markers: the record's name)."""
    from specsim.base.files import json_text, write_bytes
    from specsim.commands.options import alone
    from specsim.report.markers import refresh

    alone("json", as_json, write=write)
    found = read_record(record)
    if as_json:
        typer.echo(json_text(found))
        return
    # A picture's path in a document starts at the document's folder.
    plot = record.with_suffix(".png")
    try:
        text = markdown(found, str(plot) if write is None else relative(plot, write.parent))
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


KINDS = {  # schema -> the module whose `markdown` shows it
    "specsim-compare/2": "compare.report",
    "specsim-chains/1": "compare.rules_report",
    "specsim-compare-trees/1": "compare.tree_report",
    "specsim-drafts/1": "drafts.report",
    "specsim-forced/1": "forced.report",
    "specsim-trees/1": "trees.report",
}


def markdown(record: dict[str, Any], plot: str) -> str:
    """The tables of a record of any kind; only the report of its own kind is imported."""
    if record["schema"] not in KINDS:
        raise ValueError(f"schema {record['schema']!r} is unknown; known: {', '.join(KINDS)}")
    made: str = import_module(f"real.studies.{KINDS[record['schema']]}").markdown(record, plot)
    return made


def relative(path: Path, folder: Path) -> str:
    """The path as seen from the folder, with slashes."""
    return Path(os.path.relpath(path, folder)).as_posix()
