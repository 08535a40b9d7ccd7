"""A judge of drafts: labels mined without a reader, and a head on the target's state at a draft.

Along a text that the draft writes, the target is asked at each place for its likeliest token. Where
the draft's token is another one, it is put there and the target finishes the text; the token is
unimportant if the answer stays what it was. Unimportant ones stay in the text, important ones are
put right, and the walk goes on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.papers.models.sums import chains
from real.papers.models.sums.chains import CONNECTIVES, HEAD, LENGTH
from specsim.base import check
from specsim.base.arrays import pick
from specsim.types import Array

# Decay of the head's weights: without it, hundreds of labels would be learned by heart by as many
# weights.
DECAY = 1e-2


class Labels(NamedTuple):
    """Mismatches between draft and target."""

    # The target's last state at the draft's token, (m, hidden).
    states: Array
    # Whether each is unimportant, (m,).
    unimportant: Array
    # The draft's tokens, (m,).
    tokens: Array


class Head(NamedTuple):
    """A logistic regression on states, scaled by the mean and spread of the states it was fitted on."""

    middle: Array
    spread: Array
    weight: Array
    bias: float


def mine(target: Any, draft: Any, asked: Tensor, rng: np.random.Generator) -> Labels:
    """Labels from the solutions that a draft writes for problems (n, HEAD)."""
    texts, answers = asked, chains.finished(target, asked)[:, LENGTH - 2]
    mismatches: list[tuple[Tensor, Tensor, Tensor]] = []
    for _ in range(HEAD, LENGTH - 2):
        best = chains.read(target, texts)[0][:, -1].argmax(-1)
        drafted = torch.from_numpy(pick(chains.read(draft, texts)[0][:, -1].numpy(), rng.random(len(texts))))
        other = drafted != best
        # Where the draft's token is another one, the target finishes the text with it.
        if bool(other.any()):
            put = torch.cat([texts, drafted[:, None]], 1)[other]
            states = chains.read(target, put)[1][:, -1]
            important = chains.finished(target, put)[:, LENGTH - 2] != answers[other]
            mismatches.append((states, ~important, drafted[other]))
            drafted[other] = torch.where(important, best[other], drafted[other])
        texts = torch.cat([texts, drafted[:, None]], 1)
    if not mismatches:
        raise ValueError("labels are none: the draft wrote what the target finds likeliest")
    every = [torch.cat(parts).numpy() for parts in zip(*mismatches, strict=True)]
    return Labels(every[0].astype(np.float64), every[1], every[2])


def fitted(labels: Labels) -> Head:
    """The head, by class-weighted cross-entropy with a decay of its weights.

    ValueError for labels of one kind.
    """
    from scipy import optimize, special

    # Scaled states, and weights by which both kinds of labels count alike.
    kinds = labels.unimportant.mean() if len(labels.unimportant) else 0.0
    if not 0 < kinds < 1:
        raise ValueError(
            f"labels are {len(labels.unimportant)}, {kinds:.0%} unimportant: a judge learns from both kinds"
        )
    middle, spread = labels.states.mean(axis=0), labels.states.std(axis=0) + 1e-6
    x, y = (labels.states - middle) / spread, labels.unimportant.astype(np.float64)
    share = np.where(labels.unimportant, 0.5 / kinds, 0.5 / (1 - kinds)) / len(y)

    def loss(at: Array) -> tuple[float, Array]:
        """Weighted cross-entropy with decay, and its gradient."""
        scores = x @ at[:-1] + at[-1]
        off = share * (special.expit(scores) - y)
        value = share @ (np.logaddexp(0, scores) - y * scores) + DECAY * at[:-1] @ at[:-1] / 2
        return float(value), np.append(x.T @ off + DECAY * at[:-1], off.sum())

    best = optimize.minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B").x
    return Head(middle, spread, best[:-1], float(best[-1]))


def sure(head: Head, states: Array) -> Array:
    """The judge's probability that a token is unimportant (...), from the target's states (..., hidden)."""
    score = (states - head.middle) / head.spread @ head.weight + head.bias
    return 1 / (1 + np.exp(-score))


def passing(head: Head, target: Any, texts: Tensor, delta: float) -> Array:
    """Which tokens (n, LENGTH - HEAD, VOCAB) the judge would let pass at each place of solutions.

    Each token is put in its place in turn, and the target reads it there.
    """
    delta = check.scalar(delta, "delta", "[0, 1]")
    every = torch.arange(chains.VOCAB)
    rows = []
    for place in range(HEAD, LENGTH):
        before = texts[:, None, :place].expand(-1, chains.VOCAB, -1)
        put = torch.cat([before, every.expand(len(texts), -1)[..., None]], 2)
        states = chains.read(target, put.flatten(0, 1))[1][:, -1]
        rows.append(sure(head, states.numpy().astype(np.float64)).reshape(len(texts), chains.VOCAB) > delta)
    return np.stack(rows, axis=1)


def of_connectives(tokens: Array) -> float:
    """The share of tokens that are connectives."""
    return float(np.isin(tokens, CONNECTIVES).mean())
