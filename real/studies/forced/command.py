"""The command `specsim-real forced`: predicted times, checked on random weights of any shape."""

from __future__ import annotations

import dataclasses
import itertools
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from real.models.names import check_dtype, check_rounding
from real.options import parse_numbers, positive, within
from real.studies.runner import OUT, Force, Output, Run, Study, check_outputs, run
from real.studies.settings import DRAFTS, LOAD, Device, Dtype, Threads, Weights, loading
from specsim.base import limits
from specsim.base.provenance import command_line
from specsim.commands.completion import starting
from specsim.commands.options import OUTPUT, AsCsv, AsJson, AsLatex, AsMarkdown, chosen_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

EXAMPLES = (
    "specsim-real forced 100m 10m --batch 1,4 --context 128,1024",
    "specsim-real forced llama-3.2-1b qwen2.5-0.5b --alpha 0.7 --device cuda",
)


def _shapes() -> Iterable[str]:
    """Return names of shapes, for completion; imported here, since they load torch."""
    from real.models.shapes import SHAPES

    return SHAPES


complete_shape = starting(_shapes)


def forced(
    target: Annotated[
        str, typer.Argument(help="Shape of the target (see real.models.shapes).", autocompletion=complete_shape)
    ] = "100m",
    draft: Annotated[str, typer.Argument(help="Shape of the draft.", autocompletion=complete_shape)] = "10m",
    batch: Annotated[str, typer.Option(help="Sequences decoded together: 1 or 1,4.", rich_help_panel=LOAD)] = "1,4",
    context: Annotated[
        str, typer.Option(help="Tokens before the block, as 128,1k.", rich_help_panel=LOAD)
    ] = "128,1024",
    gamma: Annotated[
        str, typer.Option(help="Draft tokens per block: 4, 1-8 or 1,2,4.", rich_help_panel=DRAFTS)
    ] = "1-8",
    calibrate: Annotated[
        str, typer.Option(help="Block lengths timed in short samples; others are extrapolated.", rich_help_panel=DRAFTS)
    ] = "1-3",
    alpha: Annotated[
        float, typer.Option(help="Acceptance rate of one draft token, forced.", rich_help_panel=DRAFTS)
    ] = 0.8,
    turns: Annotated[
        int, typer.Option(help="Turns of plain and of speculative decoding, alternating.", rich_help_panel=LOAD)
    ] = 8,
    device: Device = "cpu",
    dtype: Dtype = "bfloat16",
    weights: Weights = "",
    threads: Threads = 1,
    out: Annotated[
        Path | None, typer.Option(help=OUT.format("forced"), show_default=False, rich_help_panel=OUTPUT)
    ] = None,
    force: Force = False,
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Check predicted times on random weights of any shape, under a forced law of the accepted length."""
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex)
    # Refuse bad options before torch is loaded.
    check_outputs(out or Path("forced.json"))
    batches = parse_numbers(batch, "batch", limits.MAX_BATCH)
    contexts = parse_numbers(context, "context", limits.MAX_TOKENS)
    within(len(batches) * len(contexts), "the number of settings, batch x context,", 1, limits.MAX_RUNS)
    grid = list(itertools.product(batches, contexts))
    gammas, calibrated = parse_numbers(gamma), parse_numbers(calibrate, "calibrate")
    # The comparison is false for NaN, which is refused, too.
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha is {alpha}; it must lie in [0, 1]")
    positive(turns, "turns")
    positive(threads, "threads", limits.MAX_THREADS)
    check_dtype(dtype)
    check_rounding(weights, device, dtype)

    # The provenance, by which a record is carried on or refused.
    from real.studies import provenance
    from real.studies.forced import report as forced_report

    run_provenance = provenance.provenance(
        command=command_line("specsim-real"),
        target=target,
        draft=draft,
        device=device,
        dtype=dtype,
        threads=threads,
        alpha=alpha,
        turns=turns,
        settings=grid,
        gammas=gammas,
        calibrated=calibrated,
    )
    if weights:
        run_provenance["target_weights"] = weights

    def prepare(old: dict[str, Any]) -> Callable[[Run], None]:
        """Make the models; return the function that measures the settings not yet recorded."""
        models = _random_models(target, draft, threads, dtype, device, weights)
        from real.studies.forced.measure import check

        target_model, draft_model = models
        for b, c in grid:
            check(target_model, draft_model, b, c, gammas, turns)
        runs = [run for run in old.get("runs", []) if len(run["rows"]) == len(gammas)]
        return partial(measure_settings, models, runs)

    def measure_settings(models: list[Any], runs: list[dict[str, Any]], run: Run) -> None:
        """Measure each setting of batch and context, and save its rows one by one."""
        from real.studies.costs import Costs
        from real.studies.forced.measure import measure

        # The settings that are left.
        run.record["runs"] = runs
        finished = {(entry["batch"], entry["context"]) for entry in runs}
        step = run.stages((len(grid) - len(finished)) * (1 + turns))
        for b, c in grid:
            if (b, c) in finished:
                continue
            entry: dict[str, Any] = {"batch": b, "context": c, "rows": []}
            runs.append(entry)

            # Costs come first, then a row for each gamma.
            results = measure(
                *models,
                batch=b,
                context=c,
                alpha=[alpha] * max(gammas + calibrated),
                gammas=gammas,
                calibrated=calibrated,
                turns=turns,
                step=lambda stage, b=b, c=c: step(f"batch {b}, context {c}, {stage}"),  # type: ignore[misc]
            )
            for result in results:
                if isinstance(result, Costs):
                    entry["costs"] = dataclasses.asdict(result)
                else:
                    entry["rows"].append(forced_report.as_json(result))
                    run.save()

    study = Study("forced", forced_report.SCHEMA, forced_report.table, forced_report.write_plot)
    run(study, run_provenance, Output(out, force, form), prepare)


def _random_models(
    target: str,
    draft: str,
    threads: int,
    dtype: str,
    device: str,
    weights: str,
) -> list[Any]:
    """Make a target and a draft of these shapes, with one vocabulary, from random weights."""
    loading("torch")
    import torch

    from real.models.device import parse_device, parse_dtype
    from real.models.model import quantised
    from real.models.shapes import find_shape, random_model

    # The draft takes the target's vocabulary.
    target_shape, draft_shape = find_shape(target), find_shape(draft)
    if draft_shape.vocab != target_shape.vocab:
        draft_shape = dataclasses.replace(draft_shape, vocab=target_shape.vocab)
    shapes = (target_shape, draft_shape)
    torch.set_num_threads(threads)
    kind, place = parse_dtype(dtype), parse_device(device)
    models = [random_model(s, dtype=kind, device=place, seed=i) for i, s in enumerate(shapes)]
    if weights:
        models[0] = quantised(models[0], weights)
    return models
