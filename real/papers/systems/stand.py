"""STAND: n-grams and what followed them, drawn from by chance.

Trajectories of one prompt share the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from real import TINY
from real.decode.blocks import predict_along
from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.draft import ngram
from real.draft._contract import target_laws
from real.draft._table import EMPTY, Table
from real.options import read_prompts
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.writing import pair, written
from real.studies.intervals import Estimate, bootstrap, ratio
from specsim.lengths.blocks import renewal
from specsim.lengths.tree_texts import acceptance_by_rank, averaged, text_survival_tree
from specsim.trees import chain, sequoia_tree
from specsim.types import Array

NAME = "STAND"
PAPER = "arXiv:2506.04708"
CLAIM = "Latency falls by 60 to 65 % with 16 trajectories; drafts by chance beat the likeliest token"
AXES = {
    "drafting": "n-grams: the longest of 4, 3, 2, 1 tokens, drawn by chance",
    "termination": "fixed",
    "management": "chain + tree: of siblings that differ, shaped on other prompts",
    "verification": "one pass",
    "acceptance": "tokenwise + recursive_wor",
    "order": "left to right",
    "carry": "table: of all trajectories of a prompt",
}
TEST = (
    "At T = 1 both lie above 0 with their intervals over prompts, on the same texts: the share of first drafts kept "
    "when they are drawn by chance less that of the likeliest token, over trajectories 2 to 12, and the share kept in "
    "trajectory 12 less that in trajectory 1."
)
HEADLINE = "first drafts kept, by chance less the likeliest, T = 1"
MODELS = ()

GROWN = "first drafts kept in trajectory 12 less trajectory 1, T = 1"
PROMPTS, OPENING, TRAJECTORIES, LENGTH, GAMMA = 24, 24, 12, 128, 4
TEMPERATURES = (1.0, 0.8, 0.6, 0.4, 0.2)
# Trajectories that are reported.
TOLD = (1, 2, 4, 8, 12)
# Nodes of a tree, and most siblings.
NODES, RANKS = 16, 4
TOGETHER = 96


class Found(NamedTuple):
    """Shares of accepted first drafts by each way to draft, and target calls at gamma 4.

    They are arrays (P, 12), by prompt and trajectory.
    """

    chance: Array
    likeliest: Array
    blocks: Array
    # Tables of trajectories 1 to 11, one for each prompt.
    tables: list[Table]


def run(lab: Lab) -> Record:
    """Acceptance by trajectory and temperature, tau of chains along texts and decoded, and trees."""
    measured: dict[str, Estimate] = {}
    predicted: dict[str, Estimate] = {}
    prompts = _prompts(lab.texts(PROMPTS, 4))
    length = max(16, round(LENGTH * min(1.0, 4 * lab.share)))
    for temperature in TEMPERATURES:
        lab.said(f"trajectories at T = {temperature}")
        every = _trajectories(prompts, length, temperature, lab.seed)
        at, shares = f"T = {temperature:g}", _along(prompts, every, temperature)

        # Drawn drafts less the likeliest, at every temperature.
        later = (shares.chance[:, 1:] - shares.likeliest[:, 1:]).mean(-1)
        measured[f"first drafts kept, by chance less the likeliest, {at}"] = _mean(later)
        if temperature not in (1.0, 0.6):
            continue

        # At two temperatures more: trajectories, the decode loop, trees.
        for k in TOLD:
            measured[f"first drafts kept in trajectory {k}, {at}"] = _mean(shares.chance[:, k - 1])
            of_trajectory = ratio(np.full(len(prompts), length), shares.blocks[:, k - 1])
            predicted[f"tau of chains of {GAMMA}, trajectory {k}, {at}"] = of_trajectory
        measured[f"first drafts kept in trajectory 12 less trajectory 1, {at}"] = _mean(
            shares.chance[:, -1] - shares.chance[:, 0]
        )
        lab.said(f"the decode loop at {at}")
        loop, along = _decoded(prompts, shares.tables, length, temperature, lab.seed)
        tokens = np.full(len(prompts), length)
        measured[f"tau of chains of {GAMMA} in the loop, trajectory 12, {at}"] = ratio(tokens, loop)
        measured[f"calls of the loop over those predicted along its texts, {at}"] = ratio(loop, along)
        lab.said(f"trees at {at}")
        predicted |= _trees(prompts, every[:, -1], shares.tables, temperature)
    return Record({}, measured, predicted)


def _prompts(count: int) -> list[list[int]]:
    """Openings of bundled prompts.

    Only the shape of trees is tuned, on other prompts than are judged.
    """
    whole = [list(pair().tokenizer(text)["input_ids"]) for text in read_prompts(TINY / "prompts.json")]
    return [prompt[:OPENING] for prompt in whole if len(prompt) >= OPENING][:count]


def _trajectories(prompts: list[list[int]], length: int, temperature: float, seed: int) -> Array:
    """Texts (P, 12, length) of the target after each prompt."""
    each = [prompt for prompt in prompts for _ in range(TRAJECTORIES)]
    parts = [written(each[i : i + TOGETHER], length, temperature, seed, first=i) for i in range(0, len(each), TOGETHER)]
    return np.concatenate(parts).reshape(len(prompts), TRAJECTORIES, length)


def _along(prompts: list[list[int]], every: Array, temperature: float) -> Found:
    """Both ways to draft along each trajectory, with a table of the trajectories before it."""
    target, warping = pair().target, Warping(temperature)
    numbers, tables = np.zeros((3, *every.shape[:2])), []
    for i, prompt in enumerate(prompts):
        table = EMPTY
        for k, text in enumerate(every[i].tolist()):
            drawn = ngram.drafter(target, table).along(target, prompt, text, GAMMA, warping)
            top = ngram.drafter(target, table, stochastic=False).along(target, prompt, text, 1, warping)
            shares = [np.minimum(1, drafter.q[:, 0] / drafter.p).mean() for drafter in (drawn, top)]
            numbers[:, i, k] = (*shares, predict_along(drawn).blocks)
            if k == every.shape[1] - 1:
                tables.append(table)
            table = ngram.learn(table, prompt, text, target_laws(target, prompt, text, warping))
    chance, likeliest, blocks = numbers
    return Found(chance, likeliest, blocks, tables)


def _decoded(
    prompts: list[list[int]], tables: list[Table], length: int, temperature: float, seed: int
) -> tuple[Array, Array]:
    """Target calls (P,) of trajectories that the loop writes with these tables, and the predicted calls."""
    # Prompt by prompt: decode, then predict along the written text.
    target, warping = pair().target, Warping(temperature)
    calls, along = [], []
    for i, (prompt, table) in enumerate(zip(prompts, tables, strict=True)):
        drafter = ngram.drafter(target, table)
        run = decode_batch(
            target,
            None,
            [prompt],
            max_tokens=length,
            gamma=GAMMA,
            uniforms=[keyed(seed + 1, i)],
            warping=warping,
            proposer=drafter,
        )[0]
        calls.append(len(run.blocks))
        along.append(float(predict_along(drafter.along(target, prompt, run.tokens, GAMMA, warping)).blocks))
    return np.array(calls), np.array(along)


def _trees(prompts: list[list[int]], last: Array, tables: list[Table], temperature: float) -> dict[str, Estimate]:
    """tau of trajectory 12 by trees of different siblings, shaped on the first half of the prompts.

    Their table is that of earlier trajectories alone, so that the law at a position does not depend
    on the block.
    """
    # Laws of both models along the last trajectory of each prompt.
    target, warping = pair().target, Warping(temperature)
    rows, half = [], len(prompts) // 2
    each = zip(prompts, tables, last.tolist(), strict=True)
    for prompt, table, text in each:
        rows_of = ngram.drafter(target, table, own=False).rows
        assert rows_of is not None
        q = rows_of(target, prompt, text, warping).double()
        p = target_laws(target, prompt, text, warping).double()
        rows.append((_row(p), _row(q), np.array(text)))

    # The shape of the tree, by acceptance by rank.
    wor = [averaged(acceptance_by_rank(*text_rows, RANKS, scheme="without_replacement")) for text_rows in rows[:half]]
    shape = sequoia_tree(np.maximum(np.concatenate(wor).mean(0), 0), nodes=NODES).parents

    # A tree and a chain on the other prompts.
    measured = {}
    for name, parents, scheme in (
        (f"tree of {NODES} nodes", shape, "without_replacement"),
        (f"chain of {GAMMA}", chain(GAMMA), "iid"),
    ):
        survival = [text_survival_tree(*text_rows, parents, scheme=scheme).survival for text_rows in rows[half:]]
        blocks = [renewal(_falling(sampled)).blocks for sampled in survival]
        label = f"tau of a {name} on other prompts, trajectory 12 with earlier ones alone, T = {temperature:g}"
        measured[label] = ratio(np.full(len(blocks), last.shape[1]), np.array(blocks))
    return measured


def _row(laws: torch.Tensor) -> Array:
    """Laws as NumPy rows that sum to 1."""
    made = laws.cpu().numpy()
    return made / made.sum(-1, keepdims=True)


def _falling(survival: Array) -> Array:
    """Sampled survival, clipped to [0, 1] and made to fall along each row."""
    return np.minimum.accumulate(np.clip(survival, 0, 1), axis=-1)


def _mean(values: Sequence[float] | Array) -> Estimate:
    """The mean with its interval."""
    return bootstrap((np.asarray(values),), lambda w: w.mean(-1))


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    estimates = [record.measured[HEADLINE], record.measured[GROWN]]
    if any(estimate.high < 0 for estimate in estimates):
        return "contradicts"
    return "shows" if all(estimate.low > 0 for estimate in estimates) else "does not show"
