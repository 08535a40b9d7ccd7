"""Logits with their settings, and the law that transformers' own processors make of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from specsim import warp

Array = Any
# Rounded: logits that differ while their masses do not are ordered by logit in transformers, by
# mass here.
LOGIT = st.one_of(
    st.floats(-20, 20).map(lambda v: round(v, 6)), st.sampled_from([-1.0, 0.0, 0.5, 2.0]), st.just(-np.inf)
)
ROW = st.lists(LOGIT, min_size=1, max_size=9).filter(lambda row: max(row) > -np.inf).map(np.array)
SETTINGS = st.fixed_dictionaries(
    {
        "temperature": st.one_of(st.just(1.0), st.floats(0.1, 4)),
        "top_k": st.integers(0, 10),
        "top_p": st.one_of(st.just(1.0), st.floats(0.05, 1)),
        "min_p": st.one_of(st.just(0.0), st.floats(0, 1)),
    }
)


class Context(NamedTuple):
    """The tokens seen, the penalty and the bias, which processors need beside the logits."""

    ids: list[int]
    penalty: float
    bias: dict[int, float]

    def seen(self, vocab: int) -> Array:
        return np.isin(np.arange(vocab), self.ids)

    def dense(self, vocab: int) -> Array:
        return np.array([self.bias.get(token, 0.0) for token in range(vocab)])


EMPTY = Context([], 1.0, {})


def by_transformers(
    logits: Array, temperature: float, top_k: int, top_p: float, min_p: float, context: Context = EMPTY
) -> Array:
    """Return the law (V,) that transformers' own processors make of logits (V,)."""
    torch = pytest.importorskip("torch")
    process = pytest.importorskip("transformers.generation.logits_process")

    # Bias and penalty, then temperature and filters, in the order of transformers.
    scores = torch.from_numpy(logits)[None]
    ids = torch.tensor([context.ids], dtype=torch.int64)
    if context.bias:
        scores = process.SequenceBiasLogitsProcessor({(t,): b for t, b in context.bias.items()})(ids, scores)
    if context.penalty != 1:
        scores = process.RepetitionPenaltyLogitsProcessor(context.penalty)(ids, scores)
    scores = process.TemperatureLogitsWarper(temperature)(ids, scores)
    if top_k:
        scores = process.TopKLogitsWarper(top_k)(ids, scores)
    scores = process.TopPLogitsWarper(top_p)(ids, scores) if top_p < 1 else scores
    scores = process.MinPLogitsWarper(min_p)(ids, scores) if min_p else scores
    return torch.softmax(scores, dim=-1)[0].numpy()


def on_a_boundary(
    logits: Array, temperature: float, top_k: int, top_p: float, min_p: float, slack: float = 1e-12
) -> bool:
    """True if rounding alone decides whether a token survives: its mass meets top_p or min_p to `slack`."""
    before = warp(logits, temperature=temperature, top_k=top_k)
    after = warp(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    nucleus = top_p < 1 and np.abs(np.cumsum(np.sort(before)) - (1 - top_p)).min() < slack
    floor = 0 < min_p < 1 and np.abs(after - min_p * after.max()).min() < slack
    return bool(nucleus or floor)
