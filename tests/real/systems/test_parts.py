"""A small part of every system runs: its record can be read, kept and judged, and names what it must."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from real import TINY, systems
from real.images.train import makers
from real.systems import _drafters, _keep, _writing
from real.systems._record import Lab, Record, checked_verdict, from_json

PART = 0.01  # of the texts; 8 at least
FEWER: dict[str, dict[str, Any]] = {  # settings of the same loops: the slow test runs all of them
    "distillspec": {"DIVERGENCES": ("fkl", "tvd"), "SEEDS": 1},
    "stand": {"TEMPERATURES": (1.0, 0.6), "TRAJECTORIES": 3, "TOLD": (1, 2, 3)},
    "dsd": {"SIZES": (0.2e6,), "GAMMAS": (1, 2, 4)},
    "disco": {"CAPS": (2, 10), "THRESHOLDS": (0.1, 0.5, 0.9)},
    "judge": {"DELTAS": (0.1, 0.5)},
    "kangaroo": {"ETAS": (0.2, 0.7), "MOST": 3},
    "assd": {"KS": (2, 5, 10)},
    "lantern": {"FEW": (4,), "TABLES": 1},
    "mllm": {"GAMMAS": (3,)},
    "nfd": {"BLOCKS": (1, 2, 4, 8), "COMPARED": 13, "TURNS": 2},
    "sjd": {"WINDOWS": (16, 32), "FIRST": ("left",)},
}


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a machine writes once is written for these tests alone."""
    folder: Path = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_writing, "cache", lambda: folder)
        yield


@pytest.mark.filterwarnings("ignore:.*calibration tokens:UserWarning")  # a trial counts few of them
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["fewer", "whole"])
@pytest.mark.parametrize("name", systems.names())
def test_a_part_of_each_runs(name: str, whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for setting, value in FEWER.get(name, {}).items():
        if not whole:
            monkeypatch.setattr(systems.find(name), setting, value)
    system, said = systems.find(name), list[str]()
    held = _keep.run(name, system, Lab(0, PART, said.append, pair=TINY), {})
    again = json.loads(json.dumps(held, allow_nan=False))
    assert _keep.stale(again, system) is None
    assert system.HEADLINE in from_json(again["found"]).measured
    assert said, "nothing is said of what runs"


@pytest.mark.fast
def test_each_names_its_models_and_judges_by_numbers() -> None:
    """The weights are among those that are trained; a verdict on nothing at all is an error, not a word."""
    known = {*makers(), *(f"draft/{name}" for name in _drafters.makers())}
    for name in systems.names():
        system = systems.find(name)
        assert set(system.MODELS) <= set(known), name
        with pytest.raises(KeyError):
            checked_verdict(system.verdict(Record({}, {}, {})))
