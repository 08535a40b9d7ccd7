"""A small part of every system runs: its record can be read, kept and judged, and names what it must."""

from __future__ import annotations

import json

import pytest

from real import systems
from real.images.train import makers
from real.systems import _keep
from real.systems._record import Lab, Record, checked_verdict, from_json

PART = 0.01  # of the texts; 8 at least


@pytest.mark.parametrize("name", systems.names())
def test_a_part_of_each_runs(name: str) -> None:
    system, said = systems.find(name), list[str]()
    held = _keep.run(name, system, Lab(0, PART, said.append), {})
    again = json.loads(json.dumps(held, allow_nan=False))
    assert _keep.stale(again, system) is None
    assert system.HEADLINE in from_json(again["found"]).measured
    assert said, "nothing is said of what runs"


@pytest.mark.fast
def test_each_names_its_models_and_judges_by_numbers() -> None:
    """The weights are among those that are trained; a verdict on nothing at all is an error, not a word."""
    known = makers()
    for name in systems.names():
        system = systems.find(name)
        assert set(system.MODELS) <= set(known), name
        with pytest.raises(KeyError):
            checked_verdict(system.verdict(Record({}, {}, {})))
