"""Both programs, and the options of every command that they offer, by listing."""

from __future__ import annotations

import typer.main

import real.cli
import specsim.cli

PROGRAMS = {"specsim": specsim.cli.app, "specsim-real": real.cli.app}
OPTIONS = {
    f"{program} {name}": {option for parameter in command.params for option in parameter.opts}
    for program, app in PROGRAMS.items()
    for name, command in typer.main.get_command(app).commands.items()  # type: ignore[attr-defined]
}
