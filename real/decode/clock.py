"""The time of a decode loop by phase."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a record is shown without torch
    import torch

# draft and verify are the two models; the rest is overhead.
PHASES = ("draft", "sample", "verify", "rule", "host")


def synchronize(device: torch.device) -> None:
    """Wait for a GPU to finish; nothing on a CPU."""
    if device.type == "cuda":
        import torch

        torch.cuda.synchronize(device)


class Clock:
    """Seconds by phase; each `mark` ends one.

    Parameters
    ----------
    device : torch.device
        On a GPU every mark waits for it, which slows the loop: time whole runs without a clock there.

    Attributes
    ----------
    seconds : dict
        Phase to seconds.
    """

    def __init__(self, device: torch.device) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._device, self._gpu = device, device.type == "cuda"
        self._last = time.perf_counter()

    def mark(self, phase: str) -> None:
        """Count the time since the last mark to a phase.

        Parameters
        ----------
        phase : str
            One of `PHASES`, or "" to count it nowhere.
        """
        if self._gpu:
            synchronize(self._device)
        now = time.perf_counter()
        if phase:
            self.seconds[phase] += now - self._last
        self._last = now


def silent(phase: str) -> None:
    """Mark nothing."""
