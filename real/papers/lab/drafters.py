"""The command `specsim-real train-drafters`: every drafter that is shipped, trained again on states of its target."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from real import draft
from real.options import parse_numbers
from specsim.base import limits
from specsim.base.unknown import unknown
from specsim.commands.json_form import json_answer
from specsim.commands.options import OUTPUT, AsCsv, AsJson, AsLatex, AsMarkdown, chosen_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from real.papers.lab.contract import Lab
    from real.train.loop import Fitted
    from specsim.report.forms import Cell

    Maker = Callable[[str, Callable[[str], None]], dict[str, Any]]

EXAMPLES = (
    "specsim-real train-drafters",
    "specsim-real train-drafters exit_1 trigram --work runs/drafters",
    "specsim-real train-drafters --target smollm2 --device cuda",
)
BUNDLED, SMOLLM2 = "bundled", "smollm2"
VALIDATED, OFFSETS = 16, 4  # texts that a drafter is judged on, and drafts of a block
# Largest norm of a step's gradient, with which the shipped drafters were trained.
CLIP = 0.5


def makers(folder: ModuleType = draft) -> dict[str, ModuleType]:
    """Name of a trained drafter -> its file; read from the folder, which is the registry."""
    found: dict[str, ModuleType] = {}
    for file in folder.names():
        maker = importlib.import_module(f"{folder.__name__}.{file}")
        for name in vars(maker).get("RECIPES", {}):
            if name in found:
                raise ValueError(f"drafter {name!r} is made by two files, {found[name].__name__} and {maker.__name__}")
            found[name] = maker
    return found


def train_drafters(
    names: Annotated[
        list[str] | None, typer.Argument(help="Drafters to train again; by default all of the target's.")
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            help="Model whose drafters are trained: bundled or smollm2 (a GPU is advised).", show_default=True
        ),
    ] = BUNDLED,
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
    """Train drafters on the bundled target's states, and put their weights where this package looks for them."""
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex)
    from specsim.base.files import check_writable
    from specsim.report.forms import table

    if target not in (BUNDLED, SMOLLM2):
        raise unknown("target", target, (BUNDLED, SMOLLM2))
    counts = parse_numbers(answered, "answered", limits.MAX_COUNT) if answered else (None,)
    if target == BUNDLED and (answered or device != "cpu"):
        raise ValueError("answered and device are for --target smollm2: the bundled target's drafters need neither")
    known = {name: maker for name, maker in makers().items() if maker.RECIPES[name].get("target", BUNDLED) == target}
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

    make = _bundled(known, work) if target == BUNDLED else _on_chats(known, work, device, counts)
    finished = Finished(work / f"finished-{target}.json", known)
    made, stopped = made_in_turn(wanted, make if answered else finished.after(make))
    if not stopped:
        finished.forget(wanted)
    if out is not None and made and not stopped:
        _write_record(out, made, device)
    if form == "json":
        typer.echo(json_answer("specsim-real/train-drafters", {"drafters": made}))
    elif made:
        typer.echo(table([_HEAD, *(_cells(one) for one in made)], form))
    if stopped:
        left = "were judged, and nothing is kept" if answered else "are saved; the same command carries on"
        typer.echo(f"interrupted: {len(made)} of {len(wanted)} drafters {left}", err=True)
        raise typer.Exit(130)


def _bundled(known: dict[str, ModuleType], work: Path) -> Maker:
    """Return what makes a drafter of the bundled target, by name."""
    from real.papers.lab.contract import Lab

    return lambda name, said: _one(name, known[name], work, Lab(said=said))


def _on_chats(known: dict[str, ModuleType], work: Path, device: str, counts: tuple[int | None, ...]) -> Maker:
    """Return what makes a drafter of SmolLM2, by name; with counts, one for each, whose weights are not saved."""
    import torch

    from real.draft import _weights
    from real.models.device import parse_device
    from real.train import smollm2

    where = torch.device(parse_device(device))
    schools: list[smollm2.School] = []  # one, from the first drafter on

    def make(name: str, said: Callable[[str], None]) -> dict[str, Any]:
        if not schools:
            schools.append(smollm2.School(where, work, said))
        school, maker = schools[0], known[name]
        checkpoint = work / f"{name.replace('/', '-')}.checkpoint"
        rows = []
        for count in counts:
            net, row = school.train(maker, name, count, checkpoint if count is None else None, said)
            if count is None:
                _weights.save(name, net, maker.RECIPES[name])
                checkpoint.unlink(missing_ok=True)
                row["bytes"] = _weights.path_of(name).stat().st_size
                net = maker.shipped(name)  # as it is read back
            elif "after" in row["recipe"]:
                net = maker.Shipped(net, row["recipe"]["after"])
            said("is judged")
            judged = smollm2.hazards(maker, net, school.teacher, school.answers)
            rows.append(row | {"kept": judged["T=1"], "kept_greedy": judged["T=0"]})
        return rows[-1] | ({} if counts == (None,) else {"by_tokens": rows})

    return make


def _write_record(path: Path, made: list[dict[str, Any]], device: str) -> None:
    """Write what was trained, with machine and versions."""
    import torch

    from real.studies.provenance import provenance
    from specsim.base.files import write_json
    from specsim.base.provenance import command_line

    gpu = torch.cuda.get_device_name(device) if device.startswith("cuda") else None
    what = provenance(device=device, gpu=gpu, command=command_line("specsim-real"))
    write_json(path, {"schema": "specsim-train-drafters/1", "provenance": what, "drafters": made})


def _one(name: str, maker: Any, work: Path, lab: Lab) -> dict[str, Any]:
    """One drafter trained and saved; what it keeps is that of the weights as they are read back."""
    from real.draft import _weights

    recipe = maker.RECIPES[name]
    checkpoint = work / f"{name}.checkpoint"
    net, fitted = _fitted(maker, recipe, work, lab, checkpoint)
    _weights.save(name, net, recipe)
    checkpoint.unlink(missing_ok=True)
    return {
        "name": name,
        "parameters": sum(weight.numel() for weight in net.parameters()),
        "bytes": _weights.path_of(name).stat().st_size,
        "seconds": round(fitted.seconds, 1),
        "losses": fitted.losses,
        "kept": kept(maker, maker.shipped(name), lab),
    }


def trained(maker: Any, recipe: dict[str, Any], work: Path, lab: Lab, checkpoint: Path | None = None) -> nn.Module:
    """Return a drafter trained by its recipe on texts that the bundled target wrote.

    Parameters
    ----------
    maker : module
        A file of `real.draft` with `network`, `reads` and `lesson`.
    recipe : dict
        Sizes, `share` of the texts to learn from, `steps`, `batch` texts a step, the highest `rate`, `seed`; what
        `lesson` asks besides.
    work : Path
        Folder of the target's states.
    lab : Lab
        Of its share of these texts.
    checkpoint : Path, optional
        Where the run is kept while it lasts.

    Returns
    -------
    nn.Module
        In evaluation mode.
    """
    return _fitted(maker, recipe, work, lab, checkpoint)[0]


def _fitted(
    maker: Any, recipe: dict[str, Any], work: Path, lab: Lab, checkpoint: Path | None
) -> tuple[nn.Module, Fitted]:
    """Return what `trained` returns, and the losses and seconds of all its sittings."""
    import torch

    from real.models.shipped import fingerprint
    from real.papers.lab.texts import training_texts
    from real.papers.lab.writing import pair
    from real.train import loop, states

    target = pair().target
    tokens = torch.from_numpy(training_texts(lab._replace(share=lab.share * recipe["share"])).tokens)
    held = states.cached(target, tokens, maker.reads(recipe), work, lab.said)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe["seed"])
        net: nn.Module = maker.network(recipe)
    of = maker.lesson(net, target, recipe)

    def loss(step: int) -> torch.Tensor:
        rng = loop.generator(recipe["seed"], step)
        some = torch.randint(len(tokens), (recipe["batch"],), generator=rng)
        value: torch.Tensor = of(tokens[some], held[some].float(), rng)
        return value

    settings = {"recipe": fingerprint(recipe), "target": states.identity(target), "texts": list(tokens.shape)}
    schedule, learners = loop.Schedule(recipe["steps"], recipe["rate"]), [loop.adamw(net)]
    fitted = loop.fit(
        net,
        loss,
        schedule,
        learners=learners,
        clip=CLIP,
        checkpoint=checkpoint,
        settings=settings,
        show_stage=lab.said,
    )
    return net, fitted


def kept(maker: Any, net: Any, lab: Lab) -> list[float]:
    """Mean chance that draft i = 1..4 is kept if those before it were the text's, on validation texts of T = 1."""
    from real.papers.lab import offsets
    from real.papers.lab.text_lab import along
    from real.papers.lab.texts import texts
    from real.papers.lab.writing import pair

    some = texts(1.0).of("validation", lab.texts(VALIDATED))
    total, count = offsets.kept(along(maker.drafting(net, pair().target), some, OFFSETS, 1.0))
    return [float(share) for share in total.sum(0) / count.sum(0)]


_HEAD = ["drafter", "parameters", "seconds", "kept at 1", "2", "3", "4"]


def _cells(one: dict[str, Any]) -> list[Cell]:
    """Return the cells of a drafter; a number is shown rounded, and whole in CSV."""
    from specsim.report.forms import Number

    parameters = Number(f"{one['parameters']:,}", one["parameters"])
    seconds = Number(f"{one['seconds']:.0f}", one["seconds"])
    return [one["name"], parameters, seconds, *(Number(f"{share:.3f}", share) for share in one["kept"])]
