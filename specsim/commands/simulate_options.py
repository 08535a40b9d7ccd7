"""The options of `specsim simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from specsim.commands.completion import complete_rule, complete_scheme, complete_step
from specsim.commands.options import PARAM, STEP_PARAM, AsCsv, AsJson, AsLatex, AsMarkdown, examples

EXAMPLES = examples(
    "specsim simulate --target law:1/3,2/3 --draft law:2/3,1/3 \\",
    "    --rule block --gamma 4 --blocks 1e5",
    "specsim simulate --target law:1/3,2/3 --draft law:2/3,1/3 \\",
    "    --rule traversal --tree 2,2,1 --blocks 1e4 --json",
    "specsim simulate --target law:1/3,2/3 --draft law:2/3,1/3 \\",
    "    --rule lifted --tree 2,2 --step kseq --step-param rho=2 --blocks 1e4",
)


class Simulate(NamedTuple):
    """The options of `specsim simulate`."""

    target: Annotated[
        str,
        typer.Option(
            help="Target model: law:1/2,.3,.2 or markov:FILE.npy or text:FILE:ORDER or mixture:WEIGHTS.npy:LAWS.npy "
            "or recorded:ROWS.npy (see specsim.markov, ngram, mixture, recorded)."
        ),
    ]
    draft: Annotated[str, typer.Option(help="Draft model, in the same forms.")]
    rule: Annotated[
        str,
        typer.Option(
            help="Verification rule: a name of `specsim rules`, or a rule file.", autocompletion=complete_rule
        ),
    ] = "tokenwise"
    gamma: Annotated[int | None, typer.Option(help="Draft tokens per block.")] = None
    tree: Annotated[
        str | None,
        typer.Option(
            help="Draft tree instead of --gamma: children per level, e.g. 2,2,1; or paths or a beam, e.g. 2x3."
        ),
    ] = None
    num_drafts: Annotated[int, typer.Option(help="Draft tokens per position, for a step rule.")] = 1
    scheme: Annotated[
        str | None,
        typer.Option(help="Scheme by which drafts, or a tree's children, are drawn.", autocompletion=complete_scheme),
    ] = None
    step: Annotated[
        str | None, typer.Option(help="Step rule of a tokenwise or lifted tree.", autocompletion=complete_step)
    ] = None
    param: Annotated[list[str] | None, typer.Option(help=PARAM)] = None
    step_param: Annotated[list[str] | None, typer.Option(help=STEP_PARAM)] = None
    blocks: Annotated[
        float | None, typer.Option(help="Total number of target calls. Default: 1e5, unless --tokens is given.")
    ] = None
    tokens: Annotated[float | None, typer.Option(help="Total number of emitted tokens, instead of --blocks.")] = None
    burn_in: Annotated[int, typer.Option(help="Number of first blocks of every text that are not counted.")] = 0
    sequences: Annotated[int, typer.Option(help="Number of texts among which the blocks are divided.")] = 1024
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.99
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0
    backend: Annotated[str, typer.Option(help="Array library: numpy or jax.")] = "numpy"
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="A .npz file to write. If it holds an unfinished run of this simulation, carry on from there."
        ),
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Ignore the checkpoint and begin anew.")] = False
    as_csv: AsCsv = False
    as_latex: AsLatex = False
    as_markdown: AsMarkdown = False
    as_json: AsJson = False
