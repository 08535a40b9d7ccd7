"""Acceptance of every rule beside its family's, as small SVG files that are the same bytes at every build."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
import numpy as np

import specsim
from specsim import discover, trees
from specsim.verify.coupled import acceptance

mpl.use("svg")

import matplotlib.pyplot as plt

RANK = np.arange(1, 25)
WIDE_P, WIDE_Q = ((1 / rank) / (1 / rank).sum() for rank in (RANK, 7 * RANK % 25))  # as in the table of rules
P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
Curves = dict[str, tuple[list[int], list[float]]]
COUNTS = (1, 2, 3, 4)
GAMMAS = (1, 2, 3, 4, 5, 6)
SHAPES = ((2,), (2, 1), (2, 1, 1))


def curves(family: str) -> Curves:
    """Points of every rule of a family, and of what bounds them."""
    made = {
        "step": _step,
        "chain": _chain,
        "tree": _tree,
        "coupled": _coupled,
        "draft": _draft,
        "process": _process,
        "objective": _objective,
    }
    return made[family]() if family in made else {}


def _line(value: Callable[[int], Any], over: tuple[int, ...]) -> tuple[list[int], list[float]]:
    """A rule's points, at the numbers of drafts that it takes."""
    points = []
    for n in over:
        try:
            points.append((n, float(value(n))))
        except ValueError:  # SpecHub draws pairs, rejection one draft
            continue
    return [n for n, _ in points], [y for _, y in points]


def _step() -> Curves:
    def rate(name: str, k: int) -> Any:
        return specsim.acceptance_rate(WIDE_P, WIDE_Q, rule=name, num_drafts=k)

    def label(name: str) -> str:
        return f"{name} (lossy)" if hasattr(discover.find("step", name), "bias") else name

    found = {label(name): _line(partial(rate, name), COUNTS) for name in discover.names("step")}
    return {**found, "optimum, i.i.d. drafts": _line(partial(_best, "iid"), COUNTS)}


def _best(scheme: str, k: int) -> Any:
    return specsim.optimal_acceptance(WIDE_P, WIDE_Q, num_drafts=k, scheme=scheme)


def _chain() -> Curves:
    def tau(name: str, gamma: int) -> Any:
        return specsim.expected_tokens(P, Q, gamma=gamma, rule=name)

    return {name: _line(partial(tau, name), GAMMAS) for name in discover.names("chain")}


def _tree() -> Curves:
    target, draft = (lambda _: P), (lambda _: Q)
    found = {}
    for name in discover.names("tree"):
        scheme = discover.facts(discover.find("tree", name)).schemes[0]
        shapes = [trees.paths(2, len(s)) if scheme == "paths" else trees.k_ary(s) for s in SHAPES]
        kept = [
            1 + float(specsim.expected_kept(target, draft, rule=name, parents=shape, scheme=scheme)) for shape in shapes
        ]
        found[f"{name} ({scheme})"] = ([1, 2, 3], kept)
    return found


def _draft() -> Curves:
    schemes = [name for name in discover.names("draft") if name != "independent"]  # that one has a law for each draft
    return {name: _line(partial(_best, name), COUNTS) for name in schemes}


def _coupled() -> Curves:
    def rate(name: str, k: int) -> Any:
        return acceptance(name, WIDE_P, WIDE_Q, k)

    found = {name: _line(partial(rate, name), (1, 2)) for name in discover.names("coupled")}
    return {**found, "optimum, i.i.d. drafts": _line(partial(_best, "iid"), (1, 2))}


def _process() -> Curves:
    """Passes a token of texts of four tokens, by the first of a process' own numbers: its window, its drafts, ..."""

    def passes(name: str, module: ModuleType, size: int) -> Any:
        told = discover.parameters(module).items()
        numbers = [own for own, parameter in told if str(parameter.annotation).startswith("int")]
        params = dict.fromkeys(numbers[:1], size)
        return specsim.fill(_rolled, name, length=4, draft=Q, params=params).passes / 4

    return {name: _line(partial(passes, name, module), (1, 2, 3)) for name, module in discover.rules("process").items()}


def _objective() -> Curves:
    """The loss of drafts between the target and the pair's own, in tenths of the way: all are 0 at the target."""
    steps = range(11)
    rows = [(1 - n / 10) * P + n / 10 * Q for n in steps]
    unsampled = {
        name: module
        for name, module in discover.rules("objective").items()
        if not discover.objective_facts(module).sampled
    }
    return {
        name: ([*steps], [float(module.loss(P, np.log(row))) for row in rows]) for name, module in unsampled.items()
    }


def _rolled(text: tuple[int, ...]) -> Any:
    return np.roll(P, text[-1] if text else 0)


AXES = {
    "step": ("drafts for one position, K", "acceptance", "Zipf pair on 24 tokens"),
    "chain": ("drafts per block, gamma", "tau, first block", "p = (.5, .3, .2), q = (.1, .3, .6)"),
    "tree": ("depth of a tree with two children at the root", "tau, first block", "p = (.5, .3, .2), q = (.1, .3, .6)"),
    "coupled": ("drafts for one position, K", "acceptance", "Zipf pair on 24 tokens"),
    "draft": ("drafts for one position, K", "largest acceptance of a lossless rule", "Zipf pair on 24 tokens"),
    "objective": ("tenths of the way from p to q", "loss", "p = (.5, .3, .2), q = (.1, .3, .6)"),
    "process": ("window, drafts or frames", "passes a token, 4 tokens", "p = (.5, .3, .2) rolled by the token before"),
}


def _labels(axes: Any, name: str, ends: dict[str, tuple[float, float]]) -> None:
    """Each line's name beside its end, in the margin, moved apart where they would overlap."""
    low, high = axes.get_ylim()
    step, right = (high - low) / 16, axes.get_xlim()[1]
    places: list[float] = []
    ordered = sorted(ends.items(), key=lambda end: end[1][1])
    for _, (_, y) in ordered:
        places.append(max(y, places[-1] + step) if places else y)
    for i in reversed(range(len(places))):  # those that were pushed beyond the top come down again
        places[i] = min(places[i], high if i + 1 == len(places) else places[i + 1] - step)
    for (label, (x, y)), place in zip(ordered, places, strict=True):
        color = "#d1661b" if label.split(" (")[0] == name else "0.35"
        at = (right + 0.02 * (right - axes.get_xlim()[0]), place)
        line = {"arrowstyle": "-", "color": "0.85", "lw": 0.6, "shrinkA": 0, "shrinkB": 2}
        axes.annotate(
            label, (x, y), at, color=color, fontsize=8, va="center", annotation_clip=False, arrowprops=line, zorder=1
        )


def draw(family: str, name: str, known: Curves, path: Path) -> None:
    """One rule in colour, the others in grey, the optimum dashed; every line is named at its end."""
    with mpl.rc_context({"svg.hashsalt": "specsim", "svg.fonttype": "path", "font.size": 9}):
        figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
        for label, (x, y) in known.items():
            own, bound = label.split(" (")[0] == name, label.startswith("optimum")
            color, width = ("#d1661b", 2.4) if own else ("0.25", 1.2) if bound else ("0.7", 1)
            axes.plot(x, y, "o-" if own else "--" if bound else ".-", color=color, lw=width, ms=5, zorder=2 + own)
        _labels(axes, name, {label: (x[-1], y[-1]) for label, (x, y) in known.items()})
        across, up, title = AXES[family]
        axes.set(xlabel=across, ylabel=up)
        axes.set_title(title, fontsize=9, loc="left")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, format="svg", metadata={"Date": None})
        plt.close(figure)
