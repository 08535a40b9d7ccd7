"""The command `specsim-real taxonomy`: which systems take which value of which axis."""

from __future__ import annotations

import typer

from real.papers import systems as registry
from real.papers.lab import choices
from specsim.base.files import json_text
from specsim.commands.options import AsCsv, AsJson, AsLatex, AsMarkdown, chosen_form
from specsim.report.forms import table
from specsim.report.text import aligned, terminal_width

EXAMPLES = ("specsim-real taxonomy", "specsim-real taxonomy --csv")
NOBODY = "-"


def taxonomy(
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Print the axes on which systems differ, and which system takes which value.

    Axes that the survey arXiv:2404.14897 has are told apart from ours.
    """
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex)
    found = {name: registry.find(name) for name in registry.names()}
    covered = choices.coverage({system.NAME: system.AXES for system in found.values()})
    if form == "json":
        typer.echo(json_text(covered))
    else:
        cells = rows(covered)
        typer.echo(aligned(cells, terminal_width() or 80) if form == "text" else table(cells, form))


def rows(covered: dict[str, dict[str, list[str]]]) -> list[list[str]]:
    """The cells of a coverage table, its head first."""
    table = [["axis", "value", "what it is", "systems"]]
    for axis, values in covered.items():
        whose = "survey" if axis in choices.SURVEY else "ours"
        for i, (key, takers) in enumerate(values.items()):
            words = choices.VALUES[axis][key].words
            table.append([f"{axis} ({whose})" if i == 0 else "", key, words, ", ".join(takers) or NOBODY])
    return table
