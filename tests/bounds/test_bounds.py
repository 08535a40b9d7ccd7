"""The optimum against subsets, two LP solvers, closed cases and published numbers; its certificate."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import acceptance_rate, discover, guarantee, optimal_acceptance, optimal_coupling, optimum, total_variation
from specsim.testing.strategies import law_pairs
from specsim.verify.hits import draft_tuples

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
