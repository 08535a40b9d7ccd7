"""Acceptance under a mask: the rule's own value on laws conditioned by hand, and what cannot be drawn."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import acceptance_rate, discover, masked_acceptance, masked_law, output_law, verify_step, warp

F = Fraction
SIZE = 4
WEIGHTS = st.lists(st.integers(1, 6), min_size=SIZE, max_size=SIZE).map(lambda w: [F(v, sum(w)) for v in w])
MASKS = st.lists(st.booleans(), min_size=SIZE, max_size=SIZE).filter(any)


def by_hand(law: list[F], mask: list[bool]) -> list[F]:
    total = sum(v for v, allowed in zip(law, mask, strict=True) if allowed)
    return [v / total if allowed else F(0) for v, allowed in zip(law, mask, strict=True)]


@given(WEIGHTS, WEIGHTS, MASKS)
def test_one_draft_in_closed_form(p: list[F], q: list[F], mask: list[bool]) -> None:
    target, draft = by_hand(p, mask), by_hand(q, mask)
    seen = masked_acceptance(p, q, mask)
    assert seen == sum(map(min, target, draft))
    unseen = masked_acceptance(p, q, mask, masked_draft=False)
    assert unseen == sum(map(min, target, q))
    assert unseen <= sum(v for v, allowed in zip(q, mask, strict=True) if allowed)
    assert masked_law(p, mask).tolist() == target
    if sum(mask) == 1:
        assert seen == 1


@given(WEIGHTS, MASKS)
def test_agreeing_on_what_is_not_allowed_is_lost(p: list[F], mask: list[bool]) -> None:
    """Where both say the same of what is not allowed, acceptance is lower under the mask: (1 - P)(1 - A / P)."""
    allowed = sum(v for v, m in zip(p, mask, strict=True) if m)
    inside = [v for v, m in zip(p, mask, strict=True) if m]
    turned = iter(inside[1:] + inside[:1])
    q = [next(turned) if m else v for v, m in zip(p, mask, strict=True)]
    kept = sum(min(a, b) for a, b, m in zip(p, q, mask, strict=True) if m)
    gap = acceptance_rate(p, q) - masked_acceptance(p, q, mask)
    assert gap == (1 - allowed) * (1 - kept / allowed) >= 0


@pytest.mark.parametrize("rule", ["rejection", "recursive", "kseq", "optimal", "greedy"])
def test_any_rule(rule: str) -> None:
    p, q, mask = [0.4, 0.3, 0.2, 0.1], [0.1, 0.3, 0.1, 0.5], [True, False, True, True]
    count = 1 if discover.facts(discover.find("step", rule)).counts == (1,) else 2
    target, draft = (np.array(row) * mask / np.dot(row, mask) for row in (p, q))
    for drafts in (True, False):
        given_q = draft if drafts else q
        found = masked_acceptance(p, q, mask, masked_draft=drafts, rule=rule, num_drafts=count)
        assert found == pytest.approx(acceptance_rate(target, given_q, rule=rule, num_drafts=count))
        if rule == "rejection":
            law = output_law(target, given_q, rule=rule)
            assert law[1] == 0
            assert law == pytest.approx(target)
    kept = verify_step(target, q, [1], u=[0.0, 0.5])  # what is not allowed is refused, however it was drafted
    assert int(kept.token) != 1


def test_a_mask_on_logits_is_the_same() -> None:
    rng = np.random.default_rng(0)
    logits, mask = rng.normal(size=(5, 7)), rng.random((5, 7)) < 0.6
    mask[:, 0] = True
    assert masked_law(warp(logits), mask) == pytest.approx(warp(np.where(mask, logits, -np.inf)))
    assert masked_law(warp(logits), mask[0]).shape == (5, 7)


BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: masked_law([0.5, 0.5], [False, False]), ValueError, "^mask allows no token that law gives a probability"),
    (
        lambda: masked_acceptance([[0.5, 0.5]] * 2, [[0.5, 0.5], [1.0, 0.0]], [[True, False], [False, True]]),
        ValueError,
        r"^mask\[1\] allows no token that q\[1\] gives a probability: nothing can be drawn$",
    ),
    (lambda: masked_law([0.5, 0.5], [1, 0]), TypeError, "^mask has dtype int64; it says by True and False"),
    (lambda: masked_law([0.5, 0.5], [True]), ValueError, r"^mask has shape \(1,\) for 2 tokens"),
    (lambda: masked_law([[0.5, 0.5]] * 3, [[True, True]] * 2), ValueError, "do not broadcast"),
    (
        lambda: masked_acceptance([0.5, 0.5], [0.5, 0.5], [True, True], masked_draft="no"),
        TypeError,
        "^masked_draft must",
    ),
    (lambda: masked_law([0.5, 0.4], [True, True]), ValueError, "^law sums to 0.9"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD, ids=[m for _, _, m in BAD])
def test_bad_input_is_named(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
