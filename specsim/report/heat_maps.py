"""Heat maps of the predicted speedup.

There are three: by block length and batch, by block length and draft cost, by batch and context.
Blue is faster than plain decoding, red is slower, white is as fast; twice as fast is as far from
white as half as fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from specsim.latency import LatencyModel
from specsim.report import figure as pictures
from specsim.speed.boundary import context_boundary
from specsim.speed.grid import Given, costs, steps, taus
from specsim.speed.plan import plan as best_plans
from specsim.types import Array

# Columns of cells up to which each cell holds its number.
NUMBERED = 12
# Ticks of an axis of cells, so that their labels do not touch.
TICKS = 12
# Speedups at which the colour bar may have a mark.
MARKS = (
    0.1,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    1,
    1.1,
    1.2,
    1.3,
    1.4,
    1.6,
    1.8,
    2,
    2.5,
    3,
    4,
    5,
    6,
    8,
    10,
    15,
    20,
)
# Ratio of a colour's distance from white above which a number on it is white.
DARK = 0.6


def by_batch(
    axis: Any, latency: LatencyModel, acceptance: Given, batches: Sequence[int], context: int, max_gamma: int
) -> None:
    """Draw the speedup of each block length at each batch; frames mark the best lengths."""
    speed = speedups(latency, acceptance, batches, context, max_gamma)
    lengths, columns = (np.arange(size) for size in speed.shape)
    norm = _cells(axis, columns, lengths, speed)

    # Few cells hold their numbers, the best length of each batch in a frame; many show a line
    # through the best.
    best = speed.argmax(axis=0)
    if len(batches) > NUMBERED:
        axis.plot(columns, best, "k-", drawstyle="steps-mid", linewidth=1.2)
    else:
        for column, length in enumerate(best):
            axis.add_patch(_frame(column, int(length)))
        for (length, column), value in np.ndenumerate(speed):
            ink = "white" if abs(norm(value) - 0.5) > DARK / 2 else "black"
            axis.text(column, length, f"{value:.2f}", ha="center", va="center", fontsize=6, color=ink)

    # Axes of cells have the numbers that were given as their labels.
    shown = columns[:: -(-len(columns) // TICKS)]
    axis.set_xticks(shown, [str(batches[i]) for i in shown])
    axis.set_yticks(lengths, ["off", *map(str, lengths[1:])], fontsize=7)
    axis.set_xlabel("batch (sequences decoded together)")
    axis.set_ylabel("gamma (drafts per block)")
    axis.set_title(f"speedup, predicted; context {context}; black: best gamma", fontsize=9)


def speedups(latency: LatencyModel, acceptance: Given, batches: Sequence[int], context: int, max_gamma: int) -> Array:
    """Return the speedup of each block length from 0 on at each batch, shape (lengths, batches)."""
    tau = taus(acceptance, max_gamma)
    times = costs(latency, np.arange(len(tau)), list(batches), [context])
    return tau[:, None] / (times.block + times.rest)[:, :, 0]


def by_cost(axis: Any, latency: LatencyModel, acceptance: Given, batch: int, context: int, max_gamma: int) -> None:
    """Draw the speedup over gamma and c, with the model's t(m), its c and the best gammas."""
    # Speedups (costs, lengths), at draft costs around the model's.
    tau = taus(acceptance, max_gamma)
    gammas = np.arange(len(tau))
    cycle = costs(latency, gammas, [batch], [context])
    draft_cost = float(cycle.draft[0, 0])
    ratios = np.linspace(0, max(0.3, 1.5 * draft_cost), 121)
    speed = tau / (steps(latency, gammas) * ratios[:, None] + cycle.rest[:, 0, 0])

    # The map, the best length at each cost, and this draft's cost.
    _cells(axis, gammas[1:], ratios, speed[:, 1:])
    best_gammas = 1 + speed[:, 1:].argmax(axis=1)
    axis.plot(best_gammas, ratios, "k-", linewidth=1.2, label="best gamma")
    label = f"this draft, c = {draft_cost:.3f}"
    axis.axhline(draft_cost, color="black", linewidth=0.8, linestyle="--", label=label)
    axis.set_xlabel("gamma (drafts per block)")
    pictures.whole_ticks(axis.xaxis)
    axis.set_ylabel("c, draft step in target steps")
    axis.set_title(f"speedup, predicted; batch {batch}, context {context}", fontsize=9)
    _legend_below(axis)


def by_context(
    axis: Any, latency: LatencyModel, acceptance: Given, top_batch: int, top_context: int, max_gamma: int
) -> None:
    """Draw the best speedup over batch and context, and S*(B), from which context on it helps."""
    # Speedups of the best plan of each batch and context.
    batches = sorted({int(b) for b in np.geomspace(1, top_batch, 33)})
    contexts = sorted({int(s) for s in np.geomspace(64, top_context, 41)})
    plans = best_plans(latency, acceptance, batches=batches, contexts=contexts, max_gamma=max_gamma)
    speed = np.array([plan.speedup.value for plan in plans]).reshape(len(batches), len(contexts))
    _cells(axis, batches, contexts, speed.T)

    # S*(B) is 0 where speculation helps at every context, None where it does not help at the
    # largest. The line begins at the last batch where it is 0.
    options: dict[str, Any] = {"max_gamma": max_gamma, "max_context": top_context}
    edge = [context_boundary(latency, acceptance, batch=b, **options) for b in batches]
    first = next((i for i, s in enumerate(edge) if s), len(edge))
    points = list(zip(batches, edge, strict=True))[max(first - 1, 0) :]
    line = [point for point in points if point[1] is not None]
    if first < len(edge):
        axis.plot(*zip(*line, strict=True), color="black", label="S*(B): helps above")
        _legend_below(axis)
    _powers(axis, batches, contexts)
    axis.set_xlabel("batch (sequences decoded together)")
    axis.set_ylabel("context, tokens")
    axis.set_title("speedup of the best gamma, predicted", fontsize=9)


def _powers(axis: Any, batches: Sequence[int], contexts: Sequence[int]) -> None:
    """Set logarithmic axes of base 2, with ticks at powers of 4."""
    axis.set_xscale("log", base=2)
    axis.set_yscale("log", base=2, nonpositive="clip")
    axis.set_xlim(batches[0], batches[-1])
    axis.set_ylim(contexts[0], contexts[-1])
    across = [4**i for i in range(12) if batches[0] <= 4**i <= batches[-1]]
    up = [4**i for i in range(15) if contexts[0] <= 4**i <= contexts[-1]]
    axis.set_xticks(across, list(map(str, across)))
    axis.set_yticks(up, [f"{tokens // 1024}k" if tokens >= 1024 else str(tokens) for tokens in up])


def _cells(axis: Any, x: Any, y: Any, speed: Any) -> Any:
    """Draw a cell for each speedup, and the colour bar; return the norm of colours."""
    from matplotlib.colors import LogNorm

    # White, in the middle of the map, is as fast as plain decoding.
    low, high = min(float(speed.min()), 1.0), max(float(speed.max()), 1.0)
    reach = max(high, 1 / low, 1.01)
    norm = LogNorm(1 / reach, reach)
    drawn = axis.pcolormesh(x, y, speed, shading="nearest", cmap="RdBu", norm=norm)

    # The bar ends where the data do.
    bar = axis.figure.colorbar(drawn, ax=axis, label="speedup over plain decoding")
    shown = [mark for mark in MARKS if low <= mark <= high]
    bar.set_ticks(shown, labels=[f"{mark:g}" for mark in shown], minor=False)
    bar.set_ticks([], minor=True)
    if low < high:
        bar.ax.set_ylim(low, high)
    return norm


def _frame(column: int, length: int) -> Any:
    """Return the frame of a cell, to be added to its axis."""
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, length - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=1.4)


def _legend_below(axis: Any) -> None:
    """Write the legend under the axes: the colour bar stands at their right."""
    axis.legend(fontsize=7, handlelength=3, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.17))
