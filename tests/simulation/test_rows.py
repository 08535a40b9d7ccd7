"""Rows in which numbers are looked up from a guide: its cells at rounding, its windows, and JAX."""

from __future__ import annotations

import numpy as np
import pytest

from specsim import markov, simulate
from specsim.base.arrays import pick
from specsim.simulation import rows
from specsim.simulation.lazy_entries import where_few
from specsim.simulation.pair_tables import summed


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 33])
def test_cells_hold_what_lies_in_them(size: int) -> None:
    """Counted one by one; half of the entries are bounds of cells, as rounding leaves them, or next to one."""
    rng, cells = np.random.default_rng(size), 1 << (size - 1).bit_length()
    top = rng.random((300, 1)) + 0.01
    bound = np.arange(cells + 1) / cells * top
    at = np.take_along_axis(bound, rng.integers(0, cells + 1, (300, size)), axis=-1)
    near = np.where(rng.random(at.shape) < 0.5, np.nextafter(at, rng.integers(0, 2, at.shape)), at)
    values = np.sort(np.where(rng.random(at.shape) < 0.5, near, top * rng.random(at.shape)), axis=-1)
    wanted = (values[:, None, :] <= bound[..., None]).sum(axis=-1)
    assert (rows._passed(values, top, cells) == wanted).all()


@pytest.mark.parametrize("vocab", [1, 2, 5, 16, 100])
def test_a_search_is_pick(vocab: int) -> None:
    """Of laws with most of their mass in one token, first, last or between, with zeros around it."""
    rng = np.random.default_rng(vocab)
    laws = rng.dirichlet(np.full(vocab, 0.05), 60) + 1e-300
    laws[:20, rng.integers(0, vocab, 20)] += 50
    laws[20:40, : vocab // 2] = 0
    laws[40:, vocab // 2 + 1 :] = 0
    sums, row = summed(laws), rng.integers(0, 60, 2000)
    for u in (rng.random(2000), rng.random(2000) ** 20, 1 - rng.random(2000) ** 20, np.zeros(2000)):
        u = np.minimum(u, 1 - 2.0**-53)
        assert (rows.count_up_to(sums, row, u) == pick(laws[row], u)).all()


def test_windows_are_short_where_entries_are_spread() -> None:
    laws = np.random.default_rng(0).dirichlet(np.ones(1024), 4)
    assert summed(laws).window.shape[0] <= 16
    assert summed(np.eye(1024)[:4]).window.shape[0] <= 1024


def test_few_are_found_however_many_they_are() -> None:
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(0)
    for share in (0.0, 0.1, 0.6, 1.0):
        here, w = rng.random(101) < share, rng.integers(1, 100, 101)
        found = jax.jit(lambda here, w: where_few(here, lambda w: 3 * w, w))(here, w)
        assert (np.asarray(found) == np.where(here, 3 * w, 0)).all()
        assert (where_few(here, lambda w: 3 * w, w) == np.where(here, 3 * w, 0)).all()


def test_jax_looks_up_the_same_texts() -> None:
    """With trees of two levels, and changed targets."""
    pytest.importorskip("jax")
    p, q = np.random.default_rng(1).dirichlet(np.ones(100), (2, 100))
    one, other = (
        simulate(
            markov(p), markov(q), rule="greedy_block", gamma=3, blocks=3000, sequences=150, keep_tokens=True, backend=b
        )
        for b in ("numpy", "jax")
    )
    assert np.array_equal(one.tokens, other.tokens)
    assert np.array_equal(one.kept, other.kept)
