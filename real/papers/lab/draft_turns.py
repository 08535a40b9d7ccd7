"""Times of several drafts' steps and of the target's cycles, taken by turns, and resamples of drafts with times.

On a machine that does other things besides, a turn sees drafts and target alike. An interval has to
hold the spread of prompts, of training seeds and of turns: all three are resampled independently.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from real.decode.clock import PHASES
from real.decode.loop import Loop, keyed
from real.decode.options import DecodeOptions
from real.decode.warp import Warping
from real.models.cache import Cache
from real.models.model import LanguageModel
from real.pair import Pair
from real.studies.calibrate import again
from real.studies.costs import costs_of
from real.studies.intervals import RESAMPLES, Estimate
from specsim.types import Array
from specsim.verify.chain import tokenwise

# Bursts of a draft in a turn, and steps of a burst: a block's drafts follow one another, too.
BURSTS, BURST = 3, 5
# Blocks of a visit that count.
BLOCKS = 2
# Resamples of the turns; all other resamples draw from these, since one of them takes milliseconds.
DRAWN = 400
# Any text will do: a step takes as long after any tokens.
OPENED = list(range(5, 69))
# Phases of a cycle besides the steps of the draft.
OTHERS = ("sample", "verify", "rule", "host")


class Times(NamedTuple):
    """Seconds by draw of turns, (1 + draws, ...): row 0 is of all turns.

    steps: (1 + draws, drafts), a step of each draft. others: (1 + draws, gammas), the rest of a
    cycle with so many drafts. plain: (1 + draws,), a step of the target.
    """

    steps: Array
    others: Array
    plain: Array


class Resamples(NamedTuple):
    """Numbers of each draft, (1 + resamples, drafts): row 0 is the measured value.

    plain: (1 + resamples, 1), a plain step of the target.
    """

    tokens_a_call: Array
    loss: Array
    steps: Array
    cycles: Array
    plain: Array

    @property
    def throughput(self) -> Array:
        """Return tokens a second."""
        return self.tokens_a_call / self.cycles


class ProcessorClock:
    """Seconds of the processor by phase, as `real.decode.clock.Clock` has those of the clock on the wall.

    What the machine does besides makes a long pass wait more often than a short step: so the wait
    is not counted.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._last = time.process_time()

    def mark(self, phase: str) -> None:
        """Count the time since the last mark to a phase; "" counts it nowhere."""
        now = time.process_time()
        if phase:
            self.seconds[phase] += now - self._last
        self._last = now


def taken(both: Pair, drafts: Sequence[LanguageModel], gammas: Sequence[int], turns: int) -> list[dict[str, Any]]:
    """Time, in each turn, bursts of steps of every draft, and blocks of the pair of every length.

    Returns
    -------
    list of dict
        For each turn `steps`, the median seconds of a step of each draft, and `visits`, the phases
        of blocks by their number of drafts (0: plain decoding).
    """
    # A loop of each length, with one clock.
    clock = ProcessorClock()
    options = DecodeOptions(0, warping=Warping(), rule=tokenwise, mark=clock.mark)
    room, uniforms = max(gammas) + 1, [keyed(0, 0)]
    loops = {
        gamma: Loop(both.target, both.draft if gamma else None, [OPENED], room, uniforms, options._replace(gamma=gamma))
        for gamma in (0, *gammas)
    }
    # A cache of each draft, which has read the text.
    caches = [draft.cache() for draft in drafts]
    for cache in caches:
        cache.forward(torch.tensor([OPENED]), 1)

    # The first turn warms up.
    measured = []
    for _ in range(1 + turns):
        bursts = [[_burst(cache) for cache in caches] for _ in range(BURSTS)]
        steps = np.median(np.concatenate(bursts, axis=1), axis=1)
        visits = {str(gamma): _visit(loop, gamma, clock) for gamma, loop in loops.items()}
        measured.append({"steps": steps.tolist(), "visits": visits})
    return measured[1:]


def _visit(loop: Loop, gamma: int, clock: ProcessorClock) -> list[list[float]]:
    """Return seconds (blocks, phases) of blocks with so many drafts; one before them is not counted."""
    blocks = []
    for _ in range(1 + BLOCKS):
        clock.seconds.clear()
        clock.mark("")
        again(loop, gamma)
        clock.mark("host")
        blocks.append([clock.seconds[name] for name in PHASES])
    return blocks[1:]


def _burst(cache: Cache) -> list[float]:
    """Return seconds of steps that follow one another; the cache is as before."""
    token, seconds = torch.tensor([[7]]), []
    for _ in range(BURST):
        began = time.process_time()
        cache.forward(token, 1)
        seconds.append(time.process_time() - began)
    cache.rollback(0, len(OPENED))
    return seconds


def drawn(turns: Sequence[dict[str, Any]], gammas: Sequence[int], seed: int) -> Times:
    """Return the times of all turns, and of as many turns drawn with replacement, `DRAWN` times."""
    rng, count = np.random.default_rng(seed), len(turns)
    samples = [np.arange(count), *(rng.integers(count, size=count) for _ in range(DRAWN))]
    steps = np.array([turn["steps"] for turn in turns])
    others, plain = [], []
    for sample in samples:
        visits = {gamma: [turns[i]["visits"][str(gamma)] for i in sample] for gamma in (0, *gammas)}
        costs = costs_of(visits)
        others.append([sum(costs.phase(name, gamma) for name in OTHERS) for gamma in gammas])
        plain.append(costs.cycle(0))
    return Times(np.array([np.median(steps[sample], axis=0) for sample in samples]), np.array(others), np.array(plain))


def resampled(
    tokens: Array, calls: Array, nats: Array, known: Array, times: Times, chosen: Sequence[int], gammas: Sequence[int]
) -> Resamples:
    """Return each draft's numbers, from all measurements and from resampled ones.

    A resample has its own prompts, its own turns, and one training seed of each draft: so its spread
    is that of single trainings, while the value is that of all seeds together.

    Parameters
    ----------
    tokens : array (prompts,)
        Tokens of the texts.
    calls : array (drafts, seeds, prompts)
        Expected target calls with each draft's own number of drafts.
    nats, known : array (drafts, seeds, prompts) and (prompts,)
        Losses, over so many tokens.
    times : Times
        Of the same drafts.
    chosen : sequence of int
        The number of drafts of each draft, one of `gammas`.
    gammas : sequence of int
        Those of the times.
    """
    rng = np.random.default_rng(0)
    drafts, seeds, prompts = calls.shape
    who = rng.integers(prompts, size=(RESAMPLES, prompts))
    seed = rng.integers(seeds, size=(RESAMPLES, drafts))
    when = np.concatenate([[0], rng.integers(1, len(times.plain), size=RESAMPLES)])

    def sums(values: Array) -> Array:
        """Return sums over prompts (1 + resamples, drafts) of values (drafts, seeds, prompts)."""
        columns = [values[i][seed[:, i][:, None], who].sum(axis=1) for i in range(drafts)]
        return np.concatenate([values.sum(axis=2).mean(axis=1)[None], np.stack(columns, axis=1)])

    def alike(values: Array) -> Array:
        """Return sums (1 + resamples, 1) of values (prompts,) that are the same for all drafts."""
        return np.concatenate([[values.sum()], values[who].sum(axis=1)])[:, None]

    steps, places = times.steps[when], [list(gammas).index(gamma) for gamma in chosen]
    cycles = steps * np.array(chosen) + times.others[when][:, places]
    loss = sums(nats) / alike(known)
    return Resamples(alike(tokens) / sums(calls), loss, steps, cycles, times.plain[when][:, None])


def estimate(values: Array, level: float = 0.95) -> Estimate:
    """Return a number (1 + resamples,) with its percentile interval; row 0 is the value."""
    low, high = np.quantile(values[1:], [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(values[0]), float(low), float(high))
