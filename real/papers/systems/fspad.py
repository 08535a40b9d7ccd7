"""FSPAD: EAGLE's layer with a gated fusion, with an output of its own for what is fed back, with both."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from real.models.names import SMOLLM2
from real.papers.lab import aligning
from real.papers.lab import layer_variants as on
from real.papers.lab.answers import texts_of
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.layer_variants import Judged, Plan
from real.papers.lab.seeds import crossed
from real.papers.lab.text_lab import by_prompt
from real.studies.intervals import Estimate
from specsim.types import Array

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
    "objective": "states: cross-entropy with the target's rows, and a tenth of a smooth distance to the states",
}
TEST = (
    "On SmolLM2, with EAGLE's layer of 2.1 M parameters, which learns from scratch for 40 steps of 4 texts that the "
    "target wrote after training prompts; its head has 8,192 tokens; three seeds; blocks of 3 drafts; intervals over "
    "prompts and seeds. By tokens a target call expected along the target's test answers, greedy and at T = 1: the "
    "gain of both changes over a control with as many parameters has an interval above 0 at both temperatures. Each "
    "change alone is reported and decides nothing."
)
PAIR = SMOLLM2
MODELS = ("draft/smollm2/feature",)

TEMPERATURES = (0.0, 1.0)
PLAN, SEEDS, GAMMA = Plan(steps=40, batch=4, unroll=2, rate=2e-3, warmup=8), 3, 3
# Texts to learn from, and to judge on.
LEARNED, JUDGED = 96, 24
ADDED = "gain in tokens a target call"
GAIN = f"{ADDED}, both over control"
HEADLINE = f"{GAIN}, T = 0"
# Variant -> its name in numbers.
VARIANTS = {"both": "both", "control": "control", "fs": "feature sampling", "pad": "partial alignment"}


def run(lab: Lab) -> Record:
    """Train every variant with every seed, and compare them along the same texts."""
    # What all variants share: texts to learn from, and texts to judge on.
    is_full = lab.share >= 0.1
    plan, seeds = (PLAN, SEEDS) if is_full else (PLAN._replace(steps=2, batch=2), 1)
    options = on.variants(lab.pair)

    @cache
    def lesson() -> aligning.Lesson:
        """Return texts to learn from, with the target's states."""
        texts = texts_of(lab, 1.0, "calibration", LEARNED)
        return aligning.lesson(texts, is_stored=True, show_stage=lab.said)

    @cache
    def judged(temperature: float) -> Judged:
        """Return texts to judge on."""
        lab.said(f"the target along test texts, T = {temperature:g}")
        return on.judged(texts_of(lab, temperature, "test", JUDGED), temperature)

    def make(variant: str, seed: int) -> list[list[float]]:
        """Train a variant; return the target calls of each prompt, by temperature."""
        named = lab._replace(said=partial(_show_stage, lab, f"{VARIANTS[variant]}, seed {seed}"))
        net = on.trained(named, options[variant], lesson(), plan, lab.seed + seed)
        return [on.tally_of(net, judged(temperature), GAMMA).blocks.tolist() for temperature in TEMPERATURES]

    def make_shipped() -> list[list[float]]:
        """Judge the shipped layer."""
        net = on.shipped(lab.pair)
        return [on.tally_of(net, judged(temperature), GAMMA).blocks.tolist() for temperature in TEMPERATURES]

    # Target calls (seeds, temperatures, prompts) of each variant.
    long_trained = np.array([lab.keep("shipped layer", make_shipped)] * seeds)
    calls = {}
    for variant in VARIANTS:
        by_seed = [lab.keep(f"{variant}, seed {seed}", partial(make, variant, seed)) for seed in range(seeds)]
        calls[variant] = np.array(by_seed)

    # Tokens a target call, and gains over the control.
    exact = {f"parameters, {words}": float(_size(lab, variant)) for variant, words in VARIANTS.items()}
    exact |= {"seeds": float(seeds), "steps": float(plan.steps)}
    exact["tokens to learn from"] = float(texts_of(lab, 1.0, "calibration", LEARNED).lengths.sum())
    predicted: dict[str, Estimate] = {}
    measured: dict[str, Estimate] = {}
    for i, temperature in enumerate(TEMPERATURES):
        at, texts = f", T = {temperature:g}", texts_of(lab, temperature, "test", JUDGED)
        tokens = np.tile(by_prompt(texts, texts.lengths), (seeds, 1))
        predicted[f"tokens a target call, shipped layer{at}"] = crossed((tokens, long_trained[:, i]), _efficiency)
        for variant, words in VARIANTS.items():
            new, control = calls[variant][:, i], calls["control"][:, i]
            predicted[f"tokens a target call, {words}{at}"] = crossed((tokens, new), _efficiency)
            if variant != "control":
                measured[f"{ADDED}, {words} over control{at}"] = crossed((control, new), _gain)
        tested = measured[f"{GAIN}{at}"]
        exact[f"smallest gain that would show{at}"] = (tested.high - tested.low) / 2
        of_seeds = _gain(calls["control"][:, i].sum(-1), calls["both"][:, i].sum(-1))
        exact[f"least gain of a seed, both over control{at}"] = float(of_seeds.min())
    return Record(exact, measured, predicted)


def _show_stage(lab: Lab, name: str, words: str) -> None:
    """Show a stage of a training with its name."""
    lab.said(f"{name}: {words}")


def _size(lab: Lab, variant: str) -> int:
    """Return how many numbers of a variant are trained."""
    return sum(w.numel() for w in on.untrained(lab.pair, on.variants(lab.pair)[variant], 0).parameters())


def _efficiency(tokens: Array, calls: Array) -> Array:
    """Return tokens a target call."""
    return tokens / calls


def _gain(old: Array, new: Array) -> Array:
    """Return the gain in tokens a target call, from the calls of both along the same texts."""
    return old / new - 1


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    gains = [record.measured[f"{GAIN}, T = {at:g}"] for at in TEMPERATURES]
    if any(gain.high < 0 for gain in gains):
        return "contradicts"
    return "shows" if all(gain.low > 0 for gain in gains) else "does not show"
