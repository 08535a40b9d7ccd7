"""Costs of cycles by batch, context and length, in plain steps: the controls of a page use them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from specsim.latency import LatencyModel, constant, roofline
from specsim.report.page.records import Record
from specsim.report.plots import PAIR
from specsim.speed import grid

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
CONTEXTS = (256, 1024, 4096, 16_384, 32_768, 65_536, 131_072)
CONTEXT = 1024
GAMMAS = range(17)
# Lengths that are tried in the plane of batch and context.
PLANE = range(13)
# Rows of the plane of length and cost.
RATIOS = 16
Row = dict[str, Any]


class Costs(NamedTuple):
    """A latency model, and its name."""

    latency: LatencyModel
    words: str


def costs(records: Sequence[Record]) -> Costs | None:
    """Return the costs of the first plan whose latency model can be built from its record."""
    models = (_costs_of_plan(record) for record in records if record.kind == "plan")
    return next((model for model in models if model is not None), None)


def example() -> Costs:
    """Return the costs of the pair that the site's plots show."""
    target, draft, device, parts, _ = PAIR
    latency = roofline(target, draft, device, tensor_parallel=parts)
    return Costs(latency, f"{target} with {draft} on {parts} x {device}, predicted")


def _costs_of_plan(record: Record) -> Costs | None:
    """Return the costs that a plan was made with, None if its record cannot give them."""
    # Costs as numbers.
    asked = record.held["asked"]
    overhead = asked["overhead"] or 0.0
    if asked["cost_ratio"] is not None:
        latency = constant(asked["cost_ratio"], verify_cost=asked["verify_cost"], overhead=overhead)
        return Costs(latency, f"{record.name}: a draft step costs {asked['cost_ratio']:g} target steps, as declared")

    # A roofline. A plan from measured times, or with a drafter that is no model of the tables, has
    # none.
    options = {"tensor_parallel": asked["tp"], "draft_tensor_parallel": asked["draft_tp"], "dtype": asked["dtype"]}
    try:
        latency = roofline(asked["target"], asked["draft"], asked["hardware"], **options, overhead_s=overhead / 1e3)
    except (ValueError, TypeError):
        return None
    words = f"{asked['target']} with {asked['draft']} on {asked['tp']} x {asked['hardware']}"
    return Costs(latency, f"{record.name}: {words}, predicted")


def by_length(latency: LatencyModel) -> list[Row]:
    """Return rows of batch b and length g: d is a draft step, r the rest of the cycle."""
    most = _most(latency)
    cycle = grid.costs(latency, np.arange(most + 1), BATCHES, [CONTEXT])
    return [
        {"b": b, "g": g, "d": _short(cycle.draft[i, 0]), "r": _short(cycle.rest[g, i, 0])}
        for i, b in enumerate(BATCHES)
        for g in range(most + 1)
    ]


def by_ratio(latency: LatencyModel) -> list[Row]:
    """Return the rows of `by_length`, without g = 0, at draft costs c from c0 to c1."""
    rows = by_length(latency)
    top = max(0.3, 1.5 * max(row["d"] for row in rows))
    edges = [_short(edge) for edge in np.linspace(0, top, RATIOS + 1)]
    spans = [(low, high, _short((low + high) / 2)) for low, high in pairwise(edges)]
    return [
        {"b": row["b"], "g": row["g"], "r": row["r"], "d": row["d"], "c0": low, "c1": high, "c": middle}
        for row in rows
        if row["g"]
        for low, high, middle in spans
    ]


def by_context(latency: LatencyModel) -> list[Row]:
    """Return such rows by batch b and context s; none where these do not matter."""
    if latency.unit != "s":
        return []
    cycle = grid.costs(latency, np.array(PLANE), BATCHES, CONTEXTS)
    return [
        {"b": b, "s": s, "g": g, "d": _short(cycle.draft[i, j]), "r": _short(cycle.rest[g, i, j])}
        for i, b in enumerate(BATCHES)
        for j, s in enumerate(CONTEXTS)
        for g in PLANE
    ]


def _most(latency: LatencyModel) -> int:
    """Return the longest length whose pass the model knows the time of."""
    # A measured curve may be shorter than the longest length.
    most = max(GAMMAS)
    while most > 1:
        try:
            latency.target(most + 1, 1, CONTEXT)
            break
        except ValueError:
            most -= 1
    return most


def _short(value: float) -> float:
    """Return the value with five digits; a page shows three."""
    return float(f"{value:.5g}")
