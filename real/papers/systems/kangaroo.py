"""Kangaroo: the target's first layers draft through a small block, and drafting stops after an unsure token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from real.decode.loop import decode_batch, keyed
from real.draft import exit
from real.models.model import LanguageModel
from real.models.widen import wide_shape
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.offsets import acceptance
from real.papers.lab.text_lab import WIDE, along, best, by_prompt, expected, tau
from real.papers.lab.texts import Texts, texts
from real.papers.lab.writing import pair
from real.studies.intervals import Estimate, bootstrap, ratio
from specsim import discover
from specsim.control import threshold
from specsim.types import Array

NAME = "Kangaroo"
PAPER = "arXiv:2404.18911"
CLAIM = "Up to 1.68x over plain decoding on Spec-Bench, with 88.7 % fewer additional parameters than Medusa-1"
AXES = {
    "drafting": "early exit: the first layers, an attention block with two norms, the target's head",
    "termination": "threshold: after a draft whose row's largest probability is below eta; that draft is kept",
    "management": "chain",
    "verification": "one pass: of the whole target; that it may go on from the shallow states is in the costs only",
    "acceptance": "tokenwise",
    "order": "left to right",
    "carry": "nothing",
    "objective": "states: cross-entropy with the target's rows",
}
TEST = (
    "On test prompts at T = 1, with l of 0 to 3 layers and eta chosen on validation prompts, in weights read by a "
    "target of 100 M emulated parameters whose shallow states are shared with verification: the interval of speed "
    "over plain decoding lies above 1, that of the gain of the best eta over the best fixed length above 0, and the "
    "best l is neither 0 nor 3."
)
HEADLINE = "times faster in weights read, emulated cost"
EXITS = ("exit_0", "exit_1", "exit_2", "exit_3")
MODELS = tuple(f"draft/{name}" for name in EXITS)

MOST, ETAS = 6, (0.2, 0.35, 0.5, 0.7)
# Prompts and tokens of the test, and of the choice.
PROMPTS, LENGTH, TRIED, SHORT = 64, 128, 32, 64
GAIN = "gain of eta over a fixed length, emulated cost"


class Cost(NamedTuple):
    """Weights read, in those of a plain step: by the layers below each exit, and by the block and the head."""

    shared: Mapping[str, float]
    more: float

    def of(self, name: str, blocks: Array, drafts: Array) -> Array:
        """The cost of blocks with these drafts: each draft, and the token before, passes the shared layers."""
        f = self.shared[name]
        return (drafts + blocks) * f + drafts * self.more + blocks * (1 - f)


class Runs(NamedTuple):
    """Tokens, blocks and drafts of each prompt, (prompts,)."""

    tokens: Array
    blocks: Array
    drafts: Array


def own_cost(target: LanguageModel) -> Cost:
    """The cost with the target as it is."""
    weights = target.weights
    assert weights is not None
    layers = [sum(w.numel() for w in layer if isinstance(w, Tensor)) for layer in weights.layers]
    whole, head = sum(layers) + weights.head.numel(), weights.head.numel()
    block = sum(w.numel() for w in exit.network(exit.RECIPES["exit_1"]).parameters())
    return Cost({f"exit_{n}": sum(layers[:n]) / whole for n in range(4)}, (block + head) / whole)


def wide_cost(target: LanguageModel) -> Cost:
    """The cost with a target of `WIDE` parameters.

    An exit stands behind all layers before the next trained one.
    """
    weights = target.weights
    assert weights is not None
    shape = wide_shape(_config(target), WIDE)
    head = shape.vocab * shape.hidden
    # Its head is untied, so that embeddings are not read.
    whole = shape.parameters - head
    layer = (whole - head - shape.hidden) / shape.layers
    block = shape.hidden * (shape.head_dim or shape.hidden // shape.heads) * (2 * shape.heads + 2 * shape.kv_heads)
    few = len(weights.layers)
    at = {f"exit_{n}": (2 * n + 1) * shape.layers // (2 * few) if n else 0 for n in range(4)}
    return Cost({name: n * layer / whole for name, n in at.items()}, (block + head) / whole)


def _config(target: LanguageModel) -> Any:
    """The config of the bundled target."""
    from transformers import AutoConfig

    from real import TINY

    return AutoConfig.from_pretrained(TINY / "target")


def decoded(texts: Texts, name: str, most: int, eta: float, seed: int, length: int) -> Runs:
    """New texts after each prompt once, at T = 1; eta = 0 never stops before `most`."""
    _, first = np.unique(texts.group, return_index=True)
    prompts = [texts.prompts[i] for i in first]
    # eta = 0 has no controller: all drafts are made.
    runs = decode_batch(
        pair().target,
        None,
        prompts,
        max_tokens=length,
        gamma=most,
        uniforms=[keyed(seed, i) for i in range(len(prompts))],
        proposer=exit.drafter(*exit.shipped(name)),
        controller=discover.with_params(threshold, {"eta": eta}) if eta else None,
    )
    drafts = [sum(block.drafted for block in run.blocks) for run in runs]
    counts = ([len(run.tokens) for run in runs], [len(run.blocks) for run in runs], drafts)
    return Runs(*(np.array(count, dtype=np.float64) for count in counts))


def speed(cost: Cost, name: str, runs: Runs) -> float:
    """Tokens per plain step's weights read."""
    return float(runs.tokens.sum() / cost.of(name, runs.blocks, runs.drafts).sum())


def run(lab: Lab) -> Record:
    """Acceptance of each exit, the best length and eta of each by validation, and the best of all on test prompts."""
    target = pair().target
    costs = {"emulated cost": wide_cost(target), "own cost": own_cost(target)}
    tried = _first(texts(1.0).of("validation"), lab.texts(TRIED, 2))
    test_texts = _first(texts(1.0).of("test"), lab.texts(PROMPTS, 2))
    short, long = (max(8, round(n * min(1.0, 4 * lab.share))) for n in (SHORT, LENGTH))
    exact: dict[str, float] = {}
    measured: dict[str, Estimate] = {}
    predicted: dict[str, Estimate] = {}

    # Expected calls of every exit at every length, from one pass along the validation texts.
    fixed = {}
    for name in EXITS:
        lab.said(f"along validation texts, {name}")
        along_texts = along(exit.drafter(*exit.shipped(name)), tried, MOST, 1.0)
        lengths = np.full(len(tried.tokens), tried.tokens.shape[1])
        for gamma in range(1, MOST + 1):
            calls = expected(tried, along_texts, gamma).blocks
            fixed[name, gamma] = Runs(by_prompt(tried, lengths), calls, gamma * calls)
        measured[f"acceptance, l = {name[-1]}, validation"] = acceptance(tried, along_texts)[0]

    # Texts decoded with every eta, then the choice at each cost.
    stopped = {}
    for name in EXITS:
        for eta in ETAS:
            lab.said(f"{name}, eta = {eta}")
            stopped[name, eta] = decoded(tried, name, MOST, eta, lab.seed, short)
    for what, cost in costs.items():
        gains = _chosen(lab, what, cost, fixed, stopped, test_texts, long, exact)
        measured |= gains[0]
        predicted |= gains[1]
    for name in EXITS:
        exact[f"share of a step below the exit, l = {name[-1]}, emulated cost"] = costs["emulated cost"].shared[name]
    exact["share of a step of block and head, emulated cost"] = costs["emulated cost"].more
    exact["share of a step of block and head, own cost"] = costs["own cost"].more
    return Record(exact, measured, predicted)


def _chosen(
    lab: Lab,
    what: str,
    cost: Cost,
    fixed: dict[tuple[str, int], Runs],
    stopped: dict[tuple[str, float], Runs],
    test_texts: Texts,
    length: int,
    exact: dict[str, float],
) -> tuple[dict[str, Estimate], dict[str, Estimate]]:
    """The validated choice at a cost on test prompts, and the expected tau of its fixed length."""
    # The best length and the best eta on validation texts.
    lengths = {key: speed(cost, key[0], runs) for key, runs in fixed.items()}
    etas = {key: speed(cost, key[0], runs) for key, runs in stopped.items()}
    (plain_exit, gamma), (exit_at, eta) = best(lengths), best(etas)
    exact[f"best l with eta, {what}"], exact[f"best eta, {what}"] = float(exit_at[-1]), eta
    exact[f"best l with a fixed length, {what}"], exact[f"best fixed length, {what}"] = float(plain_exit[-1]), gamma

    # Both on test prompts.
    lab.said(f"test prompts, {what}")
    with_eta = decoded(test_texts, exit_at, MOST, eta, lab.seed + 1, length)
    with_length = decoded(test_texts, plain_exit, gamma, 0.0, lab.seed + 1, length)
    spent, spent_fixed = (cost.of(n, r.blocks, r.drafts) for n, r in ((exit_at, with_eta), (plain_exit, with_length)))
    measured = {
        f"times faster in weights read, {what}": ratio(with_eta.tokens, spent),
        f"times faster with a fixed length, {what}": ratio(with_length.tokens, spent_fixed),
        f"gain of eta over a fixed length, {what}": bootstrap(
            (with_eta.tokens, spent, with_length.tokens, spent_fixed),
            lambda a, b, c, d: (a.sum(-1) / b.sum(-1)) / (c.sum(-1) / d.sum(-1)) - 1,
        ),
        f"tokens a block with eta, {what}": ratio(with_eta.tokens, with_eta.blocks),
        f"drafts a block with eta, {what}": ratio(with_eta.drafts, with_eta.blocks),
        f"tokens a block with a fixed length, {what}": ratio(with_length.tokens, with_length.blocks),
    }
    along_texts = along(exit.drafter(*exit.shipped(plain_exit)), test_texts, gamma, 1.0)
    return measured, {
        f"tokens a block with a fixed length, along test texts, {what}": tau(expected(test_texts, along_texts, gamma))
    }


def _first(texts: Texts, prompts: int) -> Texts:
    """The texts of the first prompts."""
    which = np.isin(texts.group, np.unique(texts.group)[:prompts])
    return Texts([p for p, keep in zip(texts.prompts, which, strict=True) if keep], *(w[which] for w in texts[1:]))


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    speedup, gain = record.measured[HEADLINE], record.measured[GAIN]
    if speedup.high < 1:
        return "contradicts"
    inside = 0 < record.exact["best l with eta, emulated cost"] < len(EXITS) - 1
    return "shows" if speedup.low > 1 and gain.low > 0 and inside else "does not show"
