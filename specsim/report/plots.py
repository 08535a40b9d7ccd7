"""Plots: speedup by draft cost, length, batch and context; predicted beside measured; laws of the block length.

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

PAIR = ("llama-3.1-70b", "llama-3.2-1b", "h100-sxm", 4, 0.8)  # what the site shows
BATCHES = (1, 4, 16, 32, 64, 128, 256, 512)
FIT = ("magicdec-001", "magicdec-007", "magicdec-014")  # rows that the one overhead is fitted on


def write_all(folder: Path) -> list[Path]:
    """plan.png, validation.png and lengths.png in a folder, made if need be; the names of the files."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is no folder")
    target, draft, device, parts, alpha = PAIR
    times = roofline(target, draft, device, tensor_parallel=parts)
    title = f"{target} with {draft} on {parts} x {device}, alpha = {alpha:g}"
    made: dict[str, Callable[[], bytes]] = {
        "plan.png": lambda: plan(times, alpha, BATCHES, [1024], max_gamma=12, title=title),
        "validation.png": lambda: _figure(
            [lambda axis: scatter(axis, validation.validate(published.shipped(), fit=FIT))]
        ),
        "lengths.png": lambda: _figure([length_laws]),
    }
    for name in made:
        check_writable(folder / name)
    for name, draw in made.items():
        write_bytes(folder / name, draw())
    return [folder / name for name in made]


def plan(
    latency: LatencyModel,
    acceptance: Given,
    batches: Sequence[int],
    contexts: Sequence[int],
    *,
    max_gamma: int,
    title: str = "",
) -> bytes:
    """Speedup by length and batch, of one batch by length and draft cost; and by batch and context in seconds."""
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


def scatter(axis: Any, found: validation.Validation) -> None:
    """Predicted against measured speedup, a dot for each row that is predicted; fitted ones are hollow."""
    for i, source in enumerate(dict.fromkeys(score.source for score in found.scores)):
        for fitted in (False, True):
            mine = [
                (score.measured, score.predicted)
                for score in found.scores
                if score.source == source and score.predicted is not None and (score.role == "fitted") is fitted
            ]
            if mine:
                face = "none" if fitted else f"C{i}"
                label = None if fitted else source.partition(" (")[0]
                axis.scatter(
                    *zip(*mine, strict=True), s=50 if fitted else 18, facecolors=face, edgecolors=f"C{i}", label=label
                )
    top = 1.05 * max((max(s.measured, s.predicted) for s in found.scores if s.predicted is not None), default=1.0)
    axis.plot([0, top], [0, top], color="black", linewidth=0.8)
    axis.set(xlim=(0, top), ylim=(0, top), aspect="equal")
    axis.text(0.015 * top, 0.03 * top, "measured = predicted", rotation=45, rotation_mode="anchor", fontsize=6)
    axis.set_xlabel("speedup measured (as published)")
    axis.set_ylabel("speedup predicted")
    axis.set_title("published rows (rings: the overhead is fitted on these)", fontsize=9)
    pictures.legend_beside(axis)


def laws_of_one_tau(gamma: int = 8) -> dict[str, Array]:
    """Three laws of the kept drafts with one tau: two kinds of block, every draft alike, and a forced mean length.

    The last is the law of least variance, which engines use when a mean acceptance length is forced.
    """
    mixed = mixture_length_law([0.3, 0.97], [0.5, 0.5], gamma=gamma)
    kept = float(np.arange(gamma + 1) @ mixed)
    alpha = convert_acceptance(kept, kind="kept", to="alpha", gamma=gamma)
    forced = np.zeros(gamma + 1)
    forced[int(kept)], forced[int(kept) + 1] = 1 - kept % 1, kept % 1
    return {
        "acceptance 0.3 in half the blocks, 0.97 in half": mixed,
        f"acceptance {alpha:.2f} everywhere": accepted_length_law(alpha, gamma=gamma),
        "mean forced": forced,
    }


def length_laws(axis: Any) -> None:
    """Those laws as bars side by side."""
    laws = laws_of_one_tau()
    for i, (name, law) in enumerate(laws.items()):
        axis.bar(np.arange(len(law)) + (i - 1) * 0.27, law, 0.27, label=name)
    tau = 1 + float(np.arange(len(law)) @ law)
    axis.set_xlabel(f"drafts kept of {len(law) - 1}")
    axis.set_ylabel("probability")
    axis.set_title(f"three laws of the block length, all with tau = {tau:.2f}", fontsize=9)
    axis.set_ylim(0, 1)  # room for the legend
    axis.legend(fontsize=7, loc="upper center")


def _figure(draws: Sequence[Callable[[Any], None]], title: str = "") -> bytes:
    """A PNG with a panel for each; the same bytes every time."""
    return pictures.as_png(_drawn(draws, title))


def _drawn(draws: Sequence[Callable[[Any], None]], title: str = "") -> Any:
    figure, axes = pictures.figure(5.4 * len(draws), 3.9, len(draws))
    for axis, draw in zip(axes, draws, strict=True):
        draw(axis)
    if title:
        figure.suptitle(title, fontsize=9)
    return figure
