"""One exception among several cases is enough to change a statement's verdict."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from specsim.claims.statements import any_subset_passes, gbv_gain


@pytest.mark.parametrize(("slots", "law", "passes"), [(2, {}, 3), (3, {}, 3), (2, None, 4), (3, None, 4)])
def test_each_number_of_slots_counts(slots: int, law: Any, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another law for one number of slots, or a pass more than there are tokens."""
    run = any_subset_passes.fill

    def filled(*arguments: Any, params: dict[str, Any], **options: Any) -> Any:
        found = run(*arguments, params=params, **options)
        changed = SimpleNamespace(law=found.law if law is None else law, passes=passes)
        return changed if params["slots"] == slots else found

    monkeypatch.setattr(any_subset_passes, "fill", filled)
    assert any_subset_passes.settle()[0] == "refuted"


@pytest.mark.parametrize(("paths", "verdict"), [(1.5, "holds under"), (1.2, "not decidable here")])
def test_a_gain_of_nearly_a_third_is_needed(paths: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gbv_gain, "best", lambda run, nodes, rule, *kind: paths if rule == "multipath_block" else 1.0)
    assert gbv_gain.settle()[0] == verdict
