"""The command `specsim-real`. Bad input ends with status 2 and one line, before any work."""

from __future__ import annotations

import dataclasses
import itertools
import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from transformers.utils.logging import disable_progress_bar

from real.decode.warp import Warping
from real.models.device import parse_device, parse_dtype
from real.models.shapes import find_shape, random_model
from real.options import parse_names, parse_numbers, positive, read_prompts
from real.pair import Pair, load
from real.studies.calibrate import Costs
from real.studies.compare import report, rules_report
from real.studies.compare.measure import Settings, check_prompts
from real.studies.compare.measure import compare as run_compare
from real.studies.compare.record import Acceptance, Bandwidth, Gain, as_json
from real.studies.drafts import report as drafts_report
from real.studies.drafts.measure import SYNTHETIC, synthetic, written
from real.studies.drafts.measure import measure as measure_drafts
from real.studies.forced import report as forced_report
from real.studies.forced.measure import check, measure
from real.studies.keep import finish, kept, outputs
from real.studies.trees import command as trees_command
from real.studies.trees import report as trees_report
from real.train.pair import train_pair
from real.train.recipe import Recipe
from specsim.base.files import write_bytes, write_json
from specsim.report.markers import refresh

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Speculative decoding on real models: predict, then measure."
)
TINY = Path(__file__).parent / "tiny"


def _clean_errors(command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (ValueError, TypeError, MemoryError) as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from None

    return run


@app.command()
@_clean_errors
def compare(
    target: Annotated[str, typer.Argument(help="Directory or hub id of the target; the bundled pair by default.")] = "",
    draft: Annotated[str, typer.Argument(help="Directory or hub id of the draft.")] = "",
    prompts: Annotated[
        Path | None, typer.Option(help="Text file, one prompt a line, or JSON with a list `prompts`.")
    ] = None,
    count: Annotated[int, typer.Option(help="Prompts used, from the first.")] = 16,
    gamma: Annotated[str, typer.Option(help="Speculation lengths: 4, 1-8 or 1,2,4.")] = "1-8",
    calibrate: Annotated[str, typer.Option(help="Lengths timed in short samples; others are extrapolated.")] = "1-3",
    max_tokens: Annotated[int, typer.Option(help="Tokens per text.")] = 64,
    widen: Annotated[
        int, typer.Option(help="Run the target at the cost of this many million parameters (cost emulation).")
    ] = 0,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    repetition_penalty: float = 1.0,
    rule: Annotated[str, typer.Option(help="Chain rule, or several to compare: tokenwise,block.")] = "tokenwise",
    seed: Annotated[int, typer.Option(max=(1 << 63) - 1)] = 0,
    device: str = "cpu",
    dtype: str = "float32",
    threads: Annotated[int, typer.Option(help="Torch threads; 1 is steadiest on a shared machine.")] = 1,
    out: Annotated[Path, typer.Option(help="JSON record; a PNG goes beside it.")] = Path("compare.json"),
) -> None:
    """Predict tau and speedup for every gamma, then measure both, side by side."""
    warping = Warping(temperature, top_k, top_p, min_p, repetition_penalty)
    gammas, calibrated = parse_numbers(gamma), parse_numbers(calibrate, "calibrate")
    settings = Settings(gammas, calibrated, max_tokens, warping, parse_names(rule), seed)
    outputs(out)
    texts = read_prompts(prompts or TINY / "prompts.json")[: positive(count, "count")]
    if bool(target) != bool(draft):
        raise ValueError("give both a target and a draft, or neither (the bundled pair)")
    torch.set_num_threads(positive(threads, "threads"))
    disable_progress_bar()
    if widen < 0:
        raise ValueError(f"widen must be a number of millions, at least 1, or 0 for the target as it is; got {widen}")
    pair = load(
        target or TINY / "target", draft or TINY / "draft", dtype=parse_dtype(dtype), device=parse_device(device),
        widen_to=widen * 1_000_000 or None,
    )  # fmt: skip
    ids = [list(pair.tokenizer(text)["input_ids"]) for text in texts]
    check_prompts(pair, ids, max_tokens)
    what = report.provenance(
        command=" ".join(["specsim-real", *sys.argv[1:]]), target=target or "bundled", draft=draft or "bundled",
        device=device, dtype=dtype, threads=threads, seed=seed, rule=rule, warping=vars(warping), prompts=len(ids),
        max_tokens=max_tokens, widened_to_millions=widen or None, calibrated=settings.calibrated,
    )  # fmt: skip
    _run(pair, ids, settings, out, what)


@app.command("train-pair")
@_clean_errors
def train(
    out: Annotated[Path, typer.Argument(help="Folder for target, draft, tokenizer, prompts and recipe.")],
    text: Annotated[
        list[Path] | None, typer.Option(help="Text file to learn from; the standard library by default.")
    ] = None,
    target_steps: Annotated[int, typer.Option(help="Steps of the target.")] = Recipe.target_steps,
    draft_steps: Annotated[int, typer.Option(help="Steps of the draft, cross-entropy.")] = Recipe.draft_steps,
    distil_steps: Annotated[int, typer.Option(help="Steps of the draft, KL to the target.")] = Recipe.distil_steps,
    seed: int = 0,
    threads: int = 1,
) -> None:
    """Train a small Llama target and draft; a rerun carries an interrupted one on to the same weights."""
    recipe = Recipe(seed=seed, target_steps=target_steps, draft_steps=draft_steps, distil_steps=distil_steps)
    try:
        record = train_pair(out, recipe, text=text or (), threads=threads)
    except KeyboardInterrupt as stopped:
        typer.echo(f"interrupted: {stopped}", err=True)
        raise typer.Exit(130) from None
    Console().print_json(data=record["measured"])


@app.command()
@_clean_errors
def table(
    record: Annotated[Path, typer.Argument(help="A file that `compare` wrote.")],
    write: Annotated[Path | None, typer.Option(help="Refresh the table between this file's markers.")] = None,
) -> None:
    """Print a recorded comparison as Markdown, or refresh it in a document (markers: the record's name)."""
    try:
        found = json.loads(record.read_text(encoding="utf-8"))
        text = markdown(found, str(record.with_suffix(".png")))
        if write is None:
            typer.echo(text)
        else:
            write_bytes(write, refresh(write.read_text(encoding="utf-8"), record.stem, text).encode())
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{record} cannot be shown: {error!r}") from None


@app.command()
@_clean_errors
def forced(
    target: Annotated[str, typer.Argument(help="Shape of the target (see real.models.shapes).")] = "100m",
    draft: Annotated[str, typer.Argument(help="Shape of the draft.")] = "10m",
    batch: Annotated[str, typer.Option(help="Texts at a time: 1 or 1,4.")] = "1,4",
    context: Annotated[str, typer.Option(help="Tokens before each text.")] = "128,1024",
    gamma: Annotated[str, typer.Option(help="Speculation lengths: 4, 1-8 or 1,2,4.")] = "1-8",
    calibrate: Annotated[str, typer.Option(help="Lengths timed in short samples; others are extrapolated.")] = "1-3",
    alpha: Annotated[float, typer.Option(help="Probability of keeping each draft, forced.")] = 0.8,
    turns: Annotated[int, typer.Option(help="Turns of plain and of speculative decoding, alternating.")] = 8,
    device: str = "cpu",
    dtype: str = "bfloat16",
    threads: int = 1,
    out: Annotated[Path, typer.Option(help="JSON record; a PNG goes beside it.")] = Path("forced.json"),
) -> None:
    """Check predicted times on random weights of any shape, under a forced law of the accepted length."""
    shapes = [find_shape(name) for name in (target, draft)]
    if shapes[0].vocab != shapes[1].vocab:
        shapes[1] = dataclasses.replace(shapes[1], vocab=shapes[0].vocab)
    grid = list(itertools.product(parse_numbers(batch, "batch"), parse_numbers(context, "context")))
    gammas, calibrated = parse_numbers(gamma), parse_numbers(calibrate, "calibrate")
    outputs(out)
    torch.set_num_threads(positive(threads, "threads"))
    models = [random_model(s, dtype=parse_dtype(dtype), device=parse_device(device), seed=i)
              for i, s in enumerate(shapes)]  # fmt: skip
    for b, c in grid:
        check(models[0], models[1], b, c, gammas, positive(turns, "turns"))
    what = report.provenance(
        command=" ".join(["specsim-real", *sys.argv[1:]]), target=target, draft=draft, device=device, dtype=dtype,
        threads=threads, alpha=alpha, turns=turns, calibrated=calibrated,
    )  # fmt: skip
    record: dict[str, Any] = {"schema": forced_report.SCHEMA, "complete": False, "provenance": what, "runs": []}
    with kept(record, out), _progress() as progress:
        task = progress.add_task("", total=len(grid) * (1 + turns))
        for b, c in grid:
            run: dict[str, Any] = {"batch": b, "context": c, "rows": []}
            record["runs"].append(run)
            found = measure(
                *models, batch=b, context=c, alpha=[alpha] * max(gammas + calibrated), gammas=gammas,
                calibrated=calibrated, turns=turns,
                step=lambda stage, b=b, c=c: progress.update(  # type: ignore[misc]
                    task, description=f"batch {b}, context {c}, {stage}", advance=1
                ),
            )  # fmt: skip
            for each in found:
                if isinstance(each, Costs):
                    run["costs"] = dataclasses.asdict(each)
                else:
                    run["rows"].append(forced_report.as_json(each))
                    write_json(out, record)
    finish(record, out, Console(), forced_report.table, forced_report.write_plot)


@app.command()
@_clean_errors
def drafts(
    target: Annotated[str | None, typer.Argument(help="Directory or hub id; the bundled target by default.")] = None,
    draft: Annotated[str | None, typer.Argument(help="Directory or hub id of the draft.")] = None,
    num_drafts: Annotated[str, typer.Option(help="Candidates per position: 4, 1-8 or 1,2,4.")] = "1,2,3,4,6,8",
    rows: Annotated[int, typer.Option(help="Positions taken from the target's texts, and synthetic pairs.")] = 256,
    samples: Annotated[int, typer.Option(help="Sampled tuples a position, where a rule has no closed form.")] = 64,
    prompts: Annotated[Path | None, typer.Option(help="Text file, or JSON with a list `prompts`.")] = None,
    count: Annotated[int, typer.Option(help="Prompts used, from the first.")] = 32,
    max_tokens: Annotated[int, typer.Option(help="Tokens per text.")] = 64,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seed: int = 0,
    threads: int = 1,
    out: Annotated[Path, typer.Option(help="JSON record; a PNG goes beside it.")] = Path("drafts.json"),
) -> None:
    """Compare ways to draw several drafts, and rules to verify them, on a pair's own laws: exact acceptances."""
    outputs(out)
    if bool(target) != bool(draft):
        raise ValueError("give both a target and a draft, or neither (the bundled pair)")
    counts, warping = parse_numbers(num_drafts, "num_drafts"), Warping(temperature, top_k, top_p)
    for name, value, least in (("rows", rows, 1), ("samples", samples, 2)):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")
    texts = read_prompts(prompts or TINY / "prompts.json")[: positive(count, "count")]
    torch.set_num_threads(positive(threads, "threads"))
    disable_progress_bar()
    pair = load(target or TINY / "target", draft or TINY / "draft")
    what = report.provenance(
        command=" ".join(["specsim-real", *sys.argv[1:]]), target=target or "bundled", draft=draft or "bundled",
        dtype="float32", threads=threads, seed=seed, warping=vars(warping), prompts=len(texts), samples=samples,
    )  # fmt: skip
    record: dict[str, Any] = {"schema": drafts_report.SCHEMA, "complete": False, "provenance": what, "runs": []}
    with kept(record, out), _progress() as progress:
        task, name = progress.add_task("texts"), "bundled pair" if target is None else "the pair"
        first = written(pair, texts, rows=rows, max_tokens=max_tokens, warping=warping, seed=seed, name=name)
        for group in [first, *(synthetic(name, rows, seed) for name in SYNTHETIC)]:
            progress.update(task, total=None, description=group.name)
            record["runs"].append(measure_drafts(group, counts, samples=samples, seed=seed))
            write_json(out, record)
    finish(record, out, Console(), drafts_report.table, drafts_report.write_plot)


app.command()(_clean_errors(trees_command.trees))


def markdown(record: dict[str, Any], plot: str) -> str:
    """The tables of a record of any kind."""
    kinds: dict[str, Callable[[dict[str, Any], str], str]] = {
        kind.SCHEMA: kind.markdown for kind in (report, rules_report, forced_report, drafts_report, trees_report)
    }
    if record["schema"] not in kinds:
        raise KeyError(f"schema {record['schema']}; known: {', '.join(kinds)}")
    return kinds[record["schema"]](record, plot)


def _run(pair: Pair, ids: list[list[int]], settings: Settings, out: Path, what: dict[str, Any]) -> None:
    """Run, record after every row, and show: one rule's record is flat, several have a run each."""
    runs: dict[str, dict[str, Any]] = {name: {"rule": name, "pairs": []} for name in settings.rules}
    record: dict[str, Any] = {"complete": False, "provenance": what}
    if len(runs) == 1:
        record |= {"schema": report.SCHEMA, "pairs": []}
        runs = {settings.rules[0]: record}
    else:
        record |= {"schema": rules_report.SCHEMA, "runs": list(runs.values()), "gains": []}
    with kept(record, out), _progress() as progress:
        task = progress.add_task("", total=len(ids) * (2 + len(settings.gammas) * len(runs)))

        def step(stage: str) -> None:
            progress.update(task, description=stage, advance=1)

        for rule, found in run_compare(pair, ids, settings, step=step):
            if isinstance(found, Acceptance):
                runs[rule]["acceptance"] = as_json(found)
                progress.console.print(f"{rule}: {report.summary(found)}")
            elif isinstance(found, Costs):
                runs[rule]["costs"] = as_json(found)
            elif isinstance(found, Bandwidth):
                record["bandwidth"] = as_json(found)
                progress.console.print(report.bandwidth(found))
            else:
                rows = record["gains"] if isinstance(found, Gain) else runs[rule]["pairs"]
                rows.append(as_json(found) | ({"rule": rule} if isinstance(found, Gain) else {}))
                write_json(out, record)
    kind = report if len(runs) == 1 else rules_report
    finish(record, out, Console(), kind.table, kind.write_plot)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


if __name__ == "__main__":
    app()
