"""The optimum of every draft scheme: against all sets of tokens, the law that attains it, order, kinds of rows."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import acceptance_rate, discover, optimal_acceptance, optimum
from specsim.base.arrays import wide
from specsim.bounds.schemes import _prefix, _subsets
from specsim.checks import backends
from specsim.checks.draft import counts, handed
from specsim.draft import distinct, iid
from specsim.testing.strategies import law_pairs
from specsim.types import Draws

Array = Any
PAIRS = st.integers(1, 5).flatmap(law_pairs)
WITH_PLAN = ("iid", "distinct", "greedy", "hub")
SCHEMES = (*WITH_PLAN, "without_replacement")


def allowed(name: str, num_drafts: int) -> bool:
    """Whether the scheme draws that many; counts that are laws of N do not limit K."""
    few = counts(discover.find("draft", name), most=9)
    return isinstance(few[0], Draws) or num_drafts in few


def within(name: str, q: Array, members: Array, num_drafts: int) -> Array:
    """Pr[all drafts in H] by the scheme's own definition, with as many draws as the bound allows."""
    count: Any = num_drafts
    if name == "distinct":
        count = distinct.draws(q, num_drafts)
    return discover.find("draft", name).within(q, members, count)


def subset_minimum(p: Array, q: Array, inside: Callable[[Array], Array]) -> Any:
    """1 + min over all sets H of p(H) - Pr[all drafts in H]."""
    sets = _subsets.all_sets(p.shape[-1])
    return 1 + min(np.where(members, p, 0).sum() - inside(members) for members in sets)


def test_every_scheme_has_an_optimum() -> None:
    p, q, _ = backends.laws(vocab=4, rows=3, seed=0)
    for name, scheme in discover.rules("draft").items():
        if allowed(name, 2):
            rows = handed(scheme, q, 2)
            value = optimal_acceptance(p, rows, num_drafts=2, scheme=name)
            for k in range(3):
                wanted = subset_minimum(p[k], rows[k], lambda h, k=k, name=name, rows=rows: within(name, rows[k], h, 2))
                assert value[k] == pytest.approx(wanted, abs=1e-13)


@pytest.mark.parametrize("name", SCHEMES)
@settings(max_examples=80)
@given(PAIRS, st.integers(1, 4))
def test_equals_the_minimum_over_every_subset(name: str, pair: tuple[Array, Array], num_drafts: int) -> None:
    """In rationals: zeros, one-hots, p = q, disjoint supports, more drafts than the support has tokens."""
    (p, q), num_drafts = pair, num_drafts if allowed(name, num_drafts) else 2
    best = optimum(p, q, num_drafts=num_drafts, scheme=name)
    assert isinstance(best.value, (Fraction, int))
    assert best.value == subset_minimum(p, q, lambda h: within(name, q, h, num_drafts))
    assert best.value == optimal_acceptance(p, q, num_drafts=num_drafts, scheme=name)
    inside = best.certificate
    assert inside.dtype == bool
    assert 1 + sum(p[inside], Fraction(0)) - within(name, q, inside, num_drafts) == best.value
    assert (best.status, best.error) == ("optimal", 0)


def assert_feasible(w: Array, q: Array, inside: Callable[[Array], Array]) -> None:
    """w is a law that choosing among the drafts can have: w(S) <= 1 - Pr[all drafts outside S] for every set S."""
    assert (w >= 0).all(), "a negative probability"
    assert w.sum() == 1, "not a law"
    for members in _subsets.all_sets(len(w)):
        assert np.where(members, w, 0).sum() <= 1 - inside(~members), f"too much on {np.flatnonzero(members)}"


@pytest.mark.parametrize("name", WITH_PLAN)
@settings(max_examples=80)
@given(PAIRS, st.integers(1, 4))
def test_plan_attains_the_value(name: str, pair: tuple[Array, Array], num_drafts: int) -> None:
    (p, q), num_drafts = pair, num_drafts if allowed(name, num_drafts) else 2
    best = optimum(p, q, num_drafts=num_drafts, scheme=name)
    assert_feasible(best.plan, q, lambda h: within(name, q, h, num_drafts))
    assert np.minimum(p, best.plan).sum() == best.value


def assert_feasible_prefixes(w: Array, q: Array, inside: Callable[[Array], Array]) -> None:
    """The same for drafts whose Pr[all in H] is a convex function of q(H): S need only be the largest w/q."""
    assert abs(w.sum() - 1) <= 1e-12, "not a law"
    assert (w[q == 0] == 0).all(), "a token that is never drafted"
    order = np.argsort(-w / np.where(q > 0, q, 1), stable=True)
    left = np.maximum(1 - q[order].cumsum(), 0)
    assert (w[order].cumsum() <= 1 - inside(left) + 1e-12).all(), "more than the drafts can give"


PLANS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "the plan": lambda p, q, w: w,
    "the target itself": lambda p, q, w: p,
    "not cut": lambda p, q, w: np.maximum(w, p) / np.maximum(w, p).sum(),
    "not filled": lambda p, q, w: np.minimum(w, p) + (w - np.minimum(w, p)).sum() * p,
    "halfway to the target": lambda p, q, w: (w + p) / 2,
    "sums to less": lambda p, q, w: np.minimum(w, p),
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("vocab", [30, 20_000])
@pytest.mark.parametrize("name", ["iid", "distinct"])
def test_plans_of_long_rows(name: str, vocab: int, plan: str) -> None:
    """The plan is feasible by its prefixes and attains the value; five wrong ones are not feasible."""
    p, q, _ = backends.laws(vocab, rows=2, seed=vocab)
    q[:, : vocab // 4] = 0
    q /= q.sum(axis=-1, keepdims=True)
    best = optimum(p, q, num_drafts=3, scheme=name)
    assert best.plan.shape == p.shape
    for k in range(2):
        wrong = PLANS[plan](p[k], q[k], best.plan[k])

        def inside(mass: Array, k: int = k) -> Array:
            return iid.inside(mass, 3) if name == "iid" else distinct.inside(mass, distinct.draws(q[k], 3, 1024))

        if plan == "the plan":
            assert_feasible_prefixes(wrong, q[k], inside)
            assert np.minimum(p[k], wrong).sum() == pytest.approx(best.value[k], abs=1e-12)
        else:
            with pytest.raises(AssertionError):
                assert_feasible_prefixes(wrong, q[k], inside)


@settings(max_examples=60)
@given(PAIRS, st.integers(1, 3), st.sampled_from([0, Fraction(1, 3), Fraction(9, 10)]))
def test_any_law_of_the_number_of_draws(pair: tuple[Array, Array], least: int, extra: Fraction) -> None:
    p, q = pair
    law = Draws(least, extra, 4)
    best = optimum(p, q, num_drafts=law, scheme="distinct")
    assert best.value == optimal_acceptance(p, q, num_drafts=law, scheme="distinct")
    assert best.value == acceptance_rate(p, q, rule="optimal", num_drafts=law, scheme="distinct")
    assert best.value == subset_minimum(p, q, lambda h: distinct.within(q, h, law))
    assert_feasible(best.plan, q, lambda h: distinct.within(q, h, law))
    assert np.minimum(p, best.plan).sum() == best.value


@settings(max_examples=60)
@given(PAIRS, st.integers(1, 4))
def test_order_of_the_schemes(pair: tuple[Array, Array], num_drafts: int) -> None:
    """i.i.d. below without replacement and below distinct, more drafts above fewer; one draft is one draft."""
    p, q = pair
    value = {s: optimal_acceptance(p, q, num_drafts=num_drafts, scheme=s) for s in SCHEMES if allowed(s, num_drafts)}
    assert value["iid"] <= value["without_replacement"]
    assert value["iid"] <= value["distinct"]
    for name in ("iid", "distinct", "without_replacement"):
        assert value[name] <= optimal_acceptance(p, q, num_drafts=num_drafts + 1, scheme=name)
    if num_drafts == 1:
        assert len(set(value.values())) == 1


def test_schemes_without_an_order() -> None:
    """Distinct and greedy drafts can do better or worse than drafts without replacement."""
    p, q, _ = backends.laws(vocab=6, rows=400, seed=1)
    wor, *others = (
        optimal_acceptance(p, q, num_drafts=2, scheme=s) for s in ("without_replacement", "distinct", "greedy")
    )
    for other in others:
        assert (other > wor + 1e-9).any()
        assert (other < wor - 1e-9).any()


@pytest.mark.parametrize(("vocab", "num_drafts"), [(50, 2), (50, 4), (300, 2), (300, 4)])
def test_distinct_drafts_are_nearly_as_good_as_without_replacement(vocab: int, num_drafts: int) -> None:
    """theory/verification.md section 4, step D: within 0.4 points there; here most of what i.i.d. drafts lose."""
    rng = np.random.default_rng(vocab)
    p, q = (w / w.sum(axis=-1, keepdims=True) for w in np.exp(2 * rng.standard_normal((2, 8, vocab))))
    once, again, wor = (
        optimal_acceptance(p, q, num_drafts=num_drafts, scheme=s).mean()
        for s in ("iid", "distinct", "without_replacement")
    )
    assert abs(again - wor) <= (wor - once) / 4


def test_published_zipf() -> None:
    """theory/verification.md section 12: Zipf, p ~ i^-1.2, q ~ i^-1, V = 32,000, n = 2: greedy 0.88441694."""
    i = np.arange(1, 32_001, dtype=np.float64)
    p, q = i**-1.2 / (i**-1.2).sum(), i**-1.0 / (i**-1.0).sum()
    assert optimal_acceptance(p, q, num_drafts=2, scheme="greedy") == pytest.approx(0.88441694, abs=5e-9)
    assert optimal_acceptance(p, q, num_drafts=2, scheme="hub") == pytest.approx(0.88441694, abs=5e-9)
    assert optimal_acceptance(p, q, num_drafts=2, scheme="without_replacement") > 0.9630602674


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("vocab", [6, _prefix.LONG + 1])
def test_batches_jax_and_torch(name: str, vocab: int) -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    num_drafts = 2 if name == "hub" else 3
    p, q, _ = backends.laws(vocab, rows=4, seed=vocab)
    q[0, 0], q[1] = 0, np.eye(vocab)[2]
    p, q = (w.reshape(2, 2, vocab) for w in (p, q / q.sum(axis=-1, keepdims=True)))

    def best(p: Array, q: Array) -> tuple[Array, ...]:
        value, certificate, plan, _, error = optimum(p, q, num_drafts=num_drafts, scheme=name)
        return certificate, value, error, *(() if plan is None else (plan,))

    wanted = best(p, q)
    assert wanted[1].shape == wanted[2].shape == (2, 2)
    assert wanted[2].max() <= 1e-13
    for i, j in np.ndindex(2, 2):
        one = best(p[i, j], q[i, j])
        assert (one[0] == wanted[0][i, j]).all()
        assert all(np.abs(a - b[i, j]).max() <= 1e-13 for a, b in zip(one[1:], wanted[1:], strict=True))
    found = [wanted, best(*map(torch.from_numpy, (p, q)))]
    if vocab < 9:
        with jax.enable_x64(True):
            found.append(jax.jit(jax.vmap(best))(p, q))
    for rows in found:
        assert all(np.abs(np.asarray(a) - b).max() <= 2e-13 for a, b in zip(rows[1:], wanted[1:], strict=True))
        if vocab < 9 or name != "without_replacement":  # where two sets are as good, either may be found
            members = np.asarray(rows[0])
            proved = 1 + np.where(members, p, 0).sum(axis=-1) - within(name, q, members, num_drafts)
            assert np.abs(proved - wanted[1]).max() <= 1e-12


@pytest.mark.parametrize("vocab", [5, 9_000])
def test_ratios_that_overflow_count_as_infinite(vocab: int) -> None:
    """p/q > 1e308 used to warn, and warnings are errors here; float32 overflows at 1e38."""
    p, q = np.zeros((2, vocab))
    p[:3], q[:3] = (0.5, 0.25, 0.25), (1e-320, 0, 1)
    for name in ("iid", "distinct"):
        assert optimal_acceptance(p, q, num_drafts=2, scheme=name) == pytest.approx(0.25, abs=1e-15)
    assert optimum(p, q, num_drafts=2).certificate.tolist() == [False, False, True, *[False] * (vocab - 3)]
    short = [np.array(w[:3], dtype=np.float32) for w in ((0.5, 0.25, 0.25), (1e-44, 0, 1))]
    assert optimal_acceptance(*short, num_drafts=3) == pytest.approx(0.25, abs=1e-7)


@pytest.mark.parametrize("num_drafts", [2, 3])
@pytest.mark.parametrize("least", [1e-250, 1e-307, 1e-318])
def test_without_replacement_little_mass_is_drafted_all_the_same(least: float, num_drafts: int) -> None:
    """All drafts but the first come from it, in its own ratios: p/q may overflow, and yet its order counts."""
    p, q = np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, 0.6 * least, 0.3 * least, 0.1 * least])
    exact = [np.array([Fraction(x) for x in w], dtype=object) for w in (p, q)]
    p_exact, q_exact = (w / w.sum() for w in exact)
    found = optimal_acceptance(p, q, num_drafts=num_drafts, scheme="without_replacement")
    wanted = optimal_acceptance(p_exact, q_exact, num_drafts=num_drafts, scheme="without_replacement")
    assert found == pytest.approx(float(wanted), abs=1e-12)


def test_float64_rows_are_not_copied() -> None:
    row = np.array([0.5, 0.5])
    assert wide(row) is row
    assert wide(row.astype(np.float32)).dtype == np.float64


def test_the_rule_and_the_bound_mean_the_same_drafts() -> None:
    """Rows so peaked that the limit of draws is met: the optimal rule still reaches what is called its optimum."""
    p, q = np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([[0.99, 0.01], [0.999, 0.001]])
    rate = acceptance_rate(p, q, rule="optimal", num_drafts=2, scheme="distinct")
    assert np.allclose(rate, optimal_acceptance(p, q, num_drafts=2, scheme="distinct"), atol=1e-12)
    assert (rate < 0.6).all()
    more = optimal_acceptance(p, q, num_drafts=distinct.draws(q, 2, 1024), scheme="distinct")
    assert (more > rate + 0.2).all()
