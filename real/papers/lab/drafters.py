"""The command `specsim-real train-drafters`: every drafter that is shipped, trained again on states of its target."""

from __future__ import annotations

import importlib
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from real import draft
from specsim.base.unknown import unknown
from specsim.commands.json_form import json_answer
from specsim.commands.options import AsCsv, AsJson, AsLatex, AsMarkdown, chosen_form

if TYPE_CHECKING:
    from torch import nn

    from real.papers.lab.contract import Lab

EXAMPLES = (
    "specsim-real train-drafters",
    "specsim-real train-drafters exit_1 trigram --work runs/drafters",
)
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
    names: Annotated[list[str] | None, typer.Argument(help="Drafters to train again; all of them by default.")] = None,
    work: Annotated[
        Path, typer.Option(help="Folder of the target's states and of checkpoints; the same one carries on.")
    ] = Path("drafters"),
    as_csv: AsCsv = False,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Train drafters on the bundled target's states, and put their weights where this package looks for them."""
    form = chosen_form(as_json=as_json, as_markdown=as_markdown, as_csv=as_csv, as_latex=as_latex)
    from specsim.base.files import check_writable
    from specsim.report.forms import table

    known = makers()
    for name in names or ():
        if name not in known:
            raise unknown("drafter", name, known)
    from real.draft._weights import path_of

    wanted = list(dict.fromkeys(names or known))
    for name in wanted:
        check_writable(path_of(name))
    check_writable(work / "any")
    from real.papers.lab.contract import Lab
    from real.studies.runner import made_in_turn

    made, stopped = made_in_turn(wanted, lambda name, said: _one(name, known[name], work, Lab(said=said)))
    if form == "json":
        typer.echo(json_answer("specsim-real/train-drafters", {"drafters": made}))
    elif made:
        typer.echo(table([_HEAD, *(_cells(one) for one in made)], form))
    if stopped:
        typer.echo(
            f"interrupted: {len(made)} of {len(wanted)} drafters are saved; the same command carries on", err=True
        )
        raise typer.Exit(130)


def _one(name: str, maker: Any, work: Path, lab: Lab) -> dict[str, Any]:
    """One drafter trained and saved; what it keeps is that of the weights as they are read back."""
    from real.draft import _weights

    began = time.monotonic()
    recipe = maker.RECIPES[name]
    checkpoint = work / f"{name}.checkpoint"
    net = trained(maker, recipe, work, lab, checkpoint)
    _weights.save(name, net, recipe)
    checkpoint.unlink(missing_ok=True)
    seconds = time.monotonic() - began
    return {
        "name": name,
        "parameters": sum(weight.numel() for weight in net.parameters()),
        "bytes": _weights.path_of(name).stat().st_size,
        "seconds": round(seconds, 1),
        "kept": kept(maker, maker.shipped(name), lab),
    }


def trained(maker: Any, recipe: dict[str, Any], work: Path, lab: Lab, checkpoint: Path | None = None) -> nn.Module:
    """A drafter trained by its recipe on texts that the bundled target wrote.

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
    loop.fit(
        net,
        loss,
        schedule,
        learners=learners,
        clip=CLIP,
        checkpoint=checkpoint,
        settings=settings,
        said=lab.said,
    )
    return net


def kept(maker: Any, net: Any, lab: Lab) -> list[float]:
    """Mean chance that draft i = 1..4 is kept if those before it were the text's, on validation texts of T = 1."""
    from real.papers.lab import offsets
    from real.papers.lab.text_lab import along
    from real.papers.lab.texts import texts
    from real.papers.lab.writing import pair

    some = texts(1.0).of("validation", lab.texts(VALIDATED))
    total, count = offsets.kept(along(maker.drafting(net, pair().target), some, OFFSETS, 1.0))
    return [round(float(share), 4) for share in total.sum(0) / count.sum(0)]


_HEAD = ["drafter", "parameters", "seconds", "kept at 1", "2", "3", "4"]


def _cells(one: dict[str, Any]) -> list[str]:
    head = [one["name"], f"{one['parameters']:,}", f"{one['seconds']:.0f}"]
    return [*head, *(f"{share:.3f}" for share in one["kept"])]
