"""Plots: predicted speedups, predicted beside measured, laws of the block length.

Needs matplotlib (extra `plot`). `docs/_generate/plots.py` makes those of the site anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from specsim.base.files import check_writable, write_bytes
from specsim.claims import rows as published
from specsim.claims import score as validation
from specsim.latency import LatencyModel, roofline
from specsim.lengths.blocks import accepted_length_law
from specsim.lengths.hazards import mixture_length_law
from specsim.lengths.measures import convert_acceptance
from specsim.report import figure as pictures
from specsim.report import heat_maps
from specsim.speed.grid import Given
from specsim.types import Array

# The pair that the site shows: target, draft, device, number of devices, acceptance.
PAIR = ("llama-3.1-70b", "llama-3.2-1b", "h100-sxm", 4, 0.8)
BATCHES = (1, 4, 16, 32, 64, 128, 256, 512)
# Rows of the published speedups that the one overhead is fitted on.
FIT = ("magicdec-001", "magicdec-007", "magicdec-014")


def write_all(folder: Path) -> list[Path]:
    """Write plan.png, validation.png and lengths.png into a folder; return their paths.

    The folder is made if it does not exist.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is no folder")

    # How each picture is drawn.
    target, draft, device, parts, alpha = PAIR
    times = roofline(target, draft, device, tensor_parallel=parts)
    title = f"{target} with {draft} on {parts} x {device}, alpha = {alpha:g}"

    def draw_scatter(axis: Any) -> None:
        """Draw the published rows."""
        scatter(axis, validation.validate(published.shipped(), fit=FIT))

    pictures_by_name: dict[str, Callable[[], bytes]] = {
        "plan.png": lambda: plan(times, alpha, BATCHES, [1024], max_gamma=12, title=title),
        "validation.png": lambda: _figure([draw_scatter]),
        "lengths.png": lambda: _figure([length_laws]),
    }

    # Check all files before the first is drawn.
    for name in pictures_by_name:
        check_writable(folder / name)
    for name, draw in pictures_by_name.items():
        write_bytes(folder / name, draw())
    return [folder / name for name in pictures_by_name]


def plan(
    latency: LatencyModel,
    acceptance: Given,
    batches: Sequence[int],
    contexts: Sequence[int],
    *,
    max_gamma: int,
    title: str = "",
) -> bytes:
    """Return a PNG of the speedup by length and batch, and by batch and context.

    Of one batch the first panel is by length and draft cost. The second needs costs in seconds.
    """
    draws: list[Callable[[Any], None]] = []
    if len(batches) > 1:
        draws.append(lambda axis: heat_maps.by_batch(axis, latency, acceptance, batches, contexts[0], max_gamma))
    else:
        draws.append(lambda axis: heat_maps.by_cost(axis, latency, acceptance, batches[0], contexts[0], max_gamma))
    # Costs as numbers are the same at every batch and context.
    if latency.unit == "s":
        top_batch, top_context = max(1024, *batches), max(131_072, *contexts)
        draws.append(lambda axis: heat_maps.by_context(axis, latency, acceptance, top_batch, top_context, max_gamma))
    return _figure(draws, title)


def scatter(axis: Any, results: validation.Validation) -> None:
    """Draw predicted against measured speedup, a dot for each row; fitted ones are hollow."""
    # The dots of each source: those tested, with a label, and those fitted.
    predicted = [score for score in results.scores if score.predicted is not None]
    for i, source in enumerate(dict.fromkeys(score.source for score in results.scores)):
        scores = [score for score in predicted if score.source == source]
        tested = [(score.measured, score.predicted) for score in scores if score.role != "fitted"]
        fitted = [(score.measured, score.predicted) for score in scores if score.role == "fitted"]
        if tested:
            label = source.partition(" (")[0]
            axis.scatter(*zip(*tested, strict=True), s=18, facecolors=f"C{i}", edgecolors=f"C{i}", label=label)
        if fitted:
            axis.scatter(*zip(*fitted, strict=True), s=50, facecolors="none", edgecolors=f"C{i}", label=None)

    # The diagonal, and the axes' names.
    top = 1.05 * max((max(s.measured, s.predicted) for s in predicted if s.predicted is not None), default=1.0)
    axis.plot([0, top], [0, top], color="black", linewidth=0.8)
    axis.set(xlim=(0, top), ylim=(0, top), aspect="equal")
    axis.text(0.015 * top, 0.03 * top, "measured = predicted", rotation=45, rotation_mode="anchor", fontsize=6)
    axis.set_xlabel("speedup measured (as published)")
    axis.set_ylabel("speedup predicted")
    axis.set_title("published rows (rings: the overhead is fitted on these)", fontsize=9)
    pictures.legend_beside(axis)


def laws_of_one_tau(gamma: int = 8) -> dict[str, Array]:
    """Return three laws of the accepted drafts with one tau, by their names.

    They are two kinds of block, every draft alike, and a forced mean length. The last is the law of
    least variance, which engines use when a mean acceptance length is forced.
    """
    mixed = mixture_length_law([0.3, 0.97], [0.5, 0.5], gamma=gamma)
    mean = float(np.arange(gamma + 1) @ mixed)
    alpha = convert_acceptance(mean, kind="kept", to="alpha", gamma=gamma)
    forced = np.zeros(gamma + 1)
    forced[int(mean)], forced[int(mean) + 1] = 1 - mean % 1, mean % 1
    return {
        "acceptance 0.3 in half the blocks, 0.97 in half": mixed,
        f"acceptance {alpha:.2f} everywhere": accepted_length_law(alpha, gamma=gamma),
        "mean forced": forced,
    }


def length_laws(axis: Any) -> None:
    """Draw the three laws of one tau as bars side by side."""
    laws = laws_of_one_tau()
    for i, (name, law) in enumerate(laws.items()):
        axis.bar(np.arange(len(law)) + (i - 1) * 0.27, law, 0.27, label=name)
    tau = 1 + float(np.arange(len(law)) @ law)
    axis.set_xlabel(f"drafts kept of {len(law) - 1}")
    axis.set_ylabel("probability")
    axis.set_title(f"three laws of the block length, all with tau = {tau:.2f}", fontsize=9)
    # Leave room for the legend.
    axis.set_ylim(0, 1)
    axis.legend(fontsize=7, loc="upper center")


def _figure(draws: Sequence[Callable[[Any], None]], title: str = "") -> bytes:
    """Return a PNG with a panel for each function; the same bytes every time."""
    return pictures.as_png(_drawn(draws, title))


def _drawn(draws: Sequence[Callable[[Any], None]], title: str = "") -> Any:
    """Return the figure with a panel for each function, side by side."""
    figure, axes = pictures.figure(5.4 * len(draws), 3.9, len(draws))
    for axis, draw in zip(axes, draws, strict=True):
        draw(axis)
    if title:
        figure.suptitle(title, fontsize=9)
    return figure
