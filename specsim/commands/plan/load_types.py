"""The options of `specsim plan` about the load, as types: what a terminal takes, and its help."""

from __future__ import annotations

from typing import Annotated

import typer

LOAD = "Load"

Batch = Annotated[
    str | None,
    typer.Option(
        help="Sequences decoded together, e.g. 1,8,64. [default: 1]", show_default=False, rich_help_panel=LOAD
    ),
]
Context = Annotated[
    str | None,
    typer.Option(
        help="Tokens before the block, e.g. 1k,32k (k is 1024). [default: 1k; of a load the middle of an answer]",
        show_default=False,
        rich_help_panel=LOAD,
    ),
]
Rate = Annotated[
    str | None,
    typer.Option(
        help="Requests per second that arrive, e.g. 0.5,2,8: times of requests on the server of --concurrency.",
        rich_help_panel=LOAD,
    ),
]
Concurrency = Annotated[
    str | None,
    typer.Option(
        help="Clients of a closed loop, e.g. 1,8,64: each sends its next prompt when its answer ends, as serving "
        "benchmarks do.",
        rich_help_panel=LOAD,
    ),
]
PromptTokens = Annotated[
    str | None,
    typer.Option(
        help="With --concurrency or --rate: tokens of each prompt, a spread (900+-300) or a file of lengths. "
        "[default: 512]",
        show_default=False,
        rich_help_panel=LOAD,
    ),
]
OutputTokens = Annotated[str, typer.Option(help="The same of each answer.", rich_help_panel=LOAD)]
TtftMs = Annotated[
    float | None,
    typer.Option(
        help="With --concurrency or --rate: measured time to the first token of one request alone, without "
        "speculation.",
        rich_help_panel=LOAD,
    ),
]
PrefixShare = Annotated[
    float,
    typer.Option(
        help="With --concurrency or --rate: share of the tokens of prompts that a prefix cache holds.",
        rich_help_panel=LOAD,
    ),
]
Captured = Annotated[
    str | None,
    typer.Option(
        help="With --concurrency or --rate: batch sizes of captured graphs, e.g. 1,2,4,8,16: others are padded to the "
        "next.",
        rich_help_panel=LOAD,
    ),
]
Unchunked = Annotated[
    bool,
    typer.Option(
        "--unchunked",
        help="With --concurrency or --rate: a pass reads one prompt alone, and nobody decodes meanwhile.",
        rich_help_panel=LOAD,
    ),
]
BatchLimit = Annotated[int, typer.Option(help="With --rate: most requests served together.", rich_help_panel=LOAD)]
Within = Annotated[
    float | None,
    typer.Option(
        help="With --rate: bound on the mean latency in seconds. Finds the largest rate that keeps it.",
        rich_help_panel=LOAD,
    ),
]
