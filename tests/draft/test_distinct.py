"""Distinct drafts: how many are expected, how they are drawn, and the optimal rule on them, exactly."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import acceptance_rate, dense_law, guarantee, optimal_acceptance, output_law, top_k_law, verify_step
from specsim.checks import backends
from specsim.checks.step import forked_is_transition
from specsim.checks.step_cases import best_acceptance
from specsim.draft import distinct
from specsim.exact.step import enumerate_step
from specsim.forking import rational
from specsim.testing import assert_law
from specsim.testing.strategies import law_pairs, rational_laws
from specsim.types import Draws
from specsim.verify.step import optimal

Array = Any
LAWS = st.integers(1, 5).flatmap(rational_laws)
EXTRA = st.fractions(0, 1, max_denominator=7)


def seen_after(q: Array, n: int) -> Fraction:
    return sum((1 - (1 - v) ** n for v in q), Fraction(0))


@given(LAWS, st.integers(1, 4), st.integers(1, 12))
def test_as_many_distinct_tokens_are_expected_as_asked(q: Array, num_drafts: int, limit: int) -> None:
    law = distinct.draws(q, num_drafts, limit)
    least, extra = int(law.least), Fraction(law.extra[()])
    expected = (1 - extra) * seen_after(q, least) + extra * seen_after(q, least + 1)
    assert law.limit == limit
    assert 1 <= least <= limit
    assert 0 <= extra < 1
    assert distinct.expected_distinct(q, law) == expected
    if num_drafts == 1:
        assert (least, extra) == (1, 0)
    elif least < limit:
        assert expected == num_drafts < seen_after(q, least + 1)
    else:  # no more draws are allowed
        assert extra == 0
        assert expected <= num_drafts
    floats = distinct.draws(q.astype(float), num_drafts, limit)
    assert float(distinct.expected_distinct(q.astype(float), floats)) == pytest.approx(float(expected), abs=1e-12)


def test_draws_of_long_rows_batches_and_other_libraries() -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    q = np.random.default_rng(0).dirichlet(np.full(3000, 0.1), 5)
    q[-1] = np.eye(3000)[7]
    for num_drafts in (1, 2, 6):
        law = distinct.draws(q, num_drafts)
        assert distinct.expected_distinct(q, law)[:-1] == pytest.approx(num_drafts, abs=1e-12)
        assert law.least[-1] == (1 if num_drafts == 1 else distinct.LIMIT)
        with jax.enable_x64(True):
            traced = jax.jit(lambda q, k=num_drafts: distinct.draws(q, k)[:2])(q)
            again = jax.vmap(lambda q, k=num_drafts: distinct.draws(q, k)[:2])(q)
        for other in (traced, again, distinct.draws(torch.from_numpy(q), num_drafts)[:2]):
            assert (np.asarray(other[0]) == law.least).all()
            assert np.asarray(other[1]) == pytest.approx(law.extra, abs=1e-9)


PAIRS = st.integers(1, 4).flatmap(law_pairs)


@settings(max_examples=60)
@given(PAIRS, st.sampled_from([(1, 2), (2, 3), (1, 1), (3, 3)]), EXTRA)
def test_optimal_is_exact_on_distinct_drafts(pair: tuple[Array, Array], size: tuple[int, int], extra: Fraction) -> None:
    """Output law p, hits the optimum, forked law of the sampler the kernel: whatever the law of N."""
    p, q = pair
    draws = Draws(size[0], extra if size[0] < size[1] else 0, size[1])
    law, hit = enumerate_step(optimal, p, q, draws)
    assert (law == p).all()
    rate = optimal.acceptance(optimal.prepare(p, q, draws))
    assert rate == hit == best_acceptance(optimal, p, q, draws)
    assert rate == acceptance_rate(p, q, rule="optimal", num_drafts=draws, scheme="distinct")
    if len(p) <= 2:
        forked_is_transition(optimal, p, q, draws)


def test_every_row_may_have_its_own_number_of_drafts() -> None:
    """K distinct tokens expected, at most 3 draws: N differs between the rows, exactly lossless and optimal in all."""
    rng = np.random.default_rng(3)
    weights = rng.integers(1, 9, (2, 12, 3))
    p, q = (np.array([[Fraction(int(v), int(r.sum())) for v in r] for r in w], dtype=object) for w in weights)
    for num_drafts in (1, 2):
        draws = distinct.draws(q, num_drafts, limit=3)
        law, hit = enumerate_step(optimal, p, q, draws)
        assert (law == p).all()
        rate = optimal.acceptance(optimal.prepare(p, q, draws))
        assert (rate == hit).all()
        for k in range(len(p)):
            own = distinct.draws(q[k], num_drafts, limit=3)
            assert rate[k] == best_acceptance(optimal, p[k], q[k], own)
            assert rate[k] >= acceptance_rate(p[k], q[k], rule="optimal", num_drafts=num_drafts)
    assert len(set(draws.least.tolist())) > 1


def test_the_exact_case_of_the_theory_note() -> None:
    """theory/verification.md section 4: five tokens, K = 2 and 3: the optimum, above that of K i.i.d. drafts."""
    p, q = (np.array([Fraction(n, 1000) for n in w]) for w in ((148, 42, 745, 50, 15), (496, 136, 151, 8, 209)))
    for num_drafts in (2, 3):
        rate = acceptance_rate(p, q, rule="optimal", num_drafts=num_drafts, scheme="distinct")
        draws = distinct.draws(q, num_drafts)
        assert distinct.expected_distinct(q, draws) == num_drafts
        assert rate == best_acceptance(optimal, p, q, draws)
        assert rate > optimal_acceptance(p, q, num_drafts=num_drafts)


def test_verdict_and_output_law() -> None:
    for num_drafts in (1, 2):
        assert guarantee("optimal", num_drafts=num_drafts, scheme="distinct").lossless
    p, q = [Fraction(n, 10) for n in (5, 3, 2)], [Fraction(n, 10) for n in (1, 3, 6)]
    assert output_law(p, q, rule="optimal", num_drafts=2, scheme="distinct").tolist() == p
    with pytest.raises(ValueError, match=r"^rule 'kseq' expects drafts drawn 'iid', not 'distinct': not lossless$"):
        guarantee("kseq", num_drafts=2, scheme="distinct")


def test_front_door_in_jax_and_torch() -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    p, q, rng = backends.laws(vocab=9, rows=50, seed=1)
    x, u = distinct.draw(q, rng.random((50, 33)), 2), rng.random((50, 66))
    ask = partial(verify_step, rule="optimal", scheme="distinct", num_drafts=2)
    wanted = ask(p, q, x, u)
    assert (wanted.hit == (x == wanted.token[:, None]).any(axis=1)).all()
    with jax.enable_x64(True):
        jitted = jax.jit(lambda *args: ask(*args).token)(*map(jax.numpy.asarray, (p, q, x, u)))
        assert (np.asarray(jitted) == wanted.token).all()
    assert (ask(*map(torch.from_numpy, (p, q, x, u))).token.numpy() == wanted.token).all()


def test_rows_of_a_few_tokens() -> None:
    """Two `Law`s give the tokens of the same rows over the whole vocabulary."""
    rng = np.random.default_rng(2)
    ids = np.stack([rng.permutation(30)[:6] for _ in range(40)])
    p, q = (top_k_law(np.roll(ids, k, axis=-1)[:, :5], rng.dirichlet(np.ones(5), 40), 30) for k in (0, 1))
    rows = [dense_law(w) for w in (p, q)]
    x, u = distinct.draw(rows[1], rng.random((40, 33)), 2), rng.random((40, 66))
    ask = partial(verify_step, rule="optimal", scheme="distinct", num_drafts=2)
    few, all_ = ask(p, q, x, u), ask(*rows, x, u)
    assert (few.token == all_.token).all()
    assert (few.hit == all_.hit).all()


HALF = [0.5, 0.5]
LAW = Draws(1, 0.5, 2)
BAD: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    (
        "no token",
        {"drafts": [[0, 1], [-1, -1]]},
        ValueError,
        r"^drafts\[1\] has 0 tokens, which num_drafts rules out; all",
    ),
    ("gap", {"drafts": [[0, 1], [-1, 1]]}, ValueError, r"^drafts\[1\] has -1 in front of a token; empty places come"),
    ("width", {"drafts": [0, 1, -1]}, ValueError, r"^drafts has 3 places in a row; num_drafts asks for 2$"),
    (
        "dropped",
        {"num_drafts": Draws(2, 0, 2)},
        ValueError,
        r"^drafts has 1 tokens, which num_drafts rules out; all draws",
    ),
    ("token", {"drafts": [0, -2]}, ValueError, r"^drafts\[1\] is token -2, outside the vocabulary 0\.\.1$"),
    ("not told", {"num_drafts": None}, ValueError, r"^scheme='distinct' needs num_drafts: what the drafts were"),
    ("iid pads", {"scheme": "iid", "num_drafts": 2}, ValueError, r"^drafts\[1\] is token -1, outside the vocabulary"),
    ("iid Draws", {"scheme": "iid", "drafts": [0, 1]}, TypeError, r"^num_drafts must be an integer, got Draws\("),
    (
        "iid width",
        {"scheme": "iid", "drafts": [0, 1], "num_drafts": 3},
        ValueError,
        r"^drafts has 2 places .* for 3$",
    ),
    ("rule", {"rule": "recursive"}, ValueError, r"^rule 'recursive' expects drafts drawn 'iid', not 'distinct': not"),
    ("scheme", {"scheme": "magic", "drafts": [0, 1]}, ValueError, r"^scheme 'magic' is unknown; "),
    ("zero", {"num_drafts": 0}, ValueError, r"^num_drafts must be at least 1, got 0$"),
    ("least", {"num_drafts": Draws(0, 0.5, 2)}, ValueError, r"^num_drafts\.least is 0\.0; it must lie in \[1, 2\]$"),
    ("whole", {"num_drafts": Draws(1.5, 0, 2)}, ValueError, r"^num_drafts\.least is 1\.5: it is a number of draws$"),
    ("extra", {"num_drafts": Draws(1, 1.5, 2)}, ValueError, r"^num_drafts\.extra is 1\.5; it must lie in \[0, 1\]$"),
    ("limit", {"num_drafts": Draws(2, 0.5, 2)}, ValueError, r"^num_drafts\.least is 2\.0: so is limit, and extra > 0$"),
    (
        "rows",
        {"num_drafts": Draws([1, 1, 1], 0.5, 2)},
        ValueError,
        r"^num_drafts\.least has shape \(3,\); q has rows \(\)",
    ),
]


@pytest.mark.parametrize(("change", "error", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_drafts(change: dict[str, Any], error: type[Exception], message: str) -> None:
    good = {"drafts": [0, -1], "u": [0.5] * 6, "rule": "optimal", "scheme": "distinct", "num_drafts": LAW}
    verify_step(HALF, HALF, **good)
    with pytest.raises(error, match=message):
        verify_step(HALF, HALF, **(good | change))


@pytest.mark.parametrize("grid", [None, 0.1])
def test_three_tokens_in_a_row_follow_the_joint_law(grid: float | None) -> None:
    """A Markov pair, V = 3, 2 distinct tokens expected of at most 8 draws; false-alarm rate 1e-9, detects 0.11."""
    rng = np.random.default_rng(10)
    n = 40_000
    p, q = rng.dirichlet(np.ones(3), 4), rng.dirichlet(np.ones(3), 4)
    tokens, context = [], np.full(n, 3)
    for _ in range(3):
        token = np.empty(n, dtype=np.int64)
        for k in range(4):
            draws, rows = distinct.draws(q[k], 2, 8), np.flatnonzero(context == k)
            x = distinct.draw(q[k], rng.random((len(rows), 9)), draws)
            plan = optimal.prepare(p[k], q[k], draws, grid=grid)
            token[rows] = optimal.verify(plan, x, rng.random((len(rows), optimal.uniforms(draws))))
        tokens.append(token)
        context = token
    joint = p[3][:, None, None] * p[:3, :, None] * p[None, :3]
    found = assert_law(9 * tokens[0] + 3 * tokens[1] + tokens[2], joint.ravel(), false_alarm=1e-9)
    assert found.detectable <= 0.11


def test_a_missing_draft_is_never_emitted() -> None:
    p, q = (np.array([Fraction(n, 4) for n in w]) for w in ((0, 1, 3), (2, 1, 1)))
    plan = optimal.prepare(p, q, Draws(1, Fraction(1, 2), 2))
    for token in range(3):
        x = np.array([token, -1])
        law = rational.law(lambda fork, x=x: int(optimal.verify(plan, x, fork.uniforms(6))))
        assert sum(law.values()) == 1
        assert min(law) >= 0
        assert (optimal.transition(plan, x) == optimal.transition(plan, x[:1])).all()
