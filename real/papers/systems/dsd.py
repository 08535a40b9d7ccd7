"""The fastest of eight drafts of two sizes and four depths, by tokens a call, perplexity and step time.

The drafts are cut from the shipped one and trained on texts of the target, with every seed. Tokens a
target call are expected along the target's test texts, by the renewal law. Steps of the drafts and
cycles of the target are timed by the run itself, by turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from real.draft import lowrank
from real.models.names import SMOLLM2, TINY_PAIR
from real.papers.lab import aligning, cut_drafts, draft_scores, draft_turns
from real.papers.lab.aligned import Judged
from real.papers.lab.aligning import Lesson, Plan
from real.papers.lab.answers import texts_of
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.draft_turns import Resamples, Times, estimate
from real.papers.lab.pairs import pair_named
from real.papers.lab.text_lab import by_prompt
from real.papers.lab.texts import Part
from real.papers.lab.tuned import correlation
from real.studies.intervals import Estimate
from specsim.types import Array

NAME = "DSD"
PAPER = "arXiv:2402.01528"
CLAIM = (
    "Throughput follows a draft's latency, not its quality as a language model: at equal parameters wide and shallow "
    "drafts beat deep ones, by up to 111 %"
)
AXES = {
    "drafting": "smaller model: eight of them",
    "termination": "fixed: the best number of drafts of each",
    "management": "chain",
    "verification": "given rows: of the target along its own texts, replayed for every draft",
    "acceptance": "tokenwise",
    "order": "left to right",
    "carry": "nothing",
    "objective": "fkl: on texts of the target, equally many for each draft",
}
TEST = (
    "Of SmolLM2, eight drafts with 0.8 M or 3.1 M parameters inside 1, 2, 4 or 8 layers: cut from the shipped draft, "
    "and trained by the forward divergence for 24 steps of 4 texts of the target, with three seeds. Each has the "
    "number of drafts, of 1, 2, 3, 4 and 6, that is fastest on validation texts. Throughput is tokens a call "
    "expected along test texts at T = 1, over times that the run measures; intervals hold prompts, seeds and turns of "
    "timing, all three at 98.3 %. The best of at most 2 layers over the best of at least 4, mean of both sizes, has an "
    "interval above 1. Over the eight drafts the rank correlation of throughput with -step time less that with "
    "-perplexity has an interval above 0. The latter correlation itself has an interval below 0.5. T = 0 is "
    "reported and decides nothing."
)
OF_THREE, LEVEL = " (of three at 95 %)", 1 - 0.05 / 3
SHALLOW = "throughput of the best shallow draft over the best deep one"
LATENCY, QUALITY = (f"rank correlation of throughput with -{what}" for what in ("step time", "perplexity"))
ADVANTAGE = "rank correlation with -step time less that with -perplexity"
HEADLINE = f"{ADVANTAGE}, T = 1{OF_THREE}"
PAIR = SMOLLM2
MODELS = ("draft/smollm2/lowrank",)

# Largest rank correlation with -perplexity at which quality does not matter much.
WEAK = 0.5
# Parameters inside the layers, by pair, and numbers of layers.
SIZES = {SMOLLM2: (12 * 256**2, 12 * 512**2), TINY_PAIR: (12 * 16**2, 12 * 32**2)}
DEPTHS = (1, 2, 4, 8)
GAMMAS = (1, 2, 3, 4, 6)
TEMPERATURES = (1.0, 0.0)
PLAN, RATE, SEEDS = Plan(steps=24, batch=4, warmup=4), 1e-3, 3
# Texts to learn from, and how many of them a donor's axes are taken along; texts to choose and to judge on.
TO_LEARN, FOR_AXES = 96, 16
COUNTS: dict[Part, int] = {"validation": 24, "test": 42}
# Turns of timing.
TURNS = 10


def run(lab: Lab) -> Record:
    """Time the drafts, train them with every seed, judge them, and put both together."""
    # Texts to learn from, and where each draft begins.
    donor, both = aligning.started(lab.pair), pair_named(lab.pair)
    texts = texts_of(lab, 1.0, "calibration", TO_LEARN)
    lesson = aligning.lesson(texts, is_stored=True, show_stage=lab.said)
    few = lesson.rows(torch.arange(min(FOR_AXES, len(lesson.tokens))))
    axes = cut_drafts.principal_axes(donor, aligning.ends_of(lab.pair, donor), few)
    shapes = [cut_drafts.recipe(donor, size, depth) for size in SIZES[lab.pair] for depth in DEPTHS]
    nets = [cut_drafts.cut(donor, shape, axes, lab.seed) for shape in shapes]

    turns = lab.texts(TURNS, 2)

    # Times: those of a step do not depend on what a draft has learned.
    def time_all() -> list[dict[str, Any]]:
        """Time the drafts as they are cut."""
        lab.said("times of steps and cycles")
        return draft_turns.taken(both, [lowrank.model_of(both.target, net) for net in nets], GAMMAS, turns)

    times = draft_turns.drawn(lab.keep("times", time_all), GAMMAS, lab.seed)

    # The drafts along validation and test texts.
    judged = {(part, at): _judged(lab, part, at) for part in COUNTS for at in TEMPERATURES}
    by_draft = []
    for i, shape in enumerate(shapes):
        by_seed = []
        for seed in range(SEEDS if lab.share >= 0.1 else 1):
            unit = f"draft {i + 1} of {len(shapes)}, seed {seed}"
            start = cut_drafts.cut(donor, shape, axes, lab.seed + seed)
            by_seed.append(lab.keep(unit, partial(_trained, lab, unit, start, lesson, judged, seed)))
        by_draft.append(by_seed)

    # What all drafts share, and each of them.
    names = _names(shapes)
    exact = {
        "seeds": float(len(by_draft[0])),
        "steps": float(_plan(lab).steps),
        "tokens to learn from": float(texts.lengths.sum()),
        "tokens of a head": float(both.target.vocab_size if donor.tokens is None else len(donor.tokens)),
        "plain step in milliseconds": float(1e3 * times.plain[0]),
    }
    exact |= {
        f"parameters inside, {name}": float(cut_drafts.inside(net)) for name, net in zip(names, nets, strict=True)
    }
    exact |= fitted(times.steps[0], nets, int(exact["tokens of a head"]))
    measured: dict[str, Estimate] = {}
    for temperature in TEMPERATURES:
        chosen = _fastest(by_draft, temperature, times)
        exact |= _numbers(names, chosen, temperature)
        found = _resamples(by_draft, judged["test", temperature], temperature, times, chosen)
        measured |= _of_drafts(names, found, temperature) | _of_all(found, temperature)
    tested = measured[HEADLINE]
    exact["smallest difference of correlations that would show"] = (tested.high - tested.low) / 2
    return Record(exact, measured, {})


def _names(shapes: Sequence[dict[str, int]]) -> list[str]:
    """Return the names of drafts in numbers, size by size: "small" and "large"."""
    of_size = [("small", "large")[i // len(DEPTHS)] for i in range(len(shapes))]
    return [f"{size}, {shape['layers']} x {shape['width']}" for size, shape in zip(of_size, shapes, strict=True)]


def _plan(lab: Lab) -> Plan:
    """Return the plan, or in a trial two steps of two texts."""
    return PLAN if lab.share >= 0.1 else Plan(steps=2, batch=2, warmup=1)


def _judged(lab: Lab, part: Part, temperature: float) -> Judged:
    """Return texts of a part at a temperature, with the target's probabilities."""
    texts = texts_of(lab, temperature, part, COUNTS[part])

    def make() -> list[list[float]]:
        """Let the target read them."""
        lab.said(f"the target along {part} texts")
        return draft_scores.target_along(texts, temperature)

    kept = lab.keep(f"target along {part} texts, T = {temperature:g}", make)
    return Judged(texts, temperature, [np.array(row) for row in kept])


def _trained(
    lab: Lab,
    unit: str,
    start: Any,
    lesson: Lesson,
    judged: dict[tuple[Part, float], Judged],
    seed: int,
) -> dict[str, Any]:
    """Train a draft; return its expected calls by part and temperature, and losses and tokens by test prompt."""
    lab.said(unit)
    number, plan = lab.seed + seed, _plan(lab)
    ends = aligning.ends_of(lab.pair, start)
    net = aligning.tuned(start, ends, "fkl", aligning.of_target(lesson, plan, number), plan, RATE, number)

    # Its calls, along validation texts for the first seed, which chooses the number of drafts; its
    # perplexity is that on what the target wrote at T = 1.
    calls, loss = {}, {}
    for (part, temperature), of_part in judged.items():
        if part == "validation" and seed:
            continue
        along = draft_scores.scores(net, ends, of_part.texts)
        calls[_key(part, temperature)] = draft_scores.calls(of_part, along, GAMMAS)
        if (part, temperature) == ("test", 1.0):
            sums = draft_scores.losses(along)
            loss = dict(zip(("nats", "known"), (by_prompt(of_part.texts, w).tolist() for w in sums), strict=True))
    return {"calls": calls} | loss


def _key(part: Part, temperature: float) -> str:
    """Return the name of judged texts in a file."""
    return f"{part}, T = {temperature:g}"


def _fastest(by_draft: list[list[Any]], temperature: float, times: Times) -> list[int]:
    """Return the number of drafts with which each draft, of the first seed, is fastest along validation texts."""
    key, chosen = _key("validation", temperature), []
    for steps, by_seed in zip(times.steps[0], by_draft, strict=True):
        calls = np.array(by_seed[0]["calls"][key]).sum(axis=1)
        seconds = calls * (steps * np.array(GAMMAS) + times.others[0])
        chosen.append(GAMMAS[int(seconds.argmin())])
    return chosen


def _resamples(
    by_draft: list[list[Any]], judged: Judged, temperature: float, times: Times, chosen: list[int]
) -> Resamples:
    """Return the numbers of all drafts along test texts, with resampled ones."""
    key, places = _key("test", temperature), [GAMMAS.index(gamma) for gamma in chosen]
    calls = np.array([[s["calls"][key][k] for s in by_seed] for by_seed, k in zip(by_draft, places, strict=True)])
    nats = np.array([[s["nats"] for s in by_seed] for by_seed in by_draft])
    tokens = by_prompt(judged.texts, judged.texts.lengths)
    return draft_turns.resampled(tokens, calls, nats, np.array(by_draft[0][0]["known"]), times, chosen, GAMMAS)


def _numbers(names: list[str], chosen: list[int], temperature: float) -> dict[str, float]:
    """Return the best number of drafts of each draft, and of how many it is above 1."""
    at = f"T = {temperature:g}"
    best = {f"best number of drafts, {name}, {at}": float(k) for name, k in zip(names, chosen, strict=True)}
    return best | {f"drafts whose best number is above 1, {at}": float(sum(k > 1 for k in chosen))}


def _of_drafts(names: list[str], found: Resamples, temperature: float) -> dict[str, Estimate]:
    """Return the numbers of each draft at a temperature; step time and perplexity are the same at both."""
    at, measured = f"T = {temperature:g}", {}
    for i, name in enumerate(names):
        measured[f"step in milliseconds, {name}"] = estimate(1e3 * found.steps[:, i])
        measured[f"perplexity, {name}"] = estimate(np.exp(found.loss[:, i]))
        measured[f"tokens a target call, {name}, {at}"] = estimate(found.tokens_a_call[:, i])
        measured[f"tokens a second, {name}, {at}"] = estimate(found.throughput[:, i])
        speed = found.throughput * found.plain
        measured[f"speed over plain decoding, {name}, {at}"] = estimate(speed[:, i])
    return measured


def _of_all(found: Resamples, temperature: float) -> dict[str, Estimate]:
    """Return correlations over the drafts, and shallow drafts over deep ones."""
    is_tested = temperature == 1
    at, level = f", T = {temperature:g}{OF_THREE if is_tested else ''}", LEVEL if is_tested else 0.95
    throughput = found.throughput
    latency, quality = correlation(throughput, -found.steps), correlation(throughput, -found.loss)
    return {
        f"{SHALLOW}{at}": estimate(shallow_over_deep(throughput), level),
        f"{ADVANTAGE}{at}": estimate(latency - quality, level),
        f"{LATENCY}, T = {temperature:g}": estimate(latency),
        f"{QUALITY}{at}": estimate(quality, level),
        f"rank correlation of tokens a call with -perplexity, T = {temperature:g}": estimate(
            correlation(found.tokens_a_call, -found.loss)
        ),
    }


def shallow_over_deep(throughput: Array) -> Array:
    """Return throughput of the best shallow draft (at most 2 layers) over the best deep one, mean over both sizes.

    `throughput` is (..., 8): the drafts of the small size by depth, then those of the large one.
    """
    by_size = throughput.reshape(*throughput.shape[:-1], -1, len(DEPTHS))
    shallow, deep = (by_size[..., [layers in chosen for layers in DEPTHS]].max(-1) for chosen in ((1, 2), (4, 8)))
    return (shallow / deep).mean(-1)


def fitted(steps: Array, nets: Sequence[Any], tokens: int) -> dict[str, float]:
    """Return the milliseconds of a layer, of a million parameters with the head, and of the rest, by least squares."""
    table = [[len(net.qkv), (cut_drafts.inside(net) + tokens * net.read.shape[0]) / 1e6, 1.0] for net in nets]
    layer, million, rest = np.linalg.lstsq(np.array(table), 1e3 * steps, rcond=None)[0]
    words = "fitted milliseconds of a"
    return {f"{words} layer": layer, f"{words} million parameters": million, f"{words} step besides": rest}


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    advantage, quality = record.measured[HEADLINE], record.measured[f"{QUALITY}, T = 1{OF_THREE}"]
    shallow = record.measured[f"{SHALLOW}, T = 1{OF_THREE}"]
    if advantage.high < 0 or shallow.high < 1 or quality.low > WEAK:
        return "contradicts"
    return "shows" if advantage.low > 0 and shallow.low > 1 and quality.high < WEAK else "does not show"
