"""Alignment of a small draft with a target, by objectives of `specsim.objective`, on texts of either model.

The draft is one of `real.draft.lowrank`, which borrows the target's embedding and head. Its head has
some tokens alone: the target's laws are taken on these, as where the shipped drafts were trained.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from real.decode.loop import decode_batch, keyed
from real.draft import lowrank
from real.draft._parts import Frozen, frozen
from real.models.names import TINY_PAIR
from real.models.shipped import fingerprint
from real.papers.lab import writing
from real.papers.lab.pairs import ends, identity, pair_named
from real.papers.lab.texts import Texts
from real.train import loop, states
from specsim import discover
from specsim.base.unknown import unknown
from specsim.types import Array

# Largest norm of a step's gradient.
CLIP = 1.0
# Steps after which a draft writes anew the texts that it learns from, and the tokens of such a text.
FRESH, WRITTEN = 8, 64
# Texts in one pass of a draft that is judged.
TOGETHER = 16
# An untrained draft of the bundled target, for trials and tests.
UNTRAINED = {"hidden": 256, "width": 32, "heads": 4, "ffn": 64, "layers": 1}


class Plan(NamedTuple):
    """Steps of a training, texts of a step, and steps of linear warm-up."""

    steps: int
    batch: int
    warmup: int


class Lesson(NamedTuple):
    """Texts to learn from, with what the target knows of them.

    tokens: (n, m) int64, 0 after the end of a text. is_answer: (n, m) bool, the places before the
    tokens of an answer. states: (n, m, hidden), the target's last states, which its head reads.
    """

    tokens: Tensor
    is_answer: Tensor
    states: Tensor

    def rows(self, which: Tensor) -> Lesson:
        """Return some of the texts."""
        return Lesson(*(part[which] for part in self))


# Who writes the texts to learn from.
SOURCES = ("target", "draft", "mixed")
# The draft as it is, and a step -> the texts of the step.
Source = Callable[[Any, int], Lesson]


def started(pair: str) -> Any:
    """Return the draft to align: the one that is shipped for SmolLM2; the bundled target's is untrained."""
    if pair != TINY_PAIR:
        return lowrank.shipped("smollm2/lowrank")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return lowrank.network(UNTRAINED)


def ends_of(pair: str, net: Any) -> Frozen:
    """Return the target's embedding and its head for the tokens of a draft."""
    return frozen(pair_named(pair).target, net.hidden, net.tokens)


def lesson(texts: Texts, *, is_stored: bool = False, show_stage: Callable[[str], None] = loop.silent) -> Lesson:
    """Return texts with the target's states along them.

    With `is_stored` these are read from the cache folder, or computed once and stored there.
    """
    tokens, is_answer = filled(texts)
    folder: Path | None = None
    if is_stored:
        rows = [prompt + text for prompt, text in zip(texts.prompts, texts.rows, strict=True)]
        folder = writing.cache() / f"states-{fingerprint({'target': identity(texts.pair), 'tokens': rows})}"
    target = pair_named(texts.pair).target
    last = states.cached(target, tokens, (-1,), folder, show_stage)[:, :, 0]
    return Lesson(tokens, is_answer, last)


def filled(texts: Texts) -> tuple[Tensor, Tensor]:
    """Return `tokens` and `is_answer` of a `Lesson`: prompts with texts, filled with zeros up to the longest."""
    rows = [prompt + text for prompt, text in zip(texts.prompts, texts.rows, strict=True)]
    longest = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    first = torch.tensor([len(prompt) for prompt in texts.prompts])[:, None] - 1
    end = torch.tensor([len(row) for row in rows])[:, None] - 1
    places = torch.arange(longest)
    return tokens, (first <= places) & (places < end)


@torch.no_grad()
def probabilities(net: Any, ends: Frozen, texts: Texts, temperature: float) -> list[Array]:
    """Return a draft's probability of each token of the answers; 0 for one that its head lacks."""
    by_part = []
    tokens, is_answer = filled(texts)
    for part, is_part in zip(torch.split(tokens, TOGETHER), torch.split(is_answer, TOGETHER), strict=True):
        rows = ends.rows(F.linear(lowrank.on_texts(net, ends, part)[is_part], net.write.T))
        is_known, places = head_places(ends, part.roll(-1, 1)[is_part])
        # A greedy draft writes the likeliest token with probability 1.
        if temperature == 0:
            probability = (rows.argmax(-1) == places).double()
        else:
            laws = (rows / temperature).softmax(-1)
            probability = laws.gather(-1, places[:, None])[:, 0].double()
        by_part.append(probability * is_known)
    return [part.numpy() for part in torch.split(torch.cat(by_part), is_answer.sum(1).tolist())]


def of_target(whole: Lesson, plan: Plan, seed: int) -> Source:
    """Return a source of random texts out of many that the target wrote."""

    def source(net: Any, step: int) -> Lesson:
        """Return the texts of a step, which its number decides."""
        rng = loop.generator(seed, step)
        return whole.rows(torch.randint(len(whole.tokens), (plan.batch,), generator=rng))

    return source


def of_draft(pair: str, prompts: Sequence[list[int]], plan: Plan, seed: int) -> Source:
    """Return a source of texts that the draft itself writes at T = 1, anew every `FRESH` steps.

    It writes twice as many as a step reads, since the target has to read all of them.
    """
    newest: list[Lesson] = []

    def source(net: Any, step: int) -> Lesson:
        """Return the texts of a step, written now or a few steps before."""
        rng = loop.generator(seed, step)
        if step % FRESH == 0:
            which = torch.randint(len(prompts), (2 * plan.batch,), generator=rng)
            newest[:] = [lesson(write(net, pair, [prompts[i] for i in which.tolist()], seed + step))]
        return newest[0].rows(torch.randperm(2 * plan.batch, generator=rng)[: plan.batch])

    return source


def halves(first: Source, second: Source) -> Source:
    """Return a source of which each step has the texts of two others, those of the first before."""

    def source(net: Any, step: int) -> Lesson:
        """Return the texts of a step, all filled up to the longest."""
        parts = first(net, step), second(net, step)
        longest = max(part.tokens.shape[1] for part in parts)
        first_texts, second_texts = (_filled(part, longest) for part in parts)
        return Lesson(*map(torch.cat, zip(first_texts, second_texts, strict=True)))

    return source


def _filled(texts: Lesson, length: int) -> Lesson:
    """Return texts of a length, with zeros after their ends."""
    after = length - texts.tokens.shape[1]
    tokens, is_answer = (F.pad(part, (0, after)) for part in (texts.tokens, texts.is_answer))
    return Lesson(tokens, is_answer, F.pad(texts.states, (0, 0, 0, after)))


def source_named(name: str, whole: Lesson, texts: Texts, plan: Plan, seed: int) -> Source:
    """Return a source by its name.

    Parameters
    ----------
    name : str
        "target", texts that the target wrote; "draft", texts that the draft writes after the same
        prompts; "mixed", half a step's texts of each.
    whole : Lesson
        The target's texts with its states.
    texts : Texts
        The same texts.
    plan : Plan
        Texts of a step.
    seed : int
        Decides which texts a step has.

    Raises
    ------
    ValueError
        An unknown name.
    """
    if name not in SOURCES:
        raise unknown("source", name, SOURCES, "sources")
    if name == "target":
        return of_target(whole, plan, seed)
    if name == "draft":
        return of_draft(texts.pair, texts.prompts, plan, seed)
    half = plan._replace(batch=plan.batch // 2)
    return halves(of_target(whole, half, seed), of_draft(texts.pair, texts.prompts, half, seed))


def write(net: Any, pair: str, prompts: list[list[int]], seed: int) -> Texts:
    """Let a draft answer prompts at T = 1."""
    answers = decode_batch(
        lowrank.model_of(pair_named(pair).target, net),
        None,
        prompts,
        max_tokens=WRITTEN,
        gamma=0,
        uniforms=[keyed(seed, i) for i in range(len(prompts))],
        stop=ends(pair),
    )
    tokens = np.full((len(prompts), WRITTEN), -1)
    for row, answer in zip(tokens, answers, strict=True):
        row[: len(answer.tokens)] = answer.tokens
    return Texts(prompts, tokens, np.full(len(prompts), "calibration"), np.arange(len(prompts)), pair)


def tuned(start: Any, ends: Frozen, name: str, source: Source, plan: Plan, rate: float, seed: int) -> Any:
    """Return a copy of a draft, trained by an objective.

    Parameters
    ----------
    start : lowrank.Small
        The draft; not changed.
    ends : Frozen
        The target's embedding and head.
    name : str
        A file of `specsim.objective`. `cross_entropy` learns the tokens of the texts; other sampled
        ones get a token of the draft at each place.
    source : callable
        The texts of each step.
    plan : Plan
        Steps.
    rate : float
        The highest rate of AdamW.
    seed : int
        Of the tokens that are drawn.

    Raises
    ------
    ValueError
        An unknown objective; a loss that is not finite, with its step.
    """
    objective, net = discover.find("objective", name), copy.deepcopy(start)
    loss = partial(_loss, net, ends, objective, source, seed)
    schedule = loop.Schedule(plan.steps, rate, plan.warmup)
    for _ in loop.descend(net, [loop.adamw(net)], loss, schedule, clip=CLIP):
        pass
    return net.eval()


def _loss(net: Any, ends: Frozen, objective: Any, source: Source, seed: int, step: int) -> Tensor:
    """Return the loss of a step, the mean over the places before tokens of answers."""
    # The laws of both models on the tokens of the draft's head.
    batch = source(net, step)
    with torch.no_grad():
        p = ends.rows(batch.states[batch.is_answer].float()).softmax(-1)
    narrow = lowrank.on_texts(net, ends, batch.tokens)[batch.is_answer]
    log_q = ends.rows(F.linear(narrow, net.write.T)).log_softmax(-1)

    # The tokens that it learns: those of the texts, as far as the head has them, or drawn ones.
    tokens = None
    if discover.objective_facts(objective).tokens == "target":
        is_known, tokens = head_places(ends, batch.tokens.roll(-1, 1)[batch.is_answer])
        p, log_q, tokens = p[is_known], log_q[is_known], tokens[is_known]
    elif objective.SAMPLED:
        rng = loop.generator(seed, step)
        tokens = torch.multinomial(log_q.detach().exp(), 1, generator=rng)[:, 0]
    value: Tensor = objective.loss(p, log_q, tokens).mean()
    return value


def head_places(ends: Frozen, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Return whether the head has each token, and its place there; the place of others means nothing."""
    if ends.tokens is None:
        return torch.ones_like(tokens, dtype=torch.bool), tokens
    places = torch.searchsorted(ends.tokens, tokens).clamp(max=len(ends.tokens) - 1)
    return ends.tokens[places] == tokens, places
