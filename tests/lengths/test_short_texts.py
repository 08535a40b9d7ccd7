"""Texts shorter than the trees drafted along them: what fits is kept as in a longer text, and nothing beyond it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from specsim import renewal
from specsim.lengths.lifted_texts import lifted_samples
from specsim.lengths.traversal_texts import fitted, text_survival_traversal
from specsim.lengths.tree_texts import text_survival_tree

DEEP = (-1, 0, 1, 2)
SURVIVAL = {
    "tokenwise": lambda *text: text_survival_tree(*text, DEEP, scheme="iid").survival,
    "traversal": lambda *text: text_survival_traversal(*text, DEEP).survival,
    "lifted": lambda *text: lifted_samples(*text, DEEP)[0],
}


@pytest.mark.parametrize("rule", SURVIVAL)
@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_text_may_end_before_its_tree(rule: str, length: int) -> None:
    counts = np.random.default_rng(7).integers(1, 9, (2, 6, 3))
    p, q = (np.array([[Fraction(int(v), int(sum(row))) for v in row] for row in w], dtype=object) for w in counts)
    y = np.array([0, 2, 1, 1, 0, 2])
    long, short = SURVIVAL[rule](p, q, y), SURVIVAL[rule](p[:length], q[:length], y[:length])
    inside = np.arange(length)[:, None] + np.arange(4) < length
    assert short.shape == (length, 4)
    assert (short == np.where(inside, long[:length], 0)).all()
    assert renewal(short).blocks >= 1


def test_means_of_samples_are_moved_into_what_is_possible() -> None:
    rows: Any = np.array([[1.25, 0.5, 0.75], [0.5, -0.25, 0.0]])
    assert fitted(rows).tolist() == [[1, 0.5, 0.5], [0.5, 0, 0]]
    exact = np.array([[Fraction(1, 2), Fraction(1, 3)]], dtype=object)
    assert fitted(exact) is exact
