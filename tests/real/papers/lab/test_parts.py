"""A small part of every system runs: its record can be read, kept and judged, and names what it must."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from real.papers import systems
from real.papers.lab import drafters, records, writing
from real.papers.lab.contract import Lab, Record, checked_verdict, from_json
from real.papers.models.train import makers

PART = 0.01  # of the texts; 8 at least
FEWER: dict[str, dict[str, Any]] = {  # settings of the same loops: the slow test runs all of them
    "dsd": {"SIZES": {"tiny": (12 * 16**2,)}, "DEPTHS": (1, 4), "GAMMAS": (1, 2, 4)},
    "judge": {"HEADS": 1, "PASSING": (0.2,), "EPSILONS": (0.5,), "TOPS": (2,)},
    "sjd": {"WINDOWS": (16, 32), "FIRST": ("left",)},
}


# Systems of which a file of their own runs a part in the default tier: here their runs are slow.
ELSEWHERE = ("assd", "chimera", "disco", "distillspec", "kangaroo", "lantern", "mllm", "nfd", "rsd", "stand")
QUICK = [name for name in systems.names() if name not in ELSEWHERE]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give these tests a cache folder of their own."""
    folder: Path = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "cache", lambda: folder)
        yield


@pytest.mark.filterwarnings("ignore:.*calibration tokens:UserWarning")  # a trial counts few of them
@pytest.mark.slow
@pytest.mark.parametrize("name", systems.names())
def test_a_part_of_each_runs(name: str) -> None:
    assert_a_part_runs(name)


@pytest.mark.filterwarnings("ignore:.*calibration tokens:UserWarning")
@pytest.mark.parametrize("name", QUICK)
def test_a_part_of_each_runs_with_fewer_settings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for setting, value in FEWER.get(name, {}).items():
        monkeypatch.setattr(systems.find(name), setting, value)
    assert_a_part_runs(name)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_runs_elsewhere_does(name: str) -> None:
    """A file of the system's own runs it, on a part of the texts, in a test that is not slow."""
    sources = [path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].rglob("test_*.py")]
    tests = [test for source in sources for test in source.split("\n\n\n") if re.search(rf"\b{name}\.run\(", test)]
    assert [test for test in tests if "mark.slow" not in test]


def assert_a_part_runs(name: str) -> None:
    system, said = systems.find(name), list[str]()
    held = records.run(name, system, Lab(0, PART, said.append), {})
    again = json.loads(json.dumps(held, allow_nan=False))
    assert records.stale(again, system) is None
    assert system.HEADLINE in from_json(again["found"]).measured
    assert said, "nothing is said of what runs"


def test_each_names_its_models_and_judges_by_numbers() -> None:
    """The weights are among those that are trained; a verdict on nothing at all is an error, not a word."""
    known = {*makers(), *(f"draft/{name}" for name in drafters.makers())}
    for name in systems.names():
        system = systems.find(name)
        assert set(system.MODELS) <= set(known), name
        with pytest.raises(KeyError):
            checked_verdict(system.verdict(Record({}, {}, {})))
