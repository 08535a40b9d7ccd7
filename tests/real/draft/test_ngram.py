"""Tables of n-grams: what they learn, from which texts, and that they never learn from what is to come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from helpers.decoding import models
from helpers.drafted import law_error, started
from helpers.small_drafters import table, written

from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.draft import ngram
from real.draft._contract import along_blocks, target_laws

ROW = torch.tensor([0.5, 0.2, 0.3, 0.0])


def test_visits_are_averaged() -> None:
    once = ngram.learn(ngram.EMPTY, [1, 2], [3], ROW[None])
    assert dict(once) == {
        (2,): once[2,],
        (1, 2): once[2,],
    }
    assert (once[2,].visits, list(once[2,].law)) == (1, [0, 2, 1])
    assert once[2,].law == pytest.approx({0: 0.5, 2: 0.3, 1: 0.2})
    twice = ngram.learn(once, [2], [0], torch.tensor([[0.0, 0.0, 0.0, 1.0]]))
    assert twice[2,].visits == 2
    assert twice[2,].law == pytest.approx({3: 0.5, 0: 0.25, 2: 0.15, 1: 0.1})
    assert (once[2,].visits, twice[1, 2]) == (1, once[1, 2])


def test_ten_are_kept_and_the_longest_is_looked_up() -> None:
    wide = torch.arange(1.0, 21) / 210
    found = ngram.learn(ngram.EMPTY, [1], [2, 3, 4, 5], wide.expand(4, -1))
    assert {len(entry.law) for entry in found.values()} == {10}
    assert max(map(len, found)) == 4
    special = {**found, (3, 4): ngram.Entry({7: 0.2, 6: 0.6}, 1)}
    options = ngram.Options(special, False, True)
    assert options.law({}, [9, 9, 3, 4]) == pytest.approx({7: 0.25, 6: 0.75})
    assert options.law({}, [9, 9, 9, 3]) == pytest.approx({x: (x + 1) / 155 for x in range(10, 20)})
    assert options.law({}, [9, 9]) == {9: 1.0}
    assert options.law({(4,): ngram.Entry({5: 1.0}, 1)}, [9, 4]) == {5: 1.0}  # a text's own goes first
    likeliest = ngram.Options({(3,): ngram.Entry({7: 0.6, 6: 0.2}, 1)}, False, False)
    assert likeliest.law({}, [3]) == {7: 1.0}


def test_trajectories_share_a_table() -> None:
    """The more of them are finished, the more of the next one's tokens are drafted as the target would."""
    target, kept = models(8, seed=3)[1], np.zeros((4, 5))
    for prompt in range(4):
        found = ngram.EMPTY
        for k in range(5):
            text = written(target, [1, prompt], 30, Warping(), seed=k)
            along = ngram.drafter(target, found).along(target, [1, prompt], text, 1, Warping())
            kept[prompt, k] = np.minimum(1, along.q[:, 0] / along.p).mean()
            found = ngram.learn(found, [1, prompt], text, target_laws(target, [1, prompt], text, Warping()))
    assert kept[:, 3:].mean() > kept[:, 0].mean() + 0.05


def test_a_text_learns_from_its_own_blocks() -> None:
    target, calls = models(8, seed=3)[1], []
    for own in (True, False):
        told: dict[str, Any] = {"max_tokens": 40, "gamma": 3, "uniforms": [keyed(1, i) for i in range(4)]}
        runs = decode_batch(target, None, [[1, i] for i in range(4)], proposer=ngram.drafter(target, own=own), **told)
        calls.append(sum(len(run.blocks) for run in runs))
    assert calls[0] < 0.9 * calls[1]


def _learns_at_once(self: ngram.NGrams, i: int, text: Any) -> None:
    """It takes rows that it was told for true, whether or not their tokens stand."""
    for position in sorted(self._laws[i]):
        if position >= self._learned[i]:
            before = [*text, *[0] * position][:position]
            ngram.visit(self._tables[i], self._options.table, before, *self._laws[i][position])
    self._learned[i] = max(self._laws[i], default=0) + 1


def test_rows_that_do_not_stand_are_not_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of texts by `along` then is not what the loop drafts from; the law itself would stay."""
    target = models(8, seed=5)[1]
    told: dict[str, Any] = {"max_tokens": 24, "gamma": 4, "uniforms": [keyed(1, 0)]}

    def own(drafter: Any) -> Any:
        return decode_batch(target, None, [[1, 2]], proposer=drafter, **told)[0].blocks

    honest = own(ngram.drafter(target, table(target)))
    monkeypatch.setattr(ngram.NGrams, "_learn", _learns_at_once)
    assert own(ngram.drafter(target, table(target))) != honest
    assert law_error(models(3, seed=5)[1], ngram.drafter(models(3, seed=5)[1]), [0, 1], 2) < 1e-10


def test_a_table_that_saw_the_text_is_found() -> None:
    """Drafting from a table of the very text promises more than any run keeps."""
    target = models(8, seed=5)[1]
    text = written(target, [1, 2], 16, Warping(), seed=3)
    seen = ngram.learn(ngram.EMPTY, [1, 2], text, target_laws(target, [1, 2], text, Warping()))
    honest = ngram.drafter(target).along(target, [1, 2], text, 2, Warping())
    peeked = ngram.drafter(target, seen).along(target, [1, 2], text, 2, Warping())
    assert peeked.q.sum() > honest.q.sum() + 0.5
    np.testing.assert_allclose(honest.q, along_blocks(ngram.drafter(target), target, [1, 2], text, 2, Warping()).q)


def test_texts_that_are_taken_back_are_learned_anew() -> None:
    target = models(8, seed=5)[1]
    at = started(ngram.drafter(target), target)
    at.read(0, [1, 2])
    states = torch.ones(1, 4, 1, target.weights.norm.shape[0], dtype=torch.float64)  # type: ignore[union-attr]
    at.told([0], [2], torch.tensor([[3, 4, 5, 6]]), states)
    u = torch.zeros(1, 1, dtype=torch.float64)
    first = at.propose([[1, 2, 3, 4]], 1, u, [0])[1]
    at.propose([[1, 2, 3, 4, 5, 6]], 1, u, [0])
    assert torch.equal(at.propose([[1, 2, 3, 4]], 1, u, [0])[1], first)


def test_refusals() -> None:
    target = models(8, seed=0)[1]
    with pytest.raises(ValueError, match="own=True learns n-grams from the target's laws"):
        ngram.drafter(replace(target, weights=None))
    assert ngram.drafter(replace(target, weights=None), own=False).layers == ()
    with pytest.raises(ValueError, match="laws has 1 rows for a text of 2 tokens"):
        ngram.learn(ngram.EMPTY, [1], [2, 3], ROW[None])
