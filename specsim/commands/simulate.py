"""`specsim simulate`: what it is told; `simulate_run` does it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from specsim.commands.errors import INTERRUPTED
from specsim.commands.options import PARAM, STEP_PARAM, alone, examples, takes

EXAMPLES = examples(
    "specsim simulate --target law:1/3,2/3 --draft law:2/3,1/3 \\",
    "    --rule block --gamma 4 --blocks 1e5",
    "specsim simulate --target law:1/3,2/3 --draft law:2/3,1/3 \\",
    "    --rule traversal --tree 2,2,1 --blocks 1e4 --json",
    "specsim simulate --target law:1/3,2/3 --draft law:2/3,1/3 \\",
    "    --rule lifted --tree 2,2 --step kseq --step-param rho=2 --blocks 1e4",
)


class Simulate(NamedTuple):
    """What `specsim simulate` is told."""

    target: Annotated[
        str,
        typer.Option(
            help="law:1/2,.3,.2  or  markov:FILE.npy  or  text:FILE:ORDER  or  mixture:WEIGHTS.npy:LAWS.npy  or  "
            "recorded:ROWS.npy (see specsim.markov, ngram, mixture, recorded)."
        ),
    ]
    draft: Annotated[str, typer.Option(help="The same.")]
    rule: Annotated[str, typer.Option(help="Name of a rule (see `specsim rules`), or its file.")] = "tokenwise"
    gamma: Annotated[int | None, typer.Option(help="Drafted positions per block.")] = None
    tree: Annotated[
        str | None, typer.Option(help="Instead of gamma: children per level, as 2,2,1; paths or a beam, as 2x3.")
    ] = None
    num_drafts: Annotated[int, typer.Option(help="Candidates per position of a step rule.")] = 1
    scheme: Annotated[str | None, typer.Option(help="How candidates, or a tree's children, are drawn.")] = None
    step: Annotated[str | None, typer.Option(help="The step rule of a tokenwise or lifted tree.")] = None
    param: Annotated[list[str] | None, typer.Option(help=PARAM)] = None
    step_param: Annotated[list[str] | None, typer.Option(help=STEP_PARAM)] = None
    blocks: Annotated[float | None, typer.Option(help="Target calls in all; 1e5 if no tokens are given.")] = None
    tokens: Annotated[float | None, typer.Option(help="Instead of blocks: tokens emitted in all.")] = None
    burn_in: Annotated[int, typer.Option(help="First blocks of every text that are not counted.")] = 0
    sequences: Annotated[int, typer.Option(help="Texts among which they are shared out.")] = 1024
    seed: int = 0
    backend: Annotated[str, typer.Option(help="numpy or jax.")] = "numpy"
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="A .npz file to write, and to carry on from if it is of this very simulation."),
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Begin anew, whatever the checkpoint holds.")] = False
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@takes(Simulate)
def simulate(told: Simulate) -> None:
    """Decode with a rule on toy models whose laws are known: tokens per block beside the exact value, hazards."""
    from specsim.commands import simulate_run

    alone("json", told.as_json, markdown=told.as_markdown)
    shown, finished = simulate_run.run(told)
    typer.echo(shown)
    if not finished:
        raise typer.Exit(INTERRUPTED)
