"""The picture of a plan: speedup against length, or of the best lengths against batch. Needs the extra `plot`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specsim.base.drawing import MUTED, Line, draw_lines, label_lines, listed_ticks, new_axes, whole_ticks
from specsim.speed.prediction import Prediction


def plot_plans(best: Sequence[Prediction], tried: Sequence[Sequence[Prediction]], axes: Any = None) -> Any:
    """Draw a plan; return matplotlib's Axes."""
    axes = new_axes(axes, "plot")
    batches = list(dict.fromkeys(prediction.batch for prediction in best))
    lines = _over_lengths(tried) if len(batches) == 1 else _over_batches(best)
    draw_lines(axes, lines)
    axes.axhline(1, color=MUTED, linewidth=1)
    # The horizontal axis, and at the best points the length.
    if len(batches) == 1:
        whole_ticks(axes.xaxis)
        axes.set_xlabel("draft tokens in a block, gamma")
        for line, prediction in zip(lines, best, strict=True):
            spot = (prediction.gamma, prediction.speedup.value)
            axes.plot(*spot, "o", color=line.colour, markersize=8, fillstyle="none")
    else:
        listed_ticks(axes, batches)
        axes.set_xlabel("sequences decoded together, batch")
        contexts = list(dict.fromkeys(prediction.context for prediction in best))
        for prediction in best:
            words = f"gamma {prediction.gamma}" if prediction.gamma else "off"
            spot = (prediction.batch, prediction.speedup.value)
            number = contexts.index(prediction.context)
            # The words of the first line stand above it, those of others below theirs.
            offset = (4, -11) if number else (4, 5)
            axes.annotate(words, spot, offset, textcoords="offset points", fontsize=8, color=lines[number].colour)
    # The level of plain decoding, named at the end where the lines are far from it.
    side, edge = ("right", 1) if len(batches) == 1 else ("left", 0)
    offset = (-2, 3) if side == "right" else (2, -11)
    look = {"ha": side, "fontsize": 8, "color": MUTED}
    axes.annotate("plain decoding", (edge, 1), offset, ("axes fraction", "data"), "offset points", **look)
    axes.set_ylabel("speedup over plain decoding")
    label_lines(axes, [line for line in lines if line.label])
    return axes


def _over_lengths(tried: Sequence[Sequence[Prediction]]) -> list[Line]:
    """Return a line over the lengths for each context."""
    return [
        _line(predictions, [prediction.gamma for prediction in predictions], i, len(tried) > 1)
        for i, predictions in enumerate(tried)
    ]


def _over_batches(best: Sequence[Prediction]) -> list[Line]:
    """Return a line of the best lengths over the batch sizes for each context."""
    contexts = list(dict.fromkeys(prediction.context for prediction in best))
    lines = []
    for i, context in enumerate(contexts):
        curve = sorted(
            (prediction for prediction in best if prediction.context == context),
            key=lambda prediction: prediction.batch,
        )
        lines.append(_line(curve, [prediction.batch for prediction in curve], i, len(contexts) > 1))
    return lines


def _line(predictions: Sequence[Prediction], x: Sequence[int], number: int, has_label: bool) -> Line:
    """The line of some predictions, with a band if all have an interval."""
    speedups = [prediction.speedup for prediction in predictions]
    lows = [speedup.low for speedup in speedups if speedup.low is not None]
    highs = [speedup.high for speedup in speedups if speedup.high is not None]
    label = f"context {predictions[0].context:,}" if has_label else ""
    values = [speedup.value for speedup in speedups]
    if len(lows) == len(highs) == len(speedups):
        return Line(label, x, values, f"C{number}", low=lows, high=highs)
    return Line(label, x, values, f"C{number}")
