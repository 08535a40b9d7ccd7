"""A simulation validates each law once, at its public door."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import specsim
from specsim.base import check


@pytest.fixture
def laws_checked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a law was validated, by the name that an error would say."""
    counts: Counter[str] = Counter()
    law = check.law

    def counted(value: Any, name: str, *more: Any, **named: Any) -> Any:
        counts[name] += 1
        return law(value, name, *more, **named)

    monkeypatch.setattr(check, "law", counted)
    return counts


def test_laws_are_validated_once(laws_checked: Counter[str]) -> None:
    specsim.simulate([0.5, 0.5], [0.25, 0.75], rule="tokenwise", gamma=2, blocks=100, sequences=4)
    assert laws_checked == {"target": 1, "draft": 1}


def test_automata_are_validated_where_they_are_made_and_where_they_are_used(laws_checked: Counter[str]) -> None:
    target = specsim.markov([[0.5, 0.5], [0.25, 0.75]])
    specsim.simulate(target, target, rule="tokenwise", gamma=2, blocks=100, sequences=4)
    assert laws_checked == {"table": 1, "target.rows": 1, "draft.rows": 1}


def test_what_is_no_pair_is_still_refused() -> None:
    call: dict[str, Any] = {"rule": "tokenwise", "gamma": 2, "blocks": 100, "sequences": 4}
    with pytest.raises(ValueError, match=r"target.rows has 2 tokens and draft.rows has 3: the vocabularies differ"):
        specsim.simulate([0.5, 0.5], [0.25, 0.25, 0.5], **call)
    with pytest.raises(ValueError, match=r"target sums to 0.9"):
        specsim.simulate([0.5, 0.4], [0.25, 0.75], **call)
    with pytest.raises(ValueError, match=r"table.start is 2; states are 0..1"):
        specsim.markov([[0.5, 0.5], [0.25, 0.75]], start=2)
