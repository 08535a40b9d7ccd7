"""Weights of drafters that are shipped, a megabyte or two each (see `real.models.shipped`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from real.models import shipped
from real.models.shipped import Module

WEIGHTS = Path(__file__).parent / "weights"
# What the drafters of the bundled target share: the share of the texts to learn from, steps,
# texts a step, and the highest learning rate.
FITTED: dict[str, Any] = {
    "share": 0.4,
    "steps": 300,
    "batch": 8,
    "rate": 3e-3,
    "seed": 0,
}

# What the drafters of SmolLM2 share. They are trained on a GPU, at every place of a text
# (`starts`), and stored in six bits a weight, so that all of them together stay below 10 MB.
SMOLLM2: dict[str, Any] = {
    "target": "smollm2",
    "hidden": 576,
    "tokens": 8192,
    "stored": "int6",
    "batch": 32,
    "starts": 1 << 20,
    "rate": 5e-3,
    "seed": 0,
}


def path_of(name: str) -> Path:
    """Return the path of a drafter's weights."""
    return shipped.path_of(WEIGHTS, name)


def remedy(name: str) -> str:
    """Return the remedy, for a message, if a drafter's weights are missing or not those of its recipe."""
    return f"`specsim-real train-drafters {name}` makes them anew"


def save(name: str, module: nn.Module, recipe: dict[str, Any]) -> None:
    """Write a module's weights; a write that fails leaves no file behind."""
    shipped.save(WEIGHTS, name, module, recipe)


def load(name: str, module: Module, recipe: dict[str, Any]) -> Module:
    """Fill a module with the shipped weights, as `real.models.shipped.load` does."""
    return shipped.load(WEIGHTS, name, module, recipe, remedy(name))
