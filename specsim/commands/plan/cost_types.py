"""The options of `specsim plan` about costs, as types: what a terminal takes, and its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specsim.commands import completion

# Headings under which `--help` lists them.
MODELS = "Costs of models on a device"
NUMBERS = "Costs as numbers"
MEASURED = "Costs as measured"
DRAFTING = "Drafting method"

Target = Annotated[
    str | None,
    typer.Option(
        autocompletion=completion.complete_model,
        help="Target model: a name such as llama-3.1-8b, a hub id, a config.json or a GGUF file.",
        rich_help_panel=MODELS,
    ),
]
Draft = Annotated[
    str | None,
    typer.Option(
        autocompletion=completion.complete_model,
        help="Draft model, as for --target; or a drafter: eagle, eagle3, mtp, ngram, suffix. Several, as "
        "eagle3=0.8,ngram, are compared; NAME=ALPHA has an acceptance of its own.",
        rich_help_panel=MODELS,
    ),
]
Hardware = Annotated[
    str | None,
    typer.Option(
        autocompletion=completion.complete_device,
        help="Device, e.g. h100-sxm or a100-sxm4-80gb.",
        rich_help_panel=MODELS,
    ),
]
Tp = Annotated[int, typer.Option(help="Devices that share the target.", rich_help_panel=MODELS)]
DraftTp = Annotated[int, typer.Option(help="Devices that share the draft.", rich_help_panel=MODELS)]
Dtype = Annotated[
    str | None,
    typer.Option(
        help="Number type of weights and products: bf16, fp16, fp8, int8 or fp4. Default: the config's type, else "
        "16 bits.",
        autocompletion=completion.complete_dtype,
        rich_help_panel=MODELS,
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        help="Stored type of the target's weights: int8, int4, fp8, mxfp4, nvfp4, q4_k_m or q8_0. With "
        "--cost-ratio: int8 or int4, with pass times measured on one CPU core.",
        autocompletion=completion.complete_weights,
        rich_help_panel=MODELS,
    ),
]
DraftWeights = Annotated[
    str | None,
    typer.Option(
        help="Stored type of the draft's weights, e.g. q4_k_m (4.8 bits) or q8_0 (8.5 bits).",
        autocompletion=completion.complete_weights,
        rich_help_panel=MODELS,
    ),
]
DraftVocab = Annotated[
    int | None,
    typer.Option(
        help="Number of tokens that the draft's head scores. Default: its vocabulary.", rich_help_panel=MODELS
    ),
]
KvDtype = Annotated[
    str | None,
    typer.Option(
        help="Number type of the cache: bf16, fp16, fp8, int8, nvfp4. Default: the config's, else 16 bits.",
        rich_help_panel=MODELS,
    ),
]
ExpertsOverhead = Annotated[
    float | None,
    typer.Option(
        help="Fixed time of a mixture-of-experts target pass in ms: routing, sorting, launches.",
        rich_help_panel=MODELS,
    ),
]
CostRatio = Annotated[
    float | None,
    typer.Option(help="Time of a draft step over the time of a target step.", rich_help_panel=NUMBERS),
]
VerifyCost = Annotated[
    str | None,
    typer.Option(
        help="Times of target passes over 1, 2, ... tokens, in target steps, e.g. 1,1.02,1.1.",
        rich_help_panel=NUMBERS,
    ),
]
Overhead = Annotated[
    float | None,
    typer.Option(
        help="All other time of a cycle: ms with models, target steps with --cost-ratio. Default: 0, but the low "
        "ends of intervals allow 1.4 ms.",
        rich_help_panel=NUMBERS,
    ),
]
OnePass = Annotated[
    bool,
    typer.Option(
        "--one-pass",
        help="One draft step makes a whole block (DFlash, PARD, P-EAGLE, Medusa).",
        rich_help_panel=DRAFTING,
    ),
]
CacheHits = Annotated[
    str | None,
    typer.Option(
        help="Speculative speculative decoding (SSD): probability that the next block is "
        "already drafted, e.g. 0.9, or one value per number of accepted drafts, e.g. 0.95,0.9.",
        rich_help_panel=DRAFTING,
    ),
]
DraftedShare = Annotated[
    float | None,
    typer.Option(
        help="With --draft ngram or suffix: share of the target calls that had drafts, as specsim log prints it.",
        rich_help_panel=DRAFTING,
    ),
]
Costs = Annotated[
    Path | None,
    typer.Option(
        help="Measured times of target passes: CSV with tokens and ms, and batch and context where they are known "
        "(rows of one place are repeated measurements); or the output of llama-bench -o json or llama-batched-bench. "
        "Needs --draft-costs or --cost-ratio.",
        rich_help_panel=MEASURED,
    ),
]
DraftCosts = Annotated[
    Path | None,
    typer.Option(
        help="The same of the draft model, with --costs: its passes of one token are draft steps.",
        rich_help_panel=MEASURED,
    ),
]
Log = Annotated[
    list[Path] | None,
    typer.Option(
        help="The engine's own logs, without speculation and with it: --log off.log --log on.log. They give times and "
        "acceptance. One without speculation alone needs --cost-ratio and --verify-cost, too.",
        rich_help_panel=MEASURED,
    ),
]
