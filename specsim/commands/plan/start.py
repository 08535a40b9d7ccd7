"""The command `specsim plan`; its body is imported when it runs."""

from __future__ import annotations

import typer

from specsim.commands.options import takes
from specsim.commands.plan.options import PlanOptions


@takes(PlanOptions)
def plan(options: PlanOptions) -> None:
    """Predict whether speculation helps, with how many drafts and by how much, and say what that rests on."""
    from specsim.commands.plan import command

    output = command.run(options)
    typer.echo(output.text)
    if output.notes:
        typer.echo(output.notes, err=True)
