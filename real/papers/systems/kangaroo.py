"""Kangaroo: the target's first layers draft through a small block, and drafting stops after an unsure token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.draft import exit
from real.models.model import LanguageModel
from real.models.names import SMOLLM2, TINY_PAIR
from real.papers.lab import rollouts, stopping
from real.papers.lab.answers import prompts_of, texts_of
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.pairs import ends, pair_named
from real.papers.lab.rollouts import Rollouts
from real.papers.lab.stopping import Setting
from real.papers.lab.texts import Part
from real.studies.intervals import Estimate, ratio
from specsim import discover
from specsim.types import Array

NAME = "Kangaroo"
PAPER = "arXiv:2404.18911"
CLAIM = "Up to 1.68x over plain decoding on Spec-Bench, with 88.7 % fewer additional parameters than Medusa-1"
AXES = {
    "drafting": "early exit: the first layers, an attention block with two norms, the target's head on frequent tokens",
    "termination": "threshold: after a draft whose row's largest probability is below eta; that draft is kept",
    "management": "chain",
    "verification": "one pass",
    "acceptance": "tokenwise",
    "order": "left to right",
    "carry": "nothing",
    "objective": "states: cross-entropy with the target's rows",
}
TEST = (
    "Greedy, in the decode loop of SmolLM2 after the test prompts, in weights read, with the exit after 2, 5 or 10 of "
    "30 layers and eta chosen on validation prompts: the interval of speed over plain decoding lies above 1, and that "
    "of the gain of the best eta over the best fixed length above 0, both together at 95 %; and the block has fewer "
    "parameters than four heads of Medusa-1 would have, by at least the paper's 88.7 %. T = 1 is reported and decides "
    "nothing."
)
# The exits of a pair's target.
EXITS = {TINY_PAIR: ("exit_0", "exit_1"), SMOLLM2: ("smollm2/exit_2", "smollm2/exit_5", "smollm2/exit_10")}
PAIR = SMOLLM2
MODELS = tuple(f"draft/{name}" for name in EXITS[PAIR])

MOST, ETAS = 6, tuple(np.arange(0.05, 1.0, 0.05).round(2).tolist())
TEMPERATURES = (0.0, 1.0)
TEXTS: dict[Part, int] = {"validation": 24, "test": 42}
DECODED_TOKENS = 128
# Heads of Medusa-1 in the paper's comparison.
HEADS = 4
OF_TWO, LEVEL_OF_TWO = " (of two at 95 %)", 1 - 0.05 / 2
SPEED, GAIN = "times faster in weights read", "gain of eta over a fixed length"
LOOP = ", in the decode loop"
HEADLINE = f"{SPEED}, T = 0{LOOP}{OF_TWO}"
TESTED_GAIN = f"{GAIN}, T = 0{LOOP}{OF_TWO}"
FEWER = "share of Medusa-1's parameters that is saved"


class Cost(NamedTuple):
    """Weights read, in those of a plain step: by the layers below each exit, and by its block and head."""

    shared: Mapping[str, float]
    more: Mapping[str, float]

    def of_cycle(self, name: str) -> Array:
        """Return the cost of a cycle of 0 to `MOST` drafts.

        Each draft passes the layers below the exit, the block and the head. The last draft has to
        pass those layers, too; verification then goes on from there, or reads them itself: it is
        the same.
        """
        return 1 + np.arange(MOST + 1) * (self.shared[name] + self.more[name])


class Choice(NamedTuple):
    """An exit with a rule that stops its drafts."""

    name: str
    setting: Setting


class Runs(NamedTuple):
    """Tokens, target calls, drafts and weights read of each prompt, (prompts,)."""

    tokens: Array
    calls: Array
    drafts: Array
    spent: Array


def cost_of(pair: str) -> Cost:
    """Return the cost of the exits of a pair's target."""
    target = pair_named(pair).target
    weights = target.weights
    assert weights is not None
    layers = [sum(w.numel() for w in layer if isinstance(w, Tensor)) for layer in weights.layers]
    hidden = len(weights.norm)
    whole = sum(layers) + target.vocab_size * hidden
    shared, more = {}, {}
    for name in EXITS[pair]:
        block: Any
        block, after = exit.shipped(name)
        scored = target.vocab_size if block.tokens is None else len(block.tokens)
        shared[name] = sum(layers[:after]) / whole
        more[name] = (_parameters(block) + scored * hidden) / whole
    return Cost(shared, more)


def saved(target: LanguageModel, name: str) -> float:
    """Return the share of the parameters of Medusa-1, a square matrix and a head for each draft, that a block saves."""
    weights = target.weights
    assert weights is not None
    hidden = len(weights.norm)
    medusa = HEADS * hidden * (hidden + target.vocab_size)
    return 1 - _parameters(exit.shipped(name).block) / medusa


def _parameters(block: Any) -> int:
    """Return how many numbers of a block are trained."""
    return sum(w.numel() for w in block.parameters())


def run(lab: Lab) -> Record:
    """Every exit, length and eta on the same blocks of validation texts, and the best on test texts and in the loop."""
    target, cost = pair_named(lab.pair).target, cost_of(lab.pair)
    exact: dict[str, float] = {f"share of a step below {name}": share for name, share in cost.shared.items()}
    exact |= {f"share of a step of block and head, {name}": share for name, share in cost.more.items()}
    measured: dict[str, Estimate] = {}
    for temperature in TEMPERATURES:
        at = f", T = {temperature:g}"
        words, level = (OF_TWO, LEVEL_OF_TWO) if temperature == 0 else ("", 0.95)

        # The best length and the best eta of all exits, on validation texts.
        blocks = {name: _rolled(lab, name, temperature, "validation") for name in EXITS[lab.pair]}
        with_length = best(blocks, cost, [Setting("static", {"gamma": most}, most) for most in range(1, MOST + 1)])
        with_eta = best(blocks, cost, [Setting("threshold", {"eta": eta}, MOST) for eta in ETAS])
        exact[f"layers below the best exit{at}"] = float(exit.shipped(with_eta.name).after)
        exact[f"best eta{at}"] = float(with_eta.setting.params["eta"])
        exact[f"layers below the best exit with a fixed length{at}"] = float(exit.shipped(with_length.name).after)
        exact[f"best fixed length{at}"] = float(with_length.setting.most)
        if temperature == 0:
            exact[FEWER] = saved(target, with_eta.name)

        # Both on the same blocks of test texts, and in the loop.
        along_texts = [_totals(lab, choice, cost, temperature) for choice in (with_eta, with_length)]
        measured[f"{SPEED}{at}"] = ratio(*along_texts[0])
        measured[f"{GAIN}{at}"] = stopping.gain_of(along_texts[0], along_texts[1])
        in_loop = [_decoded(lab, choice, cost, temperature) for choice in (with_eta, with_length)]
        eta_runs, length_runs = in_loop
        measured[f"{SPEED}{at}{LOOP}{words}"] = ratio(eta_runs.tokens, eta_runs.spent, level=level)
        measured[f"{SPEED} with a fixed length{at}{LOOP}"] = ratio(length_runs.tokens, length_runs.spent)
        both = [(runs.tokens, runs.spent) for runs in in_loop]
        measured[f"{GAIN}{at}{LOOP}{words}"] = stopping.gain_of(both[0], both[1], level)
        measured[f"tokens a block with eta{at}{LOOP}"] = ratio(eta_runs.tokens, eta_runs.calls)
        measured[f"drafts a block with eta{at}{LOOP}"] = ratio(eta_runs.drafts, eta_runs.calls)
    return Record(exact, measured, {})


def _rolled(lab: Lab, name: str, temperature: float, part: Part) -> Rollouts:
    """Blocks of an exit's drafts along texts of a part."""
    target, (block, after) = pair_named(lab.pair).target, exit.shipped(name)
    some = texts_of(lab, temperature, part, TEXTS[part])
    lab.said(f"blocks of {name} at T = {temperature:g}, {part}")
    return rollouts.rolled(some, MOST, temperature, lab.seed, draft=exit.model_of(target, block, after))


def best(blocks: Mapping[str, Rollouts], cost: Cost, settings: list[Setting]) -> Choice:
    """Return the exit and the setting with the most tokens for the weights that they read."""
    speeds = {}
    for name, of_exit in blocks.items():
        for i, (_, drafts) in enumerate(stopping.lengths_of(of_exit, settings)):
            tokens, spent = stopping.totals(of_exit, drafts, cost.of_cycle(name))
            speeds[name, i] = tokens.sum() / spent.sum()
    name, chosen = max(speeds, key=lambda key: speeds[key])
    return Choice(name, settings[chosen])


def _totals(lab: Lab, choice: Choice, cost: Cost, temperature: float) -> tuple[Array, Array]:
    """Tokens and weights read (prompts,) of a choice on test texts."""
    blocks = _rolled(lab, choice.name, temperature, "test")
    return stopping.totals(blocks, stopping.lengths(blocks, choice.setting), cost.of_cycle(choice.name))


def _decoded(lab: Lab, choice: Choice, cost: Cost, temperature: float) -> Runs:
    """Decode once after each test prompt with a choice, and count tokens, target calls, drafts and weights read."""
    lab.said(f"decoding at T = {temperature:g} with {choice.setting.name}")
    prompts = prompts_of(lab.pair, "test")[: lab.texts(TEXTS["test"])]
    block, after = exit.shipped(choice.name)
    runs = decode_batch(
        pair_named(lab.pair).target,
        None,
        prompts,
        max_tokens=max(16, round(DECODED_TOKENS * min(1.0, 4 * lab.share))),
        gamma=choice.setting.most,
        uniforms=[keyed(lab.seed + 1, i) for i in range(len(prompts))],
        warping=Warping(temperature),
        stop=ends(lab.pair),
        proposer=exit.drafter(block, after),
        controller=discover.with_params(discover.find("control", choice.setting.name), choice.setting.params),
    )
    of_cycle = cost.of_cycle(choice.name)
    return Runs(
        tokens=np.array([len(one.tokens) for one in runs]),
        calls=np.array([len(one.blocks) for one in runs]),
        drafts=np.array([sum(block.drafted for block in one.blocks) for one in runs]),
        spent=np.array([sum(of_cycle[block.drafted] for block in one.blocks) for one in runs]),
    )


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    speed, gain = record.measured[HEADLINE], record.measured[TESTED_GAIN]
    if speed.high < 1 or gain.high < 0 or record.exact[FEWER] < 0:
        return "contradicts"
    return "shows" if speed.low > 1 and gain.low > 0 and record.exact[FEWER] >= 0.887 else "does not show"
