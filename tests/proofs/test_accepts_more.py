"""T48: naive below recursive rejection below K-SEQ at its root; two drafts without replacement above with."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import acceptance_rate
from specsim.testing.strategies import law_pairs

PAIRS = st.integers(2, 5).flatmap(law_pairs)
CASES = settings(max_examples=80, deadline=None)


def accepted(rule: str, p: Any, q: Any, num_drafts: int) -> Fraction:
    return Fraction(acceptance_rate(p, q, rule=rule, num_drafts=num_drafts))


@CASES
@given(PAIRS, st.integers(1, 6))
def test_naive_is_never_above_recursive_rejection(pair: Any, num_drafts: int) -> None:
    left = pair[0]
    for _ in range(num_drafts):
        left = left - np.minimum(left, sum(left) * pair[1])
    recursive = 1 - sum(left)
    p, q = pair
    naive = sum(a * (1 - (1 - b) ** num_drafts) for a, b in zip(p, q, strict=True))
    assert naive <= recursive
    if num_drafts < 3:
        assert (naive, recursive) == tuple(accepted(rule, p, q, num_drafts) for rule in ("naive", "recursive"))


@CASES
@given(PAIRS, st.integers(1, 6))
def test_recursive_rejection_is_never_above_k_seq(pair: Any, num_drafts: int) -> None:
    """To the 2^-49 of rho's bisection, which ends above the root."""
    p, q = pair
    assert accepted("recursive", p, q, num_drafts) <= accepted("kseq", p, q, num_drafts) + Fraction(1, 2**40)


def test_above_the_root_k_seq_can_pass_less_often() -> None:
    """So the root is needed: at rho = K two drafts that are all but sure are refused too often."""
    p = q = np.array([Fraction(1, 2), Fraction(1, 2)])

    passed = 1 - (1 - sum(min(b, a / 2) for a, b in zip(p, q, strict=True))) ** 2
    assert passed == Fraction(3, 4) < accepted("recursive", p, q, 2) == 1


@CASES
@given(PAIRS)
def test_two_drafts_without_replacement_are_never_below(pair: Any) -> None:
    p, q = pair
    assert accepted("recursive_wor", p, q, 2) >= accepted("recursive", p, q, 2)


@pytest.mark.parametrize("rules", [("naive", "recursive"), ("recursive", "kseq")])
def test_each_comparison_is_strict_somewhere(rules: tuple[str, str]) -> None:
    p, q = np.array([Fraction(1, 3), Fraction(2, 3)]), np.array([Fraction(2, 3), Fraction(1, 3)])
    less, more = (accepted(rule, p, q, 2) for rule in rules)
    assert less < more
