"""Blocks of the pair's draft along texts of the target: signals and acceptance of each draft.

From places of a text that the target wrote, the draft goes on by itself for gamma tokens, and the
target gives its rows along them. So every controller can be tried on the same blocks, at any
length, and the expected number of accepted drafts of a block is a sum of products of acceptances,
with no random number drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.decode.loop import keyed
from real.decode.warp import Warping, probabilities
from real.models.model import LanguageModel
from real.papers.lab.pairs import ends, pair_named
from real.papers.lab.texts import Texts
from real.signals import logit_signals
from specsim.base.arrays import at, pick
from specsim.control._confidence import INPUTS, Layers, features
from specsim.types import Array, Signals

# Blocks that start in each text, and texts that are rolled side by side: their rows of 49,152 tokens are many.
PLACES, TOGETHER = 16, 16
# Factors of a network's inputs, so that no signal is much larger than the others.
SCALES = (*[1.0] * 10, 0.2, 0.1, 1.0)
# Learning rate, weight decay and blocks a step of a network.
RATE, DECAY, BATCH = 3e-3, 0.05, 256


class Rollouts(NamedTuple):
    """Blocks from s places of each of n texts."""

    # min(1, p/q) of each draft, given those before it, (n, s, gamma).
    accept: Array
    # Signals of rows before warping: (n, s, gamma, 10), (n, s, gamma), ...
    signals: Signals
    # The prompt of each text, (n,).
    group: Array
    # Tokens of each text for one of its blocks, (n,): short texts have as many blocks as long ones.
    weight: Array


def rolled(
    texts: Texts,
    gamma: int,
    temperature: float,
    seed: int,
    places: int = PLACES,
    draft: LanguageModel | None = None,
) -> Rollouts:
    """Blocks of gamma drafts from places evenly spaced along each text, the first and the last token among them.

    Parameters
    ----------
    texts : Texts
        Of any lengths of at least 1.
    gamma : int
        Drafts of a block.
    temperature : float
        Of both models.
    seed : int
        Of the drafts.
    places : int
        Blocks of each text, s.
    draft : LanguageModel, optional
        What drafts; the draft model of the pair by default.

    Returns
    -------
    Rollouts
        float64. Drafts after one that ends a text are never accepted.
    """
    models = (draft or pair_named(texts.pair).draft, pair_named(texts.pair).target)
    starts = np.linspace(0, texts.lengths - 1, places, axis=1).astype(np.int64)
    parts = []
    for first in range(0, len(starts), TOGETHER):
        which = slice(first, first + TOGETHER)
        some = texts._replace(
            prompts=texts.prompts[which], tokens=texts.tokens[which], part=texts.part[which], group=texts.group[which]
        )
        uniforms = [keyed(seed, i) for i in range(first, first + len(some.prompts))]
        parts.append(_rolled_together(some, models, starts[which], gamma, temperature, uniforms))
    signals = Signals(*(np.concatenate(values) for values in zip(*(part.signals for part in parts), strict=True)))
    accept = np.concatenate([part.accept for part in parts])
    return Rollouts(accept, signals, texts.group, texts.lengths / places)


@torch.no_grad()
def _rolled_together(
    texts: Texts,
    models: tuple[LanguageModel, LanguageModel],
    starts: Array,
    gamma: int,
    temperature: float,
    uniforms: Sequence[Callable[..., Tensor]],
) -> Rollouts:
    """The blocks of a few texts by a draft and a target, from the places `starts` (n, s); uniforms are each text's."""
    # Both models read each prompt and its text, but for the last token.
    warping = Warping(temperature)
    which, whole = list(range(len(starts))), [a + b for a, b in zip(texts.prompts, texts.rows, strict=True)]
    caches = [model.cache(len(which)) for model in models]
    for cache in caches:
        for i, text in enumerate(whole):
            if text[:-1]:
                cache.forward(torch.tensor([text[:-1]]), 0, [i])
    end_tokens = torch.tensor(sorted(ends(texts.pair)), dtype=torch.int64)

    # From the last place to the first, so that what stands before a place has always been read.
    accept, signals = [], []
    for column in reversed(range(starts.shape[1])):
        lengths = [len(prompt) + int(n) for prompt, n in zip(texts.prompts, starts[:, column], strict=True)]
        for cache in caches:
            for i, length in enumerate(lengths):
                cache.rollback(i, length - 1)
        last = torch.tensor([[text[length - 1]] for text, length in zip(whole, lengths, strict=True)])

        # The draft goes on for gamma tokens.
        u = torch.stack([draw(n, gamma) for draw, n in zip(uniforms, lengths, strict=True)])
        drafts, laws, rows_of_logits, new = [], [], [], last
        for k in range(gamma):
            logits = caches[0].forward(new, 1, which)[:, 0]
            law = probabilities(logits, warping)
            new = pick(law, u[:, k])[:, None]
            drafts.append(new)
            laws.append(law)
            rows_of_logits.append(logits)

        # The target's laws along them give acceptances: none after a draft that ends the text.
        tokens, q = torch.cat(drafts, 1), torch.stack(laws, 1)
        p = probabilities(caches[1].forward(torch.cat([last, tokens[:, :-1]], 1), gamma, which), warping)
        is_over = torch.isin(tokens, end_tokens).long().cumsum(1).roll(1, 1) > 0
        is_over[:, 0] = False
        kept = (at(p, tokens).double() / at(q, tokens).double()).clamp(max=1)
        accept.append(kept.masked_fill(is_over, 0.0).numpy())

        # The draft's logits give the signals.
        draft_logits = torch.stack(rows_of_logits, 1)
        signals.append(logit_signals(draft_logits, tokens, np.arange(1, gamma + 1)))
    stacked = Signals(*(np.stack(parts[::-1], 1) for parts in zip(*signals, strict=True)))
    return Rollouts(np.stack(accept[::-1], 1), stacked, texts.group, texts.lengths / starts.shape[1])


def shuffled(part: Rollouts, seed: int) -> Rollouts:
    """Rollouts whose acceptances are shuffled, so that they do not depend on the signals."""
    rng = np.random.default_rng(seed)
    return part._replace(accept=rng.permutation(part.accept.ravel()).reshape(part.accept.shape))


def reached(accept: Array) -> Array:
    """The probability (..., gamma) that all drafts before each are accepted."""
    before = np.cumprod(accept, axis=-1)[..., :-1]
    return np.concatenate([np.ones_like(accept[..., :1]), before], axis=-1)


def trained(part: Rollouts, *, own: bool, steps: int, seed: int) -> Layers:
    """A network that predicts a draft's hazard from its signals, for `classifier` and `survival`.

    Parameters
    ----------
    part : Rollouts
        Blocks to learn from: the label is min(1, p/q), the weight the probability that the draft is
        reached.
    own : bool
        Whether it reads the probability of the drawn token, too.
    steps : int
        Of AdamW, on 256 blocks each.
    seed : int
        Of weights and batches.

    Returns
    -------
    tuple of pairs of arrays
        Two hidden layers of 32.
    """
    # Inputs, labels and weights by block.
    width = INPUTS + own
    blocks = (-1, part.accept.shape[-1])
    scale = np.array(SCALES[:width])
    inputs = (features(part.signals, own) * scale).reshape(*blocks, width)
    x = torch.tensor(inputs, dtype=torch.float32)
    label, weight = (
        torch.tensor(values.reshape(blocks), dtype=torch.float32) for values in (part.accept, reached(part.accept))
    )

    # Train a network with two hidden layers.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        parts: list[Any] = [torch.nn.Linear(width, 32), torch.nn.Linear(32, 32), torch.nn.Linear(32, 1)]
        net = torch.nn.Sequential(parts[0], torch.nn.ReLU(), parts[1], torch.nn.ReLU(), parts[2])
        optimiser = torch.optim.AdamW(net.parameters(), RATE, weight_decay=DECAY)
        for _ in range(steps):
            i = torch.randint(len(x), (BATCH,))
            losses = torch.nn.functional.binary_cross_entropy_with_logits(
                net(x[i])[..., 0],
                label[i],
                reduction="none",
            )
            loss = (losses * weight[i]).sum() / weight[i].sum()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()

    # Its weights; the first ones take the factors of the inputs in.
    pairs = [tuple(w.detach().double().numpy() for w in (part.weight.T, part.bias)) for part in parts]
    return ((scale[:, None] * pairs[0][0], pairs[0][1]), *pairs[1:])


def ranking(score: Array, part: Rollouts) -> float:
    """How often an accepted draft has a higher score than a rejected one (AUC).

    A draft counts as accepted with its probability, and with the weight that it is reached.
    """
    order = np.argsort(score, axis=None, kind="stable")
    label, weight = part.accept.ravel()[order], reached(part.accept).ravel()[order]
    accepted, rejected = weight * label, weight * (1 - label)
    wins = (np.cumsum(rejected) - rejected / 2) @ accepted
    return float(wins / (accepted.sum() * rejected.sum()))
