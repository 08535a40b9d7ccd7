"""Intervals of statistics of times: prompts, turns of timing and visits of cycles are resampled.

An interval over prompts alone treats times as exact. Prompts say nothing of times, nor turns of
acceptance: so each resample draws its prompts, its turns and its visits independently.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from real.decode.warp import Warping
from real.pair import Pair
from real.papers.lab.contract import Lab
from real.papers.lab.text_lab import SAID, TIMED, VISITS
from real.papers.lab.texts import DATA
from real.papers.lab.writing import pair
from real.studies.calibrate import Calibration
from real.studies.costs import Costs, Visit, costs_of
from real.studies.intervals import RESAMPLES, Estimate
from specsim.types import Array
from specsim.verify.chain import tokenwise

# Number of costs from resampled visits. All resamples draw from these: one of them takes
# milliseconds.
DRAWN = 400


class Times(NamedTuple):
    """Costs of a pair's cycles, from all visits and from resampled ones."""

    costs: Costs
    resampled: Sequence[Costs]


class Sample(NamedTuple):
    """The measurements that a statistic is computed from.

    Prompts, turns and times are resampled independently.
    """

    # Arrays (prompts,).
    prompts: tuple[Array, ...]
    # Seconds (steps, turns) of each step; the steps of a turn run one after the other.
    turns: Array
    # Numbers of a cycle, from its costs.
    prices: Callable[[Costs], Sequence[float]]
    times: Times


def recorded(temperature: float) -> Costs:
    """Times of the cycles of SmolLM2 and its draft, as `specsim-real compare` measured them on a quiet machine.

    Parameters
    ----------
    temperature : float
        0 for greedy decoding; any other has the times of temperature 1.

    Returns
    -------
    Costs
        Batch 1, float32, two threads; up to 8 drafts were timed.

    Examples
    --------
    >>> [round(recorded(0.0).cycle(gamma) / recorded(0.0).cycle(0), 2) for gamma in (1, 3, 8)]
    [1.15, 1.12, 1.62]
    """
    held = json.loads((DATA / "smollm2_costs.json").read_text(encoding="utf-8"))
    return Costs(**held["0" if temperature == 0 else "1"])


def own_times(lab: Lab) -> Times:
    """Times of the bundled pair's cycles: measured now, or the lab's costs without spread."""
    if lab.costs is not None:
        return Times(lab.costs["own"], (lab.costs["own"],))
    lab.said(f"time of cycles {SAID['own']}")
    return timed(pair(), lab.texts(VISITS, 2), lab.seed)


def timed(both: Pair, visits: int, seed: int = 0) -> Times:
    """Times of a pair's cycles, from visits of each length.

    Batch 1 at T = 1, as in `text_lab.timed`.
    """
    opened = [list(range(5, 69))]
    calibration = Calibration(
        both.target,
        both.draft,
        opened,
        warping=Warping(),
        rule=tokenwise,
        gammas=TIMED,
    )
    turns = [{gamma: calibration.visit(gamma) for gamma in (0, *TIMED)} for _ in range(visits)]
    return Times(_costs(turns), resampled(turns, seed))


def resampled(turns: Sequence[Mapping[int, Visit]], seed: int = 0) -> list[Costs]:
    """Costs of as many turns, drawn with replacement; in a turn all lengths are visited."""
    rng, count = np.random.default_rng(seed), len(turns)
    samples = [rng.integers(count, size=count) for _ in range(DRAWN)]
    return [_costs([turns[i] for i in sample]) for sample in samples]


def _costs(turns: Sequence[Mapping[int, Visit]]) -> Costs:
    """Costs of the visits of these turns."""
    return costs_of({gamma: [turn[gamma] for turn in turns] for gamma in turns[0]})


def interval(sample: Sample, statistic: Callable[..., Array], level: float = 0.95, seed: int = 0) -> Estimate:
    """A statistic with a percentile interval that holds the spread of prompts and of times.

    Parameters
    ----------
    sample : Sample
        The measurements.
    statistic : callable
        Its arguments: sums over prompts (each (...,)), median seconds of the steps (..., steps),
        prices (..., numbers).
    level : float
        Of the interval.
    seed : int
        Of the resamples.

    Returns
    -------
    Estimate
        The interval is infinite where there is one prompt or one turn: they have no spread.
    """
    # The value.
    rng = np.random.default_rng(seed)
    prompts = [np.asarray(values, dtype=np.float64) for values in sample.prompts]
    sums = [values.sum(-1) for values in prompts]
    medians = np.median(sample.turns, axis=-1)
    measured_prices = np.array(sample.prices(sample.times.costs), dtype=np.float64)
    value = float(statistic(*sums, medians, measured_prices))
    counts = len(prompts[0]), sample.turns.shape[-1]
    if min(counts) < 2:
        return Estimate(value, float("-inf"), float("inf"))

    # Resamples of prompts, of turns and of costs, each drawn independently.
    who, when = (rng.integers(n, size=(RESAMPLES, n)) for n in counts)
    sums = [w[who].sum(-1) for w in prompts]
    medians = np.stack([np.median(row[when], axis=-1) for row in sample.turns], axis=-1)
    table = np.array([sample.prices(costs) for costs in sample.times.resampled], dtype=np.float64)
    prices = table[rng.integers(len(table), size=RESAMPLES)]
    low, high = np.quantile(statistic(*sums, medians, prices), [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, float(low), float(high))
