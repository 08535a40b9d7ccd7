"""Lumina-mGPT 2.0's sampler as shipped: Jacobi's window, with a rule that changes the law.

What is shipped is told apart from the paper that it cites: a token that replaces a draft is drawn
from p, not from what q leaves over of it. The test here clamps q at 0.99, which theirs does not
(see `specsim.verify.lossy.lumina`).
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from types import ModuleType

import numpy as np

from real.papers.lab import jacobi as on
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.models.images.data import PIXELS
from real.studies.intervals import Estimate, ratio
from specsim.process import jacobi
from specsim.types import Array
from specsim.verify.lossy import lumina

NAME = "Lumina-mGPT 2.0"
PAPER = "arXiv:2507.17801"
CLAIM = (
    "An image in 324 s instead of 694 s, 2.14x, by speculative Jacobi decoding, the method whose own paper (2410.01699)"
    " says that it keeps the model's law"
)
AXES = {
    "drafting": "own rows: of the pass before; new slots are drawn evenly",
    "termination": "fixed: a window of 16",
    "management": "chain",
    "verification": "one pass: over the window and the place behind it",
    "acceptance": "lumina: tokenwise with p in place of the residual, lossy; the clamp of q at 0.99 is ours",
    "order": "raster",
    "carry": "redrawn: slots that were not reached, with this pass's laws",
}
TEST = (
    "The sampler keeps the law if the interval of its mean one-position TV from the target, along the rows of its own "
    "run, lies below 0.01, and contradicts the claim if it lies above; the interval of passes a pixel at W = 16 lies "
    "below 0.5. Energy per pixel less ancestral sampling's is told beside it, and decides nothing."
)
HEADLINE = "fewer steps, W = 16, uniform"
MODELS = ("raster_target",)

WINDOW = 16
# Limits of TEST.
MOST, NONE = 0.5, 0.01
PASSES, BIAS = "passes a pixel, W = 16, uniform", "mean one-position TV from the target, uniform"


def watched(seen: list[tuple[Array, Array]]) -> ModuleType:
    """Jacobi's process, which adds to `seen` each text's sum of `bias` and number of judged drafts.

    A draft is judged if all before it were accepted. Its law, and the target's, are the rows of
    that pass.
    """
    process = ModuleType("jacobi")

    def advance(state: jacobi.State, rows: Array, rule: ModuleType, u: Array) -> jacobi.State:
        """Advance the process, and count the drafts that this pass judges."""
        # The first pass judges none.
        after, number = jacobi.advance(state, rows, rule, u), rows.shape[1] - 1
        if state.laws is None:
            seen.append((np.zeros(len(state.filled)), np.zeros(len(state.filled))))
            return after
        left = state.text.shape[-1] - state.filled
        judged = np.minimum(after.filled - state.filled, np.minimum(left - 1, state.window))
        counts = np.arange(number) < judged[:, None]
        sums, tests = seen[-1]
        sums += (lumina.bias(rows[:, :number], state.laws[:, :number]).numpy() * counts).sum(1)
        tests += counts.sum(1)
        return after

    vars(process).update({name: vars(jacobi)[name] for name in ("start", "ask", "uniforms")}, advance=advance)
    return process


def run(lab: Lab) -> Record:
    """Bias on tables and along rows of the run, energies, passes, and seconds."""
    # Ancestral images, then both initialisers, as shipped and lossless.
    measured: dict[str, Estimate] = {}
    which = on.labels(lab.texts(1000), lab.seed)
    lab.said("ancestral sampling")
    plain = on.energies(on.ancestral(which, seed=lab.seed + 1))
    for first in ("uniform", "left"):
        lab.said(f"as shipped, {first}")
        seen: list[tuple[Array, Array]] = []
        made = on.images(watched(seen), which, seed=lab.seed, rule="lumina", lossy="lumina", window=WINDOW, first=first)
        sums, tests = (np.concatenate(part) for part in zip(*seen, strict=True))
        measured[f"passes a pixel, W = 16, {first}"] = on.passes_a_pixel(made)
        measured[f"fewer steps, W = 16, {first}"] = ratio(np.full(len(which), PIXELS), made.passes)
        measured[f"mean one-position TV from the target, {first}"] = ratio(sums, tests)
        measured[f"energy less ancestral, nats a pixel, {first}"] = on.mean(on.energies(made) - plain)
        lab.said(f"lossless, {first}")
        made = on.images("jacobi", which, seed=lab.seed, window=WINDOW, first=first)
        measured[f"passes a pixel, W = 16, {first}, lossless"] = on.passes_a_pixel(made)
    as_shipped = partial(on.images, "jacobi", rule="lumina", lossy="lumina", window=WINDOW, first="uniform")
    measured |= on.faster(lab, as_shipped)
    return Record(_tables(), measured, {})


def _tables() -> dict[str, float]:
    """Bias of whole texts and passes on the table of `real.papers.systems.sjd`, and bias of one token."""
    out, laws = {}, on.table(2, 3, 3)
    for name, rule, lossy in (("as shipped", "lumina", "lumina"), ("lossless", "tokenwise", None)):
        lost, passes = on.on_table(laws, 3, rule=rule, lossy=lossy, window=2)
        out[f"bias on a table of 3 positions, {name}"] = float(lost)
        out[f"passes a token on that table, {name}"] = float(passes)
    p, q = (np.array([[Fraction(n, 4) for n in row]], dtype=object) for row in ((1, 3), (3, 1)))
    out["bias of one token, p = (1/4, 3/4), q = (3/4, 1/4)"] = float(lumina.bias(p, q)[0])
    return out


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    measured = record.measured
    if measured[BIAS].low > NONE or measured[PASSES].low > MOST:
        return "contradicts"
    return "shows" if measured[BIAS].high < NONE and measured[PASSES].high < MOST else "does not show"
