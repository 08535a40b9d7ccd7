"""Two diffusion heads that write a digit by rows of eight pixels, each in eight Gaussian steps.

Both heads take the two rows above, the digit's class and the row's place, and guess the row without
its noise; the mean of every step follows from the guess, its deviation from the schedule alone. The
last step's is LAST_SD, a property of the target that has to be stated: acceptance depends on it as
much as on the draft.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from real.papers.models import store
from real.papers.models.images.data import CLASSES, SIDE, Digits, digits
from real.train.loop import Schedule, fit, silent

UNIT = "squared error a pixel"
# Gaussian steps of a token.
STEPS = 8
# Deviation of the last step, on pixels scaled to about +-1.
LAST_SD = 0.3
RECIPES: dict[str, dict[str, Any]] = {
    "rows_target": {"width": 128, "layers": 3, "steps": 1500, "batch": 256, "rate": 3e-3, "seed": 0, "sd": LAST_SD},
    "rows_draft": {"width": 48, "layers": 2, "steps": 1500, "batch": 256, "rate": 3e-3, "seed": 1, "sd": LAST_SD},
}
# Variance of each step, the last step's first.
_VARIANCE = torch.linspace(LAST_SD**2, 0.6, STEPS)
# Share of a token's variance that is left before each step.
_SIGNAL = (1 - _VARIANCE).cumprod(0)


class Head(nn.Module):
    """A network that guesses a token from its noisy version at a step.

    Steps count from the last, 0.
    """

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        sizes = [SIDE + 2 * SIDE + CLASSES + SIDE + STEPS, *[width] * layers]
        parts = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.SiLU())]
        self.layers = nn.Sequential(*parts, nn.Linear(width, SIDE))

    def forward(self, noisy: Tensor, context: Tensor, step: Tensor) -> Tensor:
        """The guess (n, 8), from noisy tokens (n, 8), contexts (n, 34) and steps (n,)."""
        guess: Tensor = self.layers(torch.cat([noisy, context, F.one_hot(step, STEPS).float()], -1))
        return guess


def scaled(images: Tensor) -> Tensor:
    """Grey levels (n, 64) as rows of pixels (n, 8, 8), about +-1."""
    return (images.view(-1, SIDE, SIDE).float() - 5) / 6


def context(rows: Tensor, places: Tensor, labels: Tensor) -> Tensor:
    """The input of the row at a place, shape (n, 34): the two rows above it, its class, its place.

    Parameters
    ----------
    rows : Tensor, shape (n, 8, 8)
        Images, of which the rows above `places` are read.
    places, labels : Tensor, shape (n,), int64
        The row of each image, and its digit.
    """
    texts = torch.arange(len(rows))
    above = [rows[texts, (places - i).clamp(min=0)] * (places >= i)[:, None] for i in (1, 2)]
    return torch.cat([*above, F.one_hot(labels, CLASSES).float(), F.one_hot(places, SIDE).float()], -1)


def last_mean(head: Head, contexts: Tensor, noise: Tensor) -> Tensor:
    """The mean of the last step (n, 8), after the others took their noise (n, 8 steps, 8 pixels)."""
    with torch.no_grad():
        x = noise[:, 0]
        for step in range(STEPS - 1, 0, -1):
            x = _mean(head, x, contexts, step) + _VARIANCE[step].sqrt() * noise[:, STEPS - step]
        return _mean(head, x, contexts, 0)


def ancestral(head: Head, labels: Tensor, seed: int) -> Tensor:
    """Images (n, 8, 8) written by one head alone, row after row."""
    random = torch.Generator().manual_seed(seed)
    rows = torch.zeros(len(labels), SIDE, SIDE)
    for place in range(SIDE):
        contexts = context(rows, torch.full((len(rows),), place), labels)
        mean = last_mean(head, contexts, torch.randn(len(rows), STEPS, SIDE, generator=random))
        rows[:, place] = mean + LAST_SD * torch.randn(len(rows), SIDE, generator=random)
    return rows


def train(name: str, show_stage: Callable[[str], None] = silent) -> Head:
    """Train one of them on the images that are not held out."""
    head, recipe = _untrained(name), RECIPES[name]
    drawn = torch.Generator().manual_seed(recipe["seed"])

    def loss(step: int) -> Tensor:
        """The loss of random rows."""
        return _loss(head, digits().learned(), recipe["batch"], drawn)

    fit(head, loss, Schedule(recipe["steps"], recipe["rate"]), show_stage=show_stage)
    return head


def held_out(name: str, module: Head) -> float:
    """The error on images held out, over all steps and places."""
    with torch.no_grad():
        return float(_loss(module, digits().held_out(), 20_000, torch.Generator().manual_seed(0)))


def model(name: str) -> Head:
    """The head with the weights that are shipped."""
    return store.load(name, _untrained(name), RECIPES[name])


def _untrained(name: str) -> Head:
    """The head of a recipe, untrained."""
    if name not in RECIPES:
        raise ValueError(f"name {name!r} is no head of rows; known: {', '.join(RECIPES)}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(RECIPES[name]["seed"])
        return Head(RECIPES[name]["width"], RECIPES[name]["layers"])


def _mean(head: Head, x: Tensor, contexts: Tensor, step: int) -> Tensor:
    """The mean of a step's result, as if the guess were the row."""
    guess: Tensor = head(x, contexts, torch.full((len(x),), step))
    variance, signal = _VARIANCE[step], _SIGNAL[step]
    after = _SIGNAL[step - 1] if step else torch.tensor(1.0)
    return (after.sqrt() * variance * guess + (1 - variance).sqrt() * (1 - after) * x) / (1 - signal)


def _loss(head: Head, images: Digits, batch: int, drawn: torch.Generator) -> Tensor:
    """The squared error of the guess, at rows, places and steps drawn anew."""
    which, places, steps = (
        torch.randint(most, (batch,), generator=drawn) for most in (len(images.labels), SIDE, STEPS)
    )
    rows = scaled(images.images[which])
    row, signal = rows[torch.arange(batch), places], _SIGNAL[steps, None]
    noisy = signal.sqrt() * row + (1 - signal).sqrt() * torch.randn(batch, SIDE, generator=drawn)
    return F.mse_loss(head(noisy, context(rows, places, images.labels[which]), steps), row)
