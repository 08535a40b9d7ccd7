"""Laws of a few tokens: the same tokens and numbers as the dense rows, without ever making rows over the vocabulary."""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import specsim
from specsim import dense_law, discover, one_hot_law, top_k_law
from specsim.base import sparse as _sparse
from specsim.checks.step_cases import drawn, sizes
from specsim.testing.cases import LAST_UNIFORM
from specsim.types import Law

Array = Any
STEP, CHAIN = discover.rules("step"), discover.rules("chain")
V, TOP = 23, 5
HALF = top_k_law([0, 2], [0.5, 0.5], 3)


def random_law(rng: np.random.Generator, shape: tuple[int, ...], *, exact: bool = False) -> Law:
    """3 to TOP tokens a row in any order: weights 1 to 6, equal ones often, some places unused."""
    ids = np.argsort(rng.random((*shape, V)), axis=-1)[..., :TOP]
    weights = rng.integers(1, 7, ids.shape)
    weights[..., 3:][rng.random((*shape, TOP - 3)) < 0.5] = 0
    ids = np.where(weights > 0, ids, -1)
    if not exact:
        return top_k_law(ids, specsim.normalize(weights), V)
    return top_k_law(ids, specsim.normalize(weights.astype(object) * Fraction(1)), V)


def uniforms_of(rng: np.random.Generator, shape: tuple[int, ...], exact: bool) -> Array:
    """Multiples of 2^-53; exactly, both ends of the interval come up often."""
    u = rng.random(shape)
    if not exact:
        return u
    u = np.where(rng.random(shape) < 0.2, 0.0, np.where(rng.random(shape) < 0.2, LAST_UNIFORM, u))
    out = np.empty(u.shape, dtype=object)
    out[...] = np.reshape([Fraction(v) for v in u.ravel().tolist()], u.shape) if u.size else u
    return out


def assert_step_as_dense(name: str, num_drafts: int, seed: int, *, exact: bool, rows: int = 40) -> None:
    rng, rule = np.random.default_rng(seed), STEP[name]
    p, q = random_law(rng, (rows,), exact=exact), random_law(rng, (rows,), exact=exact)
    x = drawn(rule, dense_law(q).astype(float), num_drafts, rng)
    u = uniforms_of(rng, (rows, rule.uniforms(num_drafts)), exact)
    found = specsim.verify_step(p, q, x, u, rule=name)
    wanted = specsim.verify_step(dense_law(p), dense_law(q), x, u, rule=name)
    assert np.array_equal(found.token, wanted.token), f"{name} K={num_drafts} seed={seed}: other tokens than dense rows"
    assert np.array_equal(found.hit, wanted.hit)


@pytest.mark.parametrize("name", STEP)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_step_tokens_are_those_of_dense_rows(name: str, seed: int, data: st.DataObject) -> None:
    """Equal weights and ratios everywhere: ties must fall as they do among all V tokens."""
    assert_step_as_dense(name, data.draw(st.sampled_from(sizes(STEP[name]))), seed, exact=False)


@pytest.mark.parametrize("name", STEP)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_step_tokens_are_exactly_those_of_dense_rows(name: str, seed: int, data: st.DataObject) -> None:
    """In Fractions, at both ends of the uniforms too."""
    assert_step_as_dense(name, data.draw(st.sampled_from(sizes(STEP[name]))), seed, exact=True, rows=6)


@pytest.mark.parametrize("seed", [47, 61, 121])
def test_rounded_weights_do_not_depend_on_what_stands_beside_them(seed: int) -> None:
    """Seeds where a token's winners and its target differ by rounding, and the last uniform tells."""
    assert_step_as_dense("optimal_wor", 2, seed, exact=True, rows=6)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", CHAIN)
@pytest.mark.parametrize("gamma", [0, 1, 3])
def test_chain_tokens_are_those_of_dense_rows(name: str, gamma: int, exact: bool) -> None:
    for seed in range(5):
        rng, rows = np.random.default_rng(seed), 12
        p, q = random_law(rng, (rows, gamma + 1), exact=exact), random_law(rng, (rows, gamma), exact=exact)
        full = dense_law(q).reshape(rows, gamma, V)
        x = np.reshape([rng.choice(V, p=w) for w in full.reshape(-1, V).astype(float)], (rows, gamma)).astype(int)
        u = uniforms_of(rng, (rows, CHAIN[name].uniforms(gamma)), exact)
        found = specsim.verify_chain(p, q, x, u, rule=name)
        wanted = specsim.verify_chain(dense_law(p), full, x, u, rule=name)
        assert np.array_equal(found.token, wanted.token)
        assert np.array_equal(found.num_accepted, wanted.num_accepted)


@pytest.mark.parametrize("name", STEP)
def test_closed_forms_are_those_of_dense_rows(name: str) -> None:
    for exact in (False, True):
        rng = np.random.default_rng(1)
        p, q = random_law(rng, (2, 6), exact=exact), random_law(rng, (6,), exact=exact)
        for num_drafts in sizes(STEP[name]):
            found = specsim.acceptance_rate(p, q, rule=name, num_drafts=num_drafts)
            wanted = specsim.acceptance_rate(dense_law(p), dense_law(q), rule=name, num_drafts=num_drafts)
            assert found.shape == wanted.shape == (2, 6)
            assert (found == wanted).all() if exact else np.abs(found - wanted).max() <= 1e-13


def test_distances_output_laws_and_residuals_are_those_of_dense_rows() -> None:
    rng = np.random.default_rng(2)
    p, q = random_law(rng, (7,), exact=True), random_law(rng, (7,), exact=True)
    rows = dense_law(p), dense_law(q)
    assert (specsim.total_variation(p, q) == specsim.total_variation(*rows)).all()
    assert (dense_law(specsim.residual(p, q)) == specsim.residual(*rows)).all()
    law = specsim.output_law(p, q, rule="recursive", num_drafts=2)
    assert isinstance(law, Law)
    assert (dense_law(law) == rows[0]).all()
    again = specsim.total_variation(law, p)  # a Law that came out goes in again
    assert (again == 0).all()


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("scheme", "num_drafts"),
    [("iid", 1), ("iid", 2), ("iid", 4), ("greedy", 3), ("without_replacement", 2), ("distinct", 2)],
)
def test_optima_and_certificates_are_those_of_dense_rows(scheme: str, num_drafts: int, exact: bool) -> None:
    rng = np.random.default_rng(3)
    p, q = random_law(rng, (30,), exact=exact), random_law(rng, (30,), exact=exact)
    options: Any = {"num_drafts": num_drafts, "scheme": scheme}
    rows = [dense_law(w) for w in (p, q)]
    found, wanted = specsim.optimum(p, q, **options), specsim.optimum(*rows, **options)
    assert (specsim.optimal_acceptance(p, q, **options) == found.value).all()
    assert_near(found.value, wanted.value, exact)
    inside = dense_law(found.certificate)
    assert inside.dtype == bool
    module = discover.find("draft", scheme)
    if scheme != "distinct":  # its bound may draw more often than its engine
        within = [module.within(q, h, num_drafts) for q, h in zip(rows[1], inside, strict=True)]
        assert_near(1 + np.where(inside, rows[0], 0).sum(axis=-1) - np.array(within), found.value, exact)
    assert (found.plan is None) == (wanted.plan is None)
    if found.plan is not None:
        assert_near(dense_law(found.plan), wanted.plan, exact)


def assert_near(found: Array, wanted: Array, exact: bool) -> None:
    assert (found == wanted).all() if exact else np.abs(found - wanted).max() <= 1e-13


def test_one_hot_rows() -> None:
    rng = np.random.default_rng(4)
    p, x = random_law(rng, (50,)), rng.integers(0, V, (50, 1))
    q, u = one_hot_law(x[:, 0], V), rng.random((50, 2))
    wanted = specsim.verify_step(dense_law(p), np.eye(V)[x[:, 0]], x, u).token
    assert (specsim.verify_step(p, q, x, u).token == wanted).all()
    top = np.argmax(dense_law(p), axis=-1)
    assert (specsim.acceptance_rate(one_hot_law(top, V), p) == dense_law(p).max(axis=-1)).all()


def test_a_law_beside_dense_rows_is_made_dense() -> None:
    rng = np.random.default_rng(5)
    p, q = random_law(rng, (9,)), random_law(rng, (9,))
    wanted = specsim.residual(dense_law(p), dense_law(q))
    for a, b in ((p, dense_law(q)), (dense_law(p), q)):
        assert (specsim.residual(a, b) == wanted).all()
    assert specsim.total_variation(HALF, [0.5, 0.25, 0.25]) == 0.25


def test_leading_axes_broadcast() -> None:
    rng = np.random.default_rng(6)
    p, q = random_law(rng, (4, 1)), random_law(rng, (3,))
    x = drawn(STEP["recursive"], dense_law(q), 2, rng)
    u = rng.random((4, 3, 3))
    found = specsim.verify_step(p, q, x, u, rule="recursive")
    wanted = specsim.verify_step(dense_law(p), dense_law(q), x, u, rule="recursive")
    assert found.token.shape == (4, 3)
    assert (found.token == wanted.token).all()
    one = top_k_law(p.ids[0, 0], p.values[0, 0], V)
    assert_near(specsim.total_variation(one, q), specsim.total_variation(dense_law(one), dense_law(q)), exact=False)


@pytest.mark.parametrize("name", ["recursive", "optimal"])
def test_jax_and_torch(name: str) -> None:
    """The same tokens; under jit, where the vocabulary of a Law is traced like its arrays; float64 everywhere."""
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    rng, rule = np.random.default_rng(7), STEP[name]
    num_drafts = sizes(rule)[-1]
    p, q = random_law(rng, (30,)), random_law(rng, (30,))
    x, u = drawn(rule, dense_law(q), num_drafts, rng), rng.random((30, rule.uniforms(num_drafts)))
    wanted = specsim.verify_step(p, q, x, u, rule=name).token
    rate = specsim.acceptance_rate(p, q, rule=name, num_drafts=num_drafts)

    def run(p: Law, q: Law, x: Array, u: Array) -> Array:
        return specsim.verify_step(p, q, x, u, rule=name).token

    with jax.enable_x64(True):
        a, b = (Law(jax.numpy.asarray(w.ids), jax.numpy.asarray(w.values), V) for w in (p, q))
        x_jax, u_jax = jax.numpy.asarray(x), jax.numpy.asarray(u)
        by_row = jax.vmap(run, in_axes=(Law(0, 0, None),) * 2 + (0, 0))
        for function in (jax.jit(run), jax.jit(by_row)):
            assert (np.asarray(function(a, b, x_jax, u_jax)) == wanted).all()
        rates = jax.jit(lambda a, b: specsim.acceptance_rate(a, b, rule=name, num_drafts=num_drafts))(a, b)
        assert np.allclose(np.asarray(rates), rate, atol=1e-13, rtol=0)
        assert isinstance(specsim.total_variation(a, jax.numpy.asarray(dense_law(q))), jax.Array)
    a, b = (Law(torch.from_numpy(w.ids), torch.from_numpy(w.values), V) for w in (p, q))
    found = run(a, b, torch.from_numpy(x), torch.from_numpy(u))
    assert isinstance(found, torch.Tensor)
    assert (found.numpy() == wanted).all()
    assert (run(p, q, torch.from_numpy(x), torch.from_numpy(u)).numpy() == wanted).all()  # NumPy laws follow the drafts
    assert np.allclose(dense_law(a).numpy(), dense_law(p))
    assert isinstance(one_hot_law(torch.tensor([1, 2]), V).values, torch.Tensor)


def test_gradient_in_top_k_logits() -> None:
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(8)
    p, q = random_law(rng, (16,)), random_law(rng, (16,))
    with jax.enable_x64(True):
        logits = jax.numpy.asarray(rng.standard_normal(q.values.shape))

        def sparse(z: Array) -> Array:
            values = jax.nn.softmax(z) * (q.ids >= 0)
            law = Law(q.ids, values / values.sum(axis=-1, keepdims=True), V)
            return specsim.acceptance_rate(Law(p.ids, jax.numpy.asarray(p.values), V), law).sum()

        slope, run = np.asarray(jax.jit(jax.grad(sparse))(logits)), jax.jit(sparse)
        steps = 1e-6 * np.eye(logits.size).reshape(-1, *logits.shape)
        assert np.allclose(slope.ravel(), [(run(logits + d) - run(logits - d)) / 2e-6 for d in steps], atol=1e-8)
        assert np.abs(slope).max() > 1e-3


# Each is a way to be wrong about sparse rows that the comparison with dense rows must see.
def _first_come(p: Law, q: Law, axes: int) -> Any:
    """Places in the order of appearance: cdfs run in another order."""
    ids = np.concatenate([p.ids, np.where((q.ids[..., None] == p.ids[..., None, :]).any(-1), -1, q.ids)], axis=-1)
    union = _sparse.Union(ids, V)
    index = np.where(ids < 0, V, ids)
    rows = [np.take_along_axis(np.pad(dense_law(w), ((0, 0), (0, 1))), index, axis=-1) for w in (p, q)]
    return rows[0], rows[1], union


def _without_duplicates_merged(p: Law, q: Law, axes: int) -> Any:
    ids = np.sort(np.concatenate([p.ids, q.ids], axis=-1), axis=-1)
    order = np.argsort(np.concatenate([p.ids, q.ids], axis=-1), axis=-1)
    rows = [np.concatenate([p.values, 0 * q.values], axis=-1), np.concatenate([0 * p.values, q.values], axis=-1)]
    return *(np.take_along_axis(w, order, axis=-1) for w in rows), _sparse.Union(ids, V)


@pytest.mark.parametrize("mutant", [_first_come, _without_duplicates_merged])
def test_the_comparison_with_dense_rows_sees(mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sparse, "_compact", mutant)
    with pytest.raises((AssertionError, ValueError)):
        assert_step_as_dense("rejection", 1, seed=0, exact=False, rows=400)


def test_the_comparison_sees_a_rule_that_looks_at_all_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that smooths its target over the vocabulary is not the same on the union."""
    honest = STEP["rejection"]
    smooth = ModuleType("smooth")
    smooth.__dict__.update(vars(honest))
    smooth.prepare = lambda p, q, num_drafts: honest.prepare(0.5 * p + 0.5 / p.shape[-1], q, num_drafts)  # type: ignore[attr-defined]
    monkeypatch.setitem(STEP, "smooth", smooth)
    find = discover.find
    monkeypatch.setattr(discover, "find", lambda family, name: smooth if name == "smooth" else find(family, name))
    with pytest.raises((AssertionError, IndexError)):
        assert_step_as_dense("smooth", 1, seed=0, exact=False, rows=400)
