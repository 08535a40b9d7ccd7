"""STAND: n-grams and what followed them, drawn from by chance.

Trajectories of one prompt share the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from real.decode.blocks import predict_along
from real.decode.clock import PHASES
from real.decode.given_text import Along
from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.draft import ngram
from real.draft._contract import target_laws
from real.draft._table import EMPTY, EMPTY_LAW, Entry, Gram, Table, dense_law, tops, visit
from real.models.names import TINY_PAIR
from real.papers.lab.answers import prompts_of
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.pairs import ends, pair_named
from real.papers.lab.text_lab import Tally, gain, tau
from real.papers.lab.times import recorded
from real.papers.lab.tree_lab import Kind, Reader, block_law, drafted_tree, path_to
from real.prompts import SPLITS, shipped_prompts
from real.prompts.chat_template import chat_ids
from real.studies.costs import Costs
from real.studies.intervals import Estimate, ratio
from specsim import trees
from specsim.base.arrays import pick
from specsim.types import Array

NAME = "STAND"
PAPER = "arXiv:2506.04708"
CLAIM = "Latency falls by 60 to 65 % with 16 trajectories; drafts by chance beat the likeliest token"
AXES = {
    "drafting": "n-grams: the longest of 4, 3, 2, 1 tokens, drawn by chance",
    "termination": "fixed",
    "management": "chain + tree: of siblings that differ",
    "verification": "one pass",
    "acceptance": "tokenwise + recursive_wor",
    "order": "left to right",
    "carry": "table: of all trajectories of a prompt",
}
TEST = (
    "On SmolLM2 and eight arithmetic prompts, at T = 0.6 and at T = 1, both intervals over prompts lie above 0: what "
    "drawing by chance adds to the tokens a target call over drafting the likeliest token, in the calls that the "
    "decode loop is expected to make for the same trajectories 2 to 12; and what the table of eleven earlier "
    "trajectories adds to them over an empty one, counted in the decode loop. Latency saved in trajectory 12 is "
    "predicted by trees that are decoded and the pass times recorded beside `specsim-real compare`, with drafts that "
    "cost nothing; it decides nothing."
)
PAIR = "smollm2"
MODELS = ()

GROWN, CHANCE = "tokens a call in trajectory 12 over trajectory 1", "tokens a call by chance over the likeliest"
LOOP = ", in the decode loop"
PROMPTS, TRAJECTORIES, LENGTH, GAMMA = 8, 12, 64, 4
TEMPERATURES = (0.6, 1.0)
HEADLINE = f"{GROWN}, T = 0.6{LOOP}"
# Trajectories that are reported.
TOLD = (1, 2, 4, 8, 12)
# Texts that the loop writes after a prompt with each drafter.
COPIES = 2
# Two paths of four, whose first drafts differ: a pass over as many tokens as were timed at most.
TREE = Kind("without_replacement", tuple(trees.k_ary((2, 1, 1, 1)).tolist()))
# Names of chains and trees in numbers.
CHAIN, TREES = f"chain of {GAMMA}", f"tree of {len(TREE.shape)} nodes"
# Drafters of the loop: with the table of earlier trajectories, drawn or the likeliest, and without it.
DRAWN, LIKELIEST, FIRST = CHAIN, "the likeliest", "trajectory 1"
# Opening of a bundled prompt, which a trial continues.
OPENING = 24


def run(lab: Lab) -> Record:
    """Expected calls by trajectory, and chains and trees decoded, at each temperature."""
    measured: dict[str, Estimate] = {}
    predicted: dict[str, Estimate] = {}
    prompts, length = _prompts(lab), max(16, round(LENGTH * min(1.0, 4 * lab.share)))
    for temperature in TEMPERATURES:
        # Numbers of each prompt.
        at, each = f"T = {temperature:g}", []
        for i, prompt in enumerate(prompts):
            lab.said(f"trajectories at {at}, prompt {i + 1} of {len(prompts)}")
            make = partial(_of_prompt, lab, prompt, i, length, temperature)
            each.append(lab.keep(f"prompt {i}, {at}", make))
        arrays = {name: np.array([of_one[name] for of_one in each]) for name in each[0]}

        # Calls that the loop is expected to make along the trajectories.
        lengths = arrays["lengths"]
        later = {name: Tally(lengths[:, 1:].sum(-1), arrays[name][:, 1:].sum(-1)) for name in ("chance", "top")}
        predicted[f"{CHANCE}, {at}"] = gain(later["chance"], later["top"])
        for k in (k for k in TOLD if k <= TRAJECTORIES):
            of_trajectory = Tally(lengths[:, k - 1], arrays["chance"][:, k - 1])
            predicted[f"tokens a call of a {CHAIN}, trajectory {k}, {at}"] = tau(of_trajectory)

        # Chains of the loop.
        loop = {name: Tally(*arrays[name].T) for name in (DRAWN, LIKELIEST, FIRST, TREES)}
        measured[f"{GROWN}, {at}{LOOP}"] = gain(loop[DRAWN], loop[FIRST])
        measured[f"{CHANCE}, {at}{LOOP}"] = gain(loop[DRAWN], loop[LIKELIEST])
        measured[f"tokens a call of a {CHAIN}, trajectory 1, {at}{LOOP}"] = tau(loop[FIRST])

        # Calls of the last trajectory, and the latency that chains and trees save in it.
        for name, nodes in ((CHAIN, GAMMA), (TREES, len(TREE.shape))):
            tokens, calls = loop[name]
            measured[f"tokens a call of a {name}, trajectory 12, {at}{LOOP}"] = tau(loop[name])
            measured[f"calls saved by a {name}, trajectory 12, {at}"] = _less(ratio(calls, tokens), 1.0)
            saved = _less(ratio(calls, tokens), cycle_without_drafts(recorded(1.0), nodes) / recorded(1.0).cycle(0))
            predicted[f"latency saved by a {name}, trajectory 12, {at}"] = saved
    return Record({"prompts": float(len(prompts))}, measured, predicted)


def cycle_without_drafts(costs: Costs, nodes: int) -> float:
    """Seconds of a cycle that verifies so many drafts, which cost nothing."""
    return sum(costs.phase(name, nodes) for name in PHASES if name != "draft")


def _less(of_calls: Estimate, factor: float) -> Estimate:
    """1 less a number times a factor: what is saved."""
    return Estimate(1 - factor * of_calls.value, 1 - factor * of_calls.high, 1 - factor * of_calls.low)


def _prompts(lab: Lab) -> list[list[int]]:
    """Arithmetic prompts of all splits, test first: nothing is trained or tuned. A trial continues bundled ones."""
    count = lab.texts(PROMPTS, 4)
    if lab.pair == TINY_PAIR:
        return [prompt[:OPENING] for prompt in prompts_of(lab.pair, "test")][:count]
    asked = [prompt.text for split in reversed(SPLITS) for prompt in shipped_prompts("arithmetic", split)]
    return [chat_ids(pair_named(lab.pair).tokenizer, text) for text in asked[:count]]


def _of_prompt(lab: Lab, prompt: list[int], i: int, length: int, temperature: float) -> dict[str, Any]:
    """Numbers of a prompt: calls by trajectory, and tokens and calls that the loop makes with each drafter."""
    # The trajectories.
    target, warping = pair_named(lab.pair).target, Warping(temperature)
    options: dict[str, Any] = {"max_tokens": length, "warping": warping, "stop": ends(lab.pair)}
    keys = [keyed(lab.seed, TRAJECTORIES * i + k) for k in range(TRAJECTORIES)]
    runs = decode_batch(target, None, [prompt] * TRAJECTORIES, gamma=0, uniforms=keys, **options)

    # Each along the table of those before it, which then learns it.
    table, before = EMPTY, EMPTY
    numbers: dict[str, Any] = {"lengths": [len(run.tokens) for run in runs], "chance": [], "top": []}
    for run in runs:
        laws, before = target_laws(target, prompt, run.tokens, warping), table
        for name, is_drawn in (("chance", True), ("top", False)):
            numbers[name].append(float(predict_along(_along(table, prompt, run.tokens, laws, is_drawn)).blocks))
        table = ngram.learn(table, prompt, run.tokens, laws)

    # The last trajectory, written anew by the loop.
    drafters = {
        DRAWN: ngram.drafter(target, before),
        LIKELIEST: ngram.drafter(target, before, stochastic=False),
        FIRST: ngram.drafter(target),
    }
    keys = [keyed(lab.seed + 1, COPIES * i + k) for k in range(COPIES)]
    for name, drafter in drafters.items():
        lab.said(f"T = {temperature:g}, prompt {i + 1}: the loop with {name}")
        texts = decode_batch(target, None, [prompt] * COPIES, gamma=GAMMA, uniforms=keys, proposer=drafter, **options)
        numbers[name] = [sum(len(text.tokens) for text in texts), sum(len(text.blocks) for text in texts)]
    numbers[TREES] = _with_trees(lab, prompt, before, length, temperature, i)
    return numbers


def _along(table: Table, prompt: list[int], text: list[int], laws: Tensor, is_drawn: bool) -> Along:
    """The drafter's q (T, GAMMA) and the target's p (T,) of a text's tokens, by laws that were computed before."""
    options, top_laws = ngram.Options(table, True, is_drawn), tops(laws)
    learned: dict[Gram, Entry] = {}
    whole, q = prompt + text, np.zeros((len(text), GAMMA))
    for t in range(len(text)):
        # The block that begins at t reads what was learned before t.
        for k in range(min(GAMMA, len(text) - t)):
            place = len(prompt) + t + k
            q[t, k] = options.law(learned, whole[:place]).get(whole[place], 0.0)
        visit(learned, table, whole[: len(prompt) + t], top_laws[t], EMPTY_LAW)
    p = laws[torch.arange(len(text)), torch.tensor(text)]
    return Along(q, p.double().cpu().numpy())


def _with_trees(lab: Lab, prompt: list[int], table: Table, length: int, temperature: float, i: int) -> list[float]:
    """Tokens and target calls of a text that is decoded with trees from a table of earlier trajectories."""
    target = pair_named(lab.pair).target
    reader, options = Reader(target, Warping(temperature)), ngram.Options(table, False, True)

    def draft(text: Sequence[int]) -> Array:
        """The table's law (V,) after a text, float64."""
        law = dense_law(options.law({}, list(text)), target).double().numpy()
        normalised: Array = law / law.sum()
        return normalised

    text, calls = tuple(prompt), 0
    while len(text) < len(prompt) + length and not ends(lab.pair).intersection(text[len(prompt) :]):
        # A tree, its law, and the tokens that it gives.
        rng = np.random.default_rng([lab.seed, i, calls])
        drafted = drafted_tree(draft, TREE, text, rng)
        law = block_law(reader, TREE, text, drafted)
        node, token = divmod(int(pick(law.reshape(-1), np.asarray(rng.random()))), law.shape[-1])
        text, calls = (*text, *path_to(drafted.tree, node), token), calls + 1
        reader.forget()
    # What stands behind the end of a text does not count.
    new = text[len(prompt) :][:length]
    last = next((k + 1 for k, token in enumerate(new) if token in ends(lab.pair)), len(new))
    return [float(last), float(calls)]


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    estimates = [record.measured[f"{GROWN}, T = {at:g}{LOOP}"] for at in TEMPERATURES]
    estimates += [record.predicted[f"{CHANCE}, T = {at:g}"] for at in TEMPERATURES]
    if any(estimate.high < 0 for estimate in estimates):
        return "contradicts"
    return "shows" if all(estimate.low > 0 for estimate in estimates) else "does not show"
