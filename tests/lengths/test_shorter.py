"""tau of shorter blocks from the rates of longer ones: exact cases, and input that is no row of rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import block_efficiency, shorter_tau


@given(st.floats(0.05, 0.95), st.integers(1, 6))
def test_one_probability_is_exact(alpha: float, length: int) -> None:
    survival = alpha ** np.arange(1, 7)
    assert shorter_tau(survival, length) == pytest.approx(float(block_efficiency(alpha, gamma=length)))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_places_that_reject_every_draft_are_exact(length: int) -> None:
    """Pieces of 1, 3 and 4 tokens end at a place that no draft passes; blocks of 4 never cross one."""
    rng = np.random.default_rng(0)
    pieces = rng.choice([1, 3, 4], p=[0.5, 0.2, 0.3], size=5000)
    survival = [(pieces > i).mean() for i in range(1, 5)]
    blocks = sum(-(-int(piece) // (length + 1)) for piece in pieces)
    assert shorter_tau(survival, length) == pytest.approx(pieces.sum() / blocks)
    # The first shares alone are too low here: long blocks start behind hard places.
    assert 1 + sum(survival[:1]) < shorter_tau(survival, 1)


def test_the_length_of_the_run_and_drafts_that_all_pass() -> None:
    assert shorter_tau([0.7, 0.5, 0.1], 3) == pytest.approx(2.3)
    assert shorter_tau([1.0, 1.0], 1) == 2.0
    assert shorter_tau([0.0, 0.0], 1) == 1.0


def test_rows_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="survival increases"):
        shorter_tau([0.5, 0.6], 1)
    with pytest.raises(ValueError, match="length"):
        shorter_tau([0.5, 0.4], 3)
    with pytest.raises(ValueError, match="a row of rates"):
        shorter_tau([[0.5]], 1)
