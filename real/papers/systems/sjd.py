"""Speculative Jacobi decoding: a window of guesses, verified in one pass, and what fails is drawn anew from it."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from real.papers.lab import jacobi as on
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.models.images.data import PIXELS, SIDE
from real.studies.intervals import Estimate, bootstrap, ratio
from specsim.discover import Rule
from specsim.process import jacobi
from specsim.types import Array

NAME = "SJD"
PAPER = "arXiv:2410.01699"
CLAIM = "About 2x fewer steps (2.05x in latency) with the model's law kept; the gain saturates at windows of about 16"
AXES = {
    "drafting": "own rows: of the pass before; new slots copy a neighbour or are drawn evenly",
    "termination": "fixed: a window",
    "management": "chain",
    "verification": "one pass: over the window and the place behind it",
    "acceptance": "tokenwise",
    "order": "raster",
    "carry": "redrawn: slots that were not reached, with this pass's laws",
}
TEST = (
    "The interval of passes a pixel at W = 16 lies below 0.5, that of what W = 32 saves on it below 10 %, and that of "
    "energy per pixel less ancestral sampling's within +-0.05 nats, above which it lies for old tokens under the "
    "newest law; a chi-square test of the first three pixels does not reject at 1 %."
)
HEADLINE = "fewer steps, W = 16, left"
MODELS = ("raster_target",)

WINDOWS, WINDOW, FIRST = (1, 2, 4, 8, 16, 32), 16, ("left", "up", "uniform")
# Limits of TEST.
MOST, SAVES, BAND = 0.5, 0.10, 0.05
PASSES, SAVED = "passes a pixel, W = 16, left", "share of passes that W = 32 saves on W = 16"
ENERGY, OF_RELABELLED = "energy less ancestral, nats a pixel", "energy less ancestral, old tokens under the newest law"
CHI = "chi-square of 3 pixels (its interval: 99 % of samples of the law itself)"
# Pixels and window of the sampling test, in which pixels are filled from every slot.
SHORT, SMALL = 8, 4


def relabelled() -> ModuleType:
    """A wrong process that looks like a gain: slots keep old tokens, with the newest row as their law."""
    wrong = ModuleType("jacobi")

    def advance(state: jacobi.State, rows: Array, rule: ModuleType, u: Array) -> jacobi.State:
        """Advance the process, with the tokens of one that carries old laws."""
        old = jacobi.advance(state._replace(carry="old"), rows, rule, u)
        return jacobi.advance(state, rows, rule, u)._replace(text=old.text)

    vars(wrong).update({name: vars(jacobi)[name] for name in ("start", "ask", "uniforms")}, advance=advance)
    return wrong


def run(lab: Lab) -> Record:
    """Passes by window and initialiser, tests of the law, variants of what is carried, and seconds."""
    measured: dict[str, Estimate] = {}
    passes = _passes(lab, measured)
    _variants(lab, measured, passes)
    exact = _tables()
    exact |= _law(lab, measured)
    measured |= on.faster(lab, partial(on.images, "jacobi", window=WINDOW))
    return Record(exact, measured, {})


def _tables() -> dict[str, float]:
    """Bias of whole texts, and passes, on a binary table: sums over all outcomes."""
    out, laws = {}, on.table(2, 3, 3)
    cases: dict[str, tuple[Rule, dict[str, Any]]] = {
        "tokenwise": ("jacobi", {}),
        "block": ("jacobi", {"rule": "block"}),
        "old laws kept": ("jacobi", {"carry": "old"}),
        "old tokens under the newest law": (relabelled(), {}),
    }
    for name, (process, params) in cases.items():
        bias, passes = on.on_table(laws, 3, process, window=2, **params)
        out[f"bias on a table of 3 positions, {name}"] = float(bias)
        out[f"passes a token on that table, {name}"] = float(passes)
    return out


def _passes(lab: Lab, measured: dict[str, Estimate]) -> dict[tuple[str, int], on.Images]:
    """Every window with every initialiser, on the same digits with the same numbers."""
    which, made = on.labels(lab.texts(256), lab.seed), {}
    for first in FIRST:
        for window in WINDOWS:
            lab.said(f"W = {window}, {first}")
            made[first, window] = on.images("jacobi", which, seed=lab.seed, window=window, first=first, width=SIDE)
            # This case has more images, below.
            if (first, window) != ("left", WINDOW):
                measured[f"passes a pixel, W = {window}, {first}"] = on.passes_a_pixel(made[first, window])
    long, longer = (made["left", window].passes for window in (WINDOW, 2 * WINDOW))
    measured[SAVED] = bootstrap((long, longer), lambda a, b: 1 - b.sum(-1) / a.sum(-1))
    return made


def _variants(lab: Lab, measured: dict[str, Estimate], made: dict[tuple[str, int], on.Images]) -> None:
    """Variants of what a slot carries over: passes, and energies of the wrong one."""
    which, fewest = on.labels(lab.texts(256), lab.seed), made["left", WINDOW].passes
    lab.said("old laws kept")
    old = on.images("jacobi", which, seed=lab.seed, window=WINDOW, carry="old")
    measured["passes a pixel, W = 16, left, old laws kept"] = on.passes_a_pixel(old)
    measured["passes with old laws kept over passes drawn anew"] = ratio(old.passes, fewest)
    wrong = on.images(relabelled(), which, seed=lab.seed, window=WINDOW)
    measured["passes a pixel, W = 16, left, old tokens under the newest law"] = on.passes_a_pixel(wrong)
    plain = on.energies(on.ancestral(which, seed=lab.seed + 1))
    measured[OF_RELABELLED] = on.mean(on.energies(wrong) - plain)


def _law(lab: Lab, measured: dict[str, Estimate]) -> dict[str, float]:
    """Tests of the law under tokenwise and block verification, with the same random numbers."""
    # Energies and passes.
    which = on.labels(lab.texts(1000), lab.seed)
    lab.said("energy: ancestral sampling")
    plain = on.energies(on.ancestral(which, seed=lab.seed + 1))
    lab.said("energy: W = 16")
    tokenwise, block = (
        on.images("jacobi", which, seed=lab.seed, rule=r, window=WINDOW) for r in ("tokenwise", "block")
    )
    measured[PASSES] = on.passes_a_pixel(tokenwise)
    measured[HEADLINE] = ratio(np.full(len(which), PIXELS), tokenwise.passes)
    measured["passes a pixel, W = 16, left, block"] = on.passes_a_pixel(block)
    measured["passes a pixel of block less tokenwise, paired"] = on.mean((block.passes - tokenwise.passes) / PIXELS)
    measured[ENERGY] = on.mean(on.energies(tokenwise) - plain)
    measured["energy less ancestral, nats a pixel, block"] = on.mean(on.energies(block) - plain)

    # Chi-square tests of the first pixels.
    many, detectable = on.labels(lab.texts(20_000), lab.seed + 2), 0.0
    cases: dict[str, tuple[Rule, Rule]] = {
        CHI: ("jacobi", "tokenwise"),
        f"{CHI}, block": ("jacobi", "block"),
        f"{CHI}, old tokens under the newest law": (relabelled(), "tokenwise"),
    }
    for name, (process, rule) in cases.items():
        lab.said(name)
        texts = on.images(process, many, seed=lab.seed, rule=rule, pixels=SHORT, window=SMALL).texts
        measured[name], detectable = on.goodness(texts, on.first_law())
    return {"TV of 3 pixels that the chi-square test finds with 95 %": detectable}


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    measured = record.measured
    passes, energy = measured[PASSES], measured[ENERGY]
    if passes.low > MOST or energy.low > BAND or energy.high < -BAND:
        return "contradicts"
    fewer = passes.high < MOST and measured[SAVED].high < SAVES
    is_near = -BAND < energy.low <= energy.high < BAND < measured[OF_RELABELLED].low
    keeps_law = is_near and measured[CHI].value <= measured[CHI].high
    return "shows" if fewer and keeps_law else "does not show"
