"""The command `specsim-real taxonomy`: which systems take which value of which axis."""

from __future__ import annotations

from typing import Annotated

import typer

from real import systems as registry
from real.studies.keep import form_of
from real.systems import _axes
from specsim.base.files import json_text
from specsim.report.text import aligned, markdown, terminal_width

EXAMPLES = ("specsim-real taxonomy", "specsim-real taxonomy --markdown")
NOBODY = "-"


def taxonomy(
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print axis, value and systems as JSON.")] = False,
) -> None:
    """Print the axes on which systems differ, and which system takes which value.

    Axes that the survey arXiv:2404.14897 has are told apart from ours.
    """
    form = form_of(as_markdown, as_json)
    found = {name: registry.find(name) for name in registry.names()}
    covered = _axes.coverage({system.NAME: system.AXES for system in found.values()})
    if form == "json":
        typer.echo(json_text(covered))
    else:
        cells = rows(covered)
        typer.echo(markdown(cells) if form == "markdown" else aligned(cells, terminal_width() or 80))


def rows(covered: dict[str, dict[str, list[str]]]) -> list[list[str]]:
    """The cells of a coverage table, its head first."""
    table = [["axis", "value", "what it is", "systems"]]
    for axis, values in covered.items():
        whose = "survey" if axis in _axes.SURVEY else "ours"
        for i, (key, takers) in enumerate(values.items()):
            words = _axes.VALUES[axis][key].words
            table.append([f"{axis} ({whose})" if i == 0 else "", key, words, ", ".join(takers) or NOBODY])
    return table
