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
from specsim.speed.boundary import context_boundary
from specsim.speed.grid import Given, costs, steps, taus
from specsim.speed.plan import plan as best_plans
from specsim.types import Array

PAIR = ("llama-3.1-70b", "llama-3.2-1b", "h100-sxm", 4, 0.8)  # what the site shows
FIT = ("magicdec-001", "magicdec-007", "magicdec-014")  # rows that the one overhead is fitted on


def write_all(folder: Path) -> list[Path]:
    """plan.png, validation.png and lengths.png in a folder, made if need be; the names of the files."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is no folder")
    target, draft, device, parts, alpha = PAIR
    times = roofline(target, draft, device, tensor_parallel=parts)
    title = f"{target} with {draft} on {parts} x {device}, alpha = {alpha:g}"
    made: dict[str, Callable[[], bytes]] = {
        "plan.png": lambda: plan(times, alpha, [1], [1024], max_gamma=16, title=title),
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
    """Speedup over gamma and draft cost at the first point, and over batch and context if the times depend on them."""
    draws: list[Callable[[Any], None]] = [
        lambda axis: surface(axis, latency, acceptance, batches[0], contexts[0], max_gamma)
    ]
    if latency.unit == "s":
        draws.append(
            lambda axis: plane(axis, latency, acceptance, max(1024, *batches), max(131_072, *contexts), max_gamma)
        )
    return _figure(draws, title)


def surface(axis: Any, latency: LatencyModel, acceptance: Given, batch: int, context: int, max_gamma: int) -> None:
    """Speedup over gamma and c, with the model's own t(m); the line is its own c, the dots the best gamma for each."""
    tau = taus(acceptance, max_gamma)
    gammas = np.arange(len(tau))
    found = costs(latency, gammas, [batch], [context])
    own = float(found.draft[0, 0])
    ratios = np.linspace(0, max(0.3, 1.5 * own), 121)
    speed = tau / (steps(latency, gammas) * ratios[:, None] + found.rest[:, 0, 0])
    _filled(axis, gammas[1:], ratios, speed[:, 1:])
    axis.plot(1 + speed[:, 1:].argmax(axis=1), ratios, "k.", markersize=2, clip_on=False, label="best gamma")
    axis.axhline(own, color="black", linewidth=0.8, label=f"this draft, c = {own:.3f}")
    axis.set_xlabel("gamma (drafts per block)")
    pictures.whole_ticks(axis.xaxis)
    axis.set_ylabel("c, draft step in target steps")
    axis.set_title(f"speedup, predicted; batch {batch}, context {context}", fontsize=9)
    _legend_below(axis)


def plane(
    axis: Any, latency: LatencyModel, acceptance: Given, top_batch: int, top_context: int, max_gamma: int
) -> None:
    """The best speedup over batch and context, and S*(B), from which context on it helps."""
    batches = sorted({int(b) for b in np.geomspace(1, top_batch, 33)})
    contexts = sorted({int(s) for s in np.geomspace(64, top_context, 41)})
    found = best_plans(latency, acceptance, batches=batches, contexts=contexts, max_gamma=max_gamma)
    speed = np.array([one.speedup.value for one in found]).reshape(len(batches), len(contexts))
    _filled(axis, batches, contexts, speed.T)
    edge = [
        context_boundary(latency, acceptance, batch=b, max_gamma=max_gamma, max_context=top_context) for b in batches
    ]
    first = next((i for i, s in enumerate(edge) if s), len(edge))  # before it helps everywhere: the line comes up there
    line = [spot for spot in list(zip(batches, edge, strict=True))[max(first - 1, 0) :] if spot[1] is not None]
    if first < len(edge):
        axis.plot(*zip(*line, strict=True), color="red", label="S*(B): helps above")
        _legend_below(axis)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log", base=2, nonpositive="clip")
    axis.set_ylim(contexts[0], contexts[-1])
    axis.set_xlabel("batch B")
    axis.set_ylabel("context S, tokens")
    axis.set_title("best speedup, predicted (1: off)", fontsize=9)


def _filled(axis: Any, x: Any, y: Any, speed: Any) -> None:
    low, high = float(speed.min()), float(speed.max())
    levels = np.linspace(low, high, 21) if high > low else 20  # the bar ends where the data do
    drawn = axis.contourf(x, y, speed, levels=levels, cmap="viridis")
    axis.figure.colorbar(drawn, ax=axis, label="predicted speedup", format="%.2f")
    if low < 1 < high:
        edge = axis.contour(x, y, speed, levels=[1.0], colors="white", linewidths=1)
        axis.clabel(edge, fmt={1.0: "speedup 1"}, fontsize=7)


def _legend_below(axis: Any) -> None:
    """Under the axes: the colour bar stands at their right."""
    axis.legend(fontsize=7, handlelength=3, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.17))


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
