"""Different tokenizers: no draft on shared tokens passes the target's mass on them; its own law restricted has it."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

import specsim

TARGET, DRAFT = ["a", "b", "c", None, "d"], ["d", "x", "a", "b"]
P = [F(1, 4), F(1, 8), F(1, 4), F(1, 8), F(1, 4)]


def test_shared_tokens_are_matched_by_what_they_stand_for() -> None:
    shared = specsim.shared_tokens(TARGET, DRAFT)
    assert shared.target.tolist() == [0, 1, 4]
    assert [DRAFT[i] for i in shared.draft] == [TARGET[i] for i in shared.target]


def test_ids_that_are_not_used_are_not_shared() -> None:
    """Both vocabularies may have some, and several of them."""
    shared = specsim.shared_tokens(["a", None, None, "b"], [None, "b", None, "a"])
    assert (shared.target.tolist(), shared.draft.tolist()) == ([0, 3], [3, 1])


def test_no_draft_passes_the_bound_and_one_has_it() -> None:
    shared = specsim.shared_tokens(TARGET, DRAFT)
    bound = specsim.vocabulary_bound(P, shared)
    assert bound == F(1, 4) + F(1, 8) + F(1, 4)
    best = F(0)
    for parts in product(range(9), repeat=3):
        if sum(parts) != 8:
            continue
        q = [F(0)] * 5
        for place, part in zip(shared.target, parts, strict=True):
            q[place] = F(part, 8)
        best = max(best, specsim.acceptance_rate(P, q))
    assert best == bound  # 8 * p / p(I) is not on the grid, but min(p, q) = p is
    own = [p / bound if i in shared.target else F(0) for i, p in enumerate(P)]
    assert specsim.acceptance_rate(P, own) == bound
    assert (
        specsim.optimal_acceptance([float(p) for p in P], [float(q) for q in own], num_drafts=3) <= float(bound) + 1e-9
    )


def test_a_translated_draft_is_the_law_it_is_drawn_from() -> None:
    """The law of a draft that is drawn again until it is shared, exactly."""
    shared = specsim.shared_tokens(TARGET, DRAFT)
    q = [F(1, 10), F(1, 2), F(3, 10), F(1, 10)]
    law = specsim.translated_draft(q, shared, vocab=5)
    assert law.tolist() == [F(3, 5), F(1, 5), 0, 0, F(1, 5)]
    rows = specsim.translated_draft(np.array([q, q], dtype=float), shared, vocab=5)
    assert rows.shape == (2, 5)
    assert rows.sum(axis=-1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: specsim.shared_tokens("ab", "cd"), "no token in common"),
        (lambda: specsim.shared_tokens("aba", "a"), r"target\[2\] is 'a', which is target\[0\], too"),
        (
            lambda: specsim.translated_draft([0, 1, 0, 0], specsim.shared_tokens(TARGET, DRAFT), vocab=5),
            "no mass on the shared",
        ),
        (
            lambda: specsim.translated_draft([0.5, 0.5], specsim.shared_tokens(TARGET, DRAFT), vocab=5),
            "shared.draft.* outside the vocabulary",
        ),
        (lambda: specsim.vocabulary_bound([0.5, 0.5], specsim.shared_tokens(TARGET, DRAFT)), "outside the vocabulary"),
    ],
)
def test_what_cannot_be_is_refused(call: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()  # type: ignore[operator]
