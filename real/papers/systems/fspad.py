"""FSPAD: EAGLE's layer with a gated fusion, with an output of its own for what is fed back, with both."""

from __future__ import annotations

from typing import Any

import numpy as np

from real.draft import feature
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.drafters import trained
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
MODELS = ()  # its layers are trained when it runs

GAMMA, TEXTS, SEEDS, STEPS = 4, 128, 3, 150
EACH = "least gain of a seed, both over control"


def recipe(variant: str, seed: int, steps: int) -> dict[str, Any]:
    """Of one layer."""
    plain = {name: value for name, value in feature.RECIPES["feature"].items() if name not in ("fuse", "pad")}
    return plain | feature.VARIANTS[variant] | {"seed": seed, "steps": steps}


def run(lab: Lab) -> Record:
    """Every variant with every seed, along the same texts."""
    told = texts(1.0).of("test", lab.texts(TEXTS, 2))
    seeds, steps = lab.texts(SEEDS, 1), max(2, round(STEPS * min(1.0, lab.share)))
    work = cache() / f"states-{target_digest()}-{lab.share}"
    exact: dict[str, float] = {}
    measured: dict[str, Estimate] = {}
    predicted: dict[str, Estimate] = {}
    calls: dict[str, list[Tally]] = {}
    for variant in feature.VARIANTS:
        for seed in range(seeds):
            said = f"{variant}, seed {seed}"
            one = recipe(variant, lab.seed + seed, steps)
            quiet = lab._replace(said=lambda words, said=said: lab.said(f"{said}: {words}"))  # type: ignore[misc]
            net = trained(feature, one, work, quiet)
            lab.said(f"{said}: along test texts")
            found = along(feature.drafter(net, pair().target), told, GAMMA, 1.0)
            calls.setdefault(variant, []).append(expected(told, found, GAMMA))
            if not seed:
                exact[f"parameters, {variant}"] = float(sum(w.numel() for w in net.parameters()))
                for k, share in enumerate(acceptance(told, found), 1):
                    measured[f"acceptance of draft {k}, {variant}, first seed"] = share
    whole = {variant: _summed(some) for variant, some in calls.items()}
    predicted |= {f"tokens a block of {GAMMA}, {variant}": tau(some) for variant, some in whole.items()}
    for variant in ("fs", "pad", "both", "eagle"):
        measured[f"gain in tokens a block, {variant} over control"] = gain(whole[variant], whole["control"])
    for variant in ("fs", "pad", "both"):
        measured[f"gain in tokens a block, {variant} over eagle"] = gain(whole[variant], whole["eagle"])
    each = [gain(*some) for some in zip(calls["both"], calls["control"], strict=True)]
    measured[EACH] = min(each, key=lambda one: one.value)
    return Record(exact, measured, predicted)


def _summed(some: list[Tally]) -> Tally:
    """Tokens and calls of each prompt, over seeds."""
    return Tally(*(np.sum(part, axis=0) for part in zip(*some, strict=True)))


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    whole, least = record.measured[HEADLINE], record.measured[EACH]
    if whole.high < 0:
        return "contradicts"
    return "shows" if whole.low > 0 and least.value > 0 else "does not show"
