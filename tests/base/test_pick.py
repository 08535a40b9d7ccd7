"""Drawing from many tokens by pieces: the token that one sum over all would give, and never one without weight."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.base import arrays
from specsim.base.arrays import MANY, accept_probability, leading, pick

LAST = 1 - 2.0**-53  # the largest uniform
Array = Any


def slow(w: Array, u: Array) -> Array:
    """By one sum over all tokens."""
    cdf = np.cumsum(w, axis=-1, dtype=float)
    return (cdf <= u[..., None] * cdf[..., -1:]).sum(axis=-1)


def libraries() -> list[Any]:
    found: list[Any] = [np.asarray]
    torch = pytest.importorskip("torch")
    return [*found, torch.tensor]


rows = st.tuples(
    st.sampled_from([MANY, MANY + 1, MANY + 255, 50257]),
    st.integers(0, 10**6),
    st.floats(0, 1),  # of tokens without weight
    st.lists(st.one_of(st.floats(0, LAST), st.sampled_from([0.0, LAST])), min_size=1, max_size=4),
)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_weights_that_add_exactly_give_the_same_token(case: tuple[int, int, float, list[float]]) -> None:
    """Integers below 2^20, so that no sum rounds, in whatever order."""
    vocab, seed, empty, at = case
    rng, u = np.random.default_rng(seed), np.array(at)
    w = rng.integers(1, 1 << 20, (len(u), vocab)) * (rng.random((len(u), vocab)) >= empty)
    w[:, rng.integers(vocab)] = 1
    for library in libraries():
        found = np.asarray(pick(library(w.astype(float)), library(u)))
        assert (found == slow(w, u)).all()


def hostile(seed: int, vocab: int) -> Array:
    """Weights of very different sizes, most of them 0, some runs of pieces empty: sums round everywhere."""
    rng = np.random.default_rng(seed)
    w = 10.0 ** rng.uniform(-18, 0, (64, vocab)) * (rng.random((64, vocab)) < rng.choice([0.001, 0.05, 0.9], (64, 1)))
    w[:, : rng.integers(vocab)] *= rng.random((64, 1)) < 0.5
    w[:, rng.integers(1, vocab) :] *= rng.random((64, 1)) < 0.5
    w[w.sum(axis=-1) == 0, rng.integers(vocab)] = 1e-30
    return w


def edges(w: Array) -> list[Array]:
    """Uniforms at which a bound lies on the sum of a piece, and just beside it."""
    pieces = np.pad(w, [(0, 0), (0, -w.shape[-1] % arrays._PIECE)]).reshape(len(w), -1, arrays._PIECE).sum(axis=-1)
    masses = pieces.cumsum(axis=-1)
    cuts = masses[:, ::7] / masses[:, -1:]
    some = [np.minimum(cut, LAST) for cut in cuts.T]
    return [np.zeros(len(w)), np.full(len(w), LAST), *some, *(np.nextafter(u, 0) for u in some)]


def zero_weights_drawn(kind: str = "float64") -> int:
    drawn = 0
    for seed in range(4):
        w = hostile(seed, MANY + 77).astype(kind)
        for u in edges(w.astype(float)):
            for library in libraries():
                token = np.asarray(pick(library(w), library(u)))
                inside = np.minimum(token, w.shape[-1] - 1)
                drawn += int((token > inside).sum() + (w[np.arange(len(w)), inside] == 0).sum())
    return drawn


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_token_without_weight_is_never_drawn(kind: str) -> None:
    assert zero_weights_drawn(kind) == 0


def test_a_bound_beyond_its_piece_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the look at the piece's own total, rounding draws the token after its last.

    All weight is in the first piece, and its sum rounds to just below 1 in one order, to just above 1 in the other.
    """
    rng, w = np.random.default_rng(0), np.zeros((400, MANY))
    piece = rng.random((400, arrays._PIECE))
    w[:, : arrays._PIECE] = piece / piece.sum(axis=-1, keepdims=True) * LAST
    u = np.full(400, LAST)
    assert (pick(w, u) < arrays._PIECE).all()
    monkeypatch.setattr(np, "minimum", lambda inside, below: inside)
    assert (pick(w, u) == arrays._PIECE).sum() >= 5


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_the_law_is_the_weights(seed: int) -> None:
    """The uniforms that give a token are as many as its share: here those inside its interval, near both ends."""
    rng = np.random.default_rng(seed)
    w = rng.random(MANY) * (rng.random(MANY) < 0.3)
    w[rng.integers(MANY)] = 1
    cdf = np.cumsum(w) / w.sum()
    tokens = rng.choice(np.flatnonzero(w > 1e-6), 50)
    for share in (1e-3, 0.5, 1 - 1e-3):
        u = cdf[tokens] - w[tokens] / w.sum() * share
        assert (pick(np.broadcast_to(w, (50, MANY)), u) == tokens).all()


@pytest.mark.parametrize("gamma", [0, 1, 4])
def test_what_leads_is_what_passed_before_the_first_that_did_not(gamma: int) -> None:
    """In NumPy, which has a way of its own, as in torch: every row of passes and failures, and none at all."""
    torch = pytest.importorskip("torch")
    rows = np.array(list(itertools.product([False, True], repeat=gamma)), dtype=bool).reshape(2**gamma, gamma)
    expected = [next((i for i, passed in enumerate(row) if not passed), gamma) for row in rows.tolist()]
    assert leading(rows).tolist() == leading(torch.from_numpy(rows)).tolist() == expected
    assert leading(rows).dtype == np.int64
    assert leading(rows[0]) == expected[0]


def test_a_draft_that_neither_law_has_is_accepted() -> None:
    """min(1, p/q) is 1 at 0/0, as it is wherever q is not above p; and never NaN."""
    p, q = np.array([[0.0, 0.25, 0.75], [0.0, 1.0, 0.0]]), np.array([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0]])
    for token, wanted in ((0, [1.0, 1.0]), (1, [0.5, 1.0]), (2, [1.0, 1.0])):
        assert accept_probability(p, q, np.array([token, token])).tolist() == wanted
