"""The error for an unknown name: what it lists, and which name it takes for the one that was meant."""

from __future__ import annotations

import pytest

from specsim.base.unknown import unknown, unknown_of_kinds


def test_the_nearest_name_is_proposed_whatever_its_kind() -> None:
    error = unknown_of_kinds("rule", "gumble", {"step": ["rejection"], "coupled": ["gumbels", "gumbel"], "mine": []})
    words = "did you mean 'gumbel'? step: rejection; coupled: gumbels, gumbel; mine: none"
    assert str(error) == f"rule 'gumble' is unknown; {words}"


@pytest.mark.parametrize("name", [3, None, "zzz"])
def test_what_is_near_no_name_is_answered_by_the_list(name: object) -> None:
    """Names may come from an iterator, which is read once."""
    assert str(unknown("part", name, iter(["law", "time"]))) == f"part {name!r} is unknown; known: law, time"


def test_a_long_name_is_cut() -> None:
    assert str(unknown("part", "x" * 1000, ["law"])) == f"part '{'x' * 59} is unknown; known: law"
