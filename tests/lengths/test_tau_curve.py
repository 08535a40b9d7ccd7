"""Curves of tau over draft lengths: what they cannot be, and the nearest one that they can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import block_efficiency, concave_curve, curve_faults


@given(st.floats(0.05, 0.95))
def test_exact_curves_have_no_fault_and_are_their_own_nearest(alpha: float) -> None:
    gammas = [1, 2, 3, 4, 6, 8]
    taus = [float(block_efficiency(alpha, gamma=g)) for g in gammas]
    assert curve_faults(gammas, taus) == []
    fitted = concave_curve(gammas, taus)
    assert fitted[np.array(gammas) - 1] == pytest.approx(taus, abs=1e-6)


def test_each_law_convicts_in_a_sentence() -> None:
    assert curve_faults([3], [4.5]) == ["tau is 4.5 at 3 drafts: a call emits 4 tokens at most"]
    assert curve_faults([1], [0.9]) == ["tau is 0.9 at 1 draft: a call emits 1 token at least"]
    (falls,) = curve_faults([5, 6, 7], [3.6, 3.77, 3.47])
    assert falls.startswith("tau falls from 3.77 at 6 drafts to 3.47 at 7")
    (grows,) = curve_faults([1, 2, 3], [1.3, 1.7, 1.8])
    assert grows.startswith("a draft adds 0.3 up to 1 and 0.4 behind")
    # Lengths that are apart: by draft, not by entry.
    assert curve_faults([1, 4], [1.8, 2.9]) == []


def test_no_lossless_rule_accepts_more_than_the_overlaps() -> None:
    assert curve_faults([1, 2], [1.7, 2.3], overlaps=[0.7, 0.6]) == []
    (above,) = curve_faults([1, 2], [1.7, 2.4], overlaps=[0.7, 0.6])
    assert above.startswith("tau is 2.4 at 2 drafts, and the laws of target and draft allow 2.3 (1 + sum of 1 - TV)")
    assert curve_faults([2], [2.4], [0.06], overlaps=[0.7, 0.6]) == []
    with pytest.raises(ValueError, match="expected one for each of 2 drafts"):
        curve_faults([2], [2.4], overlaps=[0.7])


def test_the_first_draft_adds_one_at_most() -> None:
    """min (2 - 2.6)^2 + (2 + d - 2.5)^2: the second draft adds 0.5 behind a first one that adds 1."""
    assert concave_curve([1, 2], [2.6, 2.5]) == pytest.approx([2.0, 2.5], abs=1e-6)


def test_errors_and_rounding_excuse_what_they_explain() -> None:
    assert curve_faults([1, 2], [1.8, 1.795]) == []
    assert curve_faults([6, 7], [3.16, 3.0], [0.03, 0.03]) != []
    assert curve_faults([6, 7], [3.16, 3.0], [0.1, 0.1]) == []


def test_growth_is_by_draft_and_a_rise_behind_a_fall_is_none() -> None:
    (grows,) = curve_faults([2, 3], [1.6, 2.0])
    assert grows.startswith("a draft adds 0.3 up to 2 and 0.4 behind")
    (falls,) = curve_faults([1, 2, 3], [1.8, 1.6, 1.9])
    assert falls.startswith("tau falls from 1.8 at 1 draft to 1.6 at 2")
    # Increments differ by a rounding of each value.
    assert curve_faults([1, 2], [1.5, 2.01]) == []


@pytest.mark.parametrize(
    ("gammas", "taus", "errors"),
    [
        ([3], [4.1], [0.06]),
        ([1], [0.9], [0.06]),
        # The error of the earlier value counts for a fall, and twice for the growth on both its sides.
        ([6, 7], [3.16, 3.0], [0.1, 0.0]),
        ([1, 2], [1.3, 1.75], [0.05, 0.0]),
    ],
)
def test_errors_excuse_each_law(gammas: list[int], taus: list[float], errors: list[float]) -> None:
    assert curve_faults(gammas, taus, errors) == []
    assert len(curve_faults(gammas, taus)) == 1
    assert len(curve_faults(gammas, taus, [error / 4 for error in errors])) == 1


def test_rounding_excuses_the_most() -> None:
    assert curve_faults([3], [4.005]) == []


def test_weights_are_inverse_squares_of_errors_however_small() -> None:
    """One draft adds (0.8 w1 + 0.6 w2) / (w1 + w2), with weights 100 and 25; then the first draft adds 1 at most."""
    assert concave_curve([1, 2], [1.8, 1.6], [0.1, 0.2]) == pytest.approx([1.76, 1.76])
    assert concave_curve([1, 2], [2.6, 2.5], [1e-6, 1e-6]) == pytest.approx([2.0, 2.5], abs=1e-4)


def test_the_nearest_curve_is_the_best_of_those_that_can_be() -> None:
    taus = np.array([1.6, 2.3, 2.2, 2.9])
    fitted = concave_curve([1, 2, 3, 4], taus)
    steps = np.diff(np.r_[1.0, fitted])
    assert (np.diff(steps) <= 1e-9).all()
    assert steps[-1] >= -1e-9
    distance = float(((fitted - taus) ** 2).sum())
    rng = np.random.default_rng(0)
    for _ in range(200):
        other = 1 + np.cumsum(np.sort(rng.uniform(0, 1, 4))[::-1])
        assert ((other - taus) ** 2).sum() >= distance - 1e-9
    # A value that is known well stays.
    assert concave_curve([1, 2, 3], [1.8, 2.5, 2.3], [1.0, 0.001, 1.0])[1] == pytest.approx(2.5, abs=0.01)


def test_curves_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match=r"gammas\[1\] is 1 behind 2"):
        curve_faults([2, 1], [1.5, 1.6])
    with pytest.raises(ValueError, match="give one tau for each length"):
        concave_curve([1, 2], [1.5])
    with pytest.raises(ValueError, match="one number above 0"):
        concave_curve([1], [1.5], [0.0])
    with pytest.raises(TypeError, match="a row of draft lengths"):
        curve_faults(3, [1.5])
