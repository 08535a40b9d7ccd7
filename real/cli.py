"""The command `specsim-real`: it registers every command, and nothing heavy is imported for its help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

import specsim
from real.papers.lab import command as systems
from real.papers.lab import drafters
from real.papers.models import train as images
from real.studies import table
from real.studies.compare import command as compare
from real.studies.drafts import command as drafts
from real.studies.forced import command as forced
from real.studies.rows import command as rows
from real.studies.trees import command as trees
from real.train import command as train
from specsim.commands.errors import one_line
from specsim.commands.options import Command, Group, examples

HELP = """Speculative decoding on real models: predict, then measure.

Ends with status 0; with 1 if the output could not be written; with 2 and one line for bad input; with 130 after Ctrl-C.
"""
app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=HELP,
    epilog=examples("specsim-real compare", "specsim-real COMMAND -h"),
)
COMMANDS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "compare": (compare.compare, compare.EXAMPLES),
    "train-pair": (train.train, train.EXAMPLES),
    "table": (table.table, table.EXAMPLES),
    "forced": (forced.forced, forced.EXAMPLES),
    "drafts": (drafts.drafts, drafts.EXAMPLES),
    "trees": (trees.trees, trees.EXAMPLES),
    "rows": (rows.rows, rows.EXAMPLES),
    "systems": (systems.systems, systems.EXAMPLES),
    "taxonomy": (systems.taxonomy, systems.TAXONOMY_EXAMPLES),
    "train-images": (images.train_images, images.EXAMPLES),
    "train-drafters": (drafters.train_drafters, drafters.EXAMPLES),
}
# The summaries that `specsim-real --help` lists: within 80 columns, where typer would cut them off.
SHORT = {
    "compare": "Predict tau and speedup, then measure.",
    "train-pair": "Train a small target and draft.",
    "table": "Print a record as a table.",
    "forced": "Check predicted times alone.",
    "drafts": "Compare ways to draw several drafts.",
    "trees": "Compare tree rules at equal nodes.",
    "rows": "Write both models' laws to a file.",
    "systems": "Put claims of papers to a test.",
    "taxonomy": "Print what systems choose.",
    "train-images": "Train models of digits, sums.",
    "train-drafters": "Train drafters on a target's states.",
}


def _say_version(wanted: bool) -> None:
    """Print the version and stop, if it is wanted."""
    if wanted:
        typer.echo(f"specsim-real {specsim.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Take the options of the command itself."""


for _name, (_command, _lines) in COMMANDS.items():
    app.command(_name, cls=Command, epilog=examples(*_lines), short_help=SHORT[_name])(one_line(_command))

if __name__ == "__main__":
    app()
