"""Optimal acceptance of long rows of floats: within 1e-12 of the exact value, by pieces, batched, on JAX and torch."""

from __future__ import annotations

from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from specsim import acceptance_rate, discover, optimal_acceptance, optimum, total_variation
from specsim.base.arrays import prefix_scan
from specsim.bounds.schemes import _prefix
from specsim.checks import backends
from specsim.verify.lookup import takes

Array = Any


def integers(row: Array) -> list[int]:
    """Integers proportional to the float64 entries, without rounding."""
    ratios = [float(v).as_integer_ratio() for v in row]
    scale = max(d for _, d in ratios)
    return [n * (scale // d) for n, d in ratios]


def exact_value(p: Array, q: Array, num_drafts: int) -> float:
    """The sorting formula in integers, for float64 rows taken as rationals and divided by their exact sums."""
    a, b = integers(p), integers(q)
    p_total, q_total = sum(a), sum(b)
    order = sorted(range(len(a)), key=lambda i: (not b[i], Fraction(a[i], b[i]) if b[i] else Fraction(0)))
    low, p_mass, q_mass = 0, 0, 0
    for i in order:
        p_mass, q_mass = p_mass + a[i], q_mass + b[i]
        low = min(low, p_mass * q_total**num_drafts - q_mass**num_drafts * p_total)
    return float(1 + Fraction(low, p_total * q_total**num_drafts))


def generic_value(p: Array, q: Array, num_drafts: int) -> float:
    """The optimum by the generic prefix scan in float64."""
    _, p_mass, q_mass = prefix_scan(p, q)
    return float(1 + min(0.0, (p_mass - q_mass**num_drafts).min()))


def float_pair(kind: str, vocab: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng([vocab, seed])
    p, q = rng.dirichlet(np.full(vocab, 0.3), 2)
    if kind == "zeros in q":
        q[rng.random(vocab) < 0.5] = 0
    elif kind == "zeros in p":
        p[rng.random(vocab) < 0.5] = 0
    elif kind == "zeros in both":
        p[rng.random(vocab) < 0.5] = 0
        q[rng.random(vocab) < 0.5] = 0
    elif kind == "equal ratios":
        q = p * rng.choice([0.5, 1.0, 1.0, 2.0], vocab)
    elif kind == "ratios within float32":
        q = p * (1 + 1e-9 * rng.standard_normal(vocab))
    elif kind == "evenly spaced ratios":  # the cut runs through many tokens of nearly one ratio
        q = np.full(vocab, 1 / vocab)
        p = q * rng.permutation(np.maximum(3 * np.arange(vocab) / vocab - 0.5, 0))
    elif kind == "wild scales":
        p, q = (10.0 ** rng.uniform(-300, 0, vocab) for _ in range(2))
    elif kind == "p = q":
        q = p.copy()
    elif kind == "disjoint":
        p[::2], q[1::2] = 0, 0
    return p / p.sum(), q / q.sum()


KINDS = (
    "dense",
    "zeros in q",
    "zeros in p",
    "zeros in both",
    "equal ratios",
    "ratios within float32",
    "evenly spaced ratios",
    "wild scales",
    "p = q",
    "disjoint",
)


@pytest.mark.parametrize("kind", KINDS)
def test_float64_is_within_1e_12_of_exact(kind: str) -> None:
    for vocab, num_drafts in ((2, 2), (17, 3), (100, 8), (300, 2), (300, 5)):
        p, q = float_pair(kind, vocab)
        assert abs(optimal_acceptance(p, q, num_drafts=num_drafts) - exact_value(p, q, num_drafts)) <= 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_long_row_path_agrees_with_the_generic_scan(kind: str) -> None:
    p, q = float_pair(kind, 20_000)
    assert p.shape[-1] > _prefix.LONG
    for num_drafts in (2, 3, 8, 40):
        best = optimum(p, q, num_drafts=num_drafts)
        assert abs(best.value - generic_value(p, q, num_drafts)) <= 1e-12
        assert best.value == optimal_acceptance(p, q, num_drafts=num_drafts)
        inside = best.certificate
        assert 1 + p[inside].sum() - q[inside].sum() ** num_drafts == pytest.approx(best.value, abs=1e-12)


@pytest.mark.parametrize("kind", ["dense", "evenly spaced ratios", "wild scales", "zeros in both"])
def test_long_row_path_is_within_1e_12_of_exact(kind: str) -> None:
    p, q = float_pair(kind, 9_000)
    assert abs(optimal_acceptance(p, q, num_drafts=4) - exact_value(p, q, 4)) <= 1e-12


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_the_two_paths_meet_at_the_chunk_size(extra: int) -> None:
    for vocab in (_prefix.LONG + extra, 2 * _prefix.LONG + extra):
        p, q = float_pair("zeros in q", vocab)
        assert optimal_acceptance(p, q, num_drafts=3) == pytest.approx(generic_value(p, q, 3), abs=1e-12)


def test_negative_zero_is_zero_in_a_long_row() -> None:
    p, q = float_pair("zeros in p", 9_000)
    signed = np.where(p == 0, -0.0, p)
    assert optimal_acceptance(signed, q, num_drafts=2) == pytest.approx(optimal_acceptance(p, q, num_drafts=2))


@pytest.mark.parametrize("vocab", [7, 9_000])
@pytest.mark.parametrize("num_drafts", [1, 2, 5])
def test_batched_rows_equal_single_rows(vocab: int, num_drafts: int) -> None:
    rng = np.random.default_rng(vocab)
    p, q = rng.dirichlet(np.ones(vocab), (2, 3)), rng.dirichlet(np.ones(vocab), 3)
    batch = optimum(p, q, num_drafts=num_drafts)
    assert batch.value.shape == (2, 3)
    assert batch.certificate.shape == (2, 3, vocab)
    assert (optimal_acceptance(p, q, num_drafts=num_drafts) == batch.value).all()
    for i, j in np.ndindex(2, 3):
        one = optimum(p[i, j], q[j], num_drafts=num_drafts)
        assert one.value == batch.value[i, j]
        assert (one.certificate == batch.certificate[i, j]).all()


@pytest.mark.parametrize("num_drafts", [1, 2, 7])
def test_jax_and_torch_stay_what_they_are(num_drafts: int) -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    jax.config.update("jax_enable_x64", True)
    for kind in ("dense", "zeros in both", "equal ratios", "disjoint"):
        p, q = (np.stack([w, w[::-1]]) for w in float_pair(kind, 40))
        wanted = optimum(p, q, num_drafts=num_drafts)
        for library, kind_of in ((jax.numpy.asarray, jax.Array), (torch.from_numpy, torch.Tensor)):
            x, y = library(np.ascontiguousarray(p)), library(np.ascontiguousarray(q))
            found = optimum(x, y, num_drafts=num_drafts)
            value = optimal_acceptance(x, y, num_drafts=num_drafts)
            assert isinstance(value, kind_of)
            assert isinstance(found.value, kind_of)
            assert isinstance(found.certificate, kind_of)
            assert np.allclose(np.asarray(value), wanted.value, atol=1e-13, rtol=0)
            for row in range(2):
                inside = np.asarray(found.certificate)[row]
                total = 1 + p[row, inside].sum() - q[row, inside].sum() ** num_drafts
                assert total == pytest.approx(wanted.value[row], abs=1e-12)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_long_rows_of_torch_are_worked_on_as_numpys(kind: str) -> None:
    """In the same memory, and what comes back is torch's; rows that a gradient is asked of are sorted by torch."""
    torch = pytest.importorskip("torch")
    p, q = (w.astype(kind) for w in float_pair("zeros in both", _prefix.LONG + 100))
    x, y = torch.from_numpy(p), torch.from_numpy(q)
    found, wanted = optimum(x, y, num_drafts=3), optimum(p, q, num_drafts=3)
    assert found.value.dtype == torch.float64
    assert found.value.item() == wanted.value == optimal_acceptance(x, y, num_drafts=3).item()
    assert (found.certificate.numpy() == wanted.certificate).all()
    assert (found.plan.numpy() == wanted.plan).all()
    value = optimal_acceptance(x.requires_grad_(), y, num_drafts=3)
    value.backward()
    assert value.item() == pytest.approx(float(wanted.value), abs=1e-12)
    assert (x.grad.numpy() == wanted.certificate).all()


def test_jit_and_long_rows_on_jax() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    p, q = float_pair("zeros in both", 9_000)
    found = jax.jit(lambda a, b: optimal_acceptance(a, b, num_drafts=3))(p, q)
    assert float(found) == pytest.approx(float(optimal_acceptance(p, q, num_drafts=3)), abs=1e-12)


def library(name: str) -> Any:
    if name == "numpy":
        return np.asarray
    if name == "jax":
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        return jax.numpy.asarray
    return pytest.importorskip("torch").asarray


@pytest.mark.parametrize(
    ("name", "vocab"),
    [
        pytest.param(name, vocab, marks=[pytest.mark.slow] if (name, vocab) == ("jax", 300) else [])
        for vocab in (9, 300, _prefix.LONG + 400)
        for name in ("numpy", "jax", "torch")
    ],
)
def test_negative_zeros_are_zeros(name: str, vocab: int) -> None:
    """-0.0 in q made p / q -inf, which the one sort of long NumPy rows puts after infinity."""
    rng, array = np.random.default_rng(vocab), library(name)
    p, q = rng.dirichlet(np.ones(vocab), 2)
    p[rng.random(vocab) < 0.3], q[rng.random(vocab) < 0.3] = 0, 0
    p, q = p / p.sum(), q / q.sum()
    minus_p, minus_q = (np.where(w == 0, -0.0, w) for w in (p, q))
    jitted = __import__("jax").jit if name == "jax" else lambda function: function  # or JAX compiles each operation
    with backends.compiled_plainly() if name == "jax" else nullcontext():
        for scheme, num_drafts in (("iid", 2), ("distinct", 2), ("without_replacement", 2), ("greedy", 2), ("iid", 1)):
            options = {"num_drafts": num_drafts, "scheme": scheme}

            @jitted
            def asked(p: Array, q: Array, options: dict[str, Any] = options) -> tuple[Array, Array, Array]:
                best = optimum(p, q, **options)
                return best.value, best.certificate, optimal_acceptance(p, q, **options)

            value, inside, _ = asked(array(p), array(q))
            for row, draft in ((minus_p, q), (p, minus_q), (minus_p, minus_q)):
                found = asked(array(row), array(draft))
                assert float(found[0]) == float(value) == float(found[2])
                assert bool((found[1] == inside).all())


@pytest.mark.parametrize("scheme", ["iid", "distinct", "without_replacement", "greedy", "hub"])
def test_rows_that_sum_to_a_little_more_than_one(scheme: str) -> None:
    """They are laws (the tolerance is 1e-6), and what they give are probabilities."""
    p = np.full(4, 0.25) + np.array([9e-7, 0, 0, 0])
    hot = np.array([1 + 9e-7, 0, 0, 0])
    for row, draft in ((p, p), (hot, hot), (hot, p), (p, hot)):
        for k in (1, 2) if scheme == "hub" else (1, 2, 3):
            assert 0 <= optimal_acceptance(row, draft, num_drafts=k, scheme=scheme) <= 1
            assert 0 <= optimum(row, draft, num_drafts=k, scheme=scheme).value <= 1
            step = {n: r for n, r in discover.rules("step").items() if takes(r, k)}
            rules = [n for n, r in step.items() if scheme in discover.facts(r).schemes]
            assert rules
            for rule in rules:
                assert 0 <= acceptance_rate(row, draft, rule=rule, num_drafts=k, scheme=scheme) <= 1
    assert acceptance_rate(p, p) == 1
    assert total_variation(hot, np.array([0, 1.0, 0, 0])) == 1
