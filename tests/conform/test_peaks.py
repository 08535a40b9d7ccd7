"""Laws with their peaks apart are asked, too."""

from __future__ import annotations

from typing import Any

import pytest

from specsim.conform import Subject, judge
from specsim.conform.properties import _laws
from specsim.conform.toys import peaked
from specsim.types import Array


def sure(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    """A draft of which its model is nearly certain is not tested."""
    x = drafts[0]
    if 0.9 < q[0, x] < 1 or random.random() * q[0, x] < p[0, x]:
        return 1, random.choice(p.shape[1], p=p[1])
    rest = (p[0] - q[0]).clip(0)
    return 0, random.choice(p.shape[1], p=rest / rest.sum())


def test_laws_with_their_peaks_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only they convict a rule that trusts a draft which is sure of itself."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    (found,) = judge(Subject("sure", "chain", sure, sizes=(1,)), properties=["joint"]).verdicts
    assert (found.outcome, found.reach) == ("convicted", "V=3, 1 draft: peaked")
    target, draft = peaked(3, 0), peaked(3, 1)
    for text in ((), (0,), (1,), (2,), (1, 2)):
        assert target.law(text).max() == draft.law(text).max() == 0.97
        assert target.law(text).argmax() != draft.law(text).argmax()
