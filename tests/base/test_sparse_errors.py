"""Top-k and one-hot laws that are none: one error that names the place."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import specsim
from specsim import dense_law, one_hot_law, top_k_law
from specsim.types import Law

HALF = top_k_law([0, 2], [0.5, 0.5], 3)

BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "sum": (
        lambda: top_k_law([[0, 1], [1, 2]], [[0.5, 0.5], [0.5, 0.4]], 3),
        ValueError,
        r"^probs\[1\] sums to 0\.9; probabilities must sum to 1 within 1e-06 \(specsim\.normalize rescales\)$",
    ),
    "negative": (lambda: top_k_law([0, 1], [1.5, -0.5], 3), ValueError, r"^probs\[1\] is -0\.5: negative"),
    "outside": (
        lambda: top_k_law([0, 3], [0.5, 0.5], 3),
        ValueError,
        r"^ids\[1\] is token 3, outside the vocabulary 0\.\.2$",
    ),
    "below": (lambda: top_k_law([0, -2], [0.5, 0.5], 3), ValueError, r"^ids\[1\] is token -2, outside"),
    "twice": (
        lambda: top_k_law([[0, 1, 2], [2, 1, 2]], [[0.5, 0.25, 0.25]] * 2, 3),
        ValueError,
        r"^ids\[1\] lists token 2 more than once$",
    ),
    "ghost": (
        lambda: top_k_law([0, -1], [0.5, 0.5], 3),
        ValueError,
        r"^probs\[1\] is 0\.5 where ids is -1, which stands for no token$",
    ),
    "shapes": (
        lambda: top_k_law([0, 1, 2], [0.5, 0.5], 3),
        ValueError,
        r"^ids has shape \(3,\) and probs \(2,\); they must be the same$",
    ),
    "ids": (lambda: top_k_law([0.0, 1.0], [0.5, 0.5], 3), TypeError, r"^ids must hold integer token ids, got dtype"),
    "ragged": (lambda: top_k_law([[0], [0, 1]], [[1.0], [0.5, 0.5]], 3), TypeError, "^probs must have rows of equal"),
    "vocab": (lambda: top_k_law([0], [1.0], 0), ValueError, "^vocab must be at least 1, got 0$"),
    "one-hot": (lambda: one_hot_law([0, 3], 3), ValueError, r"^ids\[1\] is token 3, outside the vocabulary 0\.\.2$"),
    "dense_law": (
        lambda: dense_law([0.5, 0.5]),
        TypeError,
        r"^law must be a Law \(top_k_law, one_hot_law\), got list$",
    ),
    "front door": (
        lambda: specsim.acceptance_rate(HALF, Law([0, 1], [0.5, 0.4], 3)),
        ValueError,
        r"^q\.values sums to 0\.9; ",
    ),
    "front door, ids": (
        lambda: specsim.optimum(Law([1, 1], [0.5, 0.5], 3), HALF),
        ValueError,
        r"^p\.ids lists token 1 more than once$",
    ),
    "vocabularies": (
        lambda: specsim.total_variation(HALF, one_hot_law(0, 4)),
        ValueError,
        "^p has 3 tokens and q has 4: the vocabularies differ$",
    ),
    "vocabularies, mixed": (
        lambda: specsim.verify_step([0.5, 0.5], HALF, [0], [0.0, 0.0]),
        ValueError,
        "^q has 3 tokens and p has 2: the vocabularies differ$",
    ),
    "kinds": (
        lambda: specsim.acceptance_rate(HALF, top_k_law([0], [Fraction(1)], 3)),
        TypeError,
        "^one of p, q holds Fractions and the other floats",
    ),
    "leading axes": (
        lambda: specsim.acceptance_rate(one_hot_law([0, 1], 3), one_hot_law([0, 1, 2], 3)),
        ValueError,
        r"^leading axes of p and q do not broadcast: \[\(2,\), \(3,\)\]$",
    ),
    "leading axes of drafts": (
        lambda: specsim.verify_step(one_hot_law([0, 1], 3), HALF, [[0]] * 3, [0.0, 0.0]),
        ValueError,
        r"^leading axes of p, q and drafts do not broadcast: ",
    ),
    "not drafted": (
        lambda: specsim.verify_step(HALF, one_hot_law([0, 1], 3), [[0], [2]], [[0.0, 0.0]] * 2),
        ValueError,
        r"^drafts\[1\]\[0\] is token 2, which its row of q lacks: it cannot have been drafted$",
    ),
    "draft outside": (
        lambda: specsim.verify_step(HALF, HALF, [3], [0.0, 0.0]),
        ValueError,
        r"^drafts\[0\] is token 3, outside the vocabulary 0\.\.2$",
    ),
    "draft -1": (lambda: specsim.verify_step(HALF, HALF, [-1], [0.0, 0.0]), ValueError, r"^drafts\[0\] is token -1, "),
    "no drafts axis": (
        lambda: specsim.verify_step(HALF, HALF, 0, [0.0, 0.0]),
        ValueError,
        r"^drafts must have a last axis of at least one candidate, got shape \(\)$",
    ),
    "chain rows": (
        lambda: specsim.verify_chain(HALF, HALF, [0], [0.0, 0.0]),
        ValueError,
        r"^p and q must have at least 2 axes, got \(2,\) and \(2,\)$",
    ),
    "chain drafts": (
        lambda: specsim.verify_chain(one_hot_law([0, 0], 3), one_hot_law([0], 3), [0, 0], [0.0, 0.0]),
        ValueError,
        r"^drafts must end in an axis of gamma=1 tokens, got shape \(2,\)$",
    ),
    "no dense function": (
        lambda: specsim.optimal_coupling(HALF, HALF),
        TypeError,
        "^p is a Law of a few tokens, which this function does not take; see specsim.dense_law$",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_errors(case: str) -> None:
    call, error, message = BAD[case]
    with pytest.raises(error, match=message):
        call()
