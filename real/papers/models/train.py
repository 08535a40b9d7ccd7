"""The command `specsim-real train-images`: shipped models of images are trained again."""

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


# Folders of files that train small models.
FOLDERS = ("real.papers.models.images",)


def makers(*folders: ModuleType) -> dict[str, ModuleType]:
    """Name of a model -> the file that trains it; read from the folders, which are the registry."""
    modules: dict[str, ModuleType] = {}
    read = folders or [importlib.import_module(name) for name in FOLDERS]
    files = [f"{folder.__name__}.{file.name}" for folder in read for file in pkgutil.iter_modules(folder.__path__)]
    for name in sorted(files):
        maker = importlib.import_module(name)
        for name in vars(maker).get("RECIPES", {}):
            if name in modules:
                both = f"{modules[name].__name__} and {maker.__name__}"
                raise ValueError(f"model {name!r} is made by two files, {both}")
            modules[name] = maker
    return modules


def train_images(
    names: Annotated[
        list[str] | None, typer.Argument(help="Models to make again, such as raster_draft; all of them by default.")
    ] = None,
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Train the small models of images, and put their weights where this package looks for them.

    They are there already: this makes the same ones again. All of them take some eight minutes on
    one core.
    """
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex)
    from specsim.base.files import check_writable
    from specsim.report.forms import table

    # Refuse unknown names and files that cannot be written.
    known = makers()
    for name in names or ():
        if name not in known:
            raise unknown("model", name, known)
    from real.papers.models.store import path_of

    wanted = list(dict.fromkeys(names or known))
    for name in wanted:
        check_writable(path_of(name))
    from real.studies.progress import made_in_turn

    # Train them one by one, and print their rows.
    rows, stopped = made_in_turn(wanted, lambda name, show_stage: _trained_row(name, known[name], show_stage))
    if form == "json":
        typer.echo(json_answer("specsim-real/train-images", {"models": rows}))
    elif rows:
        typer.echo(table([_HEAD, *(_cells(row) for row in rows)], form))
    if stopped:
        typer.echo(f"interrupted: {len(rows)} of {len(wanted)} models are saved, the others are as they were", err=True)
        raise typer.Exit(130)


def _trained_row(name: str, maker: Any, show_stage: Any) -> dict[str, Any]:
    """Train and save a model.

    Return its row, with the loss of the weights as they are read back.
    """
    from real.papers.models import store

    began = time.monotonic()
    store.save(name, maker.train(name, show_stage), maker.RECIPES[name])
    seconds = time.monotonic() - began
    module = maker.model(name)
    has_loss = "held_out" in vars(maker)
    return {
        "name": name,
        "parameters": sum(weight.numel() for weight in module.parameters()),
        "bytes": Path(store.path_of(name)).stat().st_size,
        "seconds": round(seconds, 1),
        "held_out": maker.held_out(name, module) if has_loss else None,
        "unit": maker.UNIT if has_loss else "",
    }


_HEAD = ["model", "parameters", "seconds", "held out", "unit"]


def _cells(row: dict[str, Any]) -> list[Cell]:
    """The cells of a model's row, as `_HEAD` names them: a number is rounded, and whole in CSV."""
    from specsim.report.forms import Number

    parameters = Number(f"{row['parameters']:,}", row["parameters"])
    seconds = Number(f"{row['seconds']:.0f}", row["seconds"])
    loss = Number("" if row["held_out"] is None else f"{row['held_out']:.3f}", row["held_out"])
    return [row["name"], parameters, seconds, loss, row["unit"]]
