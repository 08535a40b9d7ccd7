"""The command `specsim-real train-drafters`: shipped drafters are trained again."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from real import draft
from real.models.names import SMOLLM2, TINY_PAIR
from real.options import parse_numbers
from specsim.base import limits
from specsim.base.unknown import unknown
from specsim.commands.json_form import json_answer
from specsim.commands.options import OUTPUT, AsCsv, AsJson, AsLatex, AsMarkdown, chosen_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from real.papers.lab.contract import Lab
    from specsim.report.forms import Cell

    Maker = Callable[[str, Callable[[str], None]], dict[str, Any]]

EXAMPLES = (
    "specsim-real train-drafters",
    "specsim-real train-drafters exit_1 trigram --work runs/drafters",
    "specsim-real train-drafters --target smollm2 --device cuda",
)


def makers(folder: ModuleType = draft) -> dict[str, ModuleType]:
    """Name of a trained drafter -> its module; read from the folder, which is the registry."""
    modules: dict[str, ModuleType] = {}
    for file in folder.names():
        maker = importlib.import_module(f"{folder.__name__}.{file}")
        for name in vars(maker).get("RECIPES", {}):
            if name in modules:
                both = f"{modules[name].__name__} and {maker.__name__}"
                raise ValueError(f"drafter {name!r} is made by two files, {both}")
            modules[name] = maker
    return modules


def train_drafters(
    names: Annotated[
        list[str] | None, typer.Argument(help="Drafters to train again; by default all of the target's.")
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            help="Model whose drafters are trained: tiny, the bundled target, or smollm2 (a GPU is advised).",
            show_default=True,
        ),
    ] = TINY_PAIR,
    work: Annotated[
        Path, typer.Option(help="Folder of the target's states and of checkpoints; the same one carries on.")
    ] = Path("drafters"),
    device: Annotated[str, typer.Option(help="Device for smollm2: cpu or cuda.")] = "cpu",
    answered: Annotated[
        str,
        typer.Option(help="For smollm2: learn from so many tokens, e.g. 100000,1000000. Weights are not saved."),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            help="JSON file for recipe, losses, times and acceptance.", show_default=False, rich_help_panel=OUTPUT
        ),
    ] = None,
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Train drafters on a target's states, and put their weights where this package looks for them."""
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex)
    from specsim.base.files import check_writable
    from specsim.report.forms import table

    # Refuse bad options, and files that cannot be written.
    if target not in (TINY_PAIR, SMOLLM2):
        raise unknown("target", target, (TINY_PAIR, SMOLLM2))
    counts = parse_numbers(answered, "answered", limits.MAX_COUNT) if answered else (None,)
    if target == TINY_PAIR and (answered or device != "cpu"):
        raise ValueError("answered and device are for --target smollm2: the bundled target's drafters need neither")
    known = {name: maker for name, maker in makers().items() if maker.RECIPES[name].get("target", TINY_PAIR) == target}
    for name in names or ():
        if name not in known:
            raise unknown("drafter", name, known)
    from real.draft._weights import path_of

    wanted = list(dict.fromkeys(names or known))
    for name in wanted:
        check_writable(path_of(name))
    check_writable(work / "any")
    if out is not None:
        check_writable(out)
    from real.papers.lab.finished import Finished
    from real.studies.progress import made_in_turn

    # Train them one by one; those that an earlier run has finished are not trained again.
    is_bundled = target == TINY_PAIR
    make = _bundled(known, work) if is_bundled else _on_chats(known, work, device, counts)
    finished = Finished(work / f"finished-{target}.json", known)
    rows, stopped = made_in_turn(wanted, make if answered else finished.after(make))
    if not stopped:
        finished.forget(wanted)

    # The record, and the table.
    if out is not None and rows and not stopped:
        _write_record(out, rows, device)
    if form == "json":
        typer.echo(json_answer("specsim-real/train-drafters", {"drafters": rows}))
    elif rows:
        typer.echo(table([_HEAD, *(_cells(row) for row in rows)], form))
    if stopped:
        left = "are saved; the same command carries on"
        if answered:
            left = "were judged, and nothing is kept"
        typer.echo(f"interrupted: {len(rows)} of {len(wanted)} drafters {left}", err=True)
        raise typer.Exit(130)


def _bundled(known: dict[str, ModuleType], work: Path) -> Maker:
    """Return the function that trains a drafter of the bundled target, by name."""
    from real.papers.lab.contract import Lab

    return lambda name, show_stage: _trained_row(
        name,
        known[name],
        work,
        Lab(said=show_stage),
    )


def _on_chats(
    known: dict[str, ModuleType],
    work: Path,
    device: str,
    counts: tuple[int | None, ...],
) -> Maker:
    """Return the function that trains a drafter of SmolLM2, by name.

    With counts of tokens it trains one for each of them, whose weights are not saved.
    """
    import torch

    from real.draft import _weights
    from real.models.device import parse_device
    from real.train import smollm2

    where = torch.device(parse_device(device))
    # The list holds one school, from the first drafter on.
    schools: list[smollm2.School] = []

    def make(name: str, show_stage: Callable[[str], None]) -> dict[str, Any]:
        """Train a drafter, once for each count; return the row of the last one."""
        if not schools:
            schools.append(smollm2.School(where, work, show_stage))
        school, maker = schools[0], known[name]
        checkpoint = work / f"{name.replace('/', '-')}.checkpoint"
        rows = []
        for count in counts:
            # A drafter that learned from all texts is saved, and judged as it is read back.
            resumed = checkpoint if count is None else None
            net, row = school.train(maker, name, count, resumed, show_stage)
            if count is None:
                _weights.save(name, net, maker.RECIPES[name])
                checkpoint.unlink(missing_ok=True)
                row["bytes"] = _weights.path_of(name).stat().st_size
                net = maker.shipped(name)
            elif "after" in row["recipe"]:
                net = maker.Shipped(net, row["recipe"]["after"])
            show_stage("is judged")
            judged = smollm2.hazards(maker, net, school.teacher, school.answers)
            rows.append(row | {"kept": judged["T=1"], "kept_greedy": judged["T=0"]})
        return rows[-1] | ({} if counts == (None,) else {"by_tokens": rows})

    return make


def _write_record(path: Path, rows: list[dict[str, Any]], device: str) -> None:
    """Write the rows of trained drafters, with machine and versions."""
    import torch

    from real.studies.provenance import provenance
    from specsim.base.files import write_json
    from specsim.base.provenance import command_line

    gpu = torch.cuda.get_device_name(device) if device.startswith("cuda") else None
    what = provenance(device=device, gpu=gpu, command=command_line("specsim-real"))
    record = {"schema": "specsim-train-drafters/1", "provenance": what, "drafters": rows}
    write_json(path, record)


def _trained_row(name: str, maker: Any, work: Path, lab: Lab) -> dict[str, Any]:
    """Train and save a drafter.

    Return its row, with the hazards of the weights as they are read back.
    """
    from real.draft import _weights
    from real.papers.lab.drafter_training import fitted, hazards

    # The checkpoint goes once the weights are saved.
    recipe = maker.RECIPES[name]
    checkpoint = work / f"{name}.checkpoint"
    net, run = fitted(maker, recipe, work, lab, checkpoint)
    _weights.save(name, net, recipe)
    checkpoint.unlink(missing_ok=True)
    return {
        "name": name,
        "parameters": sum(weight.numel() for weight in net.parameters()),
        "bytes": _weights.path_of(name).stat().st_size,
        "seconds": round(run.seconds, 1),
        "losses": run.losses,
        "kept": hazards(maker, maker.shipped(name), lab),
    }


_HEAD = ["drafter", "parameters", "seconds", "kept at 1", "2", "3", "4"]


def _cells(row: dict[str, Any]) -> list[Cell]:
    """The cells of a drafter's row, as `_HEAD` names them: a number is rounded, and whole in CSV."""
    from specsim.report.forms import Number

    parameters = Number(f"{row['parameters']:,}", row["parameters"])
    seconds = Number(f"{row['seconds']:.0f}", row["seconds"])
    return [row["name"], parameters, seconds, *(Number(f"{hazard:.3f}", hazard) for hazard in row["kept"])]
