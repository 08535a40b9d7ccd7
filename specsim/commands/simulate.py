"""The command `specsim simulate`; its body is imported when it runs."""

from __future__ import annotations

import typer

from specsim.commands.errors import INTERRUPTED
from specsim.commands.options import form_of, takes
from specsim.commands.simulate_options import Simulate


@takes(Simulate)
def simulate(options: Simulate) -> None:
    """Decode with a rule on toy models with known laws; compare tokens per block and hazards with the exact values."""
    from specsim.commands import simulate_run

    form_of(options)
    shown, finished = simulate_run.run(options)
    typer.echo(shown)
    if not finished:
        raise typer.Exit(INTERRUPTED)
