"""The drafters that are shipped for SmolLM2: tau predicted from one pass over texts is what the decode loop does."""

from __future__ import annotations

import pytest
from helpers.drafted import measured_and_predicted

from real import load
from real.models.names import BEST_DRAFT
from real.named import drafter_named, drafters

NAMES = sorted(name for name in drafters() if name.startswith("smollm2/"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_predicted_tau_is_measured(name: str) -> None:
    """At gamma 1 to 6, inside intervals of 99 % that hold at once."""
    try:
        pair = load("smollm2", BEST_DRAFT)
    except ValueError as error:
        if "is not installed" in str(error):
            pytest.skip(str(error))
        raise
    drafter = drafter_named(name, pair.target, pair.draft)
    lengths = range(1, 1 + min(6, drafter.longest or 6))
    found = {
        gamma: measured_and_predicted(pair.target, drafter, drafter, gamma, texts=16, length=16) for gamma in lengths
    }
    assert {gamma: one for gamma, one in found.items() if not one.low <= one.measured <= one.high} == {}
