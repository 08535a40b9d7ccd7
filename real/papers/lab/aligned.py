"""Experiments on aligned drafts: a rate for each objective, several seeds, and tokens a target call.

Tokens a target call are expected along texts that the target wrote, by the renewal law, so that few
texts tell small gains apart. What has been trained is a unit of the run (see `units`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from real.decode.given_text import Along, windows
from real.decode.proposer import Drafter
from real.decode.warp import Warping
from real.draft import lowrank
from real.draft._contract import target_probabilities
from real.papers.lab import aligning
from real.papers.lab.aligning import Lesson, Plan
from real.papers.lab.answers import texts_of
from real.papers.lab.contract import Lab
from real.papers.lab.pairs import pair_named
from real.papers.lab.seeds import crossed
from real.papers.lab.text_lab import Tally, decoded, expected
from real.papers.lab.texts import Part, Texts
from real.studies.intervals import Estimate
from specsim.types import Array

PLAN = Plan(steps=48, batch=4, warmup=4)
SEEDS = 3
# The highest rates that each objective may choose from, on validation texts at T = 1.
RATES = (5e-5, 2e-4, 8e-4)
# Drafts a block.
GAMMA = 3
TEMPERATURES = (1.0, 0.0)
COUNTS: dict[Part, int] = {"validation": 24, "test": 42}
# Texts of the target to learn from, by temperature.
TO_LEARN = {1.0: 192, 0.0: 96}
# Tokens that the decode loop writes after each test prompt.
DECODED = 48


class Judged(NamedTuple):
    """Texts to judge on, and the target's probability of each of their tokens."""

    texts: Texts
    temperature: float
    p: list[Array]


class Bench(NamedTuple):
    """All that the drafts of a run share: where they start, what they learn from, what they are judged on."""

    lab: Lab
    start: Any
    plan: Plan
    seeds: int
    texts: Texts
    whole: Lesson
    judged: dict[tuple[Part, float], Judged]


class Trained(NamedTuple):
    """An objective with the rate that is best on validation texts, trained with several seeds.

    calls: name of judged texts -> expected target calls (seeds, prompts).
    """

    rate: float
    calls: dict[tuple[Part, float], Array]


def bench(lab: Lab, full_plan: Plan = PLAN, to_learn: Mapping[float, int] = TO_LEARN) -> Bench:
    """Return what the drafts of a run share; a trial has two steps of two texts, and one seed.

    `to_learn` has the number of texts of the target to learn from, by their temperature.
    """
    is_full = lab.share >= 0.1
    plan = full_plan if is_full else Plan(steps=2, batch=2, warmup=1)
    parts = [texts_of(lab, temperature, "calibration", count) for temperature, count in to_learn.items()]
    prompts = [prompt for part in parts for prompt in part.prompts]
    tokens, of_part, group = (np.concatenate([part[i] for part in parts]) for i in (1, 2, 3))
    texts = Texts(prompts, tokens, of_part, group, lab.pair)
    whole = aligning.lesson(texts, is_stored=True, show_stage=lab.said)
    judged = {(part, t): _judged(lab, t, part) for part in COUNTS for t in TEMPERATURES}
    return Bench(lab, aligning.started(lab.pair), plan, SEEDS if is_full else 1, texts, whole, judged)


def _judged(lab: Lab, temperature: float, part: Part) -> Judged:
    """Return texts of a part at a temperature, with the target's probabilities."""
    texts, target = texts_of(lab, temperature, part, COUNTS[part]), pair_named(lab.pair).target
    # A greedy target writes each of its tokens with probability 1.
    if temperature == 0:
        return Judged(texts, temperature, [np.ones(length) for length in texts.lengths])

    def probabilities() -> list[list[float]]:
        """Return the probabilities of the tokens of each text."""
        lab.said(f"the target along {part} texts")
        rows = zip(texts.prompts, texts.rows, strict=True)
        return [target_probabilities(target, *row, Warping(temperature)).tolist() for row in rows]

    kept = lab.keep(f"target along {part} texts, T = {temperature:g}", probabilities)
    return Judged(texts, temperature, [np.array(row) for row in kept])


def tally_of(on: Lab, net: Any, judged: Judged) -> Tally:
    """Return tokens and expected target calls of each prompt, of blocks of `GAMMA` drafts of a draft."""
    ends = aligning.ends_of(on.pair, net)
    by_text = aligning.probabilities(net, ends, judged.texts, judged.temperature)
    along = [Along(windows(q, GAMMA), p) for q, p in zip(by_text, judged.p, strict=True)]
    return expected(judged.texts, along, GAMMA)


def trained(on: Bench, name: str, source: str, rates: Sequence[float] = RATES) -> Trained:
    """Train an objective at the best of some rates, with every seed, and judge all drafts.

    Parameters
    ----------
    on : Bench
        What is shared.
    name : str
        The objective.
    source : str
        Whose texts it learns from: a name of `aligning.SOURCES`.
    rates : sequence of float
        The first seed trains at each; the others at the rate that needs the fewest target calls
        along validation texts at T = 1.
    """
    by_seed = []
    for seed in range(on.seeds):
        unit = f"{name} on text of the {source}, seed {seed}"
        by_seed.append(on.lab.keep(unit, partial(_train, on, name, source, rates, seed)))
        rates = (by_seed[0]["rate"],)
    calls = {key: np.array([values["calls"][_key(*key)] for values in by_seed]) for key in on.judged}
    return Trained(by_seed[0]["rate"], calls)


def _train(on: Bench, name: str, source: str, rates: Sequence[float], seed: int) -> dict[str, Any]:
    """Train at each rate; return the best rate, and the calls of its draft."""
    validation = on.judged["validation", 1.0]
    by_rate = {}
    for rate in rates:
        on.lab.said(f"{name} on text of the {source}, seed {seed}, rate {rate:g}")
        net = net_of(on, name, source, rate, seed)
        by_rate[rate] = float(tally_of(on.lab, net, validation).blocks.sum()), net
    best = min(by_rate, key=lambda rate: by_rate[rate][0])
    return {"rate": best, "calls": _judge(on, by_rate[best][1])}


def net_of(on: Bench, name: str, source: str, rate: float, seed: int) -> Any:
    """Return a trained draft: the same one each time."""
    number = on.lab.seed + seed
    texts = aligning.source_named(source, on.whole, on.texts, on.plan, number)
    ends = aligning.ends_of(on.lab.pair, on.start)
    return aligning.tuned(on.start, ends, name, texts, on.plan, rate, number)


def before(on: Bench) -> Trained:
    """Return the draft that all start from, judged in the same way."""

    def made() -> dict[str, Any]:
        """Judge it."""
        on.lab.said("the draft before training")
        return _judge(on, on.start)

    kept = on.lab.keep("the draft before training", made)
    return Trained(0.0, {key: np.array([kept[_key(*key)]] * on.seeds) for key in on.judged})


def _judge(on: Bench, net: Any) -> dict[str, list[float]]:
    """Return expected target calls of each prompt, by the name of the judged texts."""
    return {_key(*key): tally_of(on.lab, net, texts).blocks.tolist() for key, texts in on.judged.items()}


def drafter_of(on: Bench, net: Any) -> Drafter:
    """Return a draft as a drafter of the pair's target."""
    return lowrank.drafter(net, pair_named(on.lab.pair).target)


def _key(part: Part, temperature: float) -> str:
    """Return the name of judged texts in a file."""
    return f"{part}, T = {temperature:g}"


def tokens_of(on: Bench, temperature: float) -> Array:
    """Return the tokens (seeds, prompts) of test texts."""
    texts = on.judged["test", temperature].texts
    by_prompt = np.bincount(np.unique(texts.group, return_inverse=True)[1], weights=texts.lengths)
    return np.tile(by_prompt, (on.seeds, 1))


def block_efficiency(on: Bench, of: Trained, temperature: float) -> Estimate:
    """Return tokens a target call along test texts, over prompts and seeds."""
    return crossed((tokens_of(on, temperature), of.calls["test", temperature]), lambda tokens, calls: tokens / calls)


def gain(on: Bench, new: Array, old: Array, level: float = 0.95) -> Estimate:
    """Return the gain in tokens a target call, from calls (seeds, prompts) along the same texts."""
    return crossed((old, new), lambda old_calls, new_calls: old_calls / new_calls - 1, level)


def weights_read(on: Bench) -> float:
    """Return the weights that a step of the draft reads, in those of a step of the target."""
    target = pair_named(on.lab.pair).target
    return lowrank.model_of(target, on.start).weight_bytes / target.weight_bytes


def in_loop(on: Bench, name: str, make: Callable[[], Any]) -> dict[float, Tally]:
    """Return tokens and target calls of the decode loop after test prompts, by temperature.

    `make` returns the draft, which has the name; it is not called where the loop has run before.
    """

    def made() -> list[list[list[float]]]:
        """Decode at every temperature."""
        on.lab.said(f"decode loop, {name}")
        drafter = drafter_of(on, make())
        length = DECODED if on.lab.share >= 0.1 else 6
        tallies = []
        for temperature in TEMPERATURES:
            texts = on.judged["test", temperature].texts
            tallies.append(decoded(texts, drafter, GAMMA, temperature, on.lab.seed, length))
        return [[part.tolist() for part in tally] for tally in tallies]

    kept = on.lab.keep(f"decode loop, {name}", made)
    return {t: Tally(*(np.array(part) for part in tally)) for t, tally in zip(TEMPERATURES, kept, strict=True)}


def in_loop_by_seed(on: Bench, name: str, source: str, rate: float) -> dict[float, Tally]:
    """Return tokens and target calls (seeds, prompts) of the decode loop, with the draft of each seed."""
    by_seed = []
    for seed in range(on.seeds):
        words = f"{name} on text of the {source}, seed {seed}"
        by_seed.append(in_loop(on, words, partial(net_of, on, name, source, rate, seed)))
    return {t: Tally(*(np.array([run[t][i] for run in by_seed]) for i in (0, 1))) for t in TEMPERATURES}
