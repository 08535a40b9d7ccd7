"""A smaller head: which tokens it keeps, what it refuses, and that the others are still written."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from helpers.decoding import models
from helpers.drafted import law_error
from helpers.small_drafters import SMALL

from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.draft import lm, restricted

COUNTS = np.array([100, 3000, 0, 200, 200])


def test_the_most_frequent_are_kept() -> None:
    assert restricted.most_frequent(COUNTS, 2, None) == [1, 3]
    assert restricted.most_frequent(COUNTS, 2, 1) == [1, 3]
    assert restricted.most_frequent(COUNTS, 2, 2) == [1, 2]  # forced in, in place of the rarest
    assert restricted.most_frequent(COUNTS, 1, 2) == [2]
    assert restricted.most_frequent(COUNTS, 5, 2) == [0, 1, 2, 3, 4]


def test_too_few_calibration_tokens() -> None:
    with pytest.warns(UserWarning, match="99 calibration tokens for k=2: fewer than 50 for each token that is kept"):
        restricted.most_frequent([99, 0, 0], 2, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        restricted.most_frequent([100, 0, 0], 2, None)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ((COUNTS, 0, None), "k must be at least 1, got 0"),
        ((COUNTS, 6, None), "k must be at most 5, the size of the vocabulary, got 6"),
        ((COUNTS, 2, 5), r"end is token 5, outside the vocabulary 0\.\.4"),
        ((-COUNTS, 2, None), "counts"),
        ((COUNTS[None], 2, None), r"counts must have shape \(V,\), got \(1, 5\)"),
    ],
)
def test_bad_counts(told: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        restricted.most_frequent(*told)


@pytest.mark.parametrize(
    ("ids", "end", "message"),
    [
        ([], None, "ids must be at least one token, each once; got 0"),
        ([1, 1], None, "ids must be at least one token, each once; got 2, 1 different"),
        ([-1], None, "ids must be at least 0, got -1"),
        ([0, 3], 2, r"ids lack the end token 2, .*: most_frequent\(counts, 2, end=2\) forces it in"),
    ],
)
def test_bad_ids(ids: list[int], end: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        restricted.drafter(lm.drafter(models(8, seed=0)[2]), ids, end)


def test_ids_beyond_the_vocabulary() -> None:
    _, target, draft = models(8, seed=0)
    with pytest.raises(ValueError, match=r"ids name token 8, outside the vocabulary 0\.\.7"):
        decode_batch(
            target,
            None,
            [[1]],
            max_tokens=4,
            gamma=2,
            uniforms=[keyed(0, 0)],
            proposer=restricted.drafter(lm.drafter(draft), [8], None),
        )


def test_laws_on_few_tokens() -> None:
    law = torch.tensor([[0.5, 0.25, 0.25, 0.0], [1.0, 0.0, 0.0, 0.0]])
    kept = torch.tensor([False, True, False, True])
    assert restricted.restrict(law, kept).tolist() == [[0, 1, 0, 0], [0, 0.5, 0, 0.5]]


def test_other_tokens_are_written_but_not_drafted() -> None:
    target = models(8, seed=5)[1]
    drafter = SMALL["restricted"](target)  # 0, 2, 4, 6 and 7
    assert drafter.rows is not None
    assert (drafter.rows(target, [1], [3, 5, 2], Warping())[:, [1, 3, 5]] == 0).all()
    runs = decode_batch(
        target,
        None,
        [[1, 2]] * 4,
        max_tokens=20,
        gamma=3,
        uniforms=[keyed(2, i) for i in range(4)],
        proposer=drafter,
    )
    drafted = [run.tokens[b.start - 2 :][: b.accepted] for run in runs for b in run.blocks]
    assert {1, 3, 5} & {token for run in runs for token in run.tokens}
    assert not {1, 3, 5} & {token for block in drafted for token in block}


def test_a_head_that_forgets_to_restrict_what_it_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafts drawn on few tokens, reported as drawn on all: a residual that is wrong."""
    target = models(3, seed=5)[1]
    drafter = SMALL["restricted"](target)
    assert law_error(target, drafter, [0, 1], 1) < 1e-10

    def whole(self: restricted.Restricted, *told: Any, **more: Any) -> Any:
        tokens, laws, logits = self._inner.propose(*told, **more)
        return tokens, laws, logits

    monkeypatch.setattr(restricted.Restricted, "propose", whole)
    assert law_error(target, drafter, [0, 1], 1) > 1e-3


def test_a_trimmed_model_is_a_restricted_one() -> None:
    _, target, draft = models(8, seed=5)
    few, whole = lm.drafter(restricted.trimmed(draft, [6, 0, 3])), lm.drafter(draft)
    cut = restricted.drafter(whole, [0, 3, 6], 6)
    prompt, text = [1, 2], [3, 0, 5, 6, 1]
    told = (target, prompt, text, Warping(0.7))
    assert few.rows is not None
    assert cut.rows is not None
    assert whole.rows is not None
    torch.testing.assert_close(few.rows(*told), cut.rows(*told), rtol=0, atol=1e-12)
    assert (few.rows(*told) - whole.rows(*told)).abs().max() > 0.01
    assert law_error(models(3, seed=5)[1], lm.drafter(restricted.trimmed(models(3, seed=5)[2], [0, 2])), [0], 1) < 1e-10
    with pytest.raises(ValueError, match="only a model on the fast path can be trimmed"):
        restricted.trimmed(restricted.trimmed(draft, [1]), [1])
    with pytest.raises(ValueError, match=r"ids name token 8, outside the vocabulary 0\.\.7"):
        restricted.trimmed(draft, [8])
