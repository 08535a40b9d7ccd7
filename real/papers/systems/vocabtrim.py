"""VocabTrim: a draft whose head has only the tokens that are frequent in what the target writes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from real.decode.blocks import predict_along
from real.decode.given_text import Along, windows
from real.decode.loop import decode_batch, keyed
from real.decode.score import laws
from real.decode.warp import Warping
from real.draft.restricted import most_frequent, trimmed
from real.models.model import LanguageModel
from real.pair import Pair
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.text_lab import SAID, Tally, cycle, gain, mean, tally, tau
from real.papers.lab.texts import TOGETHER, Texts, texts, training_texts
from real.papers.lab.times import Sample, Times, interval, own_times
from real.papers.lab.writing import pair
from real.studies.intervals import Estimate
from real.train.corpus import stdlib_files, token_stream
from specsim.base.arrays import at
from specsim.types import Array

NAME = "VocabTrim"
PAPER = "arXiv:2506.22694"
CLAIM = "A draft's head cut to what the target writes raises the memory-bound speedup, by 16 % for Llama-3.2-3B"
AXES = {
    "drafting": "smaller model + restricted head",
    "termination": "fixed",
    "management": "chain",
    "verification": "one pass",
    "acceptance": "tokenwise",
    "order": "left to right",
    "carry": "nothing",
    "objective": "counts: of target-written, draft-written or corpus tokens",
}
TEST = (
    "On test texts at T = 1, with the length of a block chosen on validation texts for every head and the number of "
    "tokens there, too, among 128 to 1,536 of the 2,048, both gains of a head of the tokens most frequent in the "
    "target's own texts over the full head have intervals above 0: that in memory-bound speedup, and that in speed by "
    "times measured at the pair's own cost."
)
HEADLINE = "memory-bound speedup gained by the best trimmed head, target-written counts"
MODELS = ()

SPEED = f"speed gained by the best trimmed head, {SAID['own']}"
SOURCES = ("target-written", "draft-written", "corpus")
KEPT = (128, 256, 512, 1024, 1536)
GAMMAS = (1, 2, 3, 4, 5, 6)
# Steps of a draft that time a head.
STEPS = 400
# The source of the counts and the number of tokens; ("full", V) for the whole head.
Head = tuple[str, int]


class Weighed(NamedTuple):
    """Costs of heads, and their target calls along texts."""

    kept: Mapping[Head, list[int]]
    # `weights_read` of each head.
    sizes: Mapping[Head, float]
    # Tallies on validation texts and on test texts, by the length of a block.
    tuned: Mapping[Head, Mapping[int, Tally]]
    judged: Mapping[Head, Mapping[int, Tally]]
    # Share of the test tokens among the target's most frequent ones, by their number.
    covered: Mapping[int, Estimate]


class Chosen(NamedTuple):
    """A head and the length of its blocks, with their score on validation texts."""

    head: Head
    gamma: int
    score: float


def run(lab: Lab) -> Record:
    """Counts, tau of every head along texts, the choices, and both gains."""
    validation = texts(1.0).of("validation", lab.texts(64, 2))
    test = texts(1.0).of("test", lab.texts(128, 4))
    kept = heads(counts(lab), pair(), KEPT)
    lab.said("texts along every head")
    found = weighed(pair(), kept, validation, test)
    return study(lab, pair(), found, own_times(lab))


def weighed(both: Pair, kept: Mapping[Head, list[int]], validation: Texts, test: Texts) -> Weighed:
    """Every head along texts of this pair's target."""
    covered = {
        k: mean(test, np.array([np.isin(row, ids).mean() for row in test.tokens]))
        for (source, k), ids in kept.items()
        if source == SOURCES[0]
    }
    tuned, judged = tallies(validation, kept, both), tallies(test, kept, both)
    return Weighed(kept, {head: weights_read(ids, both) for head, ids in kept.items()}, tuned, judged, covered)


def study(lab: Lab, both: Pair, found: Weighed, own: Times) -> Record:
    """Gains of the heads of every source in memory-bound speedup, and of the target's texts in speed."""
    # Gains by weights read.
    _, sizes, tuned, judged, covered = found
    measured: dict[str, Estimate] = {}
    full = best(tuned, sizes, ("full",))
    for source in SOURCES:
        name = f"memory-bound speedup gained by the best trimmed head, {source} counts"
        measured[name] = bound_gain(found, best(tuned, sizes, (source,)), full)
        for k in covered:
            measured[f"tau of blocks of {full.gamma}, {k} tokens by {source} counts"] = tau(
                judged[source, k][full.gamma]
            )
    measured[f"tau of blocks of {full.gamma}, full head"] = tau(judged[full.head][full.gamma])

    # Coverage, speed by measured times, and sizes.
    for k, share in covered.items():
        measured[f"share of test tokens among the {k} most frequent in the target's texts"] = share
    measured[SPEED] = _speed(lab, both, found, own)
    exact = {
        f"weights of the draft's step over the target's, {head[0]} {head[1]}": size for head, size in sizes.items()
    }
    return Record(exact, measured, {})


def counts(lab: Lab) -> dict[str, Array]:
    """Counts of each token in equally many tokens of every source."""
    return sources(lab, pair(), training_texts(lab))


def sources(lab: Lab, both: Pair, told: Texts) -> dict[str, Array]:
    """Counts of each token in texts of the target, of the draft after the same prompts, and the corpus.

    All sources have equally many tokens.
    """
    lab.said("texts of the draft")
    mine = written(both.draft, told)
    number = told.tokens.size
    found: list[int] = []
    files = list(stdlib_files().items())
    # Every eighth file, so that the files are not those of its first letters alone.
    for name, path in [one for first in range(8) for one in files[first::8]]:
        if len(found) < number:
            found += token_stream(both.tokenizer, {name: path.read_text(encoding="utf-8")}).tolist()
    streams = (told.tokens.ravel(), mine.ravel(), np.array(found[:number]))
    return {name: np.bincount(w, minlength=both.target.vocab_size) for name, w in zip(SOURCES, streams, strict=True)}


def written(model: LanguageModel, told: Texts, seed: int = 2) -> Array:
    """Texts of the same lengths that a model writes after the same openings."""
    made = []
    for i in range(0, len(told.prompts), TOGETHER):
        prompts = told.prompts[i : i + TOGETHER]
        keys = [keyed(seed, i + j) for j in range(len(prompts))]
        runs = decode_batch(model, None, prompts, max_tokens=told.tokens.shape[1], gamma=0, uniforms=keys)
        made += [run.tokens for run in runs]
    return np.array(made)


def heads(found: Mapping[str, Array], both: Pair, sizes: Sequence[int]) -> dict[Head, list[int]]:
    """Tokens of every head, the end token in all of them."""
    end = both.tokenizer.eos_token_id
    made = {(source, k): most_frequent(values, k, end) for source, values in found.items() for k in sizes}
    vocab = both.target.vocab_size
    return {**made, ("full", vocab): list(range(vocab))}


def tallies(told: Texts, kept: Mapping[Head, list[int]], both: Pair) -> dict[Head, dict[int, Tally]]:
    """Expected target calls along the texts with every head and block length."""
    blocks = {head: np.zeros((len(GAMMAS), len(told.tokens))) for head in kept}
    for i, (prompt, text) in enumerate(zip(told.prompts, told.tokens.tolist(), strict=True)):
        p, q = laws(both.target, both.draft, prompt, text, Warping())
        y = torch.tensor(text)
        own, drafted = at(p, y).double().numpy(), at(q, y).double().numpy()
        for head, ids in kept.items():
            mass = q[:, ids].double().sum(-1).numpy()
            cut = np.where(np.isin(text, ids), drafted / np.maximum(mass, 1e-300), 0)
            for j, gamma in enumerate(GAMMAS):
                blocks[head][j, i] = float(predict_along(Along(windows(cut, gamma), own)).blocks)
    return {head: {g: tally(told, row) for g, row in zip(GAMMAS, rows, strict=True)} for head, rows in blocks.items()}


def weights_read(ids: list[int], both: Pair) -> float:
    """Bytes of weights of a draft step with this head over those of a target step."""
    return trimmed(both.draft, ids).weight_bytes / both.target.weight_bytes


def mbsu_cost(sizes: Mapping[Head, float], chosen: Chosen) -> float:
    """Weights read in a cycle over those of a plain step."""
    return 1 + chosen.gamma * sizes[chosen.head]


def best(tuned: Mapping[Head, Mapping[int, Tally]], sizes: Mapping[Head, float], sources: tuple[str, ...]) -> Chosen:
    """The head of these sources, and the length, with the largest memory-bound speedup on validation texts."""
    every = [
        Chosen(head, gamma, _tau(told) / (1 + gamma * sizes[head]))
        for head, by_length in tuned.items()
        if head[0] in sources
        for gamma, told in by_length.items()
    ]
    return max(every, key=lambda one: one.score)


def _tau(told: Tally) -> float:
    """Tokens per target call."""
    return float(told.tokens.sum() / told.blocks.sum())


def bound_gain(found: Weighed, new: Chosen, old: Chosen) -> Estimate:
    """The new memory-bound speedup over the old one, less 1, paired by prompt."""
    return scaled_gain(found.judged, new, old, mbsu_cost(found.sizes, old) / mbsu_cost(found.sizes, new))


def scaled_gain(judged: Mapping[Head, Mapping[int, Tally]], new: Chosen, old: Chosen, factor: float) -> Estimate:
    """The new tau times a factor over the old one, less 1, paired by prompt."""
    found = gain(judged[new.head][new.gamma], judged[old.head][old.gamma])
    return Estimate(*((1 + value) * factor - 1 for value in found))


def _speed(lab: Lab, both: Pair, told: Weighed, own: Times) -> Estimate:
    """Return the gain of the best trimmed head by measured times, whose spread is in the interval."""
    chosen_from = {head: ids for head, ids in told.kept.items() if head[0] in ("target-written", "full")}
    lab.said("steps with every head")
    seconds = step_times(chosen_from, lab.texts(STEPS, 4), both)
    whole = next(head for head in seconds if head[0] == "full")
    over_whole = {head: float(np.median(values) / np.median(seconds[whole])) for head, values in seconds.items()}
    every = [
        Chosen(head, g, _tau(told.tuned[head][g]) / cycle(own.costs, g, share))
        for head, share in over_whole.items()
        for g in GAMMAS
    ]
    full = max((one for one in every if one.head == whole), key=lambda one: one.score)
    found = max((one for one in every if one.head != whole), key=lambda one: one.score)
    return timed_gain(told.judged, found, full, np.stack([seconds[found.head], seconds[whole]]), own)


def timed_gain(
    judged: Mapping[Head, Mapping[int, Tally]], new: Chosen, old: Chosen, seconds: Array, own: Times
) -> Estimate:
    """Speed of the new head over the full one, less 1.

    `seconds` (2, turns) are those of both steps.
    """

    def faster(a: Array, b: Array, c: Array, d: Array, steps: Array, prices: Array) -> Array:
        """The gain of each resample."""
        cost = prices[..., 0] + (steps[..., 0] / steps[..., 1] - 1) * prices[..., 1]
        return (a / b) / (c / d) * prices[..., 2] / cost - 1

    tallies = (*judged[new.head][new.gamma], *judged[old.head][old.gamma])
    found = Sample(
        tallies,
        seconds,
        lambda costs: (costs.cycle(new.gamma), costs.phase("draft", new.gamma), costs.cycle(old.gamma)),
        own,
    )
    return interval(found, faster)


def step_times(kept: Mapping[Head, list[int]], visits: int, both: Pair) -> dict[Head, Array]:
    """Seconds (visits,) of a draft step with each head, at 64 positions; heads take turns."""
    caches = {head: trimmed(both.draft, ids).cache() for head, ids in kept.items()}
    found: dict[Head, list[float]] = {head: [] for head in kept}
    for cache in caches.values():
        cache.forward(torch.arange(5, 69)[None], 0)
    for _ in range(visits):
        for head, cache in caches.items():
            cache.rollback(0, 63)
            began = time.perf_counter()
            cache.forward(torch.tensor([[7]]), 1)
            found[head].append(time.perf_counter() - began)
    return {head: np.array(values) for head, values in found.items()}


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    found = [record.measured[HEADLINE], record.measured[SPEED]]
    if any(one.high < 0 for one in found):
        return "contradicts"
    return "shows" if all(one.low > 0 for one in found) else "does not show"
