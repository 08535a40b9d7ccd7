"""The front door on NumPy, JAX and torch: kinds of array kept, leading axes, gradients, jit and vmap."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from functools import partial
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
from specsim.checks import backends
from specsim.verify.lookup import takes

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")
jax.config.update("jax_enable_x64", True)

Array = Any
WOR = "without_replacement"
STEP, CHAIN, DRAFT = (discover.rules(family) for family in ("step", "chain", "draft"))
VOCAB = 50

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


LONG = {
    name for name in SMOOTH if "K=3" in name or name == "importance, K=2"
}  # JAX compiles them for up to ten seconds
RNG = np.random.default_rng(5)
SMOOTH_P, LOGITS = RNG.dirichlet(np.ones(8)), RNG.standard_normal(8)


def rate(name: str, x: Array, library: Any = np.asarray) -> Array:
    return SMOOTH[name](library(SMOOTH_P), warp(x))


def torch_gradient(name: str) -> Array:
    x = torch.tensor(LOGITS, requires_grad=True)
    rate(name, x, torch.from_numpy).backward()
    return x.grad.numpy()


@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_in_the_draft_logits_is_the_finite_difference(name: str) -> None:
    """Away from ties, where acceptance is smooth."""
    h, gradient = 1e-6, torch_gradient(name)
    up, down = (np.array([rate(name, LOGITS + s * h * e) for e in np.eye(8)]) for s in (1, -1))
    # A rule whose candidates are all eight tokens accepts whatever is drafted.
    is_sure = abs(float(rate(name, LOGITS)) - 1) < 1e-12
    assert (np.abs(gradient).max() > 1e-3) != is_sure
    assert np.allclose(gradient, (up - down) / (2 * h), atol=1e-8, rtol=0)


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in SMOOTH])
def test_gradient_in_jax_is_that_in_torch(name: str, optimized: None) -> None:
    # Without optimizations, which no user turns off, XLA 0.10 makes NaN of the gradient of a sum over 400 nodes.
    is_long_sum = name == "optimum, K=3 without replacement"
    with nullcontext() if is_long_sum else backends.compiled_plainly():
        slope = jax.grad(partial(rate, name, library=jax.numpy.asarray))
        slope = slope if name.startswith("kseq") else jax.jit(slope)  # one program, but for many that are alike
        gradient = np.asarray(slope(jax.numpy.asarray(LOGITS)))
    assert np.allclose(torch_gradient(name), gradient, atol=1e-12, rtol=0)


def test_jit_and_vmap_of_the_front_door() -> None:
    p, q, _ = backends.laws(VOCAB, 10, seed=3)
    for function in (NUMBERS["acceptance_rate"], NUMBERS["optimal_acceptance"], acceptance_rate):
        wanted = function(p, q)
        assert np.allclose(jax.jit(function)(p, q), wanted, atol=1e-14)
        assert np.allclose(jax.jit(jax.vmap(function))(p, q), wanted, atol=1e-14)
