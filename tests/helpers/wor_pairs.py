"""Pairs of laws for two drafts without replacement, and their optimum."""

from __future__ import annotations

from typing import Any

import numpy as np

from specsim import optimal_acceptance

Array = Any
WOR = "without_replacement"


def rows(seed: int, vocab: int, spread: float = 1.0) -> tuple[Array, Array]:
    p, q = np.random.default_rng(seed).dirichlet(np.full(vocab, spread), 2)
    return p, q


def best(p: Array, q: Array) -> Array:
    return optimal_acceptance(p, q, num_drafts=2, scheme=WOR)


def peaked(seed: int, temperature: float, vocab: int, apart: float, count: int = 100) -> tuple[Array, Array]:
    """Laws of logits N(0, 2) at a low temperature; those of the draft are `apart` from the target's."""
    rng = np.random.default_rng(seed)
    target = rng.normal(0, 2, (count, vocab))
    draft = rng.normal(0, 2, (count, vocab)) if apart > 1 else target + rng.normal(0, apart, (count, vocab))
    p, q = (np.exp((w - w.max(axis=-1, keepdims=True)) / temperature) for w in (target, draft))
    return p / p.sum(axis=-1, keepdims=True), q / q.sum(axis=-1, keepdims=True)


def least_over_all_sets(p: Array, q: Array) -> Array:
    """1 + min p(H) - Pr(both drafts in H) over every set H, pairs of drafts counted one by one (T03)."""
    vocab = p.shape[-1]
    others = np.array([np.delete(q, i, axis=-1).sum(axis=-1) for i in range(vocab)]).T  # 1 - q would cancel
    pairs = np.where(others[:, :, None] > 0, q[:, :, None] * q[:, None, :] / np.maximum(others, 1e-300)[:, :, None], 0)
    found = np.full(len(p), np.inf)
    for chosen in range(1 << vocab):
        inside = [i for i in range(vocab) if chosen >> i & 1]
        both = sum(pairs[:, i, j] for i in inside for j in inside if i != j)
        found = np.minimum(found, p[:, inside].sum(axis=-1) - both)
    return 1 + found
