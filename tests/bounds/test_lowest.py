"""The least value over prefixes, found in bins of p/q: that of the sort, on pairs with ties, zeros and wild scales."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from specsim.base.arrays import prefix_scan
from specsim.bounds.schemes import _lowest, _prefix
from specsim.types import Draws

Array = Any
COUNTS = (2, 3, 8, 40, Draws(2, 0.5, 3), Draws(5, 0.25, 32))


def pair(rng: np.random.Generator) -> tuple[Array, Array]:
    """Two laws of one of ten kinds."""
    kind, vocab = rng.integers(10), int(rng.integers(1, 400))
    p, q = rng.dirichlet(np.full(vocab, rng.choice([0.1, 1, 10])), 2) + 1e-12
    if kind in (1, 2, 3):
        p[rng.random(vocab) < 0.5 * (kind != 1)], q[rng.random(vocab) < 0.7 * (kind != 2)] = -0.0, -0.0
    elif kind == 4:
        q = p * rng.choice([0.5, 1.0, 1.0, 2.0], vocab)
    elif kind == 5:
        q = p * np.exp(rng.choice([1e-9, 0.05, 0.2]) * rng.standard_normal(vocab))
    elif kind == 6:  # G(t) = t^2 is followed closely: every bin may hold the minimum
        q = np.full(vocab, 1 / vocab)
        p = q * rng.permutation(2 * np.arange(vocab) + 1)
    elif kind == 7:
        p, q = 10.0 ** rng.uniform(-300, 0, (2, vocab))
    elif kind == 8:
        p, q = rng.integers(0, 4, (2, vocab)).astype(float)
    elif kind == 9:
        q = p.copy()
    p[0] += not p.any()
    q[-1] += not q.any()
    return p / p.sum(), q / q.sum()


def assert_equals_the_sort(p: Array, q: Array, count: int | Draws) -> int:
    """The value, the set that proves it, and the very set of the sort where no other is as good; how many it sorted."""
    inside = partial(_prefix.inside, count=count)
    found = _lowest.lowest(p, q, inside, count if isinstance(count, int) else count.limit)
    order, p_mass, q_mass = prefix_scan(p, q)
    slack = p_mass - inside(q_mass)
    low = min(0.0, slack.min())
    assert abs(found.value - low) <= 1e-12
    members = found.members(len(p))
    assert abs(p[members].sum() - inside(q[members].sum()) - low) <= 1e-12
    near = np.count_nonzero(np.append(slack, 0.0) <= low + 1e-11)
    if near == 1:
        assert (members == _prefix.certificate_of(order, slack)).all()
    return near


def assert_on(pairs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    alone = 0
    for n in range(pairs):
        alone += assert_equals_the_sort(*pair(rng), COUNTS[n % len(COUNTS)]) == 1
    assert alone >= 0.4 * pairs  # the set itself is compared, too


def test_equals_the_sort_on_a_hundred_pairs() -> None:
    assert_on(100, seed=1)


def test_equals_the_sort_on_three_thousand_pairs() -> None:
    assert_on(3000, seed=0)


def test_a_bin_is_searched_where_its_ends_are_not_the_best() -> None:
    """Tokens of ratios 1 and 1.03 share a bin, and the minimum lies between them."""
    q = np.array([0.5, 0.005, 0.005, 0.49])
    p = q * np.array([0, 1, 1.03, 0])
    p[-1] = 1 - p.sum()
    found = _lowest.lowest(p, q, partial(_prefix.inside, count=2), 2)
    assert found.value == pytest.approx(0.005 - 0.505**2, abs=1e-15)
    assert found.members(4).tolist() == [True, True, False, False]


def test_each_of_the_few_bins_that_may_hold_the_minimum_is_searched() -> None:
    """p/q = 2t + c (t - s) at draft mass t: it crosses the derivative of t^2 at s, now and then beside an edge."""
    vocab = 200
    mass, q = (np.arange(vocab) + 0.5) / vocab, np.full(vocab + 1, 1 / vocab)
    q[-1] = 0
    for s in np.linspace(0.7, 0.85, 50):
        p = np.append(np.maximum(2 * s + 2.7 * (mass - s), 0), 0) * q
        p[-1] = 1 - p.sum()
        assert_equals_the_sort(p, q, 2)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_narrow_rows_are_ordered_as_wide_ones(kind: Any) -> None:
    rng = np.random.default_rng(3)
    p, q = (w.astype(kind) for w in rng.dirichlet(np.ones(200), 2))
    for count in (2, 8):
        inside = partial(_prefix.inside, count=count)
        narrow, wide = (_lowest.lowest(a, b, inside, count) for a, b in ((p, q), (p.astype(float), q.astype(float))))
        assert narrow.value == wide.value < 0
        assert (narrow.members(200) == wide.members(200)).all()


def test_sums_of_many_equal_numbers_stay_exact() -> None:
    """One after the other, 2^20 equal numbers would be off by 1e-11."""
    vocab = 3 * 2**18
    q = np.full(vocab, 1 / vocab)
    p = q * np.where(np.arange(vocab) < vocab // 3, 2, 0.5)
    found = _lowest.lowest(p, q, partial(_prefix.inside, count=2), 2)
    assert abs(found.value - (1 / 3 - 4 / 9)) <= 1e-12
