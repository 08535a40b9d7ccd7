"""Helpers that NumPy runs in place or by index give what every library's own operations give."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from specsim.base.arrays import chosen, emptied, excess, mass

torch = pytest.importorskip("torch")


def rows(*shape: int, seed: int = 0, kind: Any = np.float64) -> Any:
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), shape[:-1]).astype(kind)


@pytest.mark.parametrize("take", [[[True], [True]], [[True], [False]], [[False], [False]]])
def test_chosen(take: list[list[bool]]) -> None:
    new, old = rows(2, 5), rows(2, 5, seed=1)
    wanted = np.where(take, new, old)
    assert np.array_equal(chosen(torch.tensor(take), *map(torch.tensor, (new, old))), wanted)
    kept = old.copy()
    assert np.array_equal(chosen(np.array(take), new.copy(), old), wanted)
    assert np.array_equal(old, kept)


def test_chosen_of_other_shapes_and_types() -> None:
    """What cannot be written in place is put together anew."""
    take, new, old = np.array([[[True]], [[False]]]), rows(2, 5, kind=np.float32), rows(2, 5, seed=1)
    found = chosen(take, new, old)
    assert (found.shape, found.dtype) == ((2, 2, 5), np.float64)
    assert np.array_equal(found, np.where(take, new, old))
    assert chosen(np.array([False]), np.array([Fraction(1)]), np.array([Fraction(2)])).tolist() == [2]


@pytest.mark.parametrize("token", [[[0, 4, 2], [1, 1, 3]], [[0, -1, 2], [-1, 1, 3]]])
def test_emptied(token: list[list[int]]) -> None:
    w = rows(2, 3, 5)
    before, wanted = w.copy(), np.where(np.arange(5) == np.array(token)[..., None], 0, w)
    assert np.array_equal(emptied(w, np.array(token)), wanted)
    assert np.array_equal(emptied(torch.tensor(w), torch.tensor(token)), wanted)
    assert np.array_equal(w, before)
    assert emptied(rows(3), np.array(2)).tolist()[2] == 0
    assert emptied(np.array([[Fraction(1, 2), Fraction(1, 2)]]), np.array([1])).tolist() == [[Fraction(1, 2), 0]]


def test_excess_is_the_positive_part_of_the_difference() -> None:
    for kind in (np.float32, np.float64):
        w, q = rows(50, 9, kind=kind), rows(50, 9, seed=1, kind=kind)
        wanted = np.where(w > q, w - q, 0)
        assert np.array_equal(excess(w, q), wanted)
        assert np.array_equal(excess(torch.tensor(w), torch.tensor(q)), wanted)
    assert excess(np.array([Fraction(1, 3)] * 2), np.array([Fraction(1, 4), Fraction(1, 2)])).tolist() == [
        Fraction(1, 12),
        0,
    ]


def test_mass_is_summed_in_the_wider_type() -> None:
    w = rows(4, 4000, kind=np.float32)
    assert mass(w).dtype == np.float64
    assert np.allclose(mass(w), w.astype(np.float64).sum(-1), rtol=1e-13)
    assert mass(np.array([Fraction(1, 3)] * 3)) == 1
