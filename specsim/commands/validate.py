"""`specsim validate`: the predictor scored on published speedups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from specsim.commands.json_form import json_answer
from specsim.commands.options import AsCsv, AsJson, AsLatex, AsMarkdown, examples, form_of, takes

if TYPE_CHECKING:
    from specsim.report.forms import Cell

EXAMPLES = examples(
    "specsim validate",
    "specsim validate --fit magicdec-001,magicdec-007,magicdec-014",
    "specsim validate my_rows.csv --json",
)


class Validate(NamedTuple):
    """The options of `specsim validate`."""

    file: Annotated[Path | None, typer.Argument(help="CSV of published speedups. Default: the shipped ones.")] = None
    fit: Annotated[str, typer.Option(help="row_ids, e.g. a,b,c: fit one overhead per machine on these rows alone.")] = (
        ""
    )
    as_csv: AsCsv = False
    as_latex: AsLatex = False
    as_markdown: AsMarkdown = False
    as_json: AsJson = False


@takes(Validate)
def validate(options: Validate) -> None:
    """Score the predictor on published speedups; list every row that is impossible or needs an explanation."""
    from specsim.claims import curves
    from specsim.claims import rows as published
    from specsim.claims import score as scores
    from specsim.report.forms import page
    from specsim.speed.load.published import speedup_at_rate

    # Score all rows, with a fit if one is asked for.
    form = form_of(options)
    rows = published.shipped() if options.file is None else published.read(options.file)
    results = scores.validate(
        rows, fit=[name.strip() for name in options.fit.split(",") if name.strip()], at_rate=speedup_at_rate
    )
    # Acceptance lengths that are shipped beside the speedups, audited by the laws of a curve.
    audits = curves.audited_curves() if options.file is None else []
    if form == "json":
        shown = {"sources": scores.summary(results), "rows": [score._asdict() for score in results.scores]}
        shown["curves"] = [audit._asdict() for audit in audits]
        typer.echo(json_answer("specsim/validate", shown, indent=None))
    else:
        table = [[_cell(value) for value in row] for row in scores.report_rows(results, whole=form != "text")]
        typer.echo(page([table, "", *scores.remarks(results), *(curves.audit_lines(audits) if audits else [])], form))


def _cell(value: str | float | None) -> Cell:
    """Return a cell of the table: a share is shown as percent."""
    from specsim.report.forms import Number

    return Number(f"{100 * value:.1f}%", value) if isinstance(value, float) else value or ""
