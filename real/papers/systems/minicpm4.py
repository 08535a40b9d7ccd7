"""MiniCPM4's drafting: EAGLE-2's trees of a layer whose head has the tokens that the target writes most often."""

from __future__ import annotations

import warnings
from functools import cache, partial
from typing import Any

import numpy as np

from real.draft import feature
from real.models.names import SMOLLM2
from real.papers.lab import eagle_trees
from real.papers.lab import trimmed_heads as on
from real.papers.lab.answers import texts_of
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.eagle_trees import Read, Shape
from real.papers.lab.pairs import pair_named
from real.papers.lab.text_lab import best, by_prompt, gain, tally, tau
from real.papers.lab.texts import Part
from real.papers.lab.times import recorded
from real.studies.costs import Costs
from real.studies.intervals import Estimate, ratio
from specsim.types import Array

NAME = "MiniCPM4"
PAPER = "arXiv:2506.07900"
CLAIM = "A head of a quarter of the tokens, by their frequency in a corpus (FR-Spec), makes EAGLE-2 1.12 times as fast"
AXES = {
    "drafting": "features + restricted head: by frequency in texts of the target",
    "termination": "fixed: a number of levels",
    "management": "dynamic tree",
    "verification": "tree attention",
    "acceptance": "target_only",
    "order": "left to right",
    "carry": "states",
    "objective": "counts: of target-written tokens",
}
TEST = (
    "EAGLE-2 trees of an EAGLE layer, at most 8 nodes from beams of 4, divide texts that SmolLM2 wrote after test "
    "prompts, greedy and at T = 1, into the blocks that the decode loop would make with `target_only`. The layer has "
    "its whole head of 49,152 tokens, or the quarter of them that the target writes most often; each has the levels, "
    "one to four, that are best on validation texts in memory-bound speedup. The quarter's gain in memory-bound "
    "speedup has an interval above 0 at both temperatures. Other heads, and speed by the recorded times of the pair, "
    "are reported and decide nothing."
)
PAIR = SMOLLM2
MODELS = (f"draft/{on.LAYER[PAIR]}",)

TEMPERATURES = (0.0, 1.0)
WIDTH, NODES = 4, 8
LEVELS = (1, 2, 3, 4)
# Head -> the share of the vocabulary that it has is one of so many.
HEADS = {"full head": 1, "quarter head": 4, "eighth head": 8}
FULL, QUARTER = "full head", "quarter head"
# Texts whose tokens are counted, that choose the levels, and that judge.
COUNTED, VALIDATED, JUDGED = 96, 8, 24
GAIN = "memory-bound speedup gained by the"
HEADLINE = f"{GAIN} {QUARTER}, T = 0"


def run(lab: Lab) -> Record:
    """Divide the same texts into blocks with every head, at each temperature."""
    # The heads, and the weights that a draft step with each of them reads.
    target = pair_named(lab.pair).target
    nets = heads(lab)
    read = {head: on.weights_read(net, target) for head, net in nets.items()}
    measured: dict[str, Estimate] = {}
    predicted: dict[str, Estimate] = {}
    exact = {f"weights of a draft step over the target's, {head}": share for head, share in read.items()}
    exact |= {f"tokens of the {head}": float(on.scored(net, target)) for head, net in nets.items()}
    for temperature in TEMPERATURES:
        at, costs = f", T = {temperature:g}", recorded(temperature)

        # The best number of levels on validation texts, and target calls along test texts.
        texts = texts_of(lab, temperature, "test", JUDGED)
        validation, test = (reader(lab, temperature, part) for part in ("validation", "test"))
        levels = {head: best_levels(lab, head, net, validation, at) for head, net in nets.items()}
        calls = {}
        for head, net in nets.items():
            lab.said(f"trees along test texts with the {head}{at}")
            make = partial(_calls, net, test, levels[head])
            calls[head] = tally(texts, np.array(lab.keep(f"test texts, {head}{at}", make)))
            known = by_prompt(texts, known_tokens(net, texts.rows))
            measured[f"share of tokens that the {head} knows{at}"] = ratio(known, calls[head].tokens)

        # Speedups, over plain decoding and over the full head: by weights read, and by recorded times.
        cycles = {head: on.cost(read[head], levels[head]) for head in nets}
        seconds = {head: cycle_s(lab, costs, read[head], levels[head]) for head in nets}
        for head in nets:
            exact[f"best levels, {head}{at}"] = float(levels[head])
            measured[f"tokens a call, {head}{at}"] = tau(calls[head])
            measured[f"memory-bound speedup, {head}{at}"] = on.scaled(tau(calls[head]), 1 / cycles[head])
            predicted[f"speed over plain decoding, {head}{at}"] = on.scaled(
                tau(calls[head]), costs.cycle(0) / seconds[head]
            )
            if head != FULL:
                in_tokens = gain(calls[head], calls[FULL])
                measured[f"gain in tokens a call, {head} over full head{at}"] = in_tokens
                measured[f"{GAIN} {head}{at}"] = on.gained(in_tokens, cycles[FULL] / cycles[head])
                predicted[f"speed gained by the {head}{at}"] = on.gained(in_tokens, seconds[FULL] / seconds[head])
    return Record(exact, measured, predicted)


def heads(lab: Lab) -> dict[str, Any]:
    """Return EAGLE's layer with each head.

    The most frequent tokens are those that the layer was shipped with, which its own training texts
    counted, by their counts in calibration texts; then others of calibration texts. What none has is
    taken by its number: merges of the tokenizer are numbered by frequency.
    """
    target = pair_named(lab.pair).target
    shipped: Any = feature.shipped(on.LAYER[lab.pair])
    token_counts = on.counts(lab, COUNTED)
    if shipped.tokens is not None:
        token_counts[shipped.tokens.numpy()] += token_counts.max() + 1
    nets = {}
    with warnings.catch_warnings():
        # These counts are few, and the order above stands for more.
        warnings.simplefilter("ignore", UserWarning)
        for head, divisor in HEADS.items():
            size = target.vocab_size // divisor
            nets[head] = on.whole(lab) if head == FULL else on.trimmed(lab, token_counts, size)
    return nets


def reader(lab: Lab, temperature: float, part: Part) -> Any:
    """Return a function that returns texts of a part with the target's states, which are made once."""
    count = VALIDATED if part == "validation" else JUDGED

    @cache
    def made() -> Read:
        """Let the target read the texts."""
        lab.said(f"the target along {part} texts at T = {temperature:g}")
        return eagle_trees.read(texts_of(lab, temperature, part, count))

    return made


def best_levels(lab: Lab, head: str, net: Any, texts: Any, at: str) -> int:
    """Return the number of levels with the most memory-bound speedup on validation texts."""
    lab.said(f"trees along validation texts with the {head}{at}")

    def make() -> list[int]:
        """Return target calls over all texts, by levels."""
        return [sum(_calls(net, texts, levels)) for levels in LEVELS]

    share = on.weights_read(net, pair_named(lab.pair).target)
    totals = zip(LEVELS, lab.keep(f"validation texts, {head}{at}", make), strict=True)
    chosen: int = best({levels: 1 / (total * on.cost(share, levels)) for levels, total in totals})
    return chosen


def _calls(net: Any, texts: Any, levels: int) -> list[int]:
    """Return the target calls of each text, in blocks of trees of so many levels."""
    target_calls: list[int] = eagle_trees.blocks(net, texts(), shape(levels)).tolist()
    return target_calls


def shape(levels: int) -> Shape:
    """Return the shape of a tree of so many levels."""
    return Shape(WIDTH, levels, NODES)


def known_tokens(net: Any, rows: list[list[int]]) -> Array:
    """Return how many tokens of each text the head has."""
    if net.tokens is None:
        return np.array([len(row) for row in rows])
    known = set(net.tokens.tolist())
    return np.array([sum(token in known for token in row) for row in rows])


def cycle_s(lab: Lab, costs: Costs, share: float, levels: int) -> float:
    """Return predicted seconds of a cycle: a pass over the tree's nodes, and a draft step a level.

    A step takes the draft model's time, by the weights that are read; a beam reads them once.
    """
    kept = shape(levels).kept
    return costs.cycle(kept) - costs.phase("draft", kept) + on.draft_s(pair_named(lab.pair), costs, share, levels)


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    gains = [record.measured[f"{GAIN} {QUARTER}, T = {at:g}"] for at in TEMPERATURES]
    if any(estimate.high < 0 for estimate in gains):
        return "contradicts"
    return "shows" if all(estimate.low > 0 for estimate in gains) else "does not show"
