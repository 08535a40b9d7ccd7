"""Weights of the small models of images that are shipped, half a megabyte or less each (see `real.models.shipped`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from real.models import shipped
from real.models.shipped import Module

WEIGHTS = Path(__file__).parent / "weights"


def path_of(name: str) -> Path:
    """The path of a model's weights."""
    return shipped.path_of(WEIGHTS, name)


def remedy(name: str) -> str:
    """The remedy, for a message, where a model's weights are missing or not those of its recipe."""
    return f"`specsim-real train-images {name}` makes them anew"


def save(name: str, module: nn.Module, recipe: dict[str, Any]) -> None:
    """Write a module's weights; a write that fails leaves no file behind."""
    shipped.save(WEIGHTS, name, module, recipe)


def load(name: str, module: Module, recipe: dict[str, Any]) -> Module:
    """Fill a module with the shipped weights, as `real.models.shipped.load` does."""
    return shipped.load(WEIGHTS, name, module, recipe, remedy(name))
