"""Lengths by batch and context: a table for any program, and what an engine that takes batches alone loses by it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from specsim.commands.plan.answer import allowing, later
from specsim.latency import LatencyModel
from specsim.lengths.acceptance import Acceptance
from specsim.speed.grid import batch_schedule, costs, taus
from specsim.speed.prediction import Estimate, predict

FORMAT = "specsim-lengths/1"
COLUMNS = (
    *("batch_first", "batch_last", "context_first", "context_last"),
    *("gamma", "tau", "speedup", "speedup_low", "speedup_high"),
)


class Cell(NamedTuple):
    """Batches and contexts that draft gamma tokens, both ends included; context_last None: and all beyond.

    tau and speedup are those at batch_first and context_first, for which the length is planned.
    """

    batch_first: int
    batch_last: int
    context_first: int
    context_last: int | None
    gamma: int
    tau: float
    speedup: Estimate


class ByBatch(NamedTuple):
    """A length for each range of batches, whatever the context, and the largest share of the speed that it costs."""

    schedule: list[tuple[int, int, int]]
    lost: float
    batch: int
    context: int


def cells(
    latency: LatencyModel,
    acceptance: Acceptance,
    contexts: Sequence[int],
    *,
    max_batch: int,
    max_gamma: int,
    level: float,
    allowed: float = 0.0,
) -> tuple[Cell, ...]:
    """The best length for every batch up to max_batch, from each context to the next; 0 is plain decoding.

    allowed: overhead of a cycle that is in no value, but in intervals' low ends.
    """
    late = later(latency, allowed)
    starts = sorted(set(contexts))
    found = []
    for i, context in enumerate(starts):
        last = starts[i + 1] - 1 if i + 1 < len(starts) else None
        schedule = batch_schedule(latency, acceptance, max_batch=max_batch, context=context, max_gamma=max_gamma)
        for first, end, gamma in schedule:
            one, slower = (
                predict(model, acceptance, gamma=gamma, batch=first, context=context, level=level)
                for model in (latency, late)
            )
            one = allowing(one, slower) if gamma else one
            found.append(Cell(first, end, context, last, gamma, one.tau.value, one.speedup))
    return tuple(found)


def as_csv(found: Sequence[Cell]) -> str:
    """One row a cell; an empty context_last has no end, an empty interval is not known."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows([*one[:6], *one.speedup] for one in found)
    return text.getvalue().rstrip("\n")


def as_json(found: Sequence[Cell], method: str, level: float, words: Sequence[str]) -> str:
    """The same, with what it rests on."""
    rows = [dict(zip(COLUMNS, (*one[:6], *one.speedup), strict=True)) for one in found]
    held = {"format": FORMAT, "method": method, "level": level, "cells": rows, "assumptions": list(words)}
    return json.dumps(held, allow_nan=False)


def by_batch(
    latency: LatencyModel, acceptance: Acceptance, contexts: Sequence[int], *, max_batch: int, max_gamma: int
) -> ByBatch:
    """For each batch the length that loses least at the context where it loses most."""
    tau = taus(acceptance, max_gamma)
    found = costs(latency, np.arange(len(tau)), range(1, max_batch + 1), list(contexts))
    speed = tau[:, None, None] / (found.block + found.rest)
    share = speed / speed.max(axis=0)
    best = share.min(axis=2).argmax(axis=0)
    lost = 1 - share[best, np.arange(max_batch)]  # (B, S)
    at = np.unravel_index(int(lost.argmax()), lost.shape)
    schedule = []
    for gamma, group in groupby(range(1, max_batch + 1), key=lambda b: int(best[b - 1])):
        members = list(group)
        schedule.append((members[0], members[-1], gamma))
    return ByBatch(schedule, float(lost[at]), int(at[0]) + 1, int(contexts[int(at[1])]))
