"""What the controls of a page compute with: costs of cycles by batch, context and length, in plain steps."""

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
PLANE = range(13)  # lengths tried in the plane of batch and context
RATIOS = 16  # rows of the plane of length and cost
Row = dict[str, Any]


class Costs(NamedTuple):
    """A model of time, and what it is called."""

    latency: LatencyModel
    words: str


def costs(records: Sequence[Record]) -> Costs | None:
    """Those of the first plan whose costs can be made again."""
    found = (_asked(record) for record in records if record.kind == "plan")
    return next((one for one in found if one is not None), None)


def example() -> Costs:
    """Those of the pair that the site's plots show."""
    target, draft, device, parts, _ = PAIR
    latency = roofline(target, draft, device, tensor_parallel=parts)
    return Costs(latency, f"{target} with {draft} on {parts} x {device}, predicted")


def _asked(record: Record) -> Costs | None:
    asked = record.held["asked"]
    overhead = asked["overhead"] or 0.0
    if asked["cost_ratio"] is not None:
        latency = constant(asked["cost_ratio"], verify_cost=asked["verify_cost"], overhead=overhead)
        return Costs(latency, f"{record.name}: a draft step costs {asked['cost_ratio']:g} target steps, as declared")
    ways = {"tensor_parallel": asked["tp"], "draft_tensor_parallel": asked["draft_tp"], "dtype": asked["dtype"]}
    try:
        latency = roofline(asked["target"], asked["draft"], asked["hardware"], **ways, overhead_s=overhead / 1e3)
    except (ValueError, TypeError):  # a comparison's own times, or a drafter that is no model of the table
        return None
    words = f"{asked['target']} with {asked['draft']} on {asked['tp']} x {asked['hardware']}"
    return Costs(latency, f"{record.name}: {words}, predicted")


def by_length(latency: LatencyModel) -> list[Row]:
    """b, g: the batch and the length; d, r: a draft step, and the rest of the cycle."""
    most = _most(latency)
    found = grid.costs(latency, np.arange(most + 1), BATCHES, [CONTEXT])
    return [
        {"b": b, "g": g, "d": _short(found.draft[i, 0]), "r": _short(found.rest[g, i, 0])}
        for i, b in enumerate(BATCHES)
        for g in range(most + 1)
    ]


def by_ratio(latency: LatencyModel) -> list[Row]:
    """The same for draft costs from c0 to c1, at their middle c; gamma = 0 aside."""
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
    """The same by batch b and context s; nothing where they do not matter."""
    if latency.unit != "s":
        return []
    found = grid.costs(latency, np.array(PLANE), BATCHES, CONTEXTS)
    return [
        {"b": b, "s": s, "g": g, "d": _short(found.draft[i, j]), "r": _short(found.rest[g, i, j])}
        for i, b in enumerate(BATCHES)
        for j, s in enumerate(CONTEXTS)
        for g in PLANE
    ]


def _most(latency: LatencyModel) -> int:
    """The longest length that the model knows the time of."""
    most = max(GAMMAS)
    while most > 1:
        try:
            latency.target(most + 1, 1, CONTEXT)
            break
        except ValueError:  # a curve that is shorter
            most -= 1
    return most


def _short(value: float) -> float:
    """Five digits: what a page shows has three."""
    return float(f"{value:.5g}")
