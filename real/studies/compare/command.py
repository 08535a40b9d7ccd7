"""The command `specsim-real compare`: the main job, on SmolLM2 or any other pair."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from real.models.names import SMOLLM2, check_dtype, check_rounding
from real.options import parse_names, parse_numbers, positive, within
from real.studies.compare.tree_options import check_options, whole_draws
from real.studies.prompting import ChatOption, PromptsOption, chosen_prompts
from real.studies.runner import OUT, Force, Output, Run, check_outputs, run
from real.studies.settings import (
    DRAFTS,
    MACHINE,
    PROMPTS,
    Device,
    Draft,
    Dtype,
    MinP,
    RepetitionPenalty,
    Seed,
    Temperature,
    Threads,
    TopK,
    TopP,
    Weights,
    checked_pair,
    default_prompts,
    open_pair,
    record_name,
)
from specsim.base import limits
from specsim.base.provenance import command_line
from specsim.commands.completion import complete_scheme, complete_step, complete_whole
from specsim.commands.options import OUTPUT, PARAM, AsCsv, AsJson, AsLatex, AsMarkdown, chosen_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from real.studies.compare.settings import Settings
    from real.studies.compare.tree_settings import TreeSettings

EXAMPLES = (
    "specsim-real compare",
    "specsim-real compare tiny --widen 0 --wide",
    "specsim-real compare TARGET DRAFT --prompts prompts.txt --out runs/mine.json",
    "specsim-real compare TARGET DRAFT --prompts chat:test --count 42",
    "specsim-real compare tiny --rule tokenwise,block --gamma 1-16",
    "specsim-real compare tiny --tree sequoia:8 --scheme without_replacement",
    "specsim-real compare tiny --rule typical --param epsilon=0.2 --temperature 0",
    "specsim-real compare tiny --weights int8",
    "specsim-real compare tiny --out compare.json --json",
)
# Prompts that are used where no number is named.
COUNT = 5


class Usual(NamedTuple):
    """The defaults of a target: lengths, prompts, and how many of them are timed (None: all)."""

    gammas: str
    prompts: int
    timed: int | None


# Passes of SmolLM2 take longer than those of the bundled pair, and its tau needs more prompts than
# its times.
_USUAL, _SMOLLM2 = Usual("1-8", COUNT, None), Usual("1-4", 16, 3)
# Millions of parameters in float32 of the default target: plain steps wait for memory there, and
# the default run ends within two minutes.
WIDEN = 50


def usual_of(target: str) -> Usual:
    """Return the defaults of a target, which is named as on the command line."""
    return _SMOLLM2 if target == SMOLLM2 else _USUAL


def compare(
    target: Annotated[
        str,
        typer.Argument(help="Folder, GGUF file or hub id of the target; or smollm2, or tiny, the bundled pair."),
    ] = SMOLLM2,
    draft: Draft = "",
    prompts: PromptsOption = None,
    chat: ChatOption = None,
    count: Annotated[
        int | None,
        typer.Option(
            help=f"Prompts used, from the first. [default: {COUNT}; {_SMOLLM2.prompts} for smollm2]",
            show_default=False,
            rich_help_panel=PROMPTS,
        ),
    ] = None,
    timed: Annotated[
        int | None,
        typer.Option(
            help="Prompts that are decoded alone and timed; all are then decoded in one batch, too, for tau. "
            f"[default: all; {_SMOLLM2.timed} for smollm2 and one rule]",
            show_default=False,
            rich_help_panel=PROMPTS,
        ),
    ] = None,
    gamma: Annotated[
        str,
        typer.Option(
            help=f"Draft tokens per block: 4, 1-8 or 1,2,4. [default: {_USUAL.gammas}; {_SMOLLM2.gammas} for smollm2]",
            show_default=False,
            rich_help_panel=DRAFTS,
        ),
    ] = "",
    calibrate: Annotated[
        str,
        typer.Option(
            help="Block lengths that are timed; others are extrapolated. [default: every gamma]", rich_help_panel=DRAFTS
        ),
    ] = "",
    wide: Annotated[bool, typer.Option("--wide", help="Show all columns.", rich_help_panel=OUTPUT)] = False,
    max_tokens: Annotated[int, typer.Option(help="Tokens per text.", rich_help_panel=PROMPTS)] = 64,
    widen: Annotated[
        int | None,
        typer.Option(
            help="Run the target at the cost of this many million parameters (cost emulation); 0: as it is. "
            f"[default: {WIDEN} for tiny, else 0]",
            show_default=False,
            rich_help_panel=MACHINE,
        ),
    ] = None,
    temperature: Temperature = 1.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    min_p: MinP = 0.0,
    repetition_penalty: RepetitionPenalty = 1.0,
    rule: Annotated[
        str,
        typer.Option(
            help="Chain rule, or several to compare: tokenwise,block; with --tree tree rules.",
            autocompletion=complete_whole,
            rich_help_panel=DRAFTS,
        ),
    ] = "tokenwise",
    param: Annotated[
        list[str] | None, typer.Option(help=f"{PARAM} For every rule of --rule that has it.", rich_help_panel=DRAFTS)
    ] = None,
    tree: Annotated[
        list[str] | None,
        typer.Option(
            help="A tree, children by level: 2,1,1,1; or the best of 8 nodes: sequoia:8. May be repeated.",
            rich_help_panel=DRAFTS,
        ),
    ] = None,
    scheme: Annotated[
        str,
        typer.Option(
            help="How siblings of trees are drawn. [default: iid]",
            autocompletion=complete_scheme,
            show_default=False,
            rich_help_panel=DRAFTS,
        ),
    ] = "",
    step: Annotated[
        str,
        typer.Option(
            help="Step rule that the tree rules tokenwise and lifted run. [default: that of the scheme]",
            autocompletion=complete_step,
            show_default=False,
            rich_help_panel=DRAFTS,
        ),
    ] = "",
    draws: Annotated[
        str,
        typer.Option(
            help="With --scheme distinct: different siblings expected at a node.",
            show_default=False,
            rich_help_panel=DRAFTS,
        ),
    ] = "",
    chains: Annotated[
        str,
        typer.Option(
            help="Lengths of the chains beside trees. [default: 1-4 and the trees' nodes]",
            show_default=False,
            rich_help_panel=DRAFTS,
        ),
    ] = "",
    seed: Seed = 0,
    device: Device = "cpu",
    dtype: Dtype = "float32",
    weights: Weights = "",
    threads: Threads = 1,
    out: Annotated[
        Path | None, typer.Option(help=OUT.format("compare-TARGET-DRAFT"), show_default=False, rich_help_panel=OUTPUT)
    ] = None,
    force: Force = False,
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Predict tau and speedup for every gamma, or tree, then measure both, side by side."""
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex, wide=wide)
    # Refuse bad options before torch is loaded.
    target, draft = checked_pair(target, draft)
    name = record_name(target, draft)
    check_outputs(out or Path(f"{name}.json"))
    check_dtype(dtype)
    check_rounding(weights, device, dtype)
    check_options(
        tree,
        gamma=gamma,
        calibrate=calibrate,
        scheme=scheme,
        chains=chains,
        step=step,
        draws=draws,
        param=" ".join(param or ()),
    )

    # Lengths and prompts, by default those of the target.
    usual = usual_of(target)
    gammas = parse_numbers(gamma or usual.gammas)
    lengths = parse_numbers(chains, "chains") if chains else ()
    calibrated = parse_numbers(calibrate, "calibrate") if calibrate else None
    if timed is not None and tree:
        raise ValueError(f"timed={timed} is for chains: with --tree every prompt is timed")
    if timed is None and not tree and "," not in rule:
        timed = usual.timed
    number = usual.prompts if count is None else count
    chosen = chosen_prompts(prompts or default_prompts(target), number, chat)
    positive(threads, "threads", limits.MAX_THREADS)
    if widen is None:
        widen = 0 if target else WIDEN
    if widen < 0:
        raise ValueError(f"widen must be a number of millions, at least 1, or 0 for the target as it is; got {widen}")
    within(widen, "widen", 0)

    # The settings, of trees or of chains.
    from real.decode.warping import Warping
    from real.studies.compare.kinds import study_of
    from real.studies.compare.settings import Settings
    from real.studies.compare.subject import Subject, provenance_of
    from real.studies.compare.tree_settings import TreeSettings

    warping = Warping(temperature, top_k, top_p, min_p, repetition_penalty)
    settings: Settings | TreeSettings
    if tree:
        number_of_draws = whole_draws(draws) if draws else None
        settings = TreeSettings(
            trees=tuple(tree),
            scheme=scheme or "iid",
            rules=parse_names(rule),
            chains=lengths,
            max_tokens=max_tokens,
            warping=warping,
            seed=seed,
            step=step or None,
            draws=number_of_draws,
        )
    else:
        settings = Settings(
            gammas=gammas,
            calibrated=calibrated,
            max_tokens=max_tokens,
            warping=warping,
            rules=parse_names(rule),
            seed=seed,
            params=tuple(param or ()),
            timed_prompts=timed,
        )

    # The run, into its record.
    subject = Subject(target, draft, device, dtype, threads, widen, weights)

    def prepare(old: dict[str, Any]) -> Callable[[Run], None]:
        """Load the pair; return the function that measures what is not yet recorded."""
        pair = open_pair(
            target,
            draft,
            threads=threads,
            dtype=dtype,
            device=device,
            widen=widen,
            weights=weights,
        )
        from real.studies.compare.recorded import prepared

        return prepared(pair, settings, chosen, provenance, old.get("turns", []))

    provenance = provenance_of(subject, settings, chosen, command_line("specsim-real"))
    run(study_of(settings, name, wide=wide), provenance, Output(out, force, form), prepare)
