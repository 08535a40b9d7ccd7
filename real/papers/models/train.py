"""The command `specsim-real train-images`: every small model that is shipped, of images or of sums, made again."""

from __future__ import annotations

import importlib
import pkgutil
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specsim.base.unknown import unknown
from specsim.commands.json_form import json_answer
from specsim.commands.options import AsCsv, AsJson, AsLatex, AsMarkdown, chosen_form

if TYPE_CHECKING:
    from specsim.report.forms import Cell

EXAMPLES = (
    "specsim-real train-images",
    "specsim-real train-images raster_target raster_draft",
)


FOLDERS = ("real.papers.models.images", "real.papers.models.sums")  # of files that train small models


def makers(*folders: ModuleType) -> dict[str, ModuleType]:
    """Name of a model -> the file that trains it; read from the folders, which are the registry."""
    found: dict[str, ModuleType] = {}
    read = folders or [importlib.import_module(name) for name in FOLDERS]
    files = [f"{folder.__name__}.{file.name}" for folder in read for file in pkgutil.iter_modules(folder.__path__)]
    for name in sorted(files):
        maker = importlib.import_module(name)
        for name in vars(maker).get("RECIPES", {}):
            if name in found:
                raise ValueError(f"model {name!r} is made by two files, {found[name].__name__} and {maker.__name__}")
            found[name] = maker
    return found


def train_images(
    names: Annotated[
        list[str] | None, typer.Argument(help="Models to make again, such as raster_draft; all of them by default.")
    ] = None,
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Train the small models of images and sums, and put their weights where this package looks for them.

    They are there already: this makes the same ones again. All of them take some eight minutes on one core.
    """
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex)
    from specsim.base.files import check_writable
    from specsim.report.forms import table

    known = makers()
    for name in names or ():
        if name not in known:
            raise unknown("model", name, known)
    from real.papers.models.store import path_of

    wanted = list(dict.fromkeys(names or known))
    for name in wanted:
        check_writable(path_of(name))
    from real.studies.progress import made_in_turn

    made, stopped = made_in_turn(wanted, lambda name, said: _one(name, known[name], said))
    if form == "json":
        typer.echo(json_answer("specsim-real/train-images", {"models": made}))
    elif made:
        typer.echo(table([_HEAD, *(_cells(one) for one in made)], form))
    if stopped:
        typer.echo(f"interrupted: {len(made)} of {len(wanted)} models are saved, the others are as they were", err=True)
        raise typer.Exit(130)


def _one(name: str, maker: Any, said: Any) -> dict[str, Any]:
    """One model trained and saved; its loss is that of the weights as they are read back."""
    from real.papers.models import store

    began = time.monotonic()
    store.save(name, maker.train(name, said), maker.RECIPES[name])
    seconds = time.monotonic() - began
    module = maker.model(name)
    told = "held_out" in vars(maker)
    return {
        "name": name,
        "parameters": sum(weight.numel() for weight in module.parameters()),
        "bytes": Path(store.path_of(name)).stat().st_size,
        "seconds": round(seconds, 1),
        "held_out": maker.held_out(name, module) if told else None,
        "unit": maker.UNIT if told else "",
    }


_HEAD = ["model", "parameters", "seconds", "held out", "unit"]


def _cells(one: dict[str, Any]) -> list[Cell]:
    """Return the cells of a model; a number is shown rounded, and whole in CSV."""
    from specsim.report.forms import Number

    parameters = Number(f"{one['parameters']:,}", one["parameters"])
    seconds = Number(f"{one['seconds']:.0f}", one["seconds"])
    loss = Number("" if one["held_out"] is None else f"{one['held_out']:.3f}", one["held_out"])
    return [one["name"], parameters, seconds, loss, one["unit"]]
