"""`specsim plan`: what it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from specsim.commands.options import alone, examples, takes

EXAMPLES = examples(
    "specsim plan 0.8 --cost-ratio 0.05",
    "specsim plan --target llama-3.1-70b --draft llama-3.2-1b \\",
    "    --hardware h100-sxm --tp 4 --alpha 0.8 --batch 1,32 --context 1k,16k",
    "specsim plan --ranks 0.7,0.12,0.05 --cost-ratio 0.05 --json",
)


class Plan(NamedTuple):
    """What `specsim plan` is told."""

    kept: Annotated[float | None, typer.Argument(metavar="ALPHA", help="The same as --alpha.")] = None
    alpha: Annotated[float | None, typer.Option(help="Acceptance of one draft, the same at every position.")] = None
    ranks: Annotated[
        str | None, typer.Option(help="Of siblings by rank, as 0.7,0.12,0.05: trees are planned, too.")
    ] = None
    hazards: Annotated[
        Path | None,
        typer.Option(
            help="CSV: position and hazard, rate (of all blocks, as engines print it), count, or tried, kept."
        ),
    ] = None
    histogram: Annotated[
        Path | None, typer.Option(help='JSON: "drafted", g, and "counts" of the blocks that kept 0, ..., g.')
    ] = None
    rows: Annotated[
        Path | None, typer.Option(help="safetensors: p, q (n, V) along texts of the target; tokens, lengths if known.")
    ] = None
    comparison: Annotated[
        Path | None,
        typer.Option(help="Record of specsim-real compare: its times, and its acceptance unless another is given."),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            help="A model of the table, as llama-3.1-8b (a wrong name lists near ones), its hub id, or a config.json."
        ),
    ] = None
    draft: Annotated[str | None, typer.Option(help="The same, as llama-3.2-1b; or eagle, eagle3, mtp, ngram.")] = None
    hardware: Annotated[
        str | None,
        typer.Option(help="A device of the table, as h100-sxm or a100-sxm4-80gb; a wrong name lists near ones."),
    ] = None
    tp: Annotated[int, typer.Option(help="Devices that share the target.")] = 1
    draft_tp: Annotated[int, typer.Option(help="Devices that share the draft.")] = 1
    dtype: Annotated[str, typer.Option(help="bf16, fp16, fp8, int8 or fp4: of weights and products.")] = "bf16"
    draft_vocab: Annotated[int | None, typer.Option(help="Tokens that the draft's head scores, if fewer.")] = None
    cost_ratio: Annotated[
        float | None, typer.Option(help="Instead of models and hardware: draft step over target step.")
    ] = None
    verify_cost: Annotated[
        str | None, typer.Option(help="With --cost-ratio: passes over 1, 2, ... tokens in target steps, as 1,1.02,1.1.")
    ] = None
    overhead: Annotated[
        float | None,
        typer.Option(
            help="Everything else per cycle: ms, or target steps. If not given: 0, and intervals allow 1.4 ms."
        ),
    ] = None
    batch: Annotated[str, typer.Option(help="Sequences decoded together, as 1,8,64.")] = "1"
    context: Annotated[str, typer.Option(help="Tokens before the block, as 1k,32k (k is 1024).")] = "1k"
    max_gamma: Annotated[int, typer.Option(help="Longest draft tried, and deepest tree.")] = 16
    nodes: Annotated[int, typer.Option(help="Of the largest tree tried, with --ranks.")] = 64
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95
    emit: Annotated[
        str | None,
        typer.Option(help="vllm, sglang, llamacpp, aiconfigurator: print its options; vllm-synthetic: for benchmarks."),
    ] = None
    plot: Annotated[Path | None, typer.Option(help="Write a PNG: by gamma and draft cost, batch and context.")] = None
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@takes(Plan)
def plan(told: Plan) -> None:
    """Will speculation help, with how many drafts, by how much? A prediction, with what it rests on."""
    from specsim.base.files import check_writable
    from specsim.commands.plan import command

    alone("json", told.as_json, markdown=told.as_markdown, emit=told.emit)
    alone("markdown", told.as_markdown, emit=told.emit)
    if told.kept is not None and told.alpha is not None:
        raise ValueError(f"alpha is given twice: {told.kept:g} and {told.alpha:g}")
    if told.plot is not None:
        check_writable(told.plot, ".png")
    asked = told._asdict()
    kept, device, engine = asked.pop("kept"), asked.pop("hardware"), asked.pop("emit")
    asked["alpha"] = kept if told.alpha is None else told.alpha
    said, notes = command.run(device=device, engine=engine, **asked)
    typer.echo(said)
    if notes:
        typer.echo(notes, err=True)
