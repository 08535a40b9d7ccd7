"""`specsim plan`: what it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from specsim.commands.options import alone, examples, takes

EXAMPLES = examples(
    "specsim plan 0.8 --cost-ratio 0.05",
    "specsim plan --target llama-3.1-70b --draft llama-3.2-1b \\",
    "    --hardware h100-sxm --tp 4 --alpha 0.8 --batch 1,32 --context 1k,16k",
    "specsim plan --ranks 0.7,0.12,0.05 --cost-ratio 0.05 --json",
    "specsim plan 0.7 --target llama-3.1-8b --draft llama-3.2-1b \\",
    "    --hardware h100-sxm --rate 0.5,2,8 --within 3",
    "specsim plan 0.8 --cost-ratio 0.1 --weights int4",
    "specsim plan 0.8 --cost-ratio 0.1 --one-pass",
    "specsim plan 0.8 --cost-ratio 0.1 --cache-hits 0.9",
    "specsim plan 0.8 --target qwen3-30b-a3b --draft eagle3 \\",
    "    --hardware h100-sxm --experts-overhead 5",
    "specsim plan --rows masked.safetensors --unmasked-draft \\",
    "    --cost-ratio 0.05",
    "specsim plan 0.8 --target llama-3.1-8b --draft eagle3 --emit csv \\",
    "    --hardware h100-sxm --batch 1,64 --context 1k,32k",
    "specsim plan 0.7 --target llama-3.1-8b --draft llama-3.2-1b \\",
    "    --hardware h100-sxm --rate 0.5,2,8 --within 3",
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
        Path | None,
        typer.Option(
            help="safetensors: p, q (n, V) along texts of the target; tokens, lengths if known; mask of a grammar."
        ),
    ] = None
    unmasked_draft: Annotated[bool, typer.Option("--unmasked-draft", help="The draft does not see that mask.")] = False
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
    draft: Annotated[
        str | None, typer.Option(help="The same, as llama-3.2-1b; or eagle, eagle3, mtp, ngram, suffix.")
    ] = None
    hardware: Annotated[
        str | None,
        typer.Option(help="A device of the table, as h100-sxm or a100-sxm4-80gb; a wrong name lists near ones."),
    ] = None
    tp: Annotated[int, typer.Option(help="Devices that share the target.")] = 1
    draft_tp: Annotated[int, typer.Option(help="Devices that share the draft.")] = 1
    dtype: Annotated[
        str | None,
        typer.Option(
            help="bf16, fp16, fp8, int8 or fp4: of weights and products. If not given: as a config says, else 16 bits."
        ),
    ] = None
    draft_vocab: Annotated[int | None, typer.Option(help="Tokens that the draft's head scores, if fewer.")] = None
    cost_ratio: Annotated[
        float | None, typer.Option(help="Instead of models and hardware: draft step over target step.")
    ] = None
    verify_cost: Annotated[
        str | None, typer.Option(help="With --cost-ratio: passes over 1, 2, ... tokens in target steps, as 1,1.02,1.1.")
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(
            help="How the target's weights are stored: int8, int4, fp8, mxfp4, nvfp4, q4_k_m, q8_0. With "
            "--cost-ratio: int8 or int4, as timed on one CPU core."
        ),
    ] = None
    draft_weights: Annotated[
        str | None, typer.Option(help="The same of the draft, as q4_k_m (4.8 bits) or q8_0 (8.5 bits).")
    ] = None
    one_pass: Annotated[
        bool, typer.Option("--one-pass", help="A draft step makes a whole block (DFlash, PARD), however long.")
    ] = False
    cache_hits: Annotated[
        str | None,
        typer.Option(help="Drafts are made beside the pass before (SSD), found with 0.9; or 0.95,0.9 by drafts kept."),
    ] = None
    experts_overhead: Annotated[
        float | None, typer.Option(help="Fixed ms of a target pass with experts: routing, sorting, launches.")
    ] = None
    drafted_share: Annotated[
        float | None,
        typer.Option(
            help="Share of the target calls that had drafts, as specsim log prints it: of n-grams and suffixes."
        ),
    ] = None
    overhead: Annotated[
        float | None,
        typer.Option(
            help="Everything else per cycle: ms, or target steps. If not given: 0, and intervals allow 1.4 ms."
        ),
    ] = None
    batch: Annotated[str, typer.Option(help="Sequences decoded together, as 1,8,64.")] = "1"
    context: Annotated[str, typer.Option(help="Tokens before the block, as 1k,32k (k is 1024).")] = "1k"
    rate: Annotated[
        str | None, typer.Option(help="Requests a second, as 0.5,2,8: their latency, at the batches that they make.")
    ] = None
    prompt_tokens: Annotated[int, typer.Option(help="With --rate: of every prompt.")] = 512
    output_tokens: Annotated[int, typer.Option(help="With --rate: of every answer.")] = 256
    batch_limit: Annotated[int, typer.Option(help="With --rate: most sequences decoded together.")] = 64
    within: Annotated[
        float | None, typer.Option(help="With --rate: seconds; the largest rate at which the mean latency keeps them.")
    ] = None
    max_gamma: Annotated[int, typer.Option(help="Longest draft tried, and deepest tree.")] = 16
    nodes: Annotated[int, typer.Option(help="Of the largest tree tried, with --ranks.")] = 64
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95
    emit: Annotated[
        str | None,
        typer.Option(
            help="vllm, sglang, llamacpp, aiconfigurator: print its options; vllm-synthetic: for benchmarks; "
            "sglang-adaptive: its file of lengths by batch; json, csv: a table of lengths by batch and context."
        ),
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
    load = {name: asked.pop(name) for name in ("rate", "prompt_tokens", "output_tokens", "batch_limit", "within")}
    if told.rate is not None:
        typer.echo(_at_rates(told, load, asked["alpha"]))
        return
    given = [name for name, value in load.items() if value != Plan._field_defaults[name]]
    if given:
        raise ValueError(f"--{given[0].replace('_', '-')} goes with --rate")
    said, notes = command.run(device=device, engine=engine, **asked)
    typer.echo(said)
    if notes:
        typer.echo(notes, err=True)


def _at_rates(told: Plan, load: dict[str, Any], alpha: float | None) -> str:
    """The answer for --rate, which finds batches by itself."""
    from specsim.commands.plan import rates, read
    from specsim.commands.plan.costs import Told

    for name in ("comparison", "batch", "context", "nodes", "emit", "plot"):
        if getattr(told, name) != Plan._field_defaults[name]:
            raise ValueError(f"--rate says nothing of --{name}; leave out one of them")
    if told.unmasked_draft and told.rows is None:
        raise ValueError("--unmasked-draft is about the mask of --rows; leave it out")
    seen = not told.unmasked_draft
    sources = (alpha, told.ranks, told.hazards, told.histogram, told.rows)
    given = read.acceptance(*sources, masked_draft=seen, drafted_share=told.drafted_share)
    curve = None if told.verify_cost is None else read.numbers(told.verify_cost, "verify_cost", "(0, inf)")
    hits = None if told.cache_hits is None else read.numbers(told.cache_hits, "cache_hits", "[0, 1]")
    told_so_far = {name: getattr(told, name) for name in Told._fields}
    costs = Told(**told_so_far | {"verify_cost": curve, "cache_hits": hits})
    read.bounded(told.max_gamma, "max_gamma", 1)
    form = {"as_markdown": told.as_markdown, "as_json": told.as_json}
    return rates.run(rates.Asked(**load), given, costs, max_gamma=told.max_gamma, level=told.level, **form)
