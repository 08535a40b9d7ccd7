"""Tables of block lengths by batch and context, and by batch alone with what that loses."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from specsim.commands.plan.answer import EVERYWHERE
from specsim.commands.plan.hidden_overhead import widen_low, with_overhead
from specsim.commands.plan.problem import Problem
from specsim.latency import LatencyModel
from specsim.lengths.acceptance_record import Acceptance
from specsim.speed.grid import batch_schedule, costs, taus
from specsim.speed.prediction import Estimate, predict

FORMAT = "specsim-lengths/1"
COLUMNS = (
    *("batch_first", "batch_last", "context_first", "context_last"),
    *("gamma", "tau", "speedup", "speedup_low", "speedup_high"),
)


class Cell(NamedTuple):
    """Batches and contexts, both ends included, that draft gamma tokens a block.

    context_last is None if the cell has no end; measured times end at their last context. tau and speedup are those at
    batch_first and context_first, for which the length is planned.
    """

    batch_first: int
    batch_last: int
    context_first: int
    context_last: int | None
    gamma: int
    tau: float
    speedup: Estimate


class ByBatch(NamedTuple):
    """A block length for each range of batches, whatever the context.

    lost: the largest fraction of the speed that this costs, at `batch` and `context`.
    """

    schedule: list[tuple[int, int, int]]
    lost: float
    batch: int
    context: int


def cells(problem: Problem) -> tuple[Cell, ...]:
    """Return the best length for every batch up to the largest, from each context to the next; 0 is plain decoding."""
    latency, acceptance, search = problem.latency, problem.acceptance, problem.search
    # The low ends of intervals allow for overhead that is in no value.
    late = with_overhead(latency, problem.costs.hidden_overhead)
    starts = sorted(set(search.contexts))
    table = []
    end_of_contexts = starts[-1] if problem.costs.is_measured else None
    for i, context in enumerate(starts):
        last = starts[i + 1] - 1 if i + 1 < len(starts) else end_of_contexts
        schedule = batch_schedule(
            latency, acceptance, max_batch=max(search.batches), context=context, max_gamma=search.max_gamma
        )
        for first, end, gamma in schedule:
            prediction, slower = (
                predict(model, acceptance, gamma=gamma, batch=first, context=context, level=search.level)
                for model in (latency, late)
            )
            if gamma:
                prediction = widen_low(prediction, slower)
            table.append(Cell(first, end, context, last, gamma, prediction.tau.value, prediction.speedup))
    return tuple(table)


def as_csv(table: Sequence[Cell]) -> str:
    """Return one row per cell; an empty context_last has no end, an empty interval is not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([*cell[:6], *cell.speedup] for cell in table)
    return text.getvalue().rstrip("\n")


def as_json(table: Sequence[Cell], problem: Problem) -> str:
    """Return the table with what it rests on, as JSON."""
    rows = [dict(zip(COLUMNS, (*cell[:6], *cell.speedup), strict=True)) for cell in table]
    record = {
        "format": FORMAT,
        "method": problem.costs.method,
        "level": problem.search.level,
        "cells": rows,
        "assumptions": [problem.acceptance.words, EVERYWHERE, *problem.latency.assumptions],
    }
    return json.dumps(record, allow_nan=False)


def by_batch(
    latency: LatencyModel, acceptance: Acceptance, contexts: Sequence[int], *, max_batch: int, max_gamma: int
) -> ByBatch:
    """Return for each batch the length that loses least at the context where it loses most."""
    # Speed of every length at every batch and context, as a fraction of the best length's.
    tau = taus(acceptance, max_gamma)
    times = costs(latency, np.arange(len(tau)), range(1, max_batch + 1), list(contexts))
    # Axes: length, batch, context.
    speed = tau[:, None, None] / (times.block + times.rest)
    share = speed / speed.max(axis=0)
    best = share.min(axis=2).argmax(axis=0)

    # The loss of the choice at each batch and context, and where it is largest.
    lost = 1 - share[best, np.arange(max_batch)]
    worst_batch, worst_context = np.unravel_index(int(lost.argmax()), lost.shape)
    largest_loss = float(lost[worst_batch, worst_context])

    # Neighbouring batches with the same length become one range.
    schedule = []
    for gamma, group in groupby(range(1, max_batch + 1), key=lambda batch: int(best[batch - 1])):
        members = list(group)
        schedule.append((members[0], members[-1], gamma))
    return ByBatch(schedule, largest_loss, int(worst_batch) + 1, int(contexts[int(worst_context)]))
