"""The threshold that is learned while decoding is that of transformers."""

from __future__ import annotations

import numpy as np
import pytest

from specsim import discover
from specsim.types import Signals


def blocks(rng: np.random.Generator, count: int) -> list[tuple[np.ndarray, int]]:
    """Probabilities of blocks of drafts, and how many of each were kept: the likelier the oftener."""
    out = []
    for _ in range(count):
        own = rng.random(rng.integers(1, 6)).round(1)
        out.append((own, int(np.cumprod(rng.random(len(own)) < own).sum())))
    return out


def test_the_roc_threshold_is_that_of_transformers() -> None:
    """Its own words of `update_candidate_strategy`, with the curve of sklearn."""
    metrics = pytest.importorskip("sklearn.metrics")
    module, rng = discover.find("control", "roc"), np.random.default_rng(3)
    state, probs, matches, threshold = module.start((), eta=0.4), list[float](), list[int](), 0.4
    changed = 0
    for own, kept in blocks(rng, 60):
        for i, value in enumerate(own):
            state = module.see(state, Signals(np.zeros(10), np.zeros(()), np.array(i + 1), np.array(value)))
        state = module.learn(state, np.array(kept), np.array(len(own)))
        probs.extend(own.tolist())
        matches.extend([1] * kept)
        if len(probs) > len(matches):
            matches.append(0)
        if len(probs) > len(matches):
            del probs[len(matches) - len(probs) :]
        if len(probs) > 5 and {0, 1}.issubset(matches):
            fpr, tpr, thresholds = metrics.roc_curve(matches, probs)
            cost = fpr + 3 * (1 - tpr)
            threshold, changed = float(thresholds[np.argmin(cost)]), changed + 1
            ties = thresholds[np.isclose(cost, cost.min())]
            assert float(state.eta) in ties, "the costs tell them apart but by rounding"
        else:
            assert float(state.eta) == threshold
    assert changed > 40


def test_a_threshold_of_zero_never_learns() -> None:
    module = discover.find("control", "roc")
    state = module.start((), eta=0)
    for own, kept in blocks(np.random.default_rng(4), 20):
        for i, value in enumerate(own):
            state = module.see(state, Signals(np.zeros(10), np.zeros(()), np.array(i + 1), np.array(value)))
            assert module.more(state, Signals(np.zeros(10), np.zeros(()), np.array(i + 1), np.array(value)))
        state = module.learn(state, np.array(kept), np.array(len(own)))
    assert state.eta == 0


def test_texts_of_a_batch_learn_as_each_would_alone() -> None:
    """Where one text's block is shorter, the places that it did not draft were neither kept nor refused."""
    module, rng = discover.find("control", "roc"), np.random.default_rng(6)
    batch, alone = module.start((2,), eta=0.4), [module.start((), eta=0.4) for _ in range(2)]
    for _ in range(12):
        own, drafted = rng.random((2, 4)).round(1), rng.integers(1, 5, 2)
        kept = np.minimum(rng.integers(0, 5, 2), drafted)
        for i in range(4):
            batch = module.see(batch, Signals(np.zeros((2, 10)), np.zeros(2), np.full(2, i + 1), own[:, i]))
        batch = module.learn(batch, kept, drafted)
        for text in range(2):
            for i in range(drafted[text]):
                now = Signals(np.zeros(10), np.zeros(()), np.array(i + 1), own[text, i])
                alone[text] = module.see(alone[text], now)
            alone[text] = module.learn(alone[text], kept[text], drafted[text])
        assert batch.eta.tolist() == [float(one.eta) for one in alone]
    assert (batch.eta != 0.4).all()
