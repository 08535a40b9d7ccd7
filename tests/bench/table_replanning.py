"""What re-planning gains over a day, simulated: `python tests/bench/table_replanning.py` writes its record.

TEST, fixed before the run. Over days in which batch, context and acceptance change, the controller loses at most 2 % of
the tokens of an oracle that knows the acceptance, and less than the best fixed length of that day: both by the upper
end of a 95 % interval (Student's t over days).

A day is 1,440 minutes. The batch is Poisson around a curve from 1 at night to 192, the context walks between 512 and
16k, the acceptance walks around one level in the morning and another later, with a jump at a random hour. In every
minute each policy decodes a few cycles at that batch and context; what it emits is counted in expectation, exactly, so
the only chance in a score is what the controller saw. The oracle takes the fastest length of every minute.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from specsim import batch_schedule, replanner, roofline
from specsim.base.intervals import student_quantile
from specsim.latency import LatencyModel, ModelShape
from specsim.latency.drafters import of_target
from specsim.types import Array

RECORD = Path(__file__).with_name("replanning.json")
DAYS, MINUTES, CYCLES, MAX_GAMMA = 12, 1440, 12, 8
PRIOR, MEAN = 0.7, 0.7  # what the controller is told, and what the schedule by batch is planned for
ALLOWED = 0.02
PRINTED = {1: 3.42, 8: 2.09, 64: 1.39}  # EAGLE-4 (eagle-harness 0.1.3), on a pair and a device that are not these
RANKS = (0.75, 0.1, 0.04)

Prices = Callable[[int, int], Array]


class Day(NamedTuple):
    """Batch, context and acceptance of each minute."""

    batch: Array
    context: Array
    alpha: Array


def times() -> LatencyModel:
    """Llama-3.1-8B with an EAGLE-3 head on an H100, and 1.4 ms of everything else a cycle."""
    large = ModelShape.named("llama-3.1-8b")
    return roofline(large, of_target(large, "eagle3"), "h100-sxm", overhead_s=1.4e-3)


def day(seed: int, minutes: int = MINUTES) -> Day:
    """A day of this seed."""
    rng = np.random.default_rng(seed)
    clock = np.arange(minutes) / minutes
    mean = 192 ** (0.5 - 0.5 * np.cos(2 * np.pi * clock))
    jump = rng.uniform(0.3, 0.8)
    levels = rng.permutation([0.55, 0.85])
    noise = rng.normal(0, 0.06 * math.sqrt(MINUTES / minutes), (2, minutes))
    walk = [np.zeros(minutes), np.zeros(minutes)]
    for i in range(1, minutes):  # both are pulled back to their means
        for w, step in zip(walk, noise, strict=True):
            w[i] = 0.98 * w[i - 1] + step[i]
    alpha = 1 / (1 + np.exp(-(np.log(levels / (1 - levels))[(clock > jump).astype(int)] + walk[0])))
    context = np.clip(2048 * np.exp(3 * walk[1]), 512, 16384)
    # Contexts and acceptances change in steps, so that costs are asked for again and again at the same points.
    return Day(np.maximum(rng.poisson(mean), 1), (np.round(context / 512) * 512).astype(int), alpha)


def priced(latency: LatencyModel) -> Prices:
    """Seconds of a cycle of 0, 1, ..., MAX_GAMMA drafts by batch and context, each worked out once."""

    @cache
    def cycles(batch: int, context: int) -> Array:
        return np.array([latency.cycle(g, batch, context).value for g in range(MAX_GAMMA + 1)])

    return cycles


def rates(prices: Prices, one: Day) -> Array:
    """Tokens per second (minutes, lengths) of every length in every minute."""
    powers = np.cumsum(one.alpha[:, None] ** np.arange(MAX_GAMMA + 1), axis=1)
    cycles = np.array([prices(int(b), int(s)) for b, s in zip(one.batch, one.context, strict=True)])
    return one.batch[:, None] * powers / cycles


def controlled(one: Day, seed: int, make: Callable[[], Any]) -> Array:
    """Lengths (minutes, cycles) that the controller takes, seeing drafts kept or refused by that day's acceptance."""
    rng, state = np.random.default_rng([seed, 1]), make()
    taken = np.zeros((len(one.batch), CYCLES), dtype=int)
    for i, (b, s, alpha) in enumerate(zip(one.batch.tolist(), one.context.tolist(), one.alpha, strict=True)):
        for j in range(CYCLES):
            g = taken[i, j] = state.choose(b, s).gamma
            if g:
                state = state.observed_blocks(np.minimum(rng.geometric(1 - alpha, b) - 1, g), int(g))
            else:
                state = state.observed()
    return taken


def rate_of(prices: Prices, one: Day, taken: Array) -> Array:
    """Tokens per second of each minute in which these lengths were taken, in expectation."""
    powers = np.cumsum(one.alpha[:, None] ** np.arange(MAX_GAMMA + 1), axis=1)
    cycles = np.array([prices(int(b), int(s)) for b, s in zip(one.batch, one.context, strict=True)])
    emitted = one.batch * np.take_along_axis(powers, taken, axis=1).sum(axis=1)
    return emitted / np.take_along_axis(cycles, taken, axis=1).sum(axis=1)


def scores(latency: LatencyModel, seed: int, minutes: int = MINUTES) -> dict[str, float]:
    """Shares of the oracle's tokens that are lost over a day, by policy."""
    one, prices = day(seed, minutes), priced(latency)
    every = rates(prices, one)
    best = every.max(axis=1).sum()
    lengths = every.sum(axis=0)
    schedule = np.zeros(int(one.batch.max()) + 1, dtype=int)
    planned = batch_schedule(
        latency, MEAN, max_batch=len(schedule) - 1, context=int(np.median(one.context)), max_gamma=MAX_GAMMA
    )
    for first, last, gamma in planned:
        schedule[first : last + 1] = gamma
    by_batch = every[np.arange(len(every)), schedule[one.batch]].sum()
    made = controlled(one, seed, lambda: replanner(latency, PRIOR, max_gamma=MAX_GAMMA))
    return {
        "controller": 1 - float(rate_of(prices, one, made).sum() / best),
        "best fixed length": 1 - float(lengths.max() / best),
        "its length": float(lengths.argmax()),
        "lengths by batch": 1 - float(by_batch / best),
        "never": 1 - float(lengths[0] / best),
    }


def summary(days: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Means with intervals over days, and the verdict."""
    t = student_quantile(0.95, len(days) - 1)

    def mean(values: Sequence[float]) -> list[float]:
        half = t * float(np.std(values, ddof=1)) / math.sqrt(len(values))
        middle = float(np.mean(values))
        return [middle, middle - half, middle + half]

    names = ("controller", "best fixed length", "lengths by batch", "never")
    lost = {name: mean([one[name] for one in days]) for name in names}
    gain = mean([one["controller"] - one["best fixed length"] for one in days])
    holds = lost["controller"][2] <= ALLOWED and gain[2] < 0
    return {"lost": lost, "controller minus best fixed": gain, "holds": bool(holds)}


def choices() -> list[dict[str, Any]]:
    """The controller's first choice at the batches of the printed speedups."""
    found = []
    latency = times()
    for batch, printed in PRINTED.items():
        chain = replanner(latency, RANKS, max_gamma=MAX_GAMMA).choose(batch, 2048)
        tree = replanner(latency, RANKS, max_gamma=MAX_GAMMA, nodes=32).choose(batch, 2048)
        found.append(
            {
                "batch": batch,
                "gamma": chain.gamma,
                "chain": list(chain.speedup),
                "nodes": len(tree.parents),
                "levels": tree.gamma,
                "tree": list(tree.speedup),
                "printed": printed,
            }
        )
    return found


def record() -> dict[str, Any]:
    """All that the table shows."""
    latency = times()
    days = [scores(latency, seed) for seed in range(DAYS)]
    return {"format": "specsim-replanning/1", "days": days, "choices": choices(), **summary(days)}


def markdown(held: dict[str, Any]) -> str:
    """The tables of docs/results/planning.md, as tests/bench/replanning.txt keeps them."""
    lines = ["| policy | tokens of the oracle that it loses, 95% |", "| --- | --- |"]
    lines += [f"| {name} | {_percent(*value)} |" for name, value in held["lost"].items()]
    difference = _percent(*held["controller minus best fixed"])
    verdict = "holds" if held["holds"] else "does not hold"
    lines += ["", f"The controller minus the best fixed length: {difference}. The test {verdict}.", ""]
    lines += ["| requests | chain | speedup | tree: nodes, levels | speedup | EAGLE-4, as printed |"]
    lines += ["| ---: | ---: | ---: | ---: | ---: | ---: |"]
    lines += [
        f"| {one['batch']} | {one['gamma'] or 'off'} | {_span(one['chain'])} | {one['nodes']}, {one['levels']} | "
        f"{_span(one['tree'])} | {one['printed']:.2f} |"
        for one in held["choices"]
    ]
    return "\n".join(lines) + "\n"


def _percent(value: float, low: float, high: float) -> str:
    return f"{100 * value:.2f}% [{100 * low:.2f}, {100 * high:.2f}]"


def _span(one: Sequence[float | None]) -> str:
    value, low, high = one
    return f"{value:.2f}" if low is None or high is None or low == high else f"{value:.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    held = record()
    RECORD.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
    RECORD.with_suffix(".txt").write_text(markdown(held), encoding="utf-8")
