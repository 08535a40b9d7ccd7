"""The memory that weights and caches take, and how many devices hold them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from specsim.latency.shape import ModelShape
from specsim.latency.weights import Weights

# Bytes of a cached number.
CACHED = 2.0


class Placed(NamedTuple):
    """A model that devices hold: the type of its weights, how many devices share it, and bytes of a cached number."""

    shape: ModelShape
    weights: Weights
    devices: int
    cached: float = CACHED


class MemoryUse(NamedTuple):
    """Bytes that models take at least: of all devices together, and of the fullest one.

    Weights of layers and heads and the caches of all sequences count; embeddings, activations and the engine do not.

    Examples
    --------
    >>> from specsim.latency.weights import TYPES
    >>> large = Placed(ModelShape.named("llama-3.1-70b"), TYPES["bf16"], 1)
    >>> use = memory_use([large], batch=1, context=1024)
    >>> round(use.total / 1e9), use.devices(80e9)
    (139, 2)
    """

    total: float
    fullest: float

    def devices(self, memory: float) -> int:
        """Return how many devices, each with `memory` bytes, hold everything, if all of them share all models."""
        return max(1, math.ceil(self.total / memory))


def memory_use(models: Sequence[Placed], *, batch: int, context: int) -> MemoryUse:
    """Return what the models take at least, with the caches of `batch` sequences of `context` tokens each.

    Every model is shared by the first devices, so that the first one holds a part of each model: it is the fullest.
    """
    total = fullest = 0.0
    for model in models:
        # Bytes of the weights, and of caches and states.
        shape = model.shape
        expert_parameters = shape.moe_layers * shape.experts * shape.expert
        num_bytes = model.weights.bytes_of(shape.body, shape.head, expert_parameters)
        num_bytes += model.cached * shape.held_values(context) * batch
        total += num_bytes
        fullest += num_bytes / model.devices
    return MemoryUse(total, fullest)


def equal_share(shape: ModelShape, least: int) -> int | None:
    """Return the smallest number of devices, at least `least`, that share the heads of a model equally; None if none.

    Examples
    --------
    >>> equal_share(ModelShape.named("llama-3.1-70b"), 3), equal_share(ModelShape.named("llama-3.1-70b"), 65)
    (4, None)
    """
    return next((n for n in range(least, shape.heads + 1) if shape.heads % n == 0), None)
