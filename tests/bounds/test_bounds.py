"""The optimum against subsets, two LP solvers, exact rationals and published numbers; its certificate."""

from __future__ import annotations

import itertools
import math
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import acceptance_rate, discover, guarantee, optimal_acceptance, optimal_coupling, optimum, total_variation
from specsim.base.arrays import prefix_scan
from specsim.bounds.schemes import _prefix
from specsim.exact.step import draft_tuples
from specsim.testing import backends
from specsim.testing.strategies import law_pairs
from specsim.verify.lookup import takes

Array = Any
PAIRS = st.integers(1, 6).flatmap(law_pairs)
ON_IID = [n for n, r in discover.rules("step").items() if r.DRAFTS == "iid" and guarantee(n).lossless]
ZIPF_V = 32_000


def zipf() -> tuple[Array, Array]:
    i = np.arange(1, ZIPF_V + 1, dtype=np.float64)
    p, q = i**-1.2, i**-1.0
    return p / p.sum(), q / q.sum()


def subset_minimum(p: Array, q: Array, num_drafts: int) -> Fraction:
    """1 + min over all 2^V sets H of p(H) - q(H)^K, from the definition."""
    sets = itertools.product((False, True), repeat=len(p))
    values = (
        sum((a for a, m in zip(p, inside, strict=True) if m), Fraction(0))
        - sum((b for b, m in zip(q, inside, strict=True) if m), Fraction(0)) ** num_drafts
        for inside in sets
    )
    return 1 + min(values)


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


@settings(max_examples=200)
@given(PAIRS, st.integers(1, 5))
def test_equals_the_minimum_over_every_subset(pair: tuple[Array, Array], num_drafts: int) -> None:
    p, q = pair
    value = optimal_acceptance(p, q, num_drafts=num_drafts)
    assert isinstance(value, (Fraction, int))
    assert value == subset_minimum(p, q, num_drafts)


@settings(max_examples=200)
@given(PAIRS, st.integers(1, 5))
def test_certificate_gives_the_value_by_two_sums(pair: tuple[Array, Array], num_drafts: int) -> None:
    p, q = pair
    best = optimum(p, q, num_drafts=num_drafts)
    inside = best.certificate
    assert best.status == "optimal"
    assert inside.dtype == bool
    assert 1 + sum(p[inside], Fraction(0)) - sum(q[inside], Fraction(0)) ** num_drafts == best.value
    assert best.value == optimal_acceptance(p, q, num_drafts=num_drafts)


@pytest.mark.parametrize("name", ON_IID)
@settings(max_examples=40)
@given(data=st.data())
def test_certificate_proves_the_bound_for_every_lossless_rule(name: str, data: st.DataObject) -> None:
    """A hit in H is at most p(H), a hit outside H needs a draft outside H: both counted on the rule's own joint law."""
    rule = discover.find("step", name)
    num_drafts = 1 if discover.facts(rule).counts == (1,) else data.draw(st.integers(1, 3))
    p, q = data.draw(st.integers(1, 4).flatmap(law_pairs))
    inside = optimum(p, q, num_drafts=num_drafts).certificate
    tuples = draft_tuples(len(p), num_drafts)
    law = rule.transition(rule.prepare(p[None], q[None], num_drafts), tuples)
    joint = law * np.array([math.prod(q[x]) for x in tuples])[:, None]
    hit = np.where((tuples[..., None] == np.arange(len(p))).any(axis=1), joint, Fraction(0))
    p_in, q_in = sum(p[inside], Fraction(0)), sum(q[inside], Fraction(0)) ** num_drafts
    assert hit[:, inside].sum() <= p_in
    assert hit[:, ~inside].sum() <= 1 - q_in
    assert acceptance_rate(p, q, rule=name, num_drafts=num_drafts) == hit.sum() <= 1 + p_in - q_in


@pytest.mark.parametrize(("vocab", "num_drafts"), [(1, 2), (2, 3), (3, 1), (3, 3), (4, 2), (5, 2), (5, 3)])
def test_equals_the_transport_lp_of_two_solvers(vocab: int, num_drafts: int) -> None:
    rng = np.random.default_rng([vocab, num_drafts])
    for kind in ("dense", "zeros", "equal"):
        p, q = rng.dirichlet(np.ones(vocab), 2)
        if kind == "zeros":
            p[rng.integers(vocab)] = 0
            q[rng.integers(vocab)] = 0
            p[0], q[-1] = p[0] + 1 - p.sum(), q[-1] + 1 - q.sum()
        q = p if kind == "equal" else q
        value = optimal_acceptance(p, q, num_drafts=num_drafts)
        for solver in ("HIGHS", "CLARABEL"):
            best = optimal_coupling(p, q, num_drafts=num_drafts, solver=solver)
            assert best.value == pytest.approx(value, abs=1e-7 if solver == "HIGHS" else 1e-6)
            assert best.dual == pytest.approx(value, abs=1e-12)


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
    assert p.shape[-1] > _prefix.CHUNK
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
    for vocab in (_prefix.CHUNK + extra, 2 * _prefix.CHUNK + extra):
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


def test_jit_and_long_rows_on_jax() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    p, q = float_pair("zeros in both", 9_000)
    found = jax.jit(lambda a, b: optimal_acceptance(a, b, num_drafts=3))(p, q)
    assert float(found) == pytest.approx(float(optimal_acceptance(p, q, num_drafts=3)), abs=1e-12)


@settings(max_examples=50)
@given(PAIRS, st.integers(1, 5))
def test_grows_with_the_number_of_drafts_from_one_minus_tv(pair: tuple[Array, Array], num_drafts: int) -> None:
    p, q = pair
    assert optimal_acceptance(p, q) == 1 - total_variation(p, q)
    assert optimal_acceptance(p, q, num_drafts=num_drafts + 1) >= optimal_acceptance(p, q, num_drafts=num_drafts)


# Closed cases, theory/verification.md section 3.2 ("Zero / tie cases"), checked there in rationals.
@pytest.mark.parametrize("num_drafts", [1, 2, 3, 6])
def test_closed_cases(num_drafts: int) -> None:
    third, zero, one = Fraction(1, 3), Fraction(0), Fraction(1)
    spread, corner = [third] * 3, [zero, one, zero]
    assert optimal_acceptance(spread, corner, num_drafts=num_drafts) == third  # q one-hot: p(a)
    assert optimal_acceptance(corner, spread, num_drafts=num_drafts) == 1 - (1 - third) ** num_drafts
    assert optimal_acceptance(corner, [one, zero, zero], num_drafts=num_drafts) == 0
    assert optimal_acceptance(spread, spread, num_drafts=num_drafts) == 1
    two_of_six = [Fraction(1, 2)] * 2 + [zero] * 4  # uniform on d/r of d uniform tokens, r = 3
    assert optimal_acceptance(two_of_six, [Fraction(1, 6)] * 6, num_drafts=num_drafts) == 1 - (1 - third) ** num_drafts


def test_published_toy() -> None:
    """theory/verification.md section 12: target (1/3, 2/3), draft (2/3, 1/3), n = 2: 8/9."""
    p, q = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]
    assert optimal_acceptance(p, q, num_drafts=2) == Fraction(8, 9)


def test_published_zipf() -> None:
    """theory/verification.md section 12: Zipf, p ~ i^-1.2, q ~ i^-1, V = 32,000: 1 - TV and alpha* for n = 2."""
    p, q = zipf()
    assert 1 - total_variation(p, q) == pytest.approx(0.7440738178, abs=5e-11)
    assert optimal_acceptance(p, q) == pytest.approx(0.7440738178, abs=5e-11)
    assert optimal_acceptance(p, q, num_drafts=2) == pytest.approx(0.9630602674, abs=5e-11)


def library(name: str) -> Any:
    if name == "numpy":
        return np.asarray
    if name == "jax":
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        return jax.numpy.asarray
    return pytest.importorskip("torch").asarray


@pytest.mark.parametrize("name", ["numpy", "jax", "torch"])
@pytest.mark.parametrize("vocab", [9, 300, _prefix.CHUNK + 400])
def test_negative_zeros_are_zeros(name: str, vocab: int) -> None:
    """-0.0 in q made p / q -inf, which the one sort of long NumPy rows puts after infinity."""
    rng, array = np.random.default_rng(vocab), library(name)
    p, q = rng.dirichlet(np.ones(vocab), 2)
    p[rng.random(vocab) < 0.3], q[rng.random(vocab) < 0.3] = 0, 0
    p, q = p / p.sum(), q / q.sum()
    minus_p, minus_q = (np.where(w == 0, -0.0, w) for w in (p, q))
    with backends.compiled_plainly() if name == "jax" else nullcontext():
        for scheme, num_drafts in (("iid", 2), ("distinct", 2), ("without_replacement", 2), ("greedy", 2), ("iid", 1)):
            options = {"num_drafts": num_drafts, "scheme": scheme}
            best = optimum(array(p), array(q), **options)
            for row, draft in ((minus_p, q), (p, minus_q), (minus_p, minus_q)):
                found = optimum(array(row), array(draft), **options)
                assert (
                    float(found.value)
                    == float(best.value)
                    == float(optimal_acceptance(array(row), array(draft), **options))
                )
                assert bool((found.certificate == best.certificate).all())


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
