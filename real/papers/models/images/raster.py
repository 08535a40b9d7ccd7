"""A target and a draft that write digits pixel by pixel, row by row, after the digit's class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from real.papers.models import store
from real.papers.models.images.data import CLASSES, LEVELS, PIXELS, Digits, digits
from real.train.loop import Schedule, fit, silent
from real.train.recipe import Shape
from real.train.step import build

UNIT = "nats a pixel"
# The token of digit 0, which the other nine follow.
CLASS = LEVELS
VOCAB = 32
RECIPES: dict[str, dict[str, Any]] = {
    "raster_target": {"shape": [3, 64, 176, 4], "steps": 500, "batch": 32, "rate": 8e-3, "seed": 0, "order": 1},
    "raster_draft": {"shape": [1, 16, 44, 2], "steps": 300, "batch": 32, "rate": 1.5e-2, "seed": 0, "order": 1},
}


def opening(labels: Tensor) -> Tensor:
    """The token that a digit's text begins with, shape (n, 1)."""
    if bool(((labels < 0) | (labels >= CLASSES)).any()):
        raise ValueError(f"labels are digits from 0 to {CLASSES - 1}, got {labels.min()} to {labels.max()}")
    return CLASS + labels[:, None]


def texts(images: Digits) -> Tensor:
    """Images as texts of 65 tokens: the class, then the pixels."""
    return torch.cat([opening(images.labels), images.images], 1)


def laws(model: Any, tokens: Tensor, temperature: float = 1.0) -> Tensor:
    """The laws of the pixel after each token, shape (n, tokens, 16), in one pass with nothing cached."""
    with torch.no_grad():
        logits = model(tokens, use_cache=False).logits[..., :LEVELS]
    return torch.softmax(logits / temperature, -1)


def energy(model: Any, tokens: Tensor) -> Tensor:
    """Mean of -log p over the pixels of each text, in nats, shape (n,)."""
    likelihoods = laws(model, tokens[:, :-1]).gather(-1, tokens[:, 1:, None])[..., 0]
    return -likelihoods.clamp(min=1e-30).log().mean(1)


def _loss(model: Any, tokens: Tensor) -> Tensor:
    """Cross-entropy of the pixels of texts."""
    logits = model(tokens[:, :-1], use_cache=False).logits[..., :LEVELS]
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def _untrained(name: str) -> Any:
    """The model of a recipe, untrained."""
    if name not in RECIPES:
        raise ValueError(f"name {name!r} is no raster model; known: {', '.join(RECIPES)}")
    recipe = RECIPES[name]
    return build(Shape(*recipe["shape"]), VOCAB, PIXELS + 1, recipe["seed"])


def train(name: str, show_stage: Callable[[str], None] = silent) -> Any:
    """Train one of them on the images that are not held out."""
    model, recipe = _untrained(name), RECIPES[name]
    learned, drawn = texts(digits().learned()), torch.Generator().manual_seed(recipe["order"])

    def loss(step: int) -> Tensor:
        """The loss of random images."""
        return _loss(model, learned[torch.randint(len(learned), (recipe["batch"],), generator=drawn)])

    fit(model, loss, Schedule(recipe["steps"], recipe["rate"]), show_stage=show_stage)
    return model


def held_out(name: str, module: Any) -> float:
    """Cross-entropy on the images held out."""
    with torch.no_grad():
        return float(_loss(module, texts(digits().held_out())))


def model(name: str) -> Any:
    """The model with the weights that are shipped: a causal language model of Hugging Face's, in float32."""
    return store.load(name, _untrained(name), RECIPES[name])
