"""Points at which models and caches do not fit the devices, and how many devices would hold them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from specsim.latency import Hardware
from specsim.latency.memory import MemoryUse, Placed, equal_share, memory_use


class Misfit(NamedTuple):
    """A point whose weights and caches are larger than the memory, with words on what is missing."""

    batch: int
    context: int
    words: str

    @property
    def note(self) -> str:
        """Return the note on this point."""
        return f"batch {self.batch}, context {self.context} does not fit: {self.words}"


def misfits(
    models: Sequence[Placed], device: Hardware, batches: Sequence[int], contexts: Sequence[int]
) -> tuple[Misfit, ...]:
    """Return the points that do not fit, in their order; the first of `models` is the target."""
    points = []
    for batch, context in product(batches, contexts):
        use = memory_use(models, batch=batch, context=context)
        if use.fullest > device.memory:
            points.append(Misfit(batch, context, _words(models, device, use)))
    return tuple(points)


def _words(models: Sequence[Placed], device: Hardware, use: MemoryUse) -> str:
    """Return how much is missing, and the devices and options that would hold everything."""
    devices = max(model.devices for model in models)
    if use.total > device.memory * devices:
        missing = f"weights and caches take at least {use.total / 1e9:.0f} GB of {device.memory * devices / 1e9:.0f}"
    else:
        missing = (
            f"the first of {devices} devices holds a part of every model, at least {use.fullest / 1e9:.0f} GB, and has "
            f"{device.memory / 1e9:.0f}"
        )

    # Devices that hold everything, and the next number of them that the target's heads can be shared by.
    least = max(devices, use.devices(device.memory))
    shared = equal_share(models[0].shape, least)
    if shared is None:
        return f"{missing}; {least} of these devices would hold them, more than share {models[0].shape.heads} heads"
    options = f"--tp {shared}" if len(models) == 1 else f"--tp {shared} --draft-tp {shared}"
    return f"{missing}; {least} of these devices or more would hold them ({options})"
