"""`specsim claims`: published statements about rules, with their verdicts."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer

from specsim.commands.completion import complete_claim
from specsim.commands.json_form import json_answer
from specsim.commands.options import AsCsv, AsJson, AsLatex, AsMarkdown, examples, form_of, takes

EXAMPLES = examples("specsim claims", "specsim claims --run recursive_optimal", "specsim claims --run all --json")


class Claims(NamedTuple):
    """The options of `specsim claims`."""

    run: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=complete_claim,
            help="Compute this claim (or: all) again and compare with the record.",
        ),
    ] = ""
    as_csv: AsCsv = False
    as_latex: AsLatex = False
    as_markdown: AsMarkdown = False
    as_json: AsJson = False


@takes(Claims)
def claims(options: Claims) -> None:
    """Print published claims with their verdicts: holds, refuted, holds under a condition, or not decidable here.

    With --run the last line says whether the record agrees, and the status is 1 if it does not; `--run all --json`
    prints the record anew.
    """
    from specsim.claims import settled
    from specsim.commands.plan.sentence import counted
    from specsim.report.forms import table

    # The recorded verdicts, or those of the claims that are computed again.
    form = form_of(options)
    verdicts = settled.recorded()
    recorded = verdicts
    if options.run:
        chosen = settled.names() if options.run == "all" else [options.run]
        verdicts = {name: settled.settle(name) for name in chosen}
    changed = [name for name, claim in verdicts.items() if recorded.get(name) != claim]
    # JSON, a table of claims, or one claim in full.
    if form == "json":
        typer.echo(
            json_answer("specsim/claims", {"claims": {name: claim._asdict() for name, claim in verdicts.items()}})
        )
    elif form != "text" or options.run in ("", "all"):
        typer.echo(table(settled.rows(verdicts, form != "text"), form))
    else:
        typer.echo(table(settled.in_full(options.run, verdicts[options.run])))
    # A verdict that differs from the record is an error; text, which a person reads, says so where none does.
    if options.run and form == "text" and not changed:
        typer.echo(f"\ncomputed anew, and as the record says: {counted(len(verdicts), 'claim')}")
    if changed:
        typer.echo(f"not what the record says: {', '.join(changed)}", err=True)
        raise typer.Exit(1)
