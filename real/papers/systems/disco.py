"""DISCO: a classifier decides after each draft whether there is to be another.

Other rules that may stop drafting are measured beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.models.names import SMOLLM2
from real.papers.lab import rollouts as on
from real.papers.lab import stopping
from real.papers.lab.answers import prompts_of, texts_of
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.pairs import ends, pair_named
from real.papers.lab.rollouts import Rollouts
from real.papers.lab.stopping import Setting
from real.papers.lab.text_lab import costs, cycle, small
from real.papers.lab.texts import Part
from real.papers.lab.times import recorded
from real.studies.intervals import Estimate
from specsim import discover, optimal_stopping
from specsim.control._confidence import network
from specsim.types import Array

NAME = "DISCO"
PAPER = "arXiv:2405.04304"
CLAIM = "About 10.3 % faster than the best baselines, heuristics included (greedy, larger pairs)"
AXES = {
    "drafting": "smaller model",
    "termination": "classifier + survival: thresholds on the network's chance, or on the product of its chances",
    "management": "chain",
    "verification": "one pass",
    "acceptance": "tokenwise",
    "order": "left to right",
    "carry": "nothing",
}
TEST = (
    "Greedy, in the decode loop of SmolLM2 after the test prompts, at the recorded times of its cycles: the method as "
    "published, one threshold on the network's chance, is faster than the best fixed length, and than the heuristic "
    "of two drafts more or one less, each tuned on validation prompts; both intervals, which hold together at 95 %, "
    "lie above 0, and with acceptances shuffled, of which signals say nothing, the first, along the target's answers, "
    "does not. T = 1, other costs and the product of the network's chances are reported and decide nothing."
)
GAMMA, STEPS, BINS, REACH = 10, 500, 3, 8
# Texts to learn from, to tune on, and to test on; tokens of a decoded text.
TEXTS: dict[Part, int] = {"calibration": 96, "validation": 48, "test": 84}
DECODED_TOKENS = 128
TEMPERATURES = (0.0, 1.0)
# Cost of a draft step over a target step, which costs the same for any number of tokens.
RATIOS = (0.05, 0.1, 0.2)
RECORDED = "recorded times"
CAPS, THRESHOLDS = (2, 3, 4, 6, 8, 10), tuple(np.arange(0.02, 0.96, 0.04).round(2).tolist())
PRODUCT, EACH, STATIC = "product of the network's chances", "the network's chance alone, as published", "static"
HEURISTIC = "heuristic, two more or one less"
# The end of a name whose interval holds together with another.
OF_TWO, LEVEL_OF_TWO = " (of two at 95 %)", 1 - 0.05 / 2


def gained(name: str, temperature: float, cost: str = RECORDED, over: str = STATIC) -> str:
    """The name of what a controller gains."""
    return f"{name} over {over}, T = {temperature:g}, {cost}"


LOOP = ", in the decode loop"
HEADLINE = gained(EACH, 0.0) + LOOP + OF_TWO
OVER_HEURISTIC = gained(EACH, 0.0, over=HEURISTIC) + LOOP + OF_TWO
NOTHING = f"{gained(EACH, 0.0)}, acceptances shuffled"
# What is decoded, and over what it gains.
DECODED = ((EACH, STATIC), (EACH, HEURISTIC), (PRODUCT, STATIC))
PAIR = SMOLLM2
MODELS = ("draft/smollm2/lowrank",)


class Parts(NamedTuple):
    """Blocks to learn from, to tune on, and to test on."""

    calibration: Rollouts
    validation: Rollouts
    test: Rollouts


def run(lab: Lab) -> Record:
    """Gains of every family at every cost, tuned on validation texts; controls; the decode loop."""
    exact: dict[str, float] = {}
    measured: dict[str, Estimate] = {}
    predicted: dict[str, Estimate] = {}
    for temperature in TEMPERATURES:
        lab.said(f"blocks at T = {temperature:g}")
        parts = Parts(*(_part(lab, temperature, part) for part in TEXTS))
        layers = {own: _network(lab, parts.calibration, own) for own in (False, True)}
        families = _families(layers, whole=lab.share >= 0.1)
        tried = {name: stopping.lengths_of(parts.validation, family) for name, family in families.items()}

        # Each cost: the settings that are best on validation texts, on test texts.
        for cost, times in _costs(lab, temperature).items():
            lab.said(f"T = {temperature:g}, {cost}")
            chosen = {name: stopping.tuned(parts.validation, drafts, times) for name, drafts in tried.items()}
            for name in [name for name in chosen if name != STATIC]:
                found = stopping.gain(parts.test, chosen[name], chosen[STATIC], times)
                measured[gained(name, temperature, cost)] = found
            exact[f"best static length, T = {temperature:g}, {cost}"] = chosen[STATIC].most
            bound = stopping.bound(parts.test, chosen[STATIC], times)
            measured[gained("clairvoyant (a bound)", temperature, cost)] = bound
            if cost == RECORDED:
                measured |= _in_the_loop(lab, chosen, times, temperature)

        # A bound on policies of the network's score, rankings, and the control.
        for ratio in _ratios(lab):
            best = _binned(parts.test, layers[False], ratio)
            name = gained(f"best policy of {BINS} bins of the network's chance", temperature, f"{ratio:g}")
            predicted[name] = Estimate(best, best, best)
        exact |= _rankings(parts.test, layers, temperature)
        if temperature == 0:
            measured[NOTHING] = _control(lab, parts)
    return Record(exact, measured, predicted)


def _part(lab: Lab, temperature: float, part: Part) -> Rollouts:
    """Blocks along a part's texts; greedy texts are one after each prompt, for a second would be the same."""
    count = TEXTS[part] if temperature > 0 else min(TEXTS[part], len(prompts_of(lab.pair, part)))
    return on.rolled(texts_of(lab, temperature, part, count), GAMMA, temperature, lab.seed)


def _network(lab: Lab, part: Rollouts, own: bool) -> Any:
    """A network that is trained on blocks; in a trial with fewer steps."""
    return on.trained(part, own=own, steps=max(20, round(STEPS * min(1.0, 4 * lab.share))), seed=lab.seed)


def _families(layers: dict[bool, Any], whole: bool = True) -> dict[str, list[Setting]]:
    """The settings to try, by family: every threshold, or a few of them, with every cap."""

    def thresholds(name: str, threshold: str, **params: Any) -> list[Setting]:
        """Settings of a controller with a threshold."""
        tried = THRESHOLDS if whole else THRESHOLDS[::6]
        return [Setting(name, {threshold: value, **params}, most) for value in tried for most in CAPS]

    return {
        STATIC: [Setting("static", {"gamma": most}, most) for most in range(1, GAMMA + 1)],
        "largest probability": thresholds("threshold", "eta"),
        "own probability, as in transformers": thresholds("threshold", "eta", signal="own"),
        "product of largest probabilities": thresholds("survival", "theta"),
        EACH: thresholds("classifier", "theta", weights=layers[False]),
        PRODUCT: thresholds("survival", "theta", weights=layers[False]),
        "product, the network reading the own probability": thresholds("survival", "theta", weights=layers[True]),
        HEURISTIC: [Setting("heuristic", {"first": 4}, most) for most in CAPS],
        "threshold of transformers' ROC": [Setting("roc", {}, most) for most in CAPS],
    }


def _ratios(lab: Lab) -> tuple[float, ...]:
    """Costs of a draft step over a target step; in a trial that of TEST alone."""
    return RATIOS if lab.share >= 0.1 else RATIOS[1:2]


def _costs(lab: Lab, temperature: float) -> dict[str, Array]:
    """Time of a cycle of g = 0 .. GAMMA drafts over a plain step, by assumed or recorded cost."""
    drafts = np.arange(GAMMA + 1)
    found = {f"{ratio:g}": 1 + ratio * drafts for ratio in _ratios(lab)}
    is_recorded = lab.pair == SMOLLM2 and lab.costs is None
    told = recorded(temperature) if is_recorded else costs(lab, "own")
    return found | {RECORDED: np.array([cycle(told, g) for g in range(GAMMA + 1)]) / told.cycle(0)}


def _control(lab: Lab, parts: Parts) -> Estimate:
    """The gain on blocks whose acceptances do not depend on the signals."""
    lab.said("acceptances shuffled")
    mixed = Parts(*(on.shuffled(part, lab.seed + i) for i, part in enumerate(parts)))
    times = _costs(lab, 0.0)[RECORDED]
    layers = dict.fromkeys((False, True), _network(lab, mixed.calibration, False))
    settings = _families(layers, whole=lab.share >= 0.1)
    tried = {name: stopping.lengths_of(mixed.validation, settings[name]) for name in (EACH, STATIC)}
    chosen = {name: stopping.tuned(mixed.validation, drafts, times) for name, drafts in tried.items()}
    return stopping.gain(mixed.test, chosen[EACH], chosen[STATIC], times)


def _binned(part: Rollouts, layers: Any, ratio: float) -> float:
    """Gain of the best policy of binned scores, a Markov chain (T25), over the best static length."""
    # Probabilities (depth, bin before, bin, accepted).
    score, weight = network(part.signals, layers), on.reached(part.accept)
    edges = np.quantile(score, np.arange(1, BINS) / BINS)
    bins: Array = np.searchsorted(edges, score)
    before = np.concatenate([0 * bins[..., :1], bins[..., :-1]], axis=-1)
    table = np.zeros((REACH, BINS, BINS, 2))
    for i, kept in itertools.product(range(REACH), range(2)):
        mass = weight[..., i] * (part.accept[..., i] if kept else 1 - part.accept[..., i])
        np.add.at(table[i, ..., kept], (before[..., i], bins[..., i]), mass)
    total = table.sum((-2, -1), keepdims=True)
    table = np.where(total > 0, table / np.where(total > 0, total, 1), 1 / (2 * BINS))
    best = optimal_stopping(table, cost_ratio=ratio)
    return float(best.speedup / best.static.speedup - 1)


def _rankings(part: Rollouts, layers: dict[bool, Any], temperature: float) -> dict[str, float]:
    """AUC of each signal for the acceptance of drafts that are reached."""
    scores = {
        "the network": network(part.signals, layers[False]),
        "the network that reads the own probability": network(part.signals, layers[True]),
        "the largest probability": part.signals.top[..., 0],
        "less entropy": -part.signals.entropy,
    }
    return {f"AUC of {name}, T = {temperature:g}": on.ranking(score, part) for name, score in scores.items()}


def _in_the_loop(lab: Lab, chosen: Mapping[str, Setting], times: Array, temperature: float) -> dict[str, Estimate]:
    """Return what the first of each pair of `DECODED` gains over the second in the decode loop, on the test prompts."""
    by_name = {
        name: _decoded(lab, chosen[name], times, temperature) for name in dict.fromkeys(itertools.chain(*DECODED))
    }
    found = {}
    for new, old in DECODED:
        is_tested = temperature == 0 and new == EACH
        level, words = (LEVEL_OF_TWO, OF_TWO) if is_tested else (0.95, "")
        name = gained(new, temperature, over=old) + LOOP + words
        found[name] = stopping.gain_of(by_name[new], by_name[old], level)
    return found


def _decoded(lab: Lab, setting: Setting, times: Array, temperature: float) -> tuple[Array, Array]:
    """Tokens, and time at these times of cycles, of each test prompt in the decode loop."""
    lab.said(f"decoding at T = {temperature:g} with {setting.name}")
    prompts = prompts_of(lab.pair, "test")[: lab.texts(TEXTS["test"])]
    runs = decode_batch(
        pair_named(lab.pair).target,
        None,
        prompts,
        max_tokens=max(16, round(DECODED_TOKENS * min(1.0, 4 * lab.share))),
        gamma=setting.most,
        uniforms=[keyed(lab.seed + 1, i) for i in range(len(prompts))],
        warping=Warping(temperature),
        stop=ends(lab.pair),
        proposer=small(lab.pair),
        controller=discover.with_params(discover.find("control", setting.name), setting.params),
    )
    tokens = np.array([float(len(one.tokens)) for one in runs])
    return tokens, np.array([sum(times[block.drafted] for block in one.blocks) for one in runs])


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    found = [record.measured[name] for name in (HEADLINE, OVER_HEURISTIC)]
    if any(one.high < 0 for one in found):
        return "contradicts"
    is_shown = all(one.low > 0 for one in found) and record.measured[NOTHING].low <= 0
    return "shows" if is_shown else "does not show"
