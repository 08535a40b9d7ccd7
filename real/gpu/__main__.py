"""`python -m real.gpu`; the command itself is in `command.py`, so that a package that is missing is one line."""

from __future__ import annotations

from specsim.commands.errors import run

if __name__ == "__main__":
    run("real.gpu.command")
