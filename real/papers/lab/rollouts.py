"""Blocks that the pair's draft would make along texts of the target: signals of each draft, and its acceptance.

From places of a text that the target wrote, the draft goes on by itself for gamma tokens, and the target gives its rows
along them. So every controller can be asked of the same blocks, at whatever length, and what a block of g drafts keeps
is the sum of products of acceptances, with no coin thrown.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from real.decode.loop import keyed
from real.decode.warp import Warping, probabilities
from real.papers.lab.texts import Texts
from real.papers.lab.writing import pair
from real.signals import logit_signals
from specsim.base.arrays import at, pick
from specsim.control._confidence import INPUTS, Layers, features
from specsim.types import Array, Signals

EVERY = 8  # tokens from one block's start to the next
SCALES = (*[1.0] * 10, 0.2, 0.1, 1.0)  # of what a network reads, so that no signal is much larger than others
RATE, DECAY, BATCH = 3e-3, 0.05, 256


class Rollouts(NamedTuple):
    """Blocks from s places of each of n texts."""

    accept: Array  # (n, s, gamma): min(1, p/q) of each draft, given those before it
    signals: Signals  # (n, s, gamma, 10), (n, s, gamma), ... of rows before warping
    group: Array  # (n,): the prompt


@torch.no_grad()
def rolled(texts: Texts, gamma: int, temperature: float, seed: int) -> Rollouts:
    """Blocks of gamma drafts from every eighth place of the texts.

    Parameters
    ----------
    texts : Texts
        Of one length.
    gamma : int
        Drafts of a block.
    temperature : float
        Of both models.
    seed : int
        Of the drafts.

    Returns
    -------
    Rollouts
        float64.
    """
    both, warping = pair(), Warping(temperature)
    which = list(range(len(texts.prompts)))
    caches = [model.cache(len(which)) for model in (both.draft, both.target)]
    numbers = [keyed(seed, i) for i in which]
    for cache in caches:
        for i, prompt in enumerate(texts.prompts):
            if prompt[:-1]:
                cache.forward(torch.tensor([prompt[:-1]]), 0, [i])
    accept, told, before = [], [], -1
    for t in range(0, texts.tokens.shape[1] - gamma, EVERY):
        lengths = [len(prompt) + t for prompt in texts.prompts]
        rows = zip(texts.prompts, texts.tokens.tolist(), strict=True)
        unread = torch.tensor([(prompt + text[:t])[-1 if before < 0 else before - t :] for prompt, text in rows])
        u = torch.stack([number(n, gamma) for number, n in zip(numbers, lengths, strict=True)])
        drafts, laws, rows_of_logits, new = [], [], [], unread
        for k in range(gamma):
            logits = caches[0].forward(new, 1, which)[:, 0]
            law = probabilities(logits, warping)
            new = pick(law, u[:, k])[:, None]
            drafts.append(new)
            laws.append(law)
            rows_of_logits.append(logits)
        tokens, q = torch.cat(drafts, 1), torch.stack(laws, 1)
        p = probabilities(caches[1].forward(torch.cat([unread, tokens[:, :-1]], 1), gamma, which), warping)
        accept.append((at(p, tokens).double() / at(q, tokens).double()).clamp(max=1).numpy())
        told.append(logit_signals(torch.stack(rows_of_logits, 1), tokens, np.arange(1, gamma + 1)))
        for cache in caches:
            for i, n in enumerate(lengths):
                cache.rollback(i, n)
        before = t
    return Rollouts(np.stack(accept, 1), Signals(*(np.stack(w, 1) for w in zip(*told, strict=True))), texts.group)


def shuffled(part: Rollouts, seed: int) -> Rollouts:
    """The same signals with acceptances that have nothing to do with them: all of them in another order."""
    rng = np.random.default_rng(seed)
    return part._replace(accept=rng.permutation(part.accept.ravel()).reshape(part.accept.shape))


def reached(accept: Array) -> Array:
    """The chance (..., gamma) that all drafts before each are kept."""
    before = np.cumprod(accept, axis=-1)[..., :-1]
    return np.concatenate([np.ones_like(accept[..., :1]), before], axis=-1)


def trained(part: Rollouts, *, own: bool, steps: int, seed: int) -> Layers:
    """A network's chance that a draft is kept, given that those before it are: for `classifier` and `survival`.

    Parameters
    ----------
    part : Rollouts
        What it learns from: the label is min(1, p/q), the weight the chance that the draft was reached.
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
    width = INPUTS + own
    blocks = (-1, part.accept.shape[-1])
    scale = np.array(SCALES[:width])
    x = torch.tensor((features(part.signals, own) * scale).reshape(*blocks, width), dtype=torch.float32)
    label, weight = (torch.tensor(w.reshape(blocks), dtype=torch.float32) for w in (part.accept, reached(part.accept)))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        parts: list[Any] = [torch.nn.Linear(width, 32), torch.nn.Linear(32, 32), torch.nn.Linear(32, 1)]
        net = torch.nn.Sequential(parts[0], torch.nn.ReLU(), parts[1], torch.nn.ReLU(), parts[2])
        optimiser = torch.optim.AdamW(net.parameters(), RATE, weight_decay=DECAY)
        for _ in range(steps):
            i = torch.randint(len(x), (BATCH,))
            each = torch.nn.functional.binary_cross_entropy_with_logits(net(x[i])[..., 0], label[i], reduction="none")
            loss = (each * weight[i]).sum() / weight[i].sum()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    pairs = [tuple(w.detach().double().numpy() for w in (part.weight.T, part.bias)) for part in parts]
    return ((scale[:, None] * pairs[0][0], pairs[0][1]), *pairs[1:])


def ranking(score: Array, part: Rollouts) -> float:
    """How often a kept draft has a higher score than a refused one (AUC), soft labels and chances of being reached."""
    order = np.argsort(score, axis=None, kind="stable")
    label, weight = part.accept.ravel()[order], reached(part.accept).ravel()[order]
    kept, refused = weight * label, weight * (1 - label)
    return float((np.cumsum(refused) - refused / 2) @ kept / (kept.sum() * refused.sum()))
