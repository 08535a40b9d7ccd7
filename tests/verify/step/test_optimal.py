"""The optimal rule: exact in rationals, equal to the optimum, its inner laws to 1e-12, full vocabularies."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import acceptance_rate, optimal_acceptance
from specsim.base.arrays import accept_probability, residual
from specsim.draft import iid
from specsim.draft.distinct import mean_slope
from specsim.exact import forking
from specsim.exact.step import draft_tuples, enumerate_step
from specsim.testing import assert_law, backends
from specsim.testing.strategies import float_laws, law_pairs
from specsim.types import Draws
from specsim.verify.step import _bins, optimal

Array = Any
SHAPES = [(v, k) for v in (1, 2, 3, 4) for k in (1, 2, 3)]
THIRDS = np.array([Fraction(1, 3), Fraction(2, 3)])


def own_law(p: Array, q: Array, num_drafts: int, grid: float | None = None) -> tuple[Array, Array, Array, Array]:
    """w; then, from the law of every token's label, the law of the winner, the masses kept, and the output law."""
    plan = optimal.prepare(p, q, num_drafts, grid=grid)
    joint = q[:, None] * optimal._label_law(plan, np.arange(len(p)))  # token x label
    label = joint.sum(axis=0)
    up_to = label.cumsum()
    winner = (joint * mean_slope(up_to - label, up_to, Draws(num_drafts, 0, num_drafts))).sum(axis=1)
    w = optimal.winners(plan)
    kept = winner * accept_probability(p, w, np.arange(len(p)))
    return w, winner, kept, kept + (winner - kept).sum() * residual(p, w)


def float_pair(rng: np.random.Generator, vocab: int, kind: str) -> tuple[Array, Array]:
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
    assert forking.law(partial(run, plan, x)) == {t: m for t, m in enumerate(kernel) if m}


def run(plan: Any, x: Array, fork: forking.Fork) -> int:
    return int(optimal.verify(plan, x, fork.uniforms(optimal.uniforms(len(x)))))


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


def long_pair(kind: str, vocab: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(vocab)
    if kind == "zipf":  # theory/verification.md section 12
        i = np.arange(1, vocab + 1, dtype=np.float64)
        p, q = i**-1.2, i**-1.0
    else:  # softmax of correlated normal logits, each cut to its largest half if "top"
        logits = 3 * rng.standard_normal(vocab)
        p, q = (np.exp(logits + 0.5 * rng.standard_normal(vocab)) for _ in range(2))
        if kind == "top":
            p, q = (np.where(w >= np.median(w), w, 0) for w in (p, q))
    return p / p.sum(), q / q.sum()


@pytest.mark.parametrize("kind", ["softmax", "top", "zipf"])
@pytest.mark.parametrize("vocab", [32_000, 152_000])
def test_full_vocabulary(vocab: int, kind: str) -> None:
    """Acceptance within 1e-10 of the optimum; on 100,000 draws hit rate and output law agree (false alarms 1e-9)."""
    p, q = long_pair(kind, vocab)
    for num_drafts in (2, 8):
        found = acceptance_rate(p, q, rule="optimal", num_drafts=num_drafts)
        best = optimal_acceptance(p, q, num_drafts=num_drafts)
        assert abs(found - best) <= 1e-10
        plan = optimal.prepare(p, q, num_drafts)  # that is a formula; now the law w, and what the labels exchange
        w = np.maximum(plan.fill * q, np.minimum(p, plan.cut * q))
        assert abs(w.sum() - 1) <= 1e-10
        assert abs(np.minimum(p, w).sum() - best) <= 1e-10
        by_place = np.empty(vocab)
        by_place[plan.place] = w
        has = plan.q_there * plan.own
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
@pytest.mark.parametrize("vocab", [50, optimal.CHUNK + 1, 20_000])
def test_one_row_in_pieces_is_a_row_of_a_batch(vocab: int, kind: str) -> None:
    p, q = long_pair(kind, vocab)
    rng = np.random.default_rng(2)
    for num_drafts in (1, 2, 5):
        x, u = rng.choice(vocab, (500, num_drafts), p=q), rng.random((500, optimal.uniforms(num_drafts)))
        one, batch = optimal.prepare(p, q, num_drafts), optimal.prepare(p[None], q[None], num_drafts)
        for single, rows in zip(one, batch, strict=True):
            assert np.abs(single - rows[0]).max() <= 1e-12
        assert (optimal.verify(one, x, u) == optimal.verify(batch, x, u)).all()


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
    assert forking.law(partial(run, plan, x)) == {t: m for t, m in enumerate(kernel) if m}


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
