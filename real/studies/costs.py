"""The cost of a cycle by phase and length: timed visits, and lines through the timed lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from real.decode.clock import PHASES
from real.studies.intervals import typical
from specsim.types import Array

# Seconds of blocks run one after the other, by phase.
Visit = list[list[float]]


@dataclass(frozen=True)
class Costs:
    """Seconds of a cycle and of its phases for each calibrated gamma.

    `spread` is the quartile range over the median. gammas starts with 0, plain decoding; a list
    holds one number for each gamma. A cycle is `typical` of the visits, as a measured one is
    `typical` of the prompts, and its phases add up to it: so do the lines through them.
    """

    gammas: list[int]
    draft_s: list[float]
    sample_s: list[float]
    verify_s: list[float]
    rule_s: list[float]
    host_s: list[float]
    cycle_s: list[float]
    spread: list[float]

    def cycle(self, gamma: int) -> float:
        """Return predicted seconds of a cycle with gamma drafts, on lines where it was not calibrated."""
        if gamma in self.gammas:
            return self.cycle_s[self.gammas.index(gamma)]
        return sum(self.phase(name, gamma) for name in PHASES)

    def phase(self, name: str, gamma: int) -> float:
        """Return predicted seconds of a phase with gamma drafts.

        It lies on a line through the phase's values at the calibrated gammas from 1 on.
        """
        values = getattr(self, f"{name}_s")
        if gamma in self.gammas:
            return float(values[self.gammas.index(gamma)])
        x, y = np.array(self.gammas[1:]), np.array(values[1:])
        # With one point drafting grows with gamma, and the other phases stay.
        if len(x) == 1:
            grows = name in ("draft", "sample")
            return float(y[0] * gamma / x[0] if grows else y[0])
        slope, level = np.polyfit(x, y, 1)
        # A line that falls is not followed: a few lengths can get cheaper (two tokens can be a slow
        # case), but longer ones do not go on doing so.
        return float(level + slope * gamma if slope > 0 else np.median(y))


def costs_of(visits: Mapping[int, Sequence[Visit]]) -> Costs:
    """Return the costs of cycles, from visits of several lengths.

    Parameters
    ----------
    visits : mapping
        Length, 0 among them, to the values that `Calibration.visit` returned for it.

    Returns
    -------
    Costs
        The cycle is `typical` of the visits. It is split as the blocks in the middle half are, by
        their time.
    """
    gammas, cycles, spread, phases = sorted(visits), [], [], []
    for gamma in gammas:
        # Seconds (blocks, phases), and the cycle that they make.
        parts = np.concatenate([np.array(visit) for visit in visits[gamma]])
        totals = parts.sum(axis=1)
        low, middle, high = np.quantile(totals, [0.25, 0.5, 0.75])
        cycle = typical([np.array(visit).sum(axis=1) for visit in visits[gamma]])
        cycles.append(cycle)
        spread.append(float((high - low) / middle))

        # Split it as the blocks in the middle half are split.
        cut = len(totals) // 4
        phases.append(_split(cycle, parts[np.argsort(totals)[cut : len(totals) - cut]]))
    # `phases` (gammas, phases), as a list for each phase.
    by_phase: dict[str, Any] = {f"{name}_s": [float(parts[i]) for parts in phases] for i, name in enumerate(PHASES)}
    return Costs(gammas=gammas, **by_phase, cycle_s=cycles, spread=spread)


def _split(cycle: float, parts: Array) -> Array:
    """Return phases that add up to a cycle, in the proportions of these blocks (blocks, phases)."""
    mean = parts.mean(axis=0)
    return mean + (cycle - mean.sum()) * mean / mean.sum()
