"""One source on NumPy, JAX and torch: same tokens, types kept; how many rows were near ties is printed at the end."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from specsim import (
    acceptance_rate,
    discover,
    normalize,
    optimal_acceptance,
    optimum,
    output_law,
    residual,
    total_variation,
    verify_chain,
    verify_step,
    warp,
)
from specsim.testing import backends, draft_checks
from specsim.testing.step_cases import ROWS, VOCAB, compared, drawn
from specsim.verify.lookup import takes

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")
jax.config.update("jax_enable_x64", True)

Array = Any
WOR = "without_replacement"
STEP, CHAIN, DRAFT = (discover.rules(family) for family in ("step", "chain", "draft"))
ON_ALL = {"jax", "jax.jit", "jax.vmap", "torch cpu"}


def step_kernel(rule: ModuleType, num_drafts: int) -> Callable[..., Array]:
    return lambda p, q, x, u: rule.verify(rule.prepare(p, q, num_drafts), x, u)


def step_batch(rule: ModuleType, num_drafts: int, rows: int, seed: int) -> tuple[Array, Array, Array, Array]:
    p, q, rng = backends.laws(VOCAB, rows, seed)
    x = drawn(rule, q, num_drafts, rng)
    return p, q, x, rng.random((rows, rule.uniforms(num_drafts)))


def chain_batch(rule: ModuleType, gamma: int, rows: int, seed: int) -> tuple[Array, Array, Array, Array]:
    p = backends.laws(VOCAB, rows * (gamma + 1), seed)[0].reshape(rows, gamma + 1, VOCAB)
    _, q, rng = backends.laws(VOCAB, rows * gamma, seed + 1)
    q = q.reshape(rows, gamma, VOCAB)
    x = DRAFT["iid"].draw(q, rng.random((rows, gamma, 1)), 1)[..., 0]
    return p, q, x, rng.random((rows, rule.uniforms(gamma)))


Count = Callable[[str, object], None]  # pytest's record_property: what is recorded is printed when all tests are done


def report(what: str, compared: backends.Compared, count: Count) -> None:
    backend_names = ", ".join(compared.backends)
    count("printed", f"{what}: {compared.rows} rows on NumPy, {backend_names}; {compared.near} near a boundary")
    assert set(compared.backends) >= ON_ALL
    assert compared.rows == ROWS
    assert compared.near <= ROWS // 1000


# As many drafts as `same_on_every_backend` does not ask for, where the rule takes them: the same rows, in any number.
@pytest.mark.parametrize(
    ("name", "num_drafts"), [(n, max(k for k in (1, 2, 4) if takes(r, k))) for n, r in STEP.items()]
)
def test_step_rules_give_the_same_tokens(name: str, num_drafts: int, record_property: Count) -> None:
    report(f"{name} K={num_drafts}", compared(STEP[name], num_drafts), record_property)


@pytest.mark.parametrize("gamma", [1, 5])
@pytest.mark.parametrize("name", CHAIN)
def test_chain_rules_give_the_same_tokens(name: str, gamma: int, record_property: Count) -> None:
    rule = CHAIN[name]
    compared = backends.assert_same(
        lambda p, q, x, u: rule.verify(rule.prepare(p, q), x, u), *chain_batch(rule, gamma, ROWS, seed=gamma)
    )
    report(f"{name} gamma={gamma}", compared, record_property)


@pytest.mark.parametrize("name", DRAFT)
def test_draft_schemes_draw_the_same_tokens(name: str, record_property: Count) -> None:
    scheme, (q, _, rng) = DRAFT[name], backends.laws(VOCAB, ROWS, seed=9)
    num_drafts = draft_checks.counts(scheme, 4)[-1]
    u = rng.random((ROWS, scheme.uniforms(num_drafts)))
    q = draft_checks.handed(scheme, q, num_drafts)
    report(name, backends.assert_same(partial(scheme.draw, num_drafts=num_drafts), q, u), record_property)


def test_uniforms_on_a_boundary_are_counted_as_near() -> None:
    """u = p/q exactly, where rounding alone decides: every such row must be set aside."""
    rule = STEP["rejection"]
    p, q, x, u = step_batch(rule, 1, 400, seed=5)
    px, qx = (np.take_along_axis(w, x, axis=-1)[:, 0] for w in (p, q))
    rejected = (px > 0) & (px < qx)
    u[rejected, 0] = (px / qx)[rejected]
    compared = backends.assert_same(step_kernel(rule, 1), p, q, x, u)
    assert rejected.sum() > 100
    assert compared.near >= 0.9 * rejected.sum()


def test_a_kernel_that_differs_is_caught() -> None:
    def library_dependent(p: Array, u: Array) -> Array:
        token = DRAFT["iid"].draw(p, u, 1)[..., 0]
        return token if isinstance(p, np.ndarray) else token + 1

    p, _, rng = backends.laws(VOCAB, 20, seed=0)
    with pytest.raises(AssertionError, match="gives"):
        backends.assert_same(library_dependent, p, rng.random((20, 1)))


@pytest.mark.parametrize("name", STEP)
def test_float32_laws_give_the_float64_token_but_for_near_ties(name: str, record_property: Count) -> None:
    """About one row in 10^4 differs from float64; the libraries differ from each other less."""
    rule, rows = STEP[name], 30_000
    num_drafts = 1 if discover.facts(rule).counts == (1,) else 2
    p, q, x, u = step_batch(rule, num_drafts, rows, seed=7)
    kernel = step_kernel(rule, num_drafts)
    wanted = kernel(p, q, x, u)
    single = [w.astype(np.float32) for w in (p, q)]
    found = {
        "numpy": kernel(*single, x, u),
        "jax": np.asarray(jax.jit(kernel)(*single, x, u)),
        "torch": kernel(*map(torch.from_numpy, (*single, np.ascontiguousarray(x), u))).numpy(),
    }
    for library, tokens in found.items():
        different = int((tokens != wanted).sum())
        record_property("printed", f"{name}, float32 on {library}: {different} of {rows} tokens differ from float64")
        assert different <= rows * 5e-4
        assert (tokens != found["numpy"]).sum() <= rows * 5e-4


KERNELS: dict[str, tuple[Callable[..., Array], tuple[Array, ...]]] = {
    **{n: (step_kernel(r, 1), step_batch(r, 1, ROWS, seed=7)) for n, r in STEP.items() if takes(r, 1)},
    **{
        n: (lambda p, q, x, u, r=r: r.verify(r.prepare(p, q), x, u)[1], chain_batch(r, 3, ROWS, seed=7))
        for n, r in CHAIN.items()
    },
    "iid": (
        partial(DRAFT["iid"].draw, num_drafts=1),
        (backends.laws(VOCAB, ROWS, 7)[0], np.random.default_rng(7).random((ROWS, 1))),
    ),
}


def assert_short_floats_agree(kernel: Callable[..., Array], arrays: tuple[Array, ...]) -> None:
    """Laws and uniforms all float32, on torch and on JAX as it is without 64 bits, against the same in NumPy."""
    short = [np.ascontiguousarray(w, np.float32 if w.dtype == np.float64 else w.dtype) for w in arrays]
    short[-1] = np.minimum(short[-1], np.float32(1 - 2.0**-24))  # which rounds to 1 more often than not
    wanted = np.asarray(kernel(*short))
    found = {"torch": kernel(*map(torch.from_numpy, short)).numpy()}
    with jax.enable_x64(False):
        on_jax = jax.jit(kernel)(*map(jax.numpy.asarray, short))
        assert on_jax.dtype == np.int32
        found["jax without 64 bits"] = np.asarray(on_jax)
    for library, tokens in found.items():
        different = int((tokens != wanted).sum())
        assert different <= wanted.size * 2e-3, f"{library}: {different} of {wanted.size} tokens differ"


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype int64:UserWarning")  # jax counts in int32
@pytest.mark.parametrize("name", KERNELS)
def test_float32_uniforms_and_jax_without_64_bits(name: str) -> None:
    assert_short_floats_agree(*KERNELS[name])


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype int64:UserWarning")  # jax counts in int32
def test_short_floats_that_differ_are_caught() -> None:
    """One library draws from the wrong end; and uniforms moved by a hundredth are seen, too."""
    kernel, arrays = KERNELS["iid"]
    for wrong in (
        lambda u: u[..., ::-1] * 0 if isinstance(u, np.ndarray) else u,
        lambda u: u * 0.99 if isinstance(u, np.ndarray) else u,
    ):
        with pytest.raises(AssertionError, match="tokens differ"):
            assert_short_floats_agree(lambda q, u, wrong=wrong: kernel(q, wrong(u)), arrays)


def test_float32_draws_from_a_real_vocabulary() -> None:
    """A cumulative sum in float32 would move a tenth of these tokens."""
    rng = np.random.default_rng(0)
    q, u = rng.dirichlet(np.ones(32_000)), rng.random(1000)
    wanted = DRAFT["iid"].draw(q, u, 1)
    for library in (np.asarray, jax.numpy.asarray, torch.from_numpy):
        found = np.asarray(DRAFT["iid"].draw(library(q.astype(np.float32)), library(u), 1))
        assert (found != wanted).sum() <= 5


P, Q = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]
EXACT_P = [Fraction(5, 10), Fraction(3, 10), Fraction(2, 10)]
EXACT_Q = [Fraction(1, 10), Fraction(3, 10), Fraction(6, 10)]
NUMBERS: dict[str, Callable[[Array, Array], Array]] = {
    "acceptance_rate": lambda p, q: acceptance_rate(p, q, rule="recursive", num_drafts=2),
    "acceptance_rate greedy": lambda p, q: acceptance_rate(p, q, rule="greedy", num_drafts=2),
    "optimal_acceptance": lambda p, q: optimal_acceptance(p, q, num_drafts=2),
    "optimum": lambda p, q: optimum(p, q, num_drafts=2).value,
    "output_law": lambda p, q: output_law(p, q, rule="recursive", num_drafts=2),
    "residual": residual,
    "total_variation": total_variation,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_front_door_keeps_the_kind_of_array(name: str) -> None:
    function = NUMBERS[name]
    exact = function(EXACT_P, EXACT_Q)
    assert all(isinstance(v, (Fraction, int)) for v in np.ravel(np.array(exact, dtype=object)))
    wanted = np.array(exact, dtype=np.float64)
    listed = function(P, Q)
    assert isinstance(listed, (np.ndarray, np.float64))
    assert listed.dtype == np.float64
    assert np.allclose(listed, wanted, atol=1e-15)
    for dtype, atol in ((np.float64, 1e-15), (np.float32, 1e-6)):
        p, q = (np.array(w, dtype=dtype) for w in (P, Q))
        on_jax, on_torch = function(*map(jax.numpy.asarray, (p, q))), function(*map(torch.from_numpy, (p, q)))
        assert isinstance(on_jax, jax.Array)
        assert isinstance(on_torch, torch.Tensor)
        assert on_jax.dtype == dtype
        # sums along a sorted vocabulary run in float64, and come back so
        assert {function(p, q).dtype, on_torch.numpy().dtype} <= {np.dtype(dtype), np.dtype(np.float64)}
        assert all(np.allclose(np.asarray(v), wanted, atol=atol) for v in (on_jax, on_torch, function(p, q)))
    assert isinstance(function(jax.numpy.asarray(P), Q), jax.Array)
    assert isinstance(function(P, torch.tensor(Q, dtype=torch.float64)), torch.Tensor)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normalize_keeps_the_kind_of_array(dtype: type) -> None:
    weights = np.array([1, 3], dtype=dtype)
    on_jax, on_torch = normalize(jax.numpy.asarray(weights)), normalize(torch.from_numpy(weights))
    assert isinstance(on_jax, jax.Array)
    assert isinstance(on_torch, torch.Tensor)
    assert normalize(weights).dtype == on_jax.dtype == on_torch.numpy().dtype == dtype
    assert normalize(weights).tolist() == on_jax.tolist() == on_torch.tolist() == [0.25, 0.75]
    assert normalize([Fraction(1), Fraction(3)]).tolist() == [Fraction(1, 4), Fraction(3, 4)]


@pytest.mark.parametrize("num_drafts", [2, 8])
def test_optimum_of_float32_rows_sums_in_float64(num_drafts: int) -> None:
    rng = np.random.default_rng(0)
    p, q = (w.astype(np.float32) for w in rng.dirichlet(np.full(8000, 0.3), 2))
    wanted = optimal_acceptance(p.astype(np.float64), q.astype(np.float64), num_drafts=num_drafts)
    for library in (np.asarray, torch.from_numpy):
        found = optimal_acceptance(library(p), library(q), num_drafts=num_drafts)
        assert abs(float(found) - wanted) < 2e-7


@pytest.mark.parametrize("name", STEP)
def test_verify_step_keeps_the_kind_of_array(name: str) -> None:
    count = STEP[name].uniforms(1)
    x, u = [2], [0.4, 0.5, 0.5, 0.5][:count]
    listed = verify_step(P, Q, x, u, rule=name)
    exact = verify_step(EXACT_P, EXACT_Q, x, u, rule=name)
    on_jax = verify_step(jax.numpy.asarray(P), jax.numpy.asarray(Q), x, u, rule=name)
    on_torch = verify_step(torch.tensor(P), torch.tensor(Q), x, np.array(u), rule=name)
    assert isinstance(on_jax.token, jax.Array)
    assert isinstance(on_torch.token, torch.Tensor)
    assert isinstance(listed.token, (np.ndarray, np.integer))
    law = STEP[name].transition(STEP[name].prepare(np.array(P), np.array(Q), 1), np.array(x))
    for result in (listed, exact, on_jax, on_torch):
        assert int(result.token) == int(listed.token)
        assert law[int(result.token)] > 0
        assert bool(result.hit) == (int(result.token) in x)
    if not hasattr(STEP[name], "bias"):
        assert int(listed.token) == 0  # u[0] q(2) = 0.24 >= p(2) and u[0] < p(0); token 0 alone is left over


@pytest.mark.parametrize("name", CHAIN)
def test_verify_chain_keeps_the_kind_of_array(name: str) -> None:
    p, q, x, u = [P, P], [Q], [2], [0.9, 0.5]
    listed = verify_chain(p, q, x, u, rule=name)
    exact = verify_chain([EXACT_P, EXACT_P], [EXACT_Q], x, u, rule=name)
    on_jax = verify_chain(jax.numpy.asarray(p), jax.numpy.asarray(q), x, u, rule=name)
    on_torch = verify_chain(torch.tensor(p), torch.tensor(q), x, np.array(u), rule=name)
    assert isinstance(on_jax.token, jax.Array)
    assert isinstance(on_torch.num_accepted, torch.Tensor)
    for result in (listed, exact, on_jax, on_torch):
        assert (int(result.num_accepted), int(result.token)) == (0, 0)


def test_front_door_broadcasts_leading_axes() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(4), (3, 1)), rng.dirichlet(np.ones(4), 2)
    for function in (NUMBERS["acceptance_rate"], NUMBERS["optimal_acceptance"], NUMBERS["output_law"]):
        found = function(p, q)
        assert found.shape[:2] == (3, 2)
        for i, j in np.ndindex(3, 2):
            assert np.allclose(found[i, j], function(p[i, 0], q[j]), atol=1e-15)


def smooth_functions() -> dict[str, Callable[[Array, Array], Array]]:
    """The acceptance of every step rule and the optimum of every scheme that draws all drafts from one law."""
    rules = {
        f"{n}, K={k}": partial(acceptance_rate, rule=n, num_drafts=k)
        for n, r in STEP.items()
        for k in (1, 2, 3)
        if takes(r, k) and (k > 1 or discover.facts(r).counts == (1,))
    }
    schemes = [n for n, s in DRAFT.items() if not discover.scheme_facts(s).per_draft]
    optima = {f"optimum, {n}": partial(optimal_acceptance, num_drafts=2, scheme=n) for n in schemes}
    return rules | optima | {"optimum, K=3 without replacement": partial(optimal_acceptance, num_drafts=3, scheme=WOR)}


SMOOTH = smooth_functions()


@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_in_the_draft_logits_is_the_finite_difference(name: str) -> None:
    """Away from ties, where acceptance is smooth."""
    rng = np.random.default_rng(4)
    p, logits = rng.dirichlet(np.ones(8)), rng.standard_normal(8)

    def rate(x: Array, library: Any = np.asarray) -> Array:
        return SMOOTH[name](library(p), warp(x))

    with backends.compiled_plainly():
        gradient = np.asarray(jax.grad(partial(rate, library=jax.numpy.asarray))(jax.numpy.asarray(logits)))
    h = 1e-6
    up, down = (np.array([rate(logits + s * h * e) for e in np.eye(8)]) for s in (1, -1))
    assert np.abs(gradient).max() > 1e-3
    assert np.allclose(gradient, (up - down) / (2 * h), atol=1e-8, rtol=0)
    x = torch.tensor(logits, requires_grad=True)
    rate(x, torch.from_numpy).backward()
    assert np.allclose(x.grad.numpy(), gradient, atol=1e-12, rtol=0)


def test_jit_and_vmap_of_the_front_door() -> None:
    p, q, _ = backends.laws(VOCAB, 10, seed=3)
    for function in (NUMBERS["acceptance_rate"], NUMBERS["optimal_acceptance"], acceptance_rate):
        wanted = function(p, q)
        assert np.allclose(jax.jit(function)(p, q), wanted, atol=1e-14)
        assert np.allclose(jax.jit(jax.vmap(function))(p, q), wanted, atol=1e-14)
