"""T24: drafts that come from another law than the verifier was told, in rationals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from specsim import discover, total_variation
from specsim.testing.strategies import law_pairs, rational_laws
from specsim.verify.hits import draft_tuples

CASES = st.integers(2, 4).flatmap(lambda v: st.tuples(law_pairs(v), rational_laws(v)))
QUICK = settings(max_examples=100, deadline=None)


def output(name: str, p: Any, told: Any, drawn: Any, num_drafts: int) -> Any:
    """Output law of a rule planned for `told`, with i.i.d. drafts from `drawn`."""
    module = discover.find("step", name)
    tuples = draft_tuples(len(p), num_drafts)
    law = module.transition(module.prepare(p[None], told[None], num_drafts), tuples)
    return (np.array([np.prod(drawn[x]) for x in tuples], dtype=object)[:, None] * law).sum(axis=0)


@QUICK
@given(CASES)
def test_rejection_moves_by_at_most_the_draft_laws_distance(case: Any) -> None:
    (p, told), drawn = case
    assert total_variation(output("rejection", p, told, drawn, 1), p) <= total_variation(drawn, told)


@pytest.mark.parametrize("name", ["recursive", "kseq", "optimal"])
def test_k_drafts_move_by_at_most_k_distances(name: str) -> None:
    @QUICK
    @given(CASES, st.integers(1, 2))
    def check(case: Any, num_drafts: int) -> None:
        (p, told), drawn = case
        moved = total_variation(output(name, p, told, drawn, num_drafts), p)
        assert moved <= num_drafts * total_variation(drawn, told)

    check()


@QUICK
@given(CASES)
def test_the_bound_is_met(case: Any) -> None:
    (p, _), drawn = case
    assert list(output("rejection", p, p, drawn, 1)) == list(drawn)


def test_half_the_bound_is_none() -> None:
    def exceeds(case: Any) -> bool:
        (p, told), drawn = case
        return bool(2 * total_variation(output("rejection", p, told, drawn, 1), p) > total_variation(drawn, told))

    find(CASES, exceeds)
