"""Presence and frequency penalties on both sides: the laws, and the acceptance under them, exactly."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import specsim

LOGITS = {"target": np.array([1.0, 0.5, -0.3]), "draft": np.array([0.2, 1.1, 0.0])}


def law(name: str, text: tuple[int, ...]) -> Any:
    """A model under penalties that count its whole text, earlier drafts included."""
    counts = [Counter(text)[token] for token in range(3)]
    return specsim.warp(specsim.penalize(LOGITS[name], counts, presence_penalty=0.7, frequency_penalty=0.4))


def test_the_formula_by_hand() -> None:
    found = specsim.penalize(LOGITS["target"], [0, 1, 3], presence_penalty=0.7, frequency_penalty=0.4)
    assert found == pytest.approx([1.0, 0.5 - 0.7 - 0.4, -0.3 - 0.7 - 1.2])
    rows = specsim.penalize(np.zeros((2, 3)), [[1, 0, 0], [0, 2, 0]], frequency_penalty=1.0)
    assert rows.tolist() == [[-1, 0, 0], [0, -2, 0]]


def test_tau_is_exact_with_counts_that_grow_with_the_drafts() -> None:
    tau = specsim.expected_tokens(lambda text: law("target", text), lambda text: law("draft", text), gamma=2)
    first = np.minimum(law("target", ()), law("draft", ()))
    second = [np.minimum(law("target", (x,)), law("draft", (x,))).sum() for x in range(3)]
    assert float(tau) == pytest.approx(1 + first.sum() + float(first @ second))
    frozen = [np.minimum(law("target", ()), law("draft", ())).sum()] * 3  # counts as at the block's start
    assert float(tau) != pytest.approx(1 + first.sum() + float(first @ frozen), abs=1e-3)


def test_verification_keeps_the_penalized_law() -> None:
    p, q = law("target", (0,)), law("draft", (0,))
    assert specsim.output_law(p, q, rule="rejection") == pytest.approx(p)


@pytest.mark.parametrize(
    ("counts", "penalties", "said"),
    [
        ([0, -1, 0], {}, r"counts\(?\[?1"),
        ([0, 0.5, 0], {}, "give whole numbers"),
        ([0, 1], {}, "broadcast|counts has shape"),
        ([0, 1, 0], {"presence_penalty": 3}, "presence_penalty"),
        ([0, 1, 0], {"frequency_penalty": float("nan")}, "frequency_penalty"),
    ],
)
def test_what_is_no_penalty_is_refused(counts: list[float], penalties: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        specsim.penalize(LOGITS["target"], counts, **penalties)


def test_backends_agree() -> None:
    torch = pytest.importorskip("torch")
    found = specsim.penalize(torch.tensor([1.0, 0.5, -0.3]), torch.tensor([0, 1, 3]), presence_penalty=0.7)
    assert np.asarray(found) == pytest.approx([1.0, -0.2, -1.0])
