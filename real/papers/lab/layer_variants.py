"""Variants of EAGLE's layer: trained from scratch on the same states, in as many steps, and judged alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from real.decode.given_text import Along
from real.decode.warp import Warping, probabilities
from real.draft import feature
from real.draft._parts import Frozen, frozen
from real.draft._rollout import crossed, last, rolled, shifted
from real.models.model import full_states
from real.papers.lab.aligning import Lesson
from real.papers.lab.contract import Lab
from real.papers.lab.pairs import pair_named
from real.papers.lab.text_lab import Tally, expected
from real.papers.lab.texts import Texts
from real.papers.lab.trimmed_heads import LAYER
from real.train import loop
from specsim.base.arrays import at as entries_at

# Width of the gated layer of feature sampling.
FUSED = 96
# Largest norm of a step's gradient, with which the shipped layer was trained.
CLIP = 1.0


class Plan(NamedTuple):
    """Steps of a training, texts of a step, steps of a block, the highest rate, and steps of warm-up."""

    steps: int
    batch: int
    unroll: int
    rate: float
    warmup: int


class Judged(NamedTuple):
    """Texts to judge on, with the target's state before each of their places and its probability of each token."""

    texts: Texts
    temperature: float
    before: list[Tensor]
    p: list[Any]


def recipe_of(pair: str) -> dict[str, Any]:
    """Return the recipe of the pair's EAGLE layer, without FSPAD's changes."""
    recipe = feature.RECIPES[LAYER[pair]]
    return {name: value for name, value in recipe.items() if name not in ("fuse", "pad")}


def variants(pair: str) -> dict[str, dict[str, Any]]:
    """Return the options of each variant: both changes, each alone, and a control with as many parameters as both.

    Partial alignment adds outputs to the layer's gated part, as many weights as a gated layer of a
    third of its width.
    """
    third = recipe_of(pair)["gated"] // 3
    return {
        "both": {"fuse": FUSED, "pad": True},
        "control": {"extra": FUSED + third},
        "fs": {"fuse": FUSED},
        "pad": {"pad": True},
    }


def untrained(pair: str, options: dict[str, Any], seed: int) -> Any:
    """Return a variant before training; its head has the tokens of the shipped layer's."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net: Any = feature.network(recipe_of(pair) | options)
    net.tokens = shipped(pair).tokens
    return net


def shipped(pair: str) -> Any:
    """Return the shipped EAGLE layer of a pair, which was trained far longer."""
    return feature.shipped(LAYER[pair])


def trained(lab: Lab, options: dict[str, Any], lesson: Lesson, plan: Plan, seed: int) -> Any:
    """Return a variant after its training.

    Parameters
    ----------
    lab : Lab
        Its pair, and where stages are shown.
    options : dict
        One of `variants`.
    lesson : Lesson
        Texts with the target's states.
    plan : Plan
        Of the training.
    seed : int
        Of the untrained weights, and of the order of the texts.

    Returns
    -------
    Feature
        In evaluation mode.
    """
    net, recipe = untrained(lab.pair, options, seed), recipe_of(lab.pair)
    ends = frozen(pair_named(lab.pair).target, net.hidden, net.tokens)

    def loss(step: int) -> Tensor:
        """Return the mean loss of random texts, which the step's number decides."""
        which = torch.randint(len(lesson.tokens), (plan.batch,), generator=loop.generator(seed, step))
        losses = [loss_of(net, ends, lesson.rows(row[None]), plan.unroll, recipe) for row in which]
        return torch.stack(losses).mean()

    schedule = loop.Schedule(plan.steps, plan.rate, plan.warmup)
    loop.fit(net, loss, schedule, learners=[loop.adamw(net)], clip=CLIP, show_stage=lab.said)
    return net


def loss_of(net: Any, ends: Frozen, text: Lesson, unroll: int, recipe: dict[str, Any]) -> Tensor:
    """Return the loss of `real.draft.feature.lesson` on one text, in blocks that begin at all places of its answer."""
    # Blocks whose steps all lie in the answer.
    places = text.is_answer[0].nonzero()[:, 0]
    end = int(places[-1]) + 1
    at = places[: max(1, len(places) - unroll + 1)]
    states = text.states[:, :end].float()

    # Step j should give the target's state after the token that it reads.
    losses = []
    for j, step in enumerate(rolled(net, ends, text.tokens[:, :end], shifted(states), at, unroll)):
        wanted = states[:, (at + j).clamp(max=end - 1)]
        distance = F.smooth_l1_loss(step.carried, wanted)
        cross_entropy = crossed(ends, wanted, step.read)
        losses.append(recipe.get("state_share", 1.0) * distance + recipe["head_share"] * cross_entropy)
    return torch.stack(losses).mean()


@torch.no_grad()
def judged(texts: Texts, temperature: float) -> Judged:
    """Return texts that the target wrote at a temperature, read by the target."""
    target = pair_named(texts.pair).target
    before, p = [], []
    for prompt, text in zip(texts.prompts, texts.rows, strict=True):
        logits, states = full_states(target, torch.tensor(prompt + text), last(target))
        before.append(shifted(states[None, :, 0]))
        # The row after a token is about the next one.
        laws = probabilities(logits[len(prompt) - 1 : -1], Warping(temperature))
        # A greedy target writes each of its tokens with probability 1.
        is_greedy = temperature == 0
        p.append(np.ones(len(text)) if is_greedy else entries_at(laws, torch.tensor(text)).double().numpy())
    return Judged(texts, temperature, before, p)


@torch.no_grad()
def tally_of(net: Any, on: Judged, gamma: int) -> Tally:
    """Return tokens and expected target calls of each prompt, in blocks of gamma drafts of a layer."""
    ends = frozen(pair_named(on.texts.pair).target, net.hidden, net.tokens)
    along = []
    for prompt, text, before, p in zip(on.texts.prompts, on.texts.rows, on.before, on.p, strict=True):
        at = torch.arange(len(prompt) - 1, len(prompt) + len(text) - 1)
        q = np.zeros((len(text), gamma))
        steps = rolled(net, ends, torch.tensor([prompt + text]), before, at, gamma)
        # Step i gives the probability of token t + i to the block that begins before token t.
        for i, step in enumerate(steps):
            drafts = torch.tensor(text[i:], dtype=torch.int64)
            q[: len(drafts), i] = probability(ends, step.read[0, : len(drafts)], drafts, on.temperature)
        along.append(Along(q, p))
    return expected(on.texts, along, gamma)


def probability(ends: Frozen, read: Tensor, drafts: Tensor, temperature: float) -> Any:
    """Return the probability (n,) of tokens (n,) by what the head reads (n, hidden); 0 for tokens that it lacks."""
    laws = probabilities(ends.rows(read), Warping(temperature))
    if ends.tokens is None:
        return entries_at(laws, drafts).double().numpy()
    places = torch.searchsorted(ends.tokens, drafts).clamp(max=len(ends.tokens) - 1)
    is_known = ends.tokens[places] == drafts
    return torch.where(is_known, entries_at(laws, places), 0).double().numpy()
