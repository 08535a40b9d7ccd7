"""T44: the frontier of lossy rules against linear programmes, a convex solver and random outputs in rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from specsim import lossy_optimum, nearest_output
from specsim.base.arrays import overlap
from specsim.bounds import frontier
from specsim.laws.divergences import DIVERGENCES, RATIONAL, divergence_of
from specsim.testing.strategies import law_pairs, rational_laws

Array = Any
# f and its slope, written anew: what the linear programmes are made of.
CONVEX = {
    "kl": (lambda t: t * np.log(t) - t + 1, np.log),
    "reverse_kl": (lambda t: t - 1 - np.log(t), lambda t: 1 - 1 / t),
    "chi2": (lambda t: (t - 1) ** 2, lambda t: 2 * (t - 1)),
}
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def instances(count: int, seed: int) -> list[tuple[Array, Array, float]]:
    """Random laws of 2 to 8 tokens, some of them 0, and limits from 1e-5 to 1."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(count):
        vocab = int(rng.integers(2, 9))
        p, q = rng.dirichlet(np.full(vocab, rng.choice([0.3, 1, 3])), 2)
        if i % 3 == 0 and vocab > 2:
            p[0], q[1] = 0, 0
        found.append((p / p.sum(), q / q.sum(), float(10 ** rng.uniform(-5, 0))))
    return found


def largest_in_tv(p: Array, q: Array, limit: float) -> float:
    """The most acceptance within a total variation, as a linear programme in (o, accepted, excess)."""
    n, eye, none = len(p), np.eye(len(p)), np.zeros((len(p), len(p)))
    above = np.block([[-eye, eye, none], [eye, none, -eye], [np.zeros((1, 2 * n)), np.ones((1, n))]])
    total = np.r_[np.ones(n), np.zeros(2 * n)][None]
    bounds = [(0, None)] * n + [(0, b) for b in q] + [(0, None)] * n
    cost = np.r_[np.zeros(n), -np.ones(n), np.zeros(n)]
    return -linprog(cost, above, np.r_[np.zeros(n), p, limit], total, [1], bounds, options=TIGHT).fun


def relaxed_optimum(p: Array, q: Array, limit: float, divergence: str, ratios: Array) -> float:
    """An upper bound on the acceptance: a linear programme with f replaced by its tangents at some ratios."""
    f, slope = CONVEX[divergence]
    has_mass = p > 0
    n, m, eye = len(p), int(has_mass.sum()), np.eye(len(p))
    # Variables (o, accepted, cost of each token with mass): cost >= p (f(t) - t f'(t)) + f'(t) o.
    lines = [np.c_[-eye, eye, np.zeros((n, m))]]
    right = [np.zeros(n)]
    for t in ratios:
        lines.append(np.c_[slope(t) * eye[has_mass], np.zeros((m, n)), -np.eye(m)])
        right.append(-p[has_mass] * (f(t) - t * slope(t)))
    lines.append(np.r_[np.where(has_mass, 0, 1.0), np.zeros(n), np.ones(m)][None])
    right.append(np.array([limit]))
    # Output where p is 0 costs 1 a unit in reverse KL; in the others there is none.
    bounds = [(0, None if x > 0 or divergence == "reverse_kl" else 0) for x in p]
    bounds += [(0, b) for b in q] + [(None, None)] * m
    total = np.r_[np.ones(n), np.zeros(n + m)][None]
    cost = np.r_[np.zeros(n), -np.ones(n), np.zeros(m)]
    return -linprog(cost, np.concatenate(lines), np.concatenate(right), total, [1], bounds, options=TIGHT).fun


def check_total_variation(count: int) -> None:
    for p, q, limit in instances(count, 44):
        best = lossy_optimum(p, q, limit=limit, divergence="tv")
        assert abs(best.acceptance - largest_in_tv(p, q, limit)) < 1e-9
        assert abs(best.bound - best.acceptance) < 1e-9


def check_tangents(divergence: str, count: int) -> None:
    """Feasible as claimed, and no more is possible even where tangents replace the divergence."""
    for p, q, limit in instances(count, 45):
        best = lossy_optimum(p, q, limit=limit, divergence=divergence)
        output, has_mass = best.output, p > 0
        assert best.spent <= limit + 1e-12
        assert abs(output.sum() - 1) < 1e-12
        assert output.min() >= 0
        assert abs(np.minimum(q, output).sum() - best.acceptance) < 1e-12
        ratios = np.r_[np.geomspace(1e-3, 1e3, 7), (output[has_mass] / p[has_mass])[output[has_mass] > 0]]
        assert relaxed_optimum(p, q, limit, divergence, ratios) <= best.acceptance + 1e-9
        assert abs(best.bound - best.acceptance) < 1e-9


def test_total_variation_is_the_linear_programme() -> None:
    check_total_variation(60)


@pytest.mark.slow
def test_total_variation_is_the_linear_programme_500() -> None:
    check_total_variation(500)


@pytest.mark.parametrize("divergence", CONVEX)
def test_tangents_allow_no_more(divergence: str) -> None:
    check_tangents(divergence, 30)


@pytest.mark.slow
@pytest.mark.parametrize("divergence", CONVEX)
def test_tangents_allow_no_more_500(divergence: str) -> None:
    check_tangents(divergence, 500)


@pytest.mark.slow
@pytest.mark.parametrize("divergence", ["kl", "reverse_kl"])
def test_a_convex_solver_finds_the_same(divergence: str) -> None:
    """To the tolerance of an inner point, without any of our numbers."""
    cvxpy = pytest.importorskip("cvxpy")
    for p, q, limit in instances(40, 46):
        if (p == 0).any():
            continue
        o = cvxpy.Variable(len(p), nonneg=True)
        distance = cvxpy.sum(cvxpy.rel_entr(o, p) if divergence == "kl" else cvxpy.rel_entr(p, o))
        problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.minimum(q, o))), [cvxpy.sum(o) == 1, distance <= limit])
        problem.solve(solver=cvxpy.CLARABEL)
        assert abs(problem.value - lossy_optimum(p, q, limit=limit, divergence=divergence).acceptance) < 1e-5


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 5).flatmap(lambda n: st.tuples(law_pairs(n), rational_laws(n))), st.integers(0, 6))
def test_no_output_is_closer(case: Any, tenths: int) -> None:
    """In rationals: an output that accepts as often is no closer in either divergence without logarithms."""
    (p, q), other = case
    share = Fraction(tenths, 6)
    output = np.array([share * a + (1 - share) * b for a, b in zip(other, q, strict=True)], dtype=object)
    near = nearest_output(p, q, acceptance=np.array(overlap(q, output)))
    assert sum(near.output) == 1
    assert overlap(q, near.output) == max(overlap(q, output), overlap(p, q))
    assert min(near.output) >= 0
    for name in RATIONAL:
        assert divergence_of(near.output, p, name) <= divergence_of(output, p, name)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 5).flatmap(law_pairs), st.integers(0, 6))
def test_total_variation_is_exact_on_fractions(pair: Any, sixths: int) -> None:
    p, q = pair
    limit = np.array(Fraction(sixths, 6))
    best = lossy_optimum(p, q, limit=limit, divergence="tv")
    assert best.acceptance == best.bound == min(1, overlap(p, q) + Fraction(sixths, 6))
    assert best.spent == min(Fraction(sixths, 6), 1 - overlap(p, q))
    assert overlap(q, best.output) == best.acceptance


def test_rows_of_a_batch_are_what_they_are_alone() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(7), (2, 3, 4))
    limits = np.array([[0.01], [0.1], [1.0]])
    for name in DIVERGENCES:
        batch = lossy_optimum(p, q, limit=limits, divergence=name)
        for i, j in np.ndindex(3, 4):
            alone = lossy_optimum(p[i, j], q[i, j], limit=limits[i, 0], divergence=name)
            assert abs(batch.acceptance[i, j] - alone.acceptance) < 1e-14
            assert np.allclose(batch.output[i, j], alone.output, atol=1e-14)


def test_the_first_nats_buy_most() -> None:
    """Near the target acceptance grows with the root of the KL, so any slope is exceeded."""
    p, q = [0.6, 0.3, 0.1], [0.2, 0.3, 0.5]
    gains = [float(lossy_optimum(p, q, limit=e).acceptance) - overlap(np.array(p), np.array(q)) for e in (1e-8, 1e-6)]
    assert gains[1] / gains[0] == pytest.approx(10, rel=1e-3)


def test_tokens_that_the_target_never_emits() -> None:
    p, q = [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]
    # KL(output || target) forbids them, whatever the limit; KL(target || output) does not.
    assert float(lossy_optimum(p, q, limit=50, divergence="kl").acceptance) == 0.5
    best = lossy_optimum(p, q, limit=50, divergence="reverse_kl")
    assert float(best.acceptance) == float(best.bound) == 1
    assert best.cap == np.inf
    near = nearest_output(p, q, acceptance=0.75)
    assert near.output.tolist() == [0.375, 0.375, 0.25]
    # What a lossless rule accepts: they are all refused, and the cap is that of the other tokens.
    near = nearest_output(p, q, acceptance=0.5)
    assert (near.output.tolist(), near.cap) == (p, 1)


def test_rows_that_sum_to_nearly_one_are_rescaled() -> None:
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.3, 0.5])
    for divergence in DIVERGENCES:
        best = lossy_optimum(p, q, limit=0.05, divergence=divergence)
        near = lossy_optimum(p * (1 - 5e-7), q * (1 + 5e-7), limit=0.05, divergence=divergence)
        assert near.acceptance == pytest.approx(float(best.acceptance), abs=1e-12)
        assert near.bound == pytest.approx(float(best.bound), abs=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"limit": -0.1}, "limit is -0.1; it must lie in"),
        ({"limit": 0.1, "divergence": "hellinger"}, "divergence is 'hellinger'; known divergences: tv, kl"),
        ({"limit": 0.1, "divergence": ["kl"]}, r"divergence is \['kl'\]; known divergences: tv, kl"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}"):
        lossy_optimum([0.5, 0.5], [0.2, 0.8], **options)


def test_batches_of_other_shapes_are_named() -> None:
    rows = [[0.5, 0.5], [0.2, 0.8]]
    with pytest.raises(ValueError, match=r"^leading axes of p, q and limit do not broadcast"):
        lossy_optimum(rows, rows, limit=[0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match=r"^leading axes of p, q and acceptance do not broadcast"):
        nearest_output(rows, rows, acceptance=[0.1, 0.2, 0.3])


@pytest.mark.parametrize("divergence", CONVEX)
def test_fractions_have_no_exact_optimum_but_in_total_variation(divergence: str) -> None:
    """For a fair coin and a sure draft, chi2 of 1/10 is spent at an acceptance of 1/2 + sqrt(1/40)."""
    p, q = np.array([Fraction(1, 2)] * 2), np.array([Fraction(1), Fraction(0)])
    with pytest.raises(ValueError, match="no exact optimum on Fractions, since it is irrational in general; give fl"):
        lossy_optimum(p, q, limit=Fraction(1, 10), divergence=divergence)
    found = lossy_optimum(p.astype(float), q.astype(float), limit=0.1, divergence="chi2")
    assert found.acceptance == pytest.approx(0.5 + (1 / 40) ** 0.5)


@pytest.mark.parametrize("divergence", CONVEX)
def test_no_end_of_the_bracket_moves_back(divergence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tangent may overtake the middle that was to be tried next."""
    tried: list[float] = []
    interval = frontier._interval
    monkeypatch.setattr(frontier, "_interval", lambda rows, at: tried.append(float(at)) or interval(rows, at))
    for p, q, limit in instances(40, 47):
        tried.clear()
        lossy_optimum(p, q, limit=limit, divergence=divergence)
        # One call at the start, four in each step (both ends, then two guesses), one at the end.
        assert len(tried) % 4 == 2
        for i in range(1, len(tried) - 1, 4):
            low, high = tried[i : i + 2]
            assert not [at for at in tried[:i] if low < at < high]
