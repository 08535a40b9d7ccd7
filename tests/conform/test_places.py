"""Every place of a call of `assert_lossless_batch` is judged, calls of one and two rows, and coins of large ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from specsim.conform import Subject, likeness, standard_cases
from specsim.conform.evidence import montecarlo
from specsim.conform.properties import _laws, batches
from specsim.testing import assert_lossless_batch, ragged

torch = pytest.importorskip("torch")

ASKED = ["marginal", "joint", "batches"]
SIZES = (1, 2)


@pytest.fixture(autouse=True)
def few_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shrunk or compared, and laws on three tokens are enough."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(likeness, "names", lambda folder: [])
    monkeypatch.setattr(montecarlo, "WANTED", 0.3)
    monkeypatch.setattr(montecarlo, "UNDECIDED", 0.3)
    monkeypatch.setattr(standard_cases, "on_more_tokens", lambda subject: ())
    monkeypatch.setattr(batches, "EQUAL", (3,))


def padded(p: Any, q: Any, drafts: Any, counts: Any, *, wrong: str = "") -> Any:
    """Rows at once, by inverse CDF; greedy in the rows, or with the coins, that `wrong` names."""
    rows, length = drafts.shape
    u = torch.rand(rows, length + 1, dtype=p.dtype)
    if wrong == "coins of a tile of 32":
        u = u[torch.arange(rows) % 32]
    x, live = drafts.clamp(min=0)[..., None], torch.arange(length) < counts[:, None]
    accepted = (u[:, :-1] * q.gather(-1, x)[..., 0] < p[:, :-1].gather(-1, x)[..., 0]) & live
    kept = accepted.long().cumprod(-1).sum(-1)
    law = p[torch.arange(rows), kept]
    left_over = torch.cat([q, torch.zeros_like(q[:, :1])], 1)[torch.arange(rows), kept] * (kept < counts)[:, None]
    weights = (law - left_over).clamp(min=0).cumsum(-1)
    token = (weights <= u[:, -1:] * weights[:, -1:]).sum(-1)
    greedy = {
        "last row": [rows - 1],
        "first row": [0],
        "the only row": [0] * (rows == 1),
        "two rows": [0, 1] * (rows == 2),
    }.get(wrong, [])
    token[greedy] = law.argmax(-1)[greedy]
    out = torch.cat([drafts, torch.full((rows, 1), -1)], 1)
    out[torch.arange(length + 1) > kept[:, None]] = -1
    out[torch.arange(rows), kept] = token
    return out


def judged(**more: Any) -> Any:
    return assert_lossless_batch(partial(padded, **more), sizes=SIZES, properties=ASKED, dtype="float64")


@pytest.mark.parametrize("wrong", ["last row", "first row", "the only row", "two rows"])
def test_every_place_of_a_call_is_judged(wrong: str) -> None:
    """The last block always had a neighbour behind it, and one block alone was never a call."""
    with pytest.raises(AssertionError, match="has probability"):
        judged(wrong=wrong)


def test_coins_that_repeat_in_large_batches_convict() -> None:
    """Small batches were exact, and the frequencies of rows right: whether rows depend on each other was not asked."""
    with pytest.raises(AssertionError, match="rows of one batch depend on each other"):
        judged(wrong="coins of a tile of 32")


def test_the_right_verifier_is_lossless_at_every_place() -> None:
    report = judged()
    assert report.outcome == "lossless"
    assert next(v.reach for v in report.verdicts if v.property == "batches").startswith("3 equal rows; 1 row; ")


def test_a_block_stands_alone_first_and_last() -> None:
    subject = ragged.subject(padded, "padded", {"sizes": SIZES})
    places = []
    for token in range(40):
        one = ragged.Block(np.full((2, 64), 1 / 64), np.full((1, 64), 1 / 64), np.array([token]), None)
        blocks, (place,) = ragged.arranged([one], subject)
        assert blocks[place] is one
        places.append((place == 0, place == len(blocks) - 1))
    assert set(places) == {(True, True), (True, False), (False, True), (False, False)}
    assert places.count((True, True)) >= 6, "about one call of four has one row"
    empty = one._replace(p=one.p[:1], q=one.q[:0], drafts=one.drafts[:0])
    assert any(len(block.drafts) for block in ragged.arranged([empty] * 3, subject)[0]), "no call is without any draft"


def test_jax_gets_calls_of_one_shape_whose_first_and_last_block_is_ones_own() -> None:
    subject = Subject("mine", "chain", print, arrays="jax", randomness="random", sizes=SIZES)
    ends = set()
    for token in range(40):
        one = ragged.Block(np.full((2, 64), 1 / 64), np.full((1, 64), 1 / 64), np.array([token]), None)
        blocks, (place,) = ragged.arranged([one], subject)
        ends.add((len(blocks), place == 0, place == len(blocks) - 1))
    assert {size for size, *_ in ends} == {5}
    assert {first for _, first, _ in ends} == {last for *_, last in ends} == {True, False}
