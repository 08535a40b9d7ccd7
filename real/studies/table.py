"""The command `specsim-real table`: a record of any kind as Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable
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
    brief: Annotated[
        bool, typer.Option("--brief", help="Of one rule's comparison four columns, for a README (markers: face).")
    ] = False,
    write: Annotated[Path | None, typer.Option(help="Refresh the table between this file's markers.")] = None,
) -> None:
    """Print a recorded comparison as Markdown, or refresh it in a document (markers: the record's name)."""
    from specsim.base.files import write_bytes
    from specsim.report.markers import refresh

    try:
        found = json.loads(record.read_text(encoding="utf-8"))
        if not rows_of(found):
            raise ValueError(f"{record} holds no finished row yet: run the same command again to carry it on")
        text = face(found) if brief else markdown(found, str(record.with_suffix(".png")))
        if write is None:
            typer.echo(text)
        else:
            write_bytes(
                write, refresh(write.read_text(encoding="utf-8"), "face" if brief else record.stem, text).encode()
            )
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{record} cannot be shown: {error!r}") from None


def markdown(record: dict[str, Any], plot: str) -> str:
    """The tables of a record of any kind."""
    from real.studies.compare import report, rules_report, tree_report
    from real.studies.drafts import report as drafts_report
    from real.studies.forced import report as forced_report
    from real.studies.trees import report as trees_report

    kinds: dict[str, Callable[[dict[str, Any], str], str]] = {
        kind.SCHEMA: kind.markdown
        for kind in (report, rules_report, tree_report, forced_report, drafts_report, trees_report)
    }
    if record["schema"] not in kinds:
        raise KeyError(f"schema {record['schema']}; known: {', '.join(kinds)}")
    return kinds[record["schema"]](record, plot)


def face(record: dict[str, Any]) -> str:
    """Predicted beside measured speedup of one rule's comparison: what fits on a first page."""
    from real.studies.compare import report

    if record["schema"] != report.SCHEMA:
        raise ValueError(f"schema {record['schema']} has no brief table; only a comparison of one rule has")
    return report.face(record)
