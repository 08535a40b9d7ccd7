"""The options of `specsim plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from specsim.commands import completion
from specsim.commands.options import OUTPUT, AsCsv, AsJson, AsLatex, AsMarkdown, examples
from specsim.commands.plan.cost_types import (
    CacheHits,
    CostRatio,
    Costs,
    Draft,
    DraftCosts,
    DraftedShare,
    DraftTp,
    DraftVocab,
    DraftWeights,
    Dtype,
    ExpertsOverhead,
    Hardware,
    KvDtype,
    Log,
    OnePass,
    Overhead,
    Target,
    Tp,
    VerifyCost,
    Weights,
)
from specsim.commands.plan.load_types import (
    Batch,
    BatchLimit,
    Captured,
    Concurrency,
    Context,
    OutputTokens,
    PrefixShare,
    PromptTokens,
    Rate,
    TtftMs,
    Unchunked,
    Within,
)

EXAMPLES = examples(
    "specsim plan 0.8 --cost-ratio 0.05",
    "specsim plan 0.8 --target llama-3.1-70b --draft llama-3.2-1b \\",
    "    --hardware h100-sxm --tp 4 --batch 1,32 --context 1k,16k",
    "specsim plan 0.7 --target llama-3.1-8b --hardware h100-sxm \\",
    "    --draft eagle3=0.75,ngram=0.5,llama-3.2-1b --drafted-share 0.4",
    "specsim plan --ranks 0.7,0.12,0.05 --cost-ratio 0.05 --json",
    "specsim plan 0.8 --costs passes.csv --draft-costs draft.csv",
    "specsim plan --log off.log --log on.log --gamma 4 --drafted-share 1",
    "specsim plan 0.7 --target llama-3.1-8b --draft llama-3.2-1b \\",
    "    --hardware h100-sxm --rate 0.5,2,8 --within 3",
    "specsim plan --tau 2.89 --gamma 5 --concurrency 1,8,32,64 \\",
    "    --target llama-3.1-8b --draft eagle3 --hardware a100-sxm4-80gb \\",
    "    --ttft-ms 58 --output-tokens 256",
    "specsim plan 0.8 --cost-ratio 0.1 --weights int4",
    "specsim plan 0.8 --cost-ratio 0.1 --one-pass",
    "specsim plan 0.8 --cost-ratio 0.1 --cache-hits 0.9",
    "specsim plan 0.8 --target qwen3-30b-a3b --draft eagle3 \\",
    "    --hardware h100-sxm --experts-overhead 5",
    "specsim plan --rows masked.safetensors --unmasked-draft \\",
    "    --cost-ratio 0.05",
    "specsim plan 0.8 --target llama-3.1-8b --draft eagle3 --emit csv \\",
    "    --hardware h100-sxm --batch 1,64 --context 1k,32k",
)

# Headings under which `--help` lists the options.
ACCEPTANCE = "Acceptance, instead of ALPHA (give one)"
SEARCH = "Search"


class PlanOptions(NamedTuple):
    """The options of `specsim plan`, as they are typed."""

    alpha: Annotated[
        float | None, typer.Argument(metavar="ALPHA", help="Acceptance rate of one draft token, e.g. 0.8.")
    ] = None
    ranks: Annotated[
        str | None,
        typer.Option(
            help="Acceptance of a draft by its rank among siblings, e.g. 0.7,0.12,0.05. Also plans trees.",
            rich_help_panel=ACCEPTANCE,
        ),
    ] = None
    hazards: Annotated[
        Path | None,
        typer.Option(
            help="CSV with a column position and one of: hazard; rate (of all blocks, as engines print it); count; "
            "tried and kept. With a column context, each context has its own rows. Or a log by request, as specsim "
            "log reads it.",
            rich_help_panel=ACCEPTANCE,
        ),
    ] = None
    histogram: Annotated[
        Path | None,
        typer.Option(
            help='JSON with "drafted": the block length g, and "counts": blocks that accepted 0, ..., g drafts.',
            rich_help_panel=ACCEPTANCE,
        ),
    ] = None
    rows: Annotated[
        Path | None,
        typer.Option(
            help="safetensors with p and q (n, V) along texts of the target; optional: tokens, lengths, mask. With "
            "--one-pass: p (n, V), q (n, gamma, V) and tokens; optional: lengths.",
            rich_help_panel=ACCEPTANCE,
        ),
    ] = None
    unmasked_draft: Annotated[
        bool,
        typer.Option(
            "--unmasked-draft",
            help="With --rows: the draft does not see the mask of the file.",
            rich_help_panel=ACCEPTANCE,
        ),
    ] = False
    tau: Annotated[
        float | None,
        typer.Option(
            help="With --gamma, under a load: measured tokens per target step at that length.",
            rich_help_panel=ACCEPTANCE,
        ),
    ] = None
    comparison: Annotated[
        Path | None,
        typer.Option(
            help="Record of specsim-real compare. Gives the times, and the acceptance if no other is given.",
            rich_help_panel=ACCEPTANCE,
        ),
    ] = None
    target: Target = None
    draft: Draft = None
    hardware: Hardware = None
    tp: Tp = 1
    draft_tp: DraftTp = 1
    dtype: Dtype = None
    weights: Weights = None
    draft_weights: DraftWeights = None
    draft_vocab: DraftVocab = None
    kv_dtype: KvDtype = None
    experts_overhead: ExpertsOverhead = None
    cost_ratio: CostRatio = None
    verify_cost: VerifyCost = None
    overhead: Overhead = None
    costs: Costs = None
    draft_costs: DraftCosts = None
    log: Log = None
    one_pass: OnePass = False
    cache_hits: CacheHits = None
    drafted_share: DraftedShare = None
    batch: Batch = None
    context: Context = None
    rate: Rate = None
    concurrency: Concurrency = None
    prompt_tokens: PromptTokens = None
    output_tokens: OutputTokens = "256"
    ttft_ms: TtftMs = None
    prefix_share: PrefixShare = 0.0
    captured: Captured = None
    unchunked: Unchunked = False
    batch_limit: BatchLimit = 64
    within: Within = None
    max_gamma: Annotated[
        int, typer.Option(help="Longest block to consider, and deepest tree.", rich_help_panel=SEARCH)
    ] = 16
    gamma: Annotated[
        int | None,
        typer.Option(
            help="With --concurrency or --rate: this block length, instead of the best. With --log: drafts of a block, "
            "if a log does not say it.",
            rich_help_panel=SEARCH,
        ),
    ] = None
    nodes: Annotated[int, typer.Option(help="Largest tree to consider (needs --ranks).", rich_help_panel=SEARCH)] = 64
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.", rich_help_panel=SEARCH)] = 0.95
    emit: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion.complete_engine,
            help="Print the plan as options of vllm, sglang, tensorrt-llm, llamacpp, aisimulate or aiconfigurator; as "
            "SGLang's file of lengths by batch (sglang-adaptive); as what forces this acceptance in a benchmark "
            "(vllm-synthetic, sglang-synthetic, tensorrt-llm-synthetic, llamacpp-synthetic); or as a table of lengths "
            "by batch and context (json, csv).",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Write a PNG with heat maps of the speedup: by block length and batch (of one batch, by block length "
            "and draft cost), and by batch and context. With --rate or --concurrency: with curves of times.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    as_csv: AsCsv = False
    as_latex: AsLatex = False
    as_markdown: AsMarkdown = False
    as_json: AsJson = False


def is_given(options: PlanOptions, name: str) -> bool:
    """Return whether an option differs from its default."""
    return bool(getattr(options, name) != options._field_defaults[name])


def asked_options(options: PlanOptions) -> dict[str, Any]:
    """Return the options for a JSON record: paths as text, lists of costs as numbers."""
    record: dict[str, Any] = options._asdict()
    for name, value in options._asdict().items():
        if isinstance(value, Path):
            record[name] = str(value)
    if options.log is not None:
        record["log"] = [str(path) for path in options.log]
    for name in ("verify_cost", "cache_hits"):
        if record[name] is not None:
            record[name] = [float(number) for number in record[name].split(",")]
    for name in ("as_csv", "as_latex", "as_markdown", "as_json"):
        del record[name]
    return record
