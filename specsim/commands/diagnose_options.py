"""The options of `specsim diagnose`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from specsim.commands.options import AsCsv, AsJson, AsLatex, AsMarkdown, examples

EXAMPLES = examples(
    "specsim diagnose off.log on.log",
    "specsim diagnose off.log on_with_4.log on_with_1.log --json",
    "specsim diagnose runs.csv",
)


class Diagnose(NamedTuple):
    """The options of `specsim diagnose`."""

    off: Annotated[
        Path,
        typer.Argument(
            help="Log with speculation off (TensorRT-LLM, vLLM, SGLang, llama.cpp or ours), or an older log with "
            "speculation on, to compare with."
        ),
    ]
    on: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="ON",
            help="Logs with speculation on; the first one is explained. None if OFF holds both kinds of runs.",
        ),
    ] = None
    gamma: Annotated[int | None, typer.Option(help="Draft tokens per block, if a log does not say it.")] = None
    noise: Annotated[float, typer.Option(help="Relative error of times, if a log does not show their spread.")] = 0.02
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95
    as_csv: AsCsv = False
    as_latex: AsLatex = False
    as_markdown: AsMarkdown = False
    as_json: AsJson = False
