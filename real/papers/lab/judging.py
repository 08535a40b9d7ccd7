"""A judge of drafts: labels mined without a reader, and a linear head on the target's state at a draft.

Along the target's own greedy answer the draft says what it would write at each place. Where that is
another token, it is put there and the target goes on greedily for a horizon: the token is
unimportant if the answer is then graded no lower than the target's own, cut at half the horizon. So
wording that takes a few tokens more is none the worse.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
import torch

from real.decode.warp import Warping
from real.draft import lm
from real.models.cache import Cache
from real.pair import Pair
from specsim.base.arrays import pick
from specsim.types import Array

# Decay of the head's weights, the best of 0.01 to 3 in cross-validation on labels of training problems:
# it has as many weights as there are labels.
DECAY = 0.3
# Text, tokens of an answer to it -> how good the answer is.
Grade = Callable[[int, list[int]], float]


class Labels(NamedTuple):
    """Mismatches between draft and target, one entry each."""

    # The target's last state at the draft's token, (m, hidden).
    states: Array
    unimportant: Array
    # The text, the target's probability of the token over that of its likeliest, and the token.
    text: Array
    ratio: Array
    tokens: Array


class Head(NamedTuple):
    """A logistic regression on states, scaled by the mean and spread of the states it was fitted on."""

    middle: Array
    spread: Array
    weight: Array
    bias: float


def mine(
    both: Pair, prompts: Sequence[list[int]], length: int, horizon: int, ends: Collection[int], grade: Grade, seed: int
) -> Labels:
    """Return the labels of mismatches along the target's greedy answers.

    The draft writes its likeliest token in every other text, and draws in the rest, so that one
    judge serves both temperatures.

    Parameters
    ----------
    both : Pair
        Target and draft.
    prompts : sequence of lists of int
        At least two tokens each.
    length, horizon : int
        Tokens of an answer in which places lie, and tokens that the target writes after a replaced one.
    ends : collection of int
        Tokens that end an answer.
    grade : callable
        What decides the labels.
    seed : int
        Of the draws.
    """
    # The target's greedy answers, a little longer than the places go.
    cache = both.target.cache(len(prompts))
    for i, prompt in enumerate(prompts):
        cache.forward(torch.tensor([prompt[:-1]]), 0, [i])
    everyone = {i: prompt[-1] for i, prompt in enumerate(prompts)}
    answers = [goes_on for _, _, goes_on in _continued(cache, both, everyone, length + horizon // 2, ends)]

    # The places where the draft would write another token, the last ones first: what the cache holds
    # before a place is then still the answer.
    rng, places = np.random.default_rng([seed, 2]), []
    for i, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        laws = lm.drafter(both.draft).rows(both.target, prompt, answer[:length], Warping())  # type: ignore[misc]
        u = rng.random(len(laws))
        drafted = laws.argmax(-1).numpy() if i % 2 == 0 else pick(laws.numpy(), u)
        other = np.flatnonzero(drafted != np.array(answer[:length]))[::-1]
        places.append([(int(t), int(drafted[t])) for t in other])

    # In each round one place of every text that has another one.
    rows = []
    for turn in range(max(map(len, places))):
        put = {i: of_text[turn] for i, of_text in enumerate(places) if turn < len(of_text)}
        for i, (t, _) in put.items():
            cache.rollback(i, len(prompts[i]) + t - 1)
        first = {i: ([*prompts[i], *answers[i]][len(prompts[i]) + t - 1], x) for i, (t, x) in put.items()}
        ratios = _ratios(cache, first)
        goes_on = _continued(cache, both, {i: x for i, (_, x) in put.items()}, horizon, ends)
        for (i, (t, x)), ratio, (_, state, more) in zip(put.items(), ratios, goes_on, strict=True):
            graded = grade(i, [*answers[i][:t], x, *more])
            rows.append((state, graded >= grade(i, answers[i][: t + 1 + horizon // 2]), i, ratio, x))
    return Labels(*(np.array(column) for column in zip(*rows, strict=True)))


def _ratios(cache: Cache, first: dict[int, tuple[int, int]]) -> list[float]:
    """Read the token before a place; return the target's probability of the other over its likeliest's."""
    before, others = (torch.tensor(column) for column in zip(*first.values(), strict=True))
    logits = cache.forward(before[:, None], 1, list(first))[:, 0]
    gap = logits.gather(1, others[:, None])[:, 0] - logits.amax(-1)
    return gap.exp().tolist()


def _continued(
    cache: Cache, both: Pair, first: dict[int, int], count: int, ends: Collection[int]
) -> list[tuple[int, Array, list[int]]]:
    """Read a token of each text and go on greedily: the text, the state at the token, and what follows it."""
    weights = both.target.weights
    assert weights is not None
    layers, tokens, states = (len(weights.layers),), dict(first), dict[int, Array]()
    texts: dict[int, list[int]] = {i: [] for i in first}
    for _ in range(count):
        which = list(tokens)
        logits, at_tokens = cache.states(torch.tensor([[tokens[i]] for i in which]), which, layers)
        best = logits[:, 0].argmax(-1).tolist()
        for i, token, state in zip(which, best, at_tokens[:, 0, 0].numpy().astype(np.float64), strict=True):
            states.setdefault(i, state)
            texts[i].append(token)
        tokens = {i: token for i, token in zip(which, best, strict=True) if token not in ends}
        if not tokens:
            break
    return [(i, states[i], texts[i]) for i in first]


def fitted(labels: Labels) -> Head:
    """Return the head, by cross-entropy with a decay of its weights."""
    from scipy import optimize, special

    middle, spread = labels.states.mean(axis=0), labels.states.std(axis=0) + 1e-6
    x, y = (labels.states - middle) / spread, labels.unimportant.astype(np.float64)

    def loss(at: Array) -> tuple[float, Array]:
        """Mean cross-entropy with decay, and its gradient."""
        scores = x @ at[:-1] + at[-1]
        off = (special.expit(scores) - y) / len(y)
        value = (np.logaddexp(0, scores) - y * scores).mean() + DECAY * at[:-1] @ at[:-1] / 2
        return float(value), np.append(x.T @ off + DECAY * at[:-1], off.sum())

    best = optimize.minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B").x
    return Head(middle, spread, best[:-1], float(best[-1]))


def refitted(labels: Labels, count: int, seed: int) -> list[Head]:
    """Return the head of all labels, then heads of texts that are drawn with replacement."""
    rng, texts = np.random.default_rng([seed, 3]), np.unique(labels.text)
    heads = [fitted(labels)]
    for _ in range(count - 1):
        drawn = rng.choice(texts, len(texts))
        rows = np.concatenate([np.flatnonzero(labels.text == text) for text in drawn])
        heads.append(fitted(Labels(*(column[rows] for column in labels))))
    return heads


def sure(head: Head, states: Array) -> Array:
    """Return the judge's probability (...) that a token is unimportant, from the target's states (..., hidden)."""
    score = (states - head.middle) / head.spread @ head.weight + head.bias
    return 1 / (1 + np.exp(-np.clip(score, -500, 500)))
