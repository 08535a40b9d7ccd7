"""Training of drafters on texts that the bundled target wrote, and their hazards on other texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

    from real.papers.lab.contract import Lab
    from real.train.loop import Fitted

# Texts on which a drafter is judged, and drafts of a block.
VALIDATED, OFFSETS = 16, 4
# Largest norm of a step's gradient, with which the shipped drafters were trained.
CLIP = 0.5


def trained(maker: Any, recipe: dict[str, Any], work: Path, lab: Lab, checkpoint: Path | None = None) -> nn.Module:
    """Return a drafter trained by its recipe on texts that the bundled target wrote.

    Parameters
    ----------
    maker : module
        A file of `real.draft` with `network`, `reads` and `lesson`.
    recipe : dict
        Sizes, `share` of the texts to learn from, `steps`, `batch` texts a step, the highest
        `rate`, `seed`; what `lesson` asks besides.
    work : Path
        Folder of the target's states.
    lab : Lab
        Its share is the share of these texts.
    checkpoint : Path, optional
        File of the unfinished run.

    Returns
    -------
    nn.Module
        In evaluation mode.
    """
    return fitted(maker, recipe, work, lab, checkpoint)[0]


def fitted(
    maker: Any,
    recipe: dict[str, Any],
    work: Path,
    lab: Lab,
    checkpoint: Path | None,
) -> tuple[nn.Module, Fitted]:
    """Return the drafter of `trained`, and the losses and seconds of all its sittings."""
    import torch

    from real.models.shipped import fingerprint
    from real.papers.lab.texts import training_texts
    from real.papers.lab.writing import pair
    from real.train import loop, states

    # Texts, the target's states along them, and an untrained network.
    target = pair().target
    part = lab._replace(share=lab.share * recipe["share"])
    tokens = torch.from_numpy(training_texts(part).tokens)
    target_states = states.cached(target, tokens, maker.reads(recipe), work, lab.said)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe["seed"])
        net: nn.Module = maker.network(recipe)
    lesson = maker.lesson(net, target, recipe)

    def loss(step: int) -> torch.Tensor:
        """The loss of a step, on random texts that its number decides."""
        rng = loop.generator(recipe["seed"], step)
        rows = torch.randint(len(tokens), (recipe["batch"],), generator=rng)
        value: torch.Tensor = lesson(tokens[rows], target_states[rows].float(), rng)
        return value

    # Train it; the settings decide whether a checkpoint is carried on.
    settings = {
        "recipe": fingerprint(recipe),
        "target": states.identity(target),
        "texts": list(tokens.shape),
    }
    schedule, learners = loop.Schedule(recipe["steps"], recipe["rate"]), [loop.adamw(net)]
    run = loop.fit(
        net,
        loss,
        schedule,
        learners=learners,
        clip=CLIP,
        checkpoint=checkpoint,
        settings=settings,
        show_stage=lab.said,
    )
    return net, run


def hazards(maker: Any, net: Any, lab: Lab) -> list[float]:
    """Mean hazards of drafts 1 to 4 of a block, on validation texts of T = 1."""
    from real.papers.lab import offsets
    from real.papers.lab.text_lab import along
    from real.papers.lab.texts import texts
    from real.papers.lab.writing import pair

    of_part = texts(1.0).of("validation", lab.texts(VALIDATED))
    drafter = maker.drafting(net, pair().target)
    total, count = offsets.hazard_sums(along(drafter, of_part, OFFSETS, 1.0))
    return [float(share) for share in total.sum(0) / count.sum(0)]
