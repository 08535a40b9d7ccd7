"""The command `python -m real.gpu [PART...]`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from transformers.utils.logging import disable_progress_bar

from real.gpu.book import BUDGET, Part, is_good, run_part
from real.gpu.device import described, find_device, free
from real.gpu.parts import pair, parity, rules, shapes, trees
from real.gpu.table import NAMES, markdown
from specsim.base.files import check_writable

app = typer.Typer(add_completion=False)


def part_of(name: str, device: torch.device, folder: Path, tiny: bool) -> Part:
    """A part by name."""
    make: dict[str, Callable[..., Part]] = {
        "parity": parity.part, "shapes": shapes.part, "pair": partial(pair.part, folder=folder), "rules": rules.part,
        "trees": trees.part,
    }  # fmt: skip
    return make[name](device, tiny=tiny)


@app.command()
def main(
    parts: Annotated[list[str] | None, typer.Argument(help=f"Of {', '.join(NAMES)}; all by default.")] = None,
    device: Annotated[str, typer.Option(help="cuda or cpu.")] = "cuda",
    tiny: Annotated[bool, typer.Option("--tiny", help="Tiny sizes of everything: does it run at all?")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the records; real/results/gpu, with --tiny runs/gpu-tiny.")
    ] = None,
    budget: Annotated[float, typer.Option(help="Seconds for each part.")] = BUDGET,
) -> None:
    """Check and measure on a GPU, in parts; a later run carries on where one ended.

    Status 1: a row failed or a verdict is bad; 2: bad input; 130: interrupted, finished rows are kept.
    """
    try:
        names = [name for name in NAMES if name in _known(parts or list(NAMES))]
        where, folder = find_device(device), out or Path("runs/gpu-tiny" if tiny else "real/results/gpu")
        if budget <= 0:
            raise ValueError(f"budget must be positive, got {budget:g}")
        _make(folder)
    except ValueError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    disable_progress_bar()
    torch.set_num_threads(1)  # the steadiest where a processor is shared
    try:
        records = [*_run(names, where, folder, tiny, budget)]
    except KeyboardInterrupt:
        typer.echo(f"interrupted: finished rows are kept in {folder}; the same command carries on", err=True)
        raise typer.Exit(130) from None
    typer.echo(markdown(folder))
    raise typer.Exit(0 if all(is_good(row) for record in records for row in record["rows"]) else 1)


def _run(names: list[str], device: torch.device, folder: Path, tiny: bool, budget: float) -> Iterator[dict[str, Any]]:
    """Run parts one after another; a device that is lost ends it, since this process will not see it again."""
    say = partial(typer.echo, err=True)
    for name in names:
        command = f"python -m real.gpu {name} --device {device.type}{' --tiny' if tiny else ''}"
        made = part_of(name, device, folder, tiny)
        record = run_part(made, folder, described(device, command=command, tiny=tiny), device, budget=budget, say=say)
        try:
            if made.plot and any("speedup" in row for row in record["rows"]):
                made.plot(folder / f"{name}.png", record)
        except ModuleNotFoundError:
            say(f"{name}: no plot (install the extra `plot`)")
        yield record
        if record["stopped"] == "device lost":
            say(f"{name}: the device is lost; run the command again to carry on")
            return
        if record["stopped"] == "budget":
            say(f"{name}: {budget:g} s are spent; run the command again to carry on")
        del made  # its models
        free(device)


def _known(parts: list[str]) -> list[str]:
    for name in parts:
        if name not in NAMES:
            raise ValueError(f"part {name!r} is unknown; known: {', '.join(NAMES)}")
    return parts


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"out {folder} cannot be made: {error.strerror}") from None
    for name in NAMES:
        check_writable(folder / f"{name}.json")


if __name__ == "__main__":
    app()
