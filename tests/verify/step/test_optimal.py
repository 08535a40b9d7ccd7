"""The optimal rule: exact in rationals, its inner laws to 1e-12, full vocabularies."""

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

from specsim import acceptance_rate, optimal_acceptance
from specsim.exact.step import enumerate_step
from specsim.forking import rational
from specsim.testing import assert_law
from specsim.testing.strategies import float_laws, law_pairs
from specsim.verify.step import _long, _plan, optimal

Array = Any
SHAPES = [(v, k) for v in (1, 2, 3, 4) for k in (1, 2, 3)]
THIRDS = np.array([Fraction(1, 3), Fraction(2, 3)])


@settings(max_examples=100)
@given(st.sampled_from(SHAPES).flatmap(lambda s: st.tuples(st.just(s[1]), law_pairs(s[0]))), st.randoms())
def test_exact_on_every_kind_of_pair(case: tuple[int, tuple[Array, Array]], random: Any) -> None:
    """Output law p, hits the optimum, forked law of the sampler the kernel: zeros, one-hots, p = q, disjoint, ties."""
    num_drafts, (p, q) = case
    law, hit = enumerate_step(optimal, p, q, num_drafts)
    assert (law == p).all()
    best = optimal_acceptance(p, q, num_drafts=num_drafts)
    assert hit == best == acceptance_rate(p, q, rule="optimal", num_drafts=num_drafts)
    plan, x = optimal.prepare(p, q, num_drafts), np.array(random.choices(np.flatnonzero(q), k=num_drafts))
    kernel = optimal.transition(plan, x)
    assert rational.law(partial(run, plan, x)) == {t: m for t, m in enumerate(kernel) if m}


@settings(max_examples=100)
@given(st.integers(1, 8).flatmap(law_pairs), st.integers(1, 10))
def test_labels_have_the_law_of_drafts(pair: tuple[Array, Array], num_drafts: int) -> None:
    """T08, 1 to 3, in rationals: labels have law q, the winner has law w, what is filled and cut is the loss."""
    p, q = pair
    plan = optimal.prepare(p, q, num_drafts)
    labels = optimal._label_law(plan, np.arange(len(p)))
    order = np.argsort(plan.place)
    assert (labels >= 0).all()
    assert ((q[:, None] * labels).sum(axis=0) == q[order]).all()
    w, winner, _, output = own_law(p, q, num_drafts)
    assert (winner == w).all()
    assert (output == p).all()
    loss = 1 - optimal_acceptance(p, q, num_drafts=num_drafts)
    assert np.maximum(w - p, 0).sum() == np.maximum(p - w, 0).sum() == loss
    assert (w[order].cumsum() >= q[order].cumsum() ** num_drafts).all()


def test_the_winner_has_the_law_w() -> None:
    """3,000 random pairs, V <= 60, K <= 10: laws of the winner and of the output, and the acceptance, within 1e-12."""
    rng = np.random.default_rng(8)
    for k in range(3000):
        vocab, num_drafts = int(rng.integers(1, 61)), int(rng.integers(1, 11))
        p, q = float_pair(rng, vocab, KINDS[k % len(KINDS)])
        w, winner, kept, output = own_law(p, q, num_drafts)
        best = optimal_acceptance(p, q, num_drafts=num_drafts)
        assert abs(winner - w).sum() <= 1e-12
        assert abs(output - p).sum() <= 1e-12
        assert abs(kept.sum() - best) <= 1e-12
        assert abs(optimal.acceptance(optimal.prepare(p, q, num_drafts)) - best) <= 1e-12


@pytest.mark.parametrize("kind", ["softmax", "top", "zipf"])
@pytest.mark.parametrize("vocab", [32_000, 152_000])
def test_full_vocabulary(vocab: int, kind: str) -> None:
    """Acceptance within 1e-10 of the optimum; on 100,000 draws hit rate and output law agree (false alarms 1e-9)."""
    p, q = long_pair(kind, vocab)
    for num_drafts in (2, 8):
        found = acceptance_rate(p, q, rule="optimal", num_drafts=num_drafts)
        best = optimal_acceptance(p, q, num_drafts=num_drafts)
        assert abs(found - best) <= 1e-10
        plan = _plan.rows(optimal.prepare(p, q, num_drafts))  # that is a formula; now w, and what labels exchange
        w = np.maximum(plan.fill * q, np.minimum(p, plan.cut * q))
        assert abs(w.sum() - 1) <= 1e-10
        assert abs(np.minimum(p, w).sum() - best) <= 1e-10
        by_place = np.empty(vocab)
        by_place[plan.place] = w
        has = plan.q_there * plan.slope
        assert abs(np.diff(plan.gains, prepend=0) - np.maximum(by_place - has, 0)).max() <= 1e-15
        assert abs(np.diff(plan.losses, prepend=0) - np.maximum(has - by_place, 0)).max() <= 1e-15
        assert abs(plan.gains[-1] - plan.losses[-1]) <= 1e-12
    draws, num_drafts = 100_000, 3
    rng = np.random.default_rng(1)
    x, u = rng.choice(vocab, (draws, num_drafts), p=q), rng.random((draws, optimal.uniforms(num_drafts)))
    token = optimal.verify(optimal.prepare(p, q, num_drafts), x, u)
    hits = (x == token[:, None]).any(axis=1).mean()
    error = math.sqrt(math.log(2 / 1e-9) / (2 * draws))  # Hoeffding: 0.0104
    assert abs(hits - optimal_acceptance(p, q, num_drafts=num_drafts)) <= error
    group = np.minimum(np.argsort(np.argsort(-p)) // 50, 20)  # the 1,000 likeliest tokens by fifties, and the rest
    assert_law(group[token], np.bincount(group, weights=p), false_alarm=1e-9)


def test_published_numbers() -> None:
    """theory/verification.md section 12: the toy 8/9 and Zipf 0.9630602674, both at n = 2."""
    assert acceptance_rate(THIRDS, THIRDS[::-1], rule="optimal", num_drafts=2) == Fraction(8, 9)
    p, q = long_pair("zipf", 32_000)
    assert acceptance_rate(p, q, rule="optimal", num_drafts=2) == pytest.approx(0.9630602674, abs=5e-11)


@pytest.mark.parametrize("kind", ["softmax", "top"])
@pytest.mark.parametrize("vocab", [50, _long.CHUNK + 1, 20_000])
def test_one_row_in_pieces_is_a_row_of_a_batch(vocab: int, kind: str) -> None:
    p, q = long_pair(kind, vocab)
    rng = np.random.default_rng(2)
    for num_drafts in (1, 2, 5):
        x, u = rng.choice(vocab, (500, num_drafts), p=q), rng.random((500, optimal.uniforms(num_drafts)))
        one, batch = optimal.prepare(p, q, num_drafts), optimal.prepare(p[None], q[None], num_drafts)
        for single, rows in zip(_plan.rows(one), _plan.rows(batch), strict=True):
            assert np.abs(single - rows[0]).max() <= 1e-12
        assert (optimal.verify(one, x, u) == optimal.verify(batch, x, u)).all()


def test_long_rows_on_jax_and_torch() -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    p, q = long_pair("top", 9_000)
    rng = np.random.default_rng(3)
    x, u = rng.choice(len(p), (2000, 4), p=q), rng.random((2000, optimal.uniforms(4)))

    def kernel(p: Array, q: Array, x: Array, u: Array) -> Array:
        return optimal.verify(optimal.prepare(p, q, 4), x, u)

    wanted = kernel(p, q, x, u)
    with jax.enable_x64(True):
        assert (np.asarray(jax.jit(kernel)(p, q, x, u)) == wanted).all()
        law = jax.numpy.asarray(p[:30] / p[:30].sum())
        slope = jax.jit(jax.grad(lambda z: optimal.acceptance(optimal.prepare(law, jax.nn.softmax(z), 3))))
        logits, step = rng.standard_normal(30), 1e-5 * np.eye(30)
        differences = [(rate(np.asarray(law), logits + d) - rate(np.asarray(law), logits - d)) / 2e-5 for d in step]
        assert np.abs(np.asarray(slope(logits)) - differences).max() <= 1e-8
    assert (kernel(*map(torch.from_numpy, (p, q, x, u))).numpy() == wanted).all()


def rate(p: Array, logits: Array) -> float:
    q = np.exp(logits)
    return float(optimal.acceptance(optimal.prepare(p, q / q.sum(), 3)))


@settings(max_examples=100)
@given(st.integers(1, 6).flatmap(lambda v: st.tuples(float_laws(v), float_laws(v))), st.integers(1, 12), st.data())
def test_entries_down_to_1e_300(pair: tuple[Array, Array], num_drafts: int, data: st.DataObject) -> None:
    """No overflow, no token the target excludes, at both ends of every uniform."""
    p, q = pair
    plan, count = optimal.prepare(p, q, num_drafts), optimal.uniforms(num_drafts)
    x = data.draw(st.lists(st.sampled_from(np.flatnonzero(q).tolist()), min_size=num_drafts, max_size=num_drafts))
    u = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1 - 2.0**-53]), min_size=count, max_size=count))
    assert p[optimal.verify(plan, np.array(x), np.array(u))] > 0
    assert abs(own_law(p, q, num_drafts)[-1] - p).sum() <= 1e-12
