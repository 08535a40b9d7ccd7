"""Every system is built from its axis strings; the coverage table is theirs; values that nobody defined are refused."""

from __future__ import annotations

import importlib.util
import json
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

import real.cli
from real.papers import systems
from real.papers.lab import choices
from real.papers.lab.choices import DEFAULTS, OURS, SURVEY, VALUES

GOOD = {axis: next(iter(values)) for axis, values in VALUES.items()}


@pytest.mark.parametrize("name", systems.names())
def test_each_system_is_built_from_its_axis_strings(name: str) -> None:
    found = choices.built(systems.find(name).AXES)
    assert set(found) == set(VALUES)
    assert all(isinstance(module, ModuleType) for modules in found.values() for module in modules)
    assert found["drafting"], "nothing drafts"
    assert found["acceptance"], "nothing decides"


def test_axes_are_the_surveys_and_ours() -> None:
    assert tuple(VALUES) == (*SURVEY, *OURS)
    assert set(DEFAULTS) <= set(OURS)
    assert all(VALUES[axis].keys() >= {value} for axis, value in DEFAULTS.items())
    assert all(key == key.strip() and not set(key) & set(":+") for values in VALUES.values() for key in values)


def test_what_a_taken_value_names_is_there() -> None:
    """A key whose module is gone would be found by the first system that takes it: here by every one that is taken."""
    for axis, values in choices.coverage({name: systems.find(name).AXES for name in systems.names()}).items():
        for key, takers in values.items():
            module = VALUES[axis][key].module
            assert not takers or not module or importlib.util.find_spec(module) is not None, (axis, key)


def test_coverage_of_two() -> None:
    axes = {"a": GOOD, "b": GOOD | {"acceptance": "block + kseq: in turn"}}
    found = choices.coverage(axes)
    assert found["acceptance"]["tokenwise"] == ["a"]
    assert found["acceptance"]["block"] == found["acceptance"]["kseq"] == ["b"]
    assert found["acceptance"]["optimal"] == []
    assert found["continuous"]["no"] == ["a", "b"]
    assert choices.whole({axis: said for axis, said in GOOD.items() if axis not in DEFAULTS})["continuous"] == "no"


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({}, "needs AXES, a dict that says something of each of: drafting, "),
        (GOOD | {"colour": "red"}, "needs AXES, a dict that says something of each of: drafting, "),
        (GOOD | {"carry": "everything: always"}, "has AXES['carry'] = 'everything', which nobody defined; defined: no"),
        (GOOD | {"carry": "nothing + all"}, "has AXES['carry'] = 'all', which nobody defined"),
        (GOOD | {"carry": 3}, "has AXES['carry'] = '3', which nobody defined"),
        (GOOD | {"continuous": "perhaps"}, "has AXES['continuous'] = 'perhaps', which nobody defined; defined: no, de"),
    ],
)
def test_what_nobody_defined_is_refused(axes: dict[str, Any], message: str) -> None:
    wrong = choices.flaw(axes)
    assert wrong is not None
    assert wrong.startswith(message)
    with pytest.raises(ValueError, match=r"a system (needs|has)"):
        choices.built(axes)


def test_the_command_prints_every_value_and_every_system() -> None:
    ended = CliRunner().invoke(real.cli.app, ["taxonomy"])
    assert ended.exit_code == 0, ended.output
    lines = ended.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    told = json.loads(CliRunner().invoke(real.cli.app, ["taxonomy", "--json"]).stdout)
    assert told.pop("schema") == "specsim-real/taxonomy/1"
    assert told == choices.coverage({s.NAME: s.AXES for s in map(systems.find, systems.names())})
    table = CliRunner().invoke(real.cli.app, ["taxonomy", "--markdown"]).stdout
    assert "| carry (ours) | nothing |" in table
    assert "| drafting (survey) | smaller model |" in table
    assert all(f"| {key} |" in table for values in VALUES.values() for key in values)
    assert all(systems.find(name).NAME in table for name in systems.names())
