"""FSPAD: EAGLE's layer with a gated fusion, with an output of its own for what is fed back, with both."""

from __future__ import annotations

from typing import Any

import numpy as np

from real.draft import feature
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.drafter_training import trained
from real.papers.lab.offsets import acceptance
from real.papers.lab.text_lab import Tally, along, expected, gain, tau
from real.papers.lab.texts import texts
from real.papers.lab.writing import cache, pair, target_digest
from real.studies.intervals import Estimate

NAME = "FSPAD"
PAPER = "arXiv:2408.15562"
CLAIM = "Both changes of EAGLE's layer together keep more drafts than the layer as it is, on every task and model tried"
AXES = {
    "drafting": "features",
    "termination": "fixed",
    "management": "chain: the paper's trees are not grown",
    "verification": "one pass",
    "acceptance": "tokenwise",
    "order": "left to right",
    "carry": "states",
    "objective": "states: a smooth distance to them, and a tenth of cross-entropy with the target's rows",
}
TEST = (
    "On test texts at T = 1 and gamma 4, with three seeds each, trained on the same states in as many steps: the gain "
    "in expected tokens a block of both changes over a control with as many parameters (to 1 %) has an interval above "
    "0 over prompts, sums being over seeds, and is above 0 for each seed."
)
HEADLINE = "gain in tokens a block, both over control"
# Its layers are trained when it runs.
MODELS = ()

GAMMA, TEXTS, SEEDS, STEPS = 4, 128, 3, 150
EACH = "least gain of a seed, both over control"


def recipe(variant: str, seed: int, steps: int) -> dict[str, Any]:
    """The recipe of a variant's layer."""
    plain = {name: value for name, value in feature.RECIPES["feature"].items() if name not in ("fuse", "pad")}
    return plain | feature.VARIANTS[variant] | {"seed": seed, "steps": steps}


def run(lab: Lab) -> Record:
    """Train every variant with every seed, and compare them along the same texts."""
    # Calls of every variant and seed.
    test_texts = texts(1.0).of("test", lab.texts(TEXTS, 2))
    seeds, steps = lab.texts(SEEDS, 1), max(2, round(STEPS * min(1.0, lab.share)))
    work = cache() / f"states-{target_digest()}-{lab.share}"
    exact: dict[str, float] = {}
    measured: dict[str, Estimate] = {}
    predicted: dict[str, Estimate] = {}
    calls: dict[str, list[Tally]] = {}
    for variant in feature.VARIANTS:
        for seed in range(seeds):
            name = f"{variant}, seed {seed}"
            layer = recipe(variant, lab.seed + seed, steps)
            quiet = lab._replace(said=lambda stage, name=name: lab.said(f"{name}: {stage}"))  # type: ignore[misc]
            net = trained(feature, layer, work, quiet)
            lab.said(f"{name}: along test texts")
            along_texts = along(feature.drafter(net, pair().target), test_texts, GAMMA, 1.0)
            calls.setdefault(variant, []).append(expected(test_texts, along_texts, GAMMA))
            if not seed:
                exact[f"parameters, {variant}"] = float(sum(w.numel() for w in net.parameters()))
                for k, share in enumerate(acceptance(test_texts, along_texts), 1):
                    measured[f"acceptance of draft {k}, {variant}, first seed"] = share

    # Gains of sums over seeds, and the least gain of a seed.
    whole = {variant: _summed(tallies) for variant, tallies in calls.items()}
    predicted |= {f"tokens a block of {GAMMA}, {variant}": tau(tallies) for variant, tallies in whole.items()}
    for variant in ("fs", "pad", "both", "eagle"):
        measured[f"gain in tokens a block, {variant} over control"] = gain(whole[variant], whole["control"])
    for variant in ("fs", "pad", "both"):
        measured[f"gain in tokens a block, {variant} over eagle"] = gain(whole[variant], whole["eagle"])
    pairs = zip(calls["both"], calls["control"], strict=True)
    measured[EACH] = min((gain(*pair) for pair in pairs), key=lambda estimate: estimate.value)
    return Record(exact, measured, predicted)


def _summed(tallies: list[Tally]) -> Tally:
    """Tokens and calls of each prompt, over seeds."""
    return Tally(*(np.sum(part, axis=0) for part in zip(*tallies, strict=True)))


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    whole, least = record.measured[HEADLINE], record.measured[EACH]
    if whole.high < 0:
        return "contradicts"
    return "shows" if whole.low > 0 and least.value > 0 else "does not show"
