"""Lenience: its bias is the price of its acceptance and no more, whatever epsilon is; theorem T31."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from specsim import acceptance_rate, guarantee, output_law, total_variation
from specsim.testing.cases import random_laws
from specsim.verify.step import lenience


def test_the_bias_is_the_price_of_the_acceptance() -> None:
    """And neither falls where epsilon does; the law is written out as the theorem has it."""
    for p, q in zip(*random_laws(5, 24, seed=31), strict=True):
        before = acceptance_rate(p, q)
        for epsilon in (Fraction(1), Fraction(9, 10), Fraction(1, 3), Fraction(1, 100)):
            told = {"rule": "lenience", "params": {"epsilon": epsilon}}
            rate, law = acceptance_rate(p, q, **told), output_law(p, q, **told)
            assert rate == sum(min(b, a / epsilon) for a, b in zip(p, q, strict=True)) >= before
            left = sum(max(a - b, 0) for a, b in zip(p, q, strict=True))
            for y, (a, b) in enumerate(zip(p, q, strict=True)):
                assert law[y] == min(b, a / epsilon) + ((1 - rate) * max(a - b, 0) / left if left else 0)
            assert total_variation(law, p) == rate - acceptance_rate(p, q)
            assert lenience.bias(lenience.prepare(p, q, 1, epsilon)) == total_variation(law, p)
            before = rate


def test_the_sampler_draws_the_law() -> None:
    """Drafts that are kept at one uniform and replaced at the next, in rationals."""
    p, q = (np.array([Fraction(w, 10) for w in row]) for row in ((5, 3, 2), (1, 3, 6)))
    plan = lenience.prepare(p, q, 1, Fraction(1, 2))  # keeps 4/6 of the drafts 2, all others; replaces by 0 alone
    for draft, u, token in ((2, 0.66, 2), (2, 0.67, 0), (1, 0.999, 1), (0, 0.999, 0)):
        for second in (0.0, 0.6, 0.999):
            assert int(lenience.verify(plan, np.array([draft]), np.array([Fraction(u), Fraction(second)]))) == token


def test_with_an_epsilon_of_one_it_is_rejection() -> None:
    for p, q in zip(*random_laws(4, 20, seed=1), strict=True):
        assert (output_law(p, q, rule="lenience", params={"epsilon": 1}) == p).all()


def test_it_is_lossless_for_one_hot_targets_only() -> None:
    assert not guarantee("lenience").lossless
    assert guarantee("lenience", temperature=0).lossless


def test_a_float_epsilon_is_the_rational_that_it_is() -> None:
    """No float comes in among Fractions, and what p cannot emit is never kept."""
    third = np.array([Fraction(1, 3), Fraction(2, 3), Fraction(0)])
    accepted = lenience.prepare(third, third[::-1].copy(), 1, 0.3).accepted
    assert all(isinstance(v, (int, Fraction)) for v in accepted)
    p, q = np.array([0.0, 1.0], dtype=np.float32), np.array([0.25, 0.75], dtype=np.float32)
    assert lenience.prepare(p, q, 1, 1e-6).accepted.tolist() == [0.0, 0.75]


@pytest.mark.parametrize("epsilon", [0, -1, 1.5, float("nan")])
def test_a_bad_epsilon_ends_in_one_line(epsilon: float) -> None:
    with pytest.raises(ValueError, match=r"^epsilon is .*; it must lie in \[1e-6, 1\]$"):
        acceptance_rate([0.5, 0.5], [0.1, 0.9], rule="lenience", params={"epsilon": epsilon})
