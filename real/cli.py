"""The command `specsim-real`. Bad input ends with status 2 and one line, before any work."""

from __future__ import annotations

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

from real import report
from real.calibrate import Costs
from real.compare import Settings, check_prompts
from real.compare import compare as run_compare
from real.pair import Pair, load
from real.recipe import Recipe
from real.record import Acceptance, Bandwidth, Row, as_json
from real.train import train_pair
from real.warp import Sampling
from specsim._files import check_writable, write_bytes, write_json
from specsim.report import refresh

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Speculative decoding on real models: predict, then measure."
)
TINY = Path(__file__).parent / "tiny"


def _clean_errors(command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (ValueError, TypeError) as error:
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
    calibrate: Annotated[str, typer.Option(help="Lengths timed in advance; the others are predicted.")] = "1-3",
    max_tokens: Annotated[int, typer.Option(help="Tokens per text.")] = 64,
    widen: Annotated[
        int, typer.Option(help="Run the target at the cost of this many million parameters (cost emulation).")
    ] = 0,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    repetition_penalty: float = 1.0,
    rule: Annotated[str, typer.Option(help="Chain rule.")] = "tokenwise",
    seed: int = 0,
    device: str = "cpu",
    dtype: str = "float32",
    threads: Annotated[int, typer.Option(help="Torch threads; 1 is steadiest on a shared machine.")] = 1,
    out: Annotated[Path, typer.Option(help="JSON record; a PNG goes beside it.")] = Path("compare.json"),
) -> None:
    """Predict tau and speedup for every gamma, then measure both, side by side."""
    sampling = Sampling(temperature, top_k, top_p, min_p, repetition_penalty)
    settings = Settings(parse_gammas(gamma), parse_gammas(calibrate), max_tokens, sampling, rule, seed)
    if out.suffix != ".json":
        raise ValueError(f"out {out} must end in .json (the plot takes the same name with .png)")
    check_writable(out)
    check_writable(out.with_suffix(".png"))
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
        device=device, dtype=dtype, threads=threads, seed=seed, rule=rule, sampling=vars(sampling), prompts=len(ids),
        max_tokens=max_tokens, widened_to_millions=widen or None, calibrated=settings.calibrated,
    )  # fmt: skip
    if not _run(pair, ids, settings, out, what):
        raise typer.Exit(130)


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
        text = report.markdown(json.loads(record.read_text(encoding="utf-8")), str(record.with_suffix(".png")))
        if write is None:
            typer.echo(text)
        else:
            write_bytes(write, refresh(write.read_text(encoding="utf-8"), record.stem, text).encode())
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{record} cannot be shown: {error!r}") from None


def _run(pair: Pair, ids: list[list[int]], settings: Settings, out: Path, what: dict[str, Any]) -> bool:
    """Run, record after every row, and show; False if interrupted, with the finished rows kept."""
    console = Console()
    record: dict[str, Any] = {"schema": report.SCHEMA, "complete": False, "provenance": what, "pairs": []}
    rows: list[Row] = []
    total = len(ids) * (1 + len(settings.gammas)) + 1
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("", total=total)

            def step(stage: str) -> None:
                progress.update(task, description=stage, advance=1)

            for found in run_compare(pair, ids, settings, step=step):
                if isinstance(found, Acceptance):
                    record["acceptance"] = as_json(found)
                    progress.console.print(report.summary(found))
                elif isinstance(found, Costs):
                    record["costs"] = as_json(found)
                elif isinstance(found, Bandwidth):
                    record["bandwidth"] = as_json(found)
                    progress.console.print(report.bandwidth(found))
                else:
                    rows.append(found)
                    record["pairs"].append(as_json(found))
                    write_json(out, record)
        record["complete"] = True
    except KeyboardInterrupt:
        console.print(f"interrupted: {len(rows)} finished rows kept")
    if rows:
        write_json(out, record)
        console.print(report.table(rows))
        console.print(report.verdict(rows))
        for line in report.cliffs(record["pairs"]):
            console.print(line)
        title = f"target: {report.target_name(what)}, draft: {what['draft']}, T = {settings.sampling.temperature:g}"
        try:
            report.write_plot(out.with_suffix(".png"), rows, title)
            console.print(f"written: {out} and {out.with_suffix('.png')}")
        except ModuleNotFoundError:
            console.print(f"written: {out} (no plot: install the extra `plot`)")
    return bool(record["complete"])


def parse_gammas(text: str) -> tuple[int, ...]:
    """Speculation lengths from "4", "1-8" or "1,2,4"."""
    try:
        first, _, last = text.partition("-")
        found = range(int(first), int(last) + 1) if last else [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"gamma {text!r} is not a number, a range like 1-8 or a list like 1,2,4") from None
    if not found or len(set(found)) != len(found):
        raise ValueError(f"gamma {text!r} is an empty range or names a length twice")
    if min(found) < 1:
        raise ValueError(f"gamma must be at least 1, got {text!r}")
    return tuple(found)


def parse_dtype(name: str) -> torch.dtype:
    """A float type by name."""
    known = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if name not in known:
        raise ValueError(f"dtype {name!r} is unknown; known: {', '.join(known)}")
    return known[name]


def parse_device(name: str) -> str:
    """A torch device that this machine has."""
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from None
    return name


def positive(value: int, name: str) -> int:
    """An option that counts something."""
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return value


def read_prompts(path: Path) -> list[str]:
    """Prompts from a JSON file with a list `prompts`, or one a line from a text file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"prompts {path} cannot be read: {error}") from None
    if path.suffix != ".json":
        found = [line for line in text.splitlines() if line.strip()]
    else:
        try:
            found = json.loads(text)["prompts"]
        except (json.JSONDecodeError, KeyError, TypeError):
            raise ValueError(f"prompts {path} must be JSON with a list `prompts`") from None
    if not found or not all(isinstance(p, str) for p in found):
        raise ValueError(f"prompts {path} must hold at least one text")
    return found


if __name__ == "__main__":
    app()
