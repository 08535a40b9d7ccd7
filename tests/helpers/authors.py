"""An author's quick start, in ten lines, and the command that judges it."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from specsim.cli import app

MINE = """
from specsim.conform import Subject

def mine(p, q, drafts, random):
    x = drafts[0]
    if random.random() * q[x] < p[x]:
        return x
    return random.choice(len(p), p={law})

def subject():
    return Subject("mine", "step", mine, sizes=(1,))
"""
RIGHT, WRONG = "(p - q).clip(0) / (p - q).clip(0).sum()", "p"


def conform(*words: str) -> tuple[int, str]:
    """Exit status and output of `specsim conform`."""
    result = CliRunner().invoke(app, ["conform", *words])
    return result.exit_code, result.output


def written(folder: Path) -> Path:
    """The quick start as a file of that folder, with the wrong law after a rejection."""
    path = folder / "mine.py"
    path.write_text(MINE.format(law=WRONG))
    return path
