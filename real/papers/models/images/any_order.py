"""One network that gives any pixel's law given the beginning of any order.

Its slots are the digit's class, 64 contents and some queries. A content holds a pixel, and a query
returns the law of one; both stand at the pixel's position. A 4-d mask decides which slots attend to
which: a content to the ranks up to its own, so that a decoded pixel is read the same whatever comes
after it. A query never attends to its own pixel. In a draft it attends to the decoded pixels, for
the density to the ranks below its own, and always to itself. In training every pixel has a query,
later only those that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from real.papers.models import store
from real.papers.models.images.data import CLASSES, LEVELS, PIXELS, digits
from real.train.loop import Schedule, fit, silent
from real.train.recipe import Shape
from real.train.step import build
from specsim.base.texts import Asked

UNIT = "nats a pixel"
# The token of digit 0, which the other nine follow; the token of a query; all tokens.
CLASS, QUERY, VOCAB = LEVELS, 31, 32
# Share of the pixels that is given when the network is judged.
GIVEN = 0.1
RECIPES: dict[str, dict[str, Any]] = {
    "any_order": {
        "shape": [3, 64, 176, 4],
        "steps": 500,
        "batch": 16,
        "rate": 8e-3,
        # Largest share of given pixels; each image has a share of its own.
        "given": 0.5,
        "seed": 0,
        "order": 1,
    }
}


def ranks(known: Tensor) -> Tensor:
    """The rank of each place (b, 64): given places come first, then the others, from left to right."""
    return (~known).long().argsort(dim=1, stable=True).argsort(1)


def density(rank: Tensor) -> Tensor:
    """The mask (b, 64, 64) of all places' queries for the density: they see the ranks below their own."""
    return rank[:, None, :] < rank[:, :, None]


def draft(rank: Tensor, decoded: Tensor) -> Tensor:
    """The mask (b, 64, 64) of all places' queries in a draft: they see the `decoded` (b,) first ranks."""
    return (rank < decoded[:, None])[:, None, :].expand(-1, rank.shape[1], -1)


def visible(rank: Tensor, seen: Tensor) -> Tensor:
    """The 4-d mask for queries that see `seen` (b, n, 64): 0 where a slot sees another, else -inf."""
    batch, queries, _ = seen.shape
    first = 1 + PIXELS
    looks = torch.zeros(batch, first + queries, first + queries, dtype=torch.bool)
    looks[:, :, 0] = True
    looks[:, 1:first, 1:first] = rank[:, None, :] <= rank[:, :, None]
    looks[:, first:, 1:first] = seen
    looks[:, first:, first:] = torch.eye(queries, dtype=torch.bool)
    return torch.zeros(looks.shape).masked_fill(~looks, -torch.inf)[:, None]


def logits(model: Any, labels: Tensor, pixels: Tensor, rank: Tensor, places: Tensor, seen: Tensor) -> Tensor:
    """Logits (b, n, 16) of the levels at places (b, n), whose queries see `seen` of the pixels (b, 64)."""
    slots = torch.cat([CLASS + labels[:, None], pixels, torch.full_like(places, QUERY)], 1)
    positions = torch.cat([torch.arange(1 + PIXELS).expand(len(labels), -1), 1 + places], 1)
    output = model(input_ids=slots, attention_mask=visible(rank, seen), position_ids=positions, use_cache=False)
    of_queries: Tensor = output.logits[:, 1 + PIXELS :, :LEVELS]
    return of_queries


def along(model: Any, labels: Tensor, pixels: Tensor, given: Tensor) -> Tensor:
    """Logits (b, 64, 16) of every pixel given those of lower rank."""
    rank = ranks(given)
    every = torch.arange(PIXELS).expand(len(labels), -1)
    return logits(model, labels, pixels, rank, every, density(rank))


def oracle(model: Any, labels: Tensor, given: Tensor) -> Callable[[Asked, Tensor], Tensor]:
    """The rows (b, n, 16) that `specsim.process.any_subset` asks for; each call is one pass.

    Parameters
    ----------
    model : causal language model
        `model("any_order")`.
    labels : Tensor, shape (b,), int64
        The digits' classes.
    given : Tensor, shape (b, 64), bool
        Which pixels are of the prompt: the order follows from it.

    Returns
    -------
    callable
        From what is asked and which texts it is asked of to rows in float64: an oracle of
        `real.process.fill`.

    Raises
    ------
    ValueError
        Shapes that do not fit, a label that is no digit, or, when called, places that see no
        beginning of the order: contents would show them what they must not see.
    """
    if labels.ndim != 1 or given.shape != (len(labels), PIXELS):
        raise ValueError(f"given has shape {tuple(given.shape)}; {len(labels)} texts have ({len(labels)}, {PIXELS})")
    if bool(((labels < 0) | (labels >= CLASSES)).any()):
        raise ValueError(f"labels are digits from 0 to {CLASSES - 1}, got {labels.min()} to {labels.max()}")
    rank = ranks(given)

    def rows(asked: Asked, texts: Tensor) -> Tensor:
        """Laws of the places that a process asks for, in float64."""
        text_ranks, seen = rank[texts], asked.seen
        wrong = seen != (text_ranks[:, None, :] < seen.sum(-1, keepdim=True))
        if bool(wrong.any()):
            raise ValueError(f"places of text {int(texts[wrong.any(-1).any(-1)][0])} see no beginning of its order")
        with torch.no_grad():
            return logits(model, labels[texts], asked.tokens, text_ranks, asked.places, seen).double().softmax(-1)

    return rows


def _loss(model: Any, labels: Tensor, images: Tensor, known: Tensor) -> Tensor:
    """Cross-entropy of the pixels that are not given."""
    return F.cross_entropy(along(model, labels, images, known)[~known], images[~known])


def _untrained(name: str) -> Any:
    """The network of a recipe, untrained."""
    if name not in RECIPES:
        raise ValueError(f"name {name!r} is no any-order model; known: {', '.join(RECIPES)}")
    recipe = RECIPES[name]
    return build(Shape(*recipe["shape"]), VOCAB, PIXELS + 1, recipe["seed"])


def train(name: str, show_stage: Callable[[str], None] = silent) -> Any:
    """Train it on the images that are not held out, each with a share of its pixels given."""
    model, recipe = _untrained(name), RECIPES[name]
    learned, drawn, batch = digits().learned(), torch.Generator().manual_seed(recipe["order"]), recipe["batch"]

    def loss(step: int) -> Tensor:
        """The loss of random images, each with a random share of its pixels given."""
        which = torch.randint(len(learned.images), (batch,), generator=drawn)
        share = recipe["given"] * torch.rand(batch, 1, generator=drawn)
        known = torch.rand(batch, PIXELS, generator=drawn) < share
        return _loss(model, learned.labels[which], learned.images[which], known)

    fit(model, loss, Schedule(recipe["steps"], recipe["rate"]), show_stage=show_stage)
    return model


def held_out(name: str, module: Any) -> float:
    """Cross-entropy on the images held out, a tenth of their pixels given."""
    images = digits().held_out()
    known = torch.rand(len(images.images), PIXELS, generator=torch.Generator().manual_seed(3)) < GIVEN
    with torch.no_grad():
        return float(_loss(module, images.labels, images.images, known))


def model(name: str) -> Any:
    """The model with the weights that are shipped: a causal language model of Hugging Face's, in float32."""
    return store.load(name, _untrained(name), RECIPES[name])
