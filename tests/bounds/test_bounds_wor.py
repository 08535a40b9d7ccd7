"""Drafts without replacement (T15): the lemma behind the prefix order, the sum over log T and its error, edges."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import discover, optimal_acceptance, optimum
from specsim.bounds.schemes import _subsets
from specsim.bounds.schemes import without_replacement as bound
from specsim.draft import without_replacement
from specsim.testing.strategies import law_pairs, rational_laws

Array = Any
WOR = "without_replacement"


def exact(q: Array) -> Array:
    """Fractions proportional to float64 entries."""
    row = np.array([Fraction(float(v)) for v in q], dtype=object)
    return row / sum(row)


def gains_grow(name: str, q: Array, num_drafts: int) -> bool:
    """The lemma of T15: what i adds to Pr[all in S + j], per q_i, is at least what j adds to Pr[all in S], per q_j."""
    vocab = len(q)
    scheme = discover.find("draft", name)
    inside = np.asarray(scheme.within(q[None], _subsets.all_sets(vocab), num_drafts))
    for i, j in itertools.permutations(np.flatnonzero(q).tolist(), 2):
        for s in (s for s in range(2**vocab) if not s & (1 << i | 1 << j)):
            with_j = s | 1 << j
            if (inside[with_j | 1 << i] - inside[with_j]) * q[j] < (inside[with_j] - inside[s]) * q[i]:
                return False
    return True


@settings(max_examples=40)
@given(st.integers(2, 5).flatmap(lambda v: rational_laws(v, denominators=40)), st.integers(1, 4))
def test_gains_grow(q: Array, num_drafts: int) -> None:
    """In rationals, over all S, i and j: it makes a prefix of the order of p/q optimal."""
    assert gains_grow(WOR, q, min(num_drafts, int((q > 0).sum())))


def test_gains_need_not_grow_for_other_drafts() -> None:
    assert not gains_grow("greedy", np.array([Fraction(n, 25) for n in (7, 6, 6, 6)]), 2)


@settings(max_examples=80)
@given(st.integers(1, 6).flatmap(law_pairs), st.integers(2, 3))
def test_set_probabilities_equal_the_sum_over_tuples(pair: tuple[Array, Array], num_drafts: int) -> None:
    q = pair[1]
    members = _subsets.all_sets(len(q))
    wanted = without_replacement.within(q[None], members, num_drafts)
    assert (bound._within_all_sets(q, num_drafts) == wanted).all()


def instances(count: int) -> list[tuple[Array, Array, int, Array]]:
    """Laws from flat to very peaked, an order of the tokens, K from 3, and the exact chance that prefixes miss one."""
    rng = np.random.default_rng(15)
    found = []
    for k in range(count):
        vocab = int(rng.integers(4, 8))
        num_drafts = int(rng.integers(3, vocab))
        q = np.exp((0.3, 1, 3, 8)[k % 4] * rng.standard_normal(vocab))
        order = rng.permutation(vocab)
        prefixes = np.cumsum(2**order)  # numbers of the sets
        missed = [float(1 - v) for v in bound._within_all_sets(exact(q), num_drafts)[prefixes]]
        found.append((q / q.sum(), order, num_drafts, np.array(missed)))
    return found


def errors_hold(cases: list[tuple[Array, Array, int, Array]], nodes: int | None, scale: float = 1) -> bool:
    """Whether every prefix is within the error that is claimed, times a scale, and 2e-14 for rounding."""
    for q, order, num_drafts, wanted in cases:
        missed, error = bound._missed(q, order, num_drafts, nodes)
        if np.abs(missed - wanted).max() > scale * error + 2e-14:
            return False
    return True


def test_error_of_the_sum_over_log_t() -> None:
    """200 laws, against exact rationals, at the usual number of nodes and far fewer; a hundredth of it is too small."""
    cases = instances(200)
    for nodes in (None, 16, 24, 32, 48, 80):
        assert errors_hold(cases, nodes)
    assert not errors_hold(cases, 24, scale=0.01)
    assert not errors_hold(cases, 32, scale=0.01)
    for q, order, num_drafts, _ in cases:
        assert bound._missed(q, order, num_drafts, None)[1] <= bound.TOLERANCE
        assert bound._missed(q, order, num_drafts, 4)[1] == 1  # nothing is known


@settings(max_examples=100)
@given(st.integers(1, 7).flatmap(law_pairs), st.integers(1, 7))
def test_floats_are_within_the_error_of_rationals(pair: tuple[Array, Array], num_drafts: int) -> None:
    p, q = pair
    found = optimum(p.astype(float), q.astype(float), num_drafts=num_drafts, scheme=WOR)
    wanted = optimal_acceptance(p, q, num_drafts=num_drafts, scheme=WOR)
    assert abs(found.value - float(wanted)) <= found.error + 2e-14
    assert found.error <= 1e-13


@pytest.mark.parametrize("num_drafts", [2, 3, 4])
def test_masses_that_rounding_would_lose(num_drafts: int) -> None:
    """q(0) = 1 in floats: what the later drafts cover is still a fair share, and the error stays as small."""
    q = np.array([1.0, 1e-30, 3e-30, 2e-30, 1e-40])
    p = np.array([0.1, 0.2, 0.5, 0.1, 0.1])
    found = optimum(p, q, num_drafts=num_drafts, scheme=WOR)
    wanted = float(optimal_acceptance(exact(p), exact(q), num_drafts=num_drafts, scheme=WOR))
    assert wanted > 0.1 + 0.1 * num_drafts
    assert abs(found.value - wanted) <= 2e-13
    assert found.error <= 1e-13


def test_laws_that_floats_cannot_follow_say_so() -> None:
    """Many drafts of a very peaked law, or one more peaked than nodes under jit are there for: the error is large."""
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(1)
    p, q = rng.dirichlet(np.ones(100)), 10.0 ** np.linspace(0, -60, 100)
    q /= q.sum()
    many = optimum(p, q, num_drafts=40, scheme=WOR)
    assert 1e-13 < many.error <= 1

    def best(p: Array, q: Array) -> tuple[Array, Array]:
        found = optimum(p, q, num_drafts=4, scheme=WOR)
        return found.value, found.error

    with jax.enable_x64(True):
        value, error = jax.jit(best)(p[:6] / p[:6].sum(), q[::17] / q[::17].sum())
    wanted = optimum(p[:6] / p[:6].sum(), q[::17] / q[::17].sum(), num_drafts=4, scheme=WOR)
    assert wanted.error <= 1e-13 < float(error)
    assert abs(float(value) - wanted.value) <= float(error)


def test_drafts_beyond_the_support_change_nothing() -> None:
    """Row by row: then every token of q is drafted, and alpha* is their mass under p."""
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.ones(8), (2, 5))
    for k in range(5):
        q[k, k + 2 :] = 0
    q /= q.sum(axis=-1, keepdims=True)
    best = optimum(p, q, num_drafts=4, scheme=WOR)
    for k in range(3):
        assert best.value[k] == pytest.approx(p[k, : k + 2].sum(), abs=1e-15)
        assert (best.certificate[k] == (q[k] > 0)).all()
    for k in range(5):
        alone = optimum(p[k], q[k], num_drafts=min(4, k + 2), scheme=WOR)
        assert best.value[k] == pytest.approx(alone.value, abs=1e-13)
    assert (optimal_acceptance(p, q, num_drafts=9, scheme=WOR) == np.where(q > 0, p, 0).sum(axis=-1)).all()


def test_full_vocabulary_by_drawing() -> None:
    """V = 152,000, K = 2 and 8: Pr[all in H] of the certificate, drawn 20,000 times (false-alarm rate 1e-9)."""
    vocab, draws = 152_000, 20_000
    rng = np.random.default_rng(0)
    p, q = (w / w.sum() for w in np.exp(2.5 * rng.standard_normal((2, vocab))))
    stream = np.minimum(np.searchsorted(q.cumsum(), rng.random((draws, 40))), vocab - 1)  # first distinct ones: T15
    first = np.array([list(dict.fromkeys(row))[:8] for row in stream.tolist()])
    best = {k: optimum(p, q, num_drafts=k, scheme=WOR) for k in (2, 8)}
    for num_drafts, found in best.items():
        inside = 1 + p[found.certificate].sum() - found.value
        seen = found.certificate[first[:, :num_drafts]].all(axis=1).mean()
        assert abs(seen - inside) <= math.sqrt(math.log(2 / 1e-9) / (2 * draws))
        assert found.error <= 1e-13
        assert found.value >= optimal_acceptance(p, q, num_drafts=num_drafts)


def test_refusals() -> None:
    row = [Fraction(1, 13)] * 13
    assert optimal_acceptance(row, row, num_drafts=2, scheme=WOR) == 1
    with pytest.raises(
        ValueError, match=r"^num_drafts=3 without replacement on Fractions tries all sets of at most 12 "
    ):
        optimal_acceptance(row, row, num_drafts=3, scheme=WOR)
    flat = np.full(2000, 1 / 2000)
    with pytest.raises(ValueError, match=r"^num_drafts=900 without replacement is more than float64 can sum over$"):
        optimal_acceptance(flat, flat, num_drafts=900, scheme=WOR)


def test_what_is_not_known_is_said() -> None:
    """Values were up to 1.87, and `optimal_acceptance` gave one without its error."""
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(300)), rng.dirichlet(np.full(300, 0.1))
    best = optimum([p, p], [np.full(300, 1 / 300), q], num_drafts=100, scheme=WOR)
    assert best.status == "upper bound"
    assert best.error[1] > 0.1
    assert best.value[1] == 1
    with pytest.warns(UserWarning, match=r"^num_drafts=100, scheme='without_replacement': the value\[1\] is an upper"):
        value = optimal_acceptance([p, p], [np.full(300, 1 / 300), q], num_drafts=100, scheme=WOR)
    assert (value == best.value).all()
