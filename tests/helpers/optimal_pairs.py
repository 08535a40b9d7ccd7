"""Pairs of laws for the optimal rule, whole vocabularies too, and what it makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from specsim.base.arrays import accept_probability, residual
from specsim.draft.distinct import mean_slope
from specsim.forking import rational
from specsim.types import Draws
from specsim.verify.step import optimal

Array = Any


def own_law(p: Array, q: Array, num_drafts: int, grid: float | None = None) -> tuple[Array, Array, Array, Array]:
    """w; then, from the law of every token's label, the law of the winner, the masses kept, and the output law."""
    plan = optimal.prepare(p, q, num_drafts, grid=grid)
    joint = q[:, None] * optimal._label_law(plan, np.arange(len(p)))  # token x label
    label = joint.sum(axis=0)
    up_to = label.cumsum()
    winner = (joint * mean_slope(up_to - label, up_to, Draws(num_drafts, 0, num_drafts))).sum(axis=1)
    w = optimal.winners(plan)
    accepted = winner * accept_probability(p, w, np.arange(len(p)))
    return w, winner, accepted, accepted + (winner - accepted).sum() * residual(p, w)


def float_pair(rng: np.random.Generator, vocab: int, kind: str) -> tuple[Array, Array]:
    """Return two random laws (V,) of one of KINDS."""
    # Laws without zeros, changed as the kind says; a law without any mass gets one token.
    p, q = rng.dirichlet(np.full(vocab, rng.choice([0.05, 0.3, 1, 5])), 2) + 1e-300
    if kind == "equal ratios":
        q = p * rng.choice([0.5, 1, 2], vocab)
    elif kind == "nearly equal":
        q = p * (1 + 1e-12 * rng.standard_normal(vocab))
    elif kind == "wild scales":
        p, q = np.maximum(p**20, 1e-150), np.maximum(q**20, 1e-150)
    elif kind == "disjoint":
        p[::2], q[1::2] = 0, 0
    elif kind == "zeros":
        p[rng.random(vocab) < rng.choice([0, 0.5])] = 0
        q[rng.random(vocab) < rng.choice([0, 0.5])] = 0
    for w in (p, q):
        w[0 if w.sum() else -1] += not w.sum()
    return p / p.sum(), q / q.sum()


KINDS = ("dense", "zeros", "disjoint", "equal ratios", "nearly equal", "wild scales")


def run(plan: Any, x: Array, fork: rational.Fork) -> int:
    """Return the token that the optimal rule emits for drafts x, with uniforms that fork."""
    return int(optimal.verify(plan, x, fork.uniforms(optimal.uniforms(len(x)))))


def long_pair(kind: str, vocab: int) -> tuple[Array, Array]:
    """Return two laws over a whole vocabulary.

    "zipf" is the pair of section 12 of docs/theory/verification.md. Others are softmaxes of
    correlated normal logits, each cut to its largest half if "top".
    """
    rng = np.random.default_rng(vocab)
    if kind == "zipf":
        i = np.arange(1, vocab + 1, dtype=np.float64)
        p, q = i**-1.2, i**-1.0
    else:
        logits = 3 * rng.standard_normal(vocab)
        p, q = (np.exp(logits + 0.5 * rng.standard_normal(vocab)) for _ in range(2))
        if kind == "top":
            p, q = (np.where(w >= np.median(w), w, 0) for w in (p, q))
    return p / p.sum(), q / q.sum()
