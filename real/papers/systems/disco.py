"""DISCO: a classifier decides after each draft whether there is to be another.

Other rules that may stop drafting are measured beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.papers.lab import rollouts as on
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.rollouts import Rollouts
from real.papers.lab.text_lab import SAID, by_prompt, costs, cycle, small
from real.papers.lab.texts import TEMPERATURES, Texts, texts
from real.papers.lab.writing import pair
from real.studies.intervals import Estimate, bootstrap
from specsim import discover, optimal_stopping
from specsim.control import block_lengths
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
    "At T = 1 and at T = 0.6, a draft step costing 0.1 of a target step, the interval of what the product of the "
    "network's chances gains in speed on the best static length, both tuned on validation prompts, lies above 0 on "
    "test prompts; with acceptances shuffled, of which signals say nothing, it does not."
)
GAMMA, STEPS, BINS, REACH = 10, 500, 3, 8
# Cost of a draft step over a target step, which costs the same for any number of tokens.
RATIOS = (0.05, 0.1, 0.2)
CAPS, THRESHOLDS = (2, 3, 4, 6, 8, 10), tuple(np.arange(0.02, 0.96, 0.04).round(2).tolist())
PRODUCT, EACH, STATIC = "product of the network's chances", "the network's chance alone, as published", "static"


def gained(name: str, temperature: float, cost: str = "0.1") -> str:
    """The name of what a controller gains."""
    return f"{name} over static, T = {temperature:g}, {cost}"


HEADLINE = gained(PRODUCT, 1.0)
NOTHING = f"{HEADLINE}, acceptances shuffled"
DECODED = f"{HEADLINE}, in the decode loop"
# The bundled pair is not among the weights of systems.
MODELS = ()


class Parts(NamedTuple):
    """Blocks to learn from, to tune on, and to test on."""

    calibration: Rollouts
    validation: Rollouts
    test: Rollouts


class Setting(NamedTuple):
    """A controller with its parameters, and the longest block that it may draft."""

    name: str
    params: Mapping[str, Any]
    most: int


def run(lab: Lab) -> Record:
    """Gains of every family at every cost, tuned on validation texts; controls; the decode loop."""
    exact: dict[str, float] = {}
    measured: dict[str, Estimate] = {}
    predicted: dict[str, Estimate] = {}
    for temperature in TEMPERATURES:
        lab.said(f"blocks at T = {temperature:g}")
        parts = Parts(*(_part(lab, temperature, part) for part in Parts._fields))
        layers = {own: _network(lab, parts.calibration, own) for own in (False, True)}
        families = _families(layers, whole=lab.share >= 0.1)
        tried = {name: lengths_of(parts.validation, family) for name, family in families.items()}

        # Each cost: the settings that are best on validation texts, on test texts.
        for cost, times in _costs(lab).items():
            lab.said(f"T = {temperature:g}, {cost}")
            chosen = {name: tuned(parts.validation, drafts, times) for name, drafts in tried.items()}
            for name in [name for name in chosen if name != STATIC]:
                found = gain(parts.test, chosen[name], chosen[STATIC], times)
                measured[gained(name, temperature, cost)] = found
            exact[f"best static length, T = {temperature:g}, {cost}"] = chosen[STATIC].most
            measured[gained("clairvoyant (a bound)", temperature, cost)] = _bound(parts.test, chosen[STATIC], times)
            if temperature == 1 and cost == "0.1":
                measured[DECODED] = _decoded(lab, chosen, times)

        # A bound on policies of the network's score, rankings, and the control.
        for ratio in _ratios(lab):
            best = _binned(parts.test, layers[False], ratio)
            name = gained(f"best policy of {BINS} bins of the network's chance", temperature, f"{ratio:g}")
            predicted[name] = Estimate(best, best, best)
        exact |= _rankings(parts.test, layers, temperature)
        if temperature == 1:
            measured[NOTHING] = _control(lab, parts)
    return Record(exact, measured, predicted)


def _part(lab: Lab, temperature: float, part: Any) -> Rollouts:
    """Blocks of a part's texts; in a trial the texts are shorter."""
    whole = texts(temperature).of(part)
    some = whole.of(part, lab.texts(len(whole.tokens)))
    length = max(4 * GAMMA, round(whole.tokens.shape[1] * min(1.0, 4 * lab.share)))
    return on.rolled(some._replace(tokens=some.tokens[:, :length]), GAMMA, temperature, lab.seed)


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
        "heuristic, two more or one less": [Setting("heuristic", {"first": 4}, most) for most in CAPS],
        "threshold of transformers' ROC": [Setting("roc", {}, most) for most in CAPS],
    }


def _ratios(lab: Lab) -> tuple[float, ...]:
    """Costs of a draft step over a target step; in a trial that of TEST alone."""
    return RATIOS if lab.share >= 0.1 else RATIOS[1:2]


def _costs(lab: Lab) -> dict[str, Array]:
    """Time of a cycle of g = 0 .. GAMMA drafts over a plain step, by assumed or measured cost."""
    drafts = np.arange(GAMMA + 1)
    found = {f"{ratio:g}": 1 + ratio * drafts for ratio in _ratios(lab)}
    for kind, words in SAID.items():
        told = costs(lab, kind)  # type: ignore[arg-type]
        found[words] = np.array([cycle(told, g) for g in range(GAMMA + 1)]) / told.cycle(0)
    return found


def lengths(part: Rollouts, setting: Setting) -> Array:
    """Drafts (n, s) of each block under a controller; one that learns sees the blocks in turn."""
    learns = setting.name in ("heuristic", "roc")
    kept = _kept(part) if learns else None
    found = block_lengths(setting.name, part.signals, params=setting.params, kept=kept)
    return np.minimum(found, setting.most)


def _kept(part: Rollouts) -> Array:
    """Drafts (n, s) that whole blocks accept, drawn with the same random numbers for all settings."""
    coins = np.random.default_rng(0).random(part.accept.shape)
    return np.cumprod(coins < part.accept, axis=-1).sum(-1)


def totals(part: Rollouts, drafts: Array, times: Array) -> tuple[Array, Array]:
    """Expected tokens, and time (prompts,), of blocks with these numbers of drafts (n, s)."""
    survival = np.cumprod(part.accept, axis=-1)
    tokens = 1 + np.where(np.arange(GAMMA) < drafts[..., None], survival, 0).sum(-1)
    told = Texts([], part.accept, part.group, part.group)
    return by_prompt(told, tokens.sum(-1)), by_prompt(told, times[drafts].sum(-1))


def lengths_of(part: Rollouts, family: Sequence[Setting]) -> list[tuple[Setting, Array]]:
    """Every setting with its lengths; settings that differ in the cap alone share one run."""
    found: list[tuple[Setting, Array]] = []
    known: dict[str, Array] = {}
    for setting in family:
        # Weights are the same for a whole family.
        key = repr([value for name, value in setting.params.items() if name != "weights"])
        if key not in known:
            known[key] = lengths(part, setting._replace(most=GAMMA))
        found.append((setting, np.minimum(known[key], setting.most)))
    return found


def tuned(part: Rollouts, tried: Sequence[tuple[Setting, Array]], times: Array) -> Setting:
    """The setting with the most tokens in the time of a plain step."""
    speeds = []
    for _, drafts in tried:
        tokens, time = totals(part, drafts, times)
        speeds.append(tokens.sum() / time.sum())
    return tried[int(np.argmax(speeds))][0]


def gain(part: Rollouts, new: Setting, old: Setting, times: Array) -> Estimate:
    """Speed of the new setting over the old one, less 1, paired by prompt."""
    return _gain(totals(part, lengths(part, new), times), totals(part, lengths(part, old), times))


def _gain(new: tuple[Array, Array], old: tuple[Array, Array]) -> Estimate:
    """The gain from tokens and times of both settings."""
    return bootstrap((*new, *old), lambda a, b, c, d: (a.sum(-1) / b.sum(-1)) / (c.sum(-1) / d.sum(-1)) - 1)


def _bound(part: Rollouts, static: Setting, times: Array) -> Estimate:
    """The gain of blocks that stop just before the first refusal, which no controller exceeds."""
    survival = np.cumprod(part.accept, axis=-1)
    chance = -np.diff(
        np.concatenate([np.ones((*survival.shape[:-1], 1)), survival, 0 * survival[..., :1]], -1), axis=-1
    )
    told = Texts([], part.accept, part.group, part.group)
    tokens, time = (by_prompt(told, w.sum(-1)) for w in (1 + survival.sum(-1), chance @ times))
    return _gain((tokens, time), totals(part, lengths(part, static), times))


def _control(lab: Lab, parts: Parts) -> Estimate:
    """The gain on blocks whose acceptances do not depend on the signals."""
    lab.said("acceptances shuffled")
    mixed = Parts(*(on.shuffled(part, lab.seed + i) for i, part in enumerate(parts)))
    times = 1 + RATIOS[1] * np.arange(GAMMA + 1)
    layers = dict.fromkeys((False, True), _network(lab, mixed.calibration, False))
    settings = _families(layers, whole=lab.share >= 0.1)
    tried = {name: lengths_of(mixed.validation, settings[name]) for name in (PRODUCT, STATIC)}
    chosen = {name: tuned(mixed.validation, drafts, times) for name, drafts in tried.items()}
    return gain(mixed.test, chosen[PRODUCT], chosen[STATIC], times)


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


def _decoded(lab: Lab, chosen: Mapping[str, Setting], times: Array) -> Estimate:
    """The gain of the product over the best static length in the decode loop, on the test prompts."""
    # Tokens and time of each, by the drafts of its blocks.
    whole = texts(1.0).of("test")
    some = whole.of("test", lab.texts(len(whole.tokens)))
    found = []
    for setting in (chosen[PRODUCT], chosen[STATIC]):
        lab.said(f"decoding with {setting.name}")
        runs = decode_batch(
            pair().target,
            None,
            some.prompts,
            max_tokens=max(16, round(128 * min(1.0, 4 * lab.share))),
            gamma=setting.most,
            uniforms=[keyed(lab.seed + 1, i) for i in range(len(some.prompts))],
            warping=Warping(1.0),
            proposer=small(),
            controller=discover.with_params(discover.find("control", setting.name), setting.params),
        )
        tokens = np.array([len(one.tokens) for one in runs])
        time = np.array([sum(times[block.drafted] for block in one.blocks) for one in runs])
        found.append((by_prompt(some, tokens), by_prompt(some, time)))
    return _gain(*found)


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    found = [record.measured[gained(PRODUCT, temperature)] for temperature in TEMPERATURES]
    if any(one.high < 0 for one in found):
        return "contradicts"
    shown = all(one.low > 0 for one in found) and record.measured[NOTHING].low <= 0
    return "shows" if shown else "does not show"
