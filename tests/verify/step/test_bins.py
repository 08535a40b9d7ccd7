"""The optimal rule on a grid of bins: lossless exactly, near the optimum, on every library."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.optimal_pairs import KINDS, float_pair, long_pair, own_law, run
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import optimal_acceptance
from specsim.checks import backends
from specsim.draft import iid
from specsim.forking import rational
from specsim.testing import assert_law
from specsim.testing.strategies import law_pairs
from specsim.verify.hits import draft_tuples
from specsim.verify.step import _bins, optimal

Array = Any
SHAPES = [(v, k) for v in (1, 2, 3, 4) for k in (1, 2, 3)]


@settings(max_examples=60)
@given(
    st.sampled_from(SHAPES).flatmap(lambda s: st.tuples(st.just(s[1]), law_pairs(s[0]))),
    st.sampled_from([1, 0.5, 0.2, 0.01]),
    st.randoms(),
)
def test_bins_are_lossless_exactly(case: tuple[int, tuple[Array, Array]], grid: float, random: Any) -> None:
    """Output law p; sum min(p, w) is what is kept, at most the hits, at most grid/4 + 2^-32 below the optimum."""
    num_drafts, (p, q) = case
    plan, tuples = optimal.prepare(p, q, num_drafts, grid=grid), draft_tuples(len(p), num_drafts)
    joint = iid.probability(q, tuples, num_drafts)[:, None] * optimal.transition(plan, tuples)
    assert (joint.sum(axis=0) == p).all()
    hit = joint[(tuples[:, :, None] == np.arange(len(p))).any(axis=1)].sum()
    w, winner, kept, _ = own_law(p, q, num_drafts, grid)
    assert (winner == w).all()
    best = optimal_acceptance(p, q, num_drafts=num_drafts)
    assert optimal.acceptance(plan) == kept.sum() == np.minimum(p, w).sum() <= hit <= best
    assert best - optimal.acceptance(plan) <= Fraction(grid) / 4 + Fraction(1, 2**32)
    x = np.array(random.choices(np.flatnonzero(q), k=num_drafts))
    kernel = optimal.transition(plan, x)
    assert rational.law(partial(run, plan, x)) == {t: m for t, m in enumerate(kernel) if m}


def test_what_a_bin_refuses_may_be_replaced_by_a_draft() -> None:
    """p/q is 6/5 and 1 in one bin: of two such drafts, the second may be refused, and the first drawn from (p - w)+."""
    p, q = (np.array([Fraction(n, 25) for n in w]) for w in ((6, 5, 14), (5, 5, 15)))
    plan = optimal.prepare(p, q, 2, grid=1)
    tuples = draft_tuples(3, 2)
    law = iid.probability(q, tuples, 2)[:, None] * optimal.transition(plan, tuples)
    assert law[(tuples[:, :, None] == np.arange(3)).any(axis=1)].sum() > optimal.acceptance(plan)


def test_bins_of_floats_are_bins_of_fractions() -> None:
    """By the leading bits, by comparing with the edges; ratios on an edge, near one, tiny, huge and 0 included."""
    rng = np.random.default_rng(4)
    edges = [2.0**e * (1 + k / 8) for e in range(-34, 7) for k in range(8)]
    near = [np.nextafter(v, side) for v in edges for side in (0, 9)]
    ratio = np.array([0.0, 5e-324, 1e-300, optimal.INFINITY, *edges, *near, *rng.lognormal(0, 4, 500)])
    exact = np.array([Fraction(v) for v in ratio], dtype=object)
    size = (35 << 3) + 2
    places = _bins._place(ratio, 3, size)
    assert (places == _bins._place(exact, 3, size)).all()
    assert (np.sort(places) == places[np.argsort(ratio)]).all()
    for place in np.unique(places)[1:-1]:
        inside = exact[places == place]
        assert inside.max() / inside.min() < Fraction(9, 8)


@pytest.mark.parametrize("grid", [0.3, 0.01, 0.001])
def test_bins_lose_little(grid: float) -> None:
    """100 random pairs: the winner's law and the output law to 1e-12, the loss at most (e^grid - 1)/4."""
    rng = np.random.default_rng(9)
    for k in range(100):
        vocab, num_drafts = int(rng.integers(1, 61)), int(rng.integers(1, 11))
        p, q = float_pair(rng, vocab, KINDS[k % len(KINDS)])
        w, winner, kept, output = own_law(p, q, num_drafts, grid)
        assert abs(winner - w).sum() <= 1e-12
        assert abs(output - p).sum() <= 1e-12
        value = optimal.acceptance(optimal.prepare(p, q, num_drafts, grid=grid))
        assert abs(kept.sum() - value) <= 1e-12
        assert -1e-12 <= optimal_acceptance(p, q, num_drafts=num_drafts) - value <= math.expm1(grid) / 4


@pytest.mark.parametrize("kind", ["softmax", "top", "zipf"])
@pytest.mark.parametrize("vocab", [32_000, 152_000])
def test_bins_on_a_full_vocabulary(vocab: int, kind: str) -> None:
    """Loss below 6e-4 at grid 0.01; on 100,000 draws the output law is p (false alarms 1e-9)."""
    p, q = long_pair(kind, vocab)
    for num_drafts in (2, 8):
        plan = optimal.prepare(p, q, num_drafts, grid=0.01)
        assert 0 <= optimal_acceptance(p, q, num_drafts=num_drafts) - optimal.acceptance(plan) <= 6e-4
    rng = np.random.default_rng(1)
    x, u = rng.choice(vocab, (100_000, 8), p=q), rng.random((100_000, 18))
    group = np.minimum(np.argsort(np.argsort(-p)) // 50, 20)
    assert_law(group[optimal.verify(plan, x, u)], np.bincount(group, weights=p), false_alarm=1e-9)


@pytest.mark.parametrize("grid", [0, -0.1, 2, 1e-9, float("nan")])
def test_grids_that_cannot_be(grid: float) -> None:
    with pytest.raises(ValueError, match=r"^grid is .*; it must lie in \[2\^-14, 1\]$"):
        optimal.prepare(np.array([0.5, 0.5]), np.array([0.5, 0.5]), 2, grid=grid)


def test_bins_on_jax_and_torch() -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    p, q, rng = backends.laws(vocab=50, rows=200, seed=5)
    x, u = iid.draw(q, rng.random((200, 3)), 3), rng.random((200, 8))

    def kernel(p: Array, q: Array, x: Array, u: Array) -> Array:
        return optimal.verify(optimal.prepare(p, q, 3, grid=0.1), x, u)

    wanted = kernel(p, q, x, u)
    with jax.enable_x64(True):
        found = [jax.jit(f)(p, q, x, u) for f in (kernel, jax.vmap(kernel))]
    for tokens in (*found, kernel(*map(torch.from_numpy, (p, q, x, u)))):
        assert (np.asarray(tokens) != wanted).sum() <= 1  # a uniform may lie on a boundary
