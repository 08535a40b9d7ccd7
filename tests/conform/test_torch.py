"""Masks and short types of torch."""

from __future__ import annotations

from typing import Any

import pytest

from specsim.conform import Subject, judge
from specsim.conform.properties import _laws

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(("wrong", "outcome"), [(False, "lossless"), (True, "convicted")])
def test_masks_and_one_hot_drafts(wrong: bool, outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(p: Any, q: None, drafts: Any, *, mask: Any) -> Any:
        held = p if mask is None else (p * mask) / (p * mask).sum(-1, keepdim=True)
        for i, x in enumerate(drafts.tolist()):
            if not bool(torch.rand(()) <= held[i, x]):
                left = held[i].clone()
                left[x] = 0
                return i, int(torch.multinomial(left, 1))
        return len(drafts), int(torch.multinomial(p[-1] if wrong else held[-1], 1))

    subject = Subject("lookup", "chain", run, "torch", randomness="global", takes_q=False, sizes=(1,), masks=True)
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    assert judge(subject, properties=["structured"]).outcome == outcome


def test_distances_of_its_types() -> None:
    def run(p: Any, q: Any, drafts: Any) -> Any:
        for i, x in enumerate(drafts.tolist()):
            if not bool(torch.rand(()) * q[i, x] < p[i, x]):
                left = (p[i] - q[i]).clamp(min=0)  # rounding can refuse where nothing is left
                return i, int(torch.multinomial(left if bool(left.any()) else p[i], 1))
        return len(drafts), int(torch.multinomial(p[-1], 1))

    subject = Subject("chain", "chain", run, "torch", randomness="global", sizes=(1,), dtypes=("float32", "bfloat16"))
    (found,) = judge(subject, properties=["numerics"]).verdicts
    assert found.outcome == "measured"
    assert 1e-4 < found.distance < 0.05
