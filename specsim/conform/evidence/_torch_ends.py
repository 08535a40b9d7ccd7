"""torch with one uniform at an end: its calls return their usual numbers, but for that one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from specsim.conform.evidence._counter import Counter


class Mode(TorchFunctionMode):
    """Sees every call of torch while a program runs."""

    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self.counter = counter

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch; if it makes uniforms, put the end into its place."""
        made = function(*args, **(kwargs or {}))
        name = getattr(function, "__name__", "")
        if name in ("rand", "rand_like", "uniform_") and made.is_floating_point():
            low, high = _limits(*args[1:], **(kwargs or {})) if name == "uniform_" else (0.0, 1.0)
            self._put(made, low, high)
        return made

    def _put(self, made: Any, low: float, high: float) -> None:
        """Write the end into a tensor of uniforms between two limits, if it is among them."""
        place = self.counter.next(made.numel())
        if place is None:
            return
        value = self.counter.value(1 - round(math.log2(torch.finfo(made.dtype).eps)))
        made[tuple(np.unravel_index(place, made.shape))] = low + (high - low) * value


def _limits(low: float = 0.0, high: float = 1.0, *, generator: Any = None, **ends: float) -> tuple[float, float]:
    """Return the two limits of `uniform_`, which are also called `from` and `to`."""
    return ends.get("from", low), ends.get("to", high)
