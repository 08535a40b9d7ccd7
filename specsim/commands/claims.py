"""`specsim claims`: published statements about rules, with their verdicts."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer

from specsim.commands.options import alone, examples, takes

EXAMPLES = examples("specsim claims", "specsim claims --run recursive_optimal", "specsim claims --run all --json")


class Claims(NamedTuple):
    """The options of `specsim claims`."""

    run: Annotated[
        str, typer.Option(metavar="NAME", help="Compute this claim (or: all) again and compare with the record.")
    ] = ""
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown, with reasons and numbers.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with reasons and numbers.")] = False


@takes(Claims)
def claims(told: Claims) -> None:
    """Print published claims with their verdicts: holds, refuted, holds under a condition, or not decidable here.

    With --run status 1 if what is computed is not what the record says; `--run all --json` prints the record anew.
    """
    from specsim.claims import settled
    from specsim.report import text

    alone("json", told.as_json, markdown=told.as_markdown)
    found = settled.recorded()
    was = found
    if told.run:
        chosen = settled.names() if told.run == "all" else [told.run]
        found = {name: settled.settle(name) for name in chosen}
    if told.as_json:
        typer.echo(settled.as_json(found), nl=False)
    elif told.as_markdown or told.run in ("", "all"):
        typer.echo(text.table(settled.rows(found, told.as_markdown), told.as_markdown))
    else:
        one = found[told.run]
        about = [["claim", told.run], ["source", one.source], ["stated", one.statement], ["verdict", one.verdict]]
        typer.echo(
            text.table([*about, ["because", one.because], *([name, value] for name, value in one.numbers.items())])
        )
    other = [name for name, one in found.items() if was.get(name) != one]
    if other:
        typer.echo(f"not what the record says: {', '.join(other)}", err=True)
        raise typer.Exit(1)
