"""The options of `specsim conform`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from specsim.commands.completion import complete_property, complete_subject
from specsim.commands.options import OUTPUT, AsCsv, AsJson, AsLatex, AsMarkdown, examples

EXAMPLES = examples(
    "specsim conform rejection",
    "specsim conform my_rule.py --property marginal",
    "specsim conform my_rule.py --subject my_rule --certificate held.json",
    "specsim conform --config speculative.json",
    "specsim conform --list",
)
SOURCE_HELP = "Name of an adapter, an exhibit or a rule, or the path of a file."
BUDGET_HELP = (
    "Time for all of it, as 60, 60s or 2m; by default a minute for each subject. "
    "Waiting for a busy processor does not count."
)
SUBJECT_HELP = "Judge this subject alone: its name, or an unambiguous part."
HTML_HELP = "Write the report to this file, as a page that needs no other."
BADGE_HELP = "Write the outcome to this file as JSON of a badge (shields.io's endpoint)."
CHECK_HELP = "Is the subject the one of this certificate, and did all --property pass?"
CONFIG_HELP = "An engine's speculative configuration (vLLM, SGLang, TensorRT-LLM, speculators): lossless or lossy?"
ROWS_HELP = "With --config: safetensors with p and q, on which a lossy one is priced; by default reference rows."
COUNTS_HELP = "A log in order of time, a JSON object a block: p, q (probabilities of the drafted tokens), kept."


class Conform(NamedTuple):
    """Options of `specsim conform`."""

    source: Annotated[
        str | None, typer.Argument(metavar="SUBJECT", help=SOURCE_HELP, autocompletion=complete_subject)
    ] = None
    subject: Annotated[str | None, typer.Option(help=SUBJECT_HELP)] = None
    budget: Annotated[str | None, typer.Option(help=BUDGET_HELP)] = None
    only: Annotated[
        list[str] | None,
        typer.Option("--property", help="One property; may be given several times.", autocompletion=complete_property),
    ] = None
    false_alarm: Annotated[float, typer.Option(help="Probability of convicting a correct subject.")] = 1e-6
    counts: Annotated[Path | None, typer.Option(help=COUNTS_HELP)] = None
    config: Annotated[Path | None, typer.Option(help=CONFIG_HELP)] = None
    rows: Annotated[Path | None, typer.Option(help=ROWS_HELP)] = None
    html: Annotated[Path | None, typer.Option(help=HTML_HELP, rich_help_panel=OUTPUT)] = None
    junit: Annotated[
        Path | None, typer.Option(help="Write the verdicts to this file as JUnit XML, for CI.", rich_help_panel=OUTPUT)
    ] = None
    badge: Annotated[Path | None, typer.Option(help=BADGE_HELP, rich_help_panel=OUTPUT)] = None
    certificate: Annotated[
        Path | None, typer.Option(help="Write what was judged to this file.", rich_help_panel=OUTPUT)
    ] = None
    check: Annotated[Path | None, typer.Option(help=CHECK_HELP)] = None
    as_list: Annotated[bool, typer.Option("--list", help="Every adapter, and what is missing to run it.")] = False
    as_csv: AsCsv = False
    as_latex: AsLatex = False
    as_markdown: AsMarkdown = False
    as_json: AsJson = False
