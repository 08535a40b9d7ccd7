"""Committed records of systems: of these tests, of these weights, with the verdict that their numbers give."""

from __future__ import annotations

import importlib
import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.toy_system import COIN
from typer.testing import CliRunner

import real.cli
from real.draft import exit
from real.papers import systems
from real.papers.lab import clauses, records, report, scale
from real.papers.lab.contract import Record, from_json
from real.studies.intervals import Estimate

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "real" / "results" / "systems"


def problems(folder: Path) -> list[str]:
    """What is wrong with the records of a folder."""
    found = []
    for path in sorted(folder.glob("*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        if path.stem not in systems.names():
            found.append(f"{path.stem}: no such system")
            continue
        system = systems.find(path.stem)
        what = held["provenance"]
        if (held["schema"], held["complete"], what["system"]) != (records.SCHEMA, True, path.stem):
            found.append(f"{path.stem}: another record")
        elif what["share"] != 1:
            found.append(f"{path.stem}: a trial on {what['share']} of the texts")
        elif held["test"] != system.TEST:
            found.append(f"{path.stem}: another sentence under the same digest")
        elif reason := records.stale(held, system):
            found.append(f"{path.stem}: {reason}")
    return found


def test_committed_records_are_good() -> None:
    assert problems(RESULTS) == []


def test_every_system_has_a_page_that_says_what_its_record_says() -> None:
    pages = {path.stem: path for path in (ROOT / "docs" / "results" / "systems").glob("*.md")}
    overview = (ROOT / "docs" / "results" / "systems.md").read_text(encoding="utf-8")
    assert sorted(pages) == systems.names()
    for name in systems.names():
        system, page = systems.find(name), pages[name].read_text(encoding="utf-8")
        assert all(words in page for words in (system.CLAIM, system.TEST)), name
        assert f"[{system.NAME}](systems/{name}.md)" in overview, name
    for name, held in report.recorded(RESULTS).items():
        word = "not here" if held["verdict"] == "contradicts" else held["verdict"]
        assert f"whole test: **{word}**" in pages[name].read_text(encoding="utf-8"), name


def combined(found: list[Any]) -> str:
    """The verdict that the statements of a test give together."""
    verdicts = [clause.verdict for clause in found if clause.decides]
    if "not here" in verdicts:
        return "contradicts"
    return "shows" if set(verdicts) == {"shows"} else "does not show"


def test_verdicts_of_statements_give_the_systems_verdict() -> None:
    sections, kept = clauses.sections(), report.recorded(RESULTS)
    assert sorted(sections) == systems.names()
    given = {name: clauses.clauses(sections[name], from_json(held["found"])) for name, held in kept.items()}
    assert {name: combined(found) for name, found in given.items()} == {
        name: held["verdict"] for name, held in kept.items()
    }


def test_numbers_of_a_paper_are_those_of_the_claim() -> None:
    strange = []
    for name, section in clauses.sections().items():
        claim = set(re.findall(r"\d+(?:\.\d+)?", systems.find(name).CLAIM))
        quoted = {number for one in section["clause"] for number in re.findall(r"\d+(?:\.\d+)?", one["paper"])}
        strange += [f"{name}: {number}" for number in sorted(quoted - claim)]
    assert strange == []


def test_pages_of_systems_have_no_interval_that_was_typed() -> None:
    """Intervals come from the record by the number's name; an unknown name is refused."""
    text = clauses.FILE.read_text(encoding="utf-8")
    assert re.findall(r"-?[0-9.]+ \[[-0-9., ]+\]", text) == []
    record = Record({"share": 0.5}, {"gain": Estimate(0.02, 0.01, 0.03)}, {})
    assert clauses.fill("{gain|+%}, {gain|1+x}, {share}", record) == "+2.0 % [1.0, 3.0], 1.020x [1.010, 1.030], 0.5"
    with pytest.raises(ValueError, match="number 'gains' is unknown"):
        clauses.fill("{gains}", record)


@pytest.mark.parametrize(
    ("low", "high", "test", "verdict"),
    [
        (1.1, 1.3, [">", 1], "shows"),
        (0.9, 1.3, [">", 1], "does not show"),
        (0.7, 0.9, [">", 1], "not here"),
        (1.0, 1.3, [">", 1], "does not show"),
        (1.0, 1.3, [">=", 1], "shows"),
        (0.7, 0.9, ["<", 1], "shows"),
        (0.9, 1.3, ["<", 1], "does not show"),
        (1.1, 1.3, ["<", 1], "not here"),
        (0.9, 1.0, ["<=", 1], "shows"),
        (0.9, 1.3, ["<", "limit"], "does not show"),
        (1.0, 1.1, ["inside"], "shows"),
        (1.3, 1.4, ["inside"], "not here"),
        (1.3, 1.4, ["outside"], "shows"),
        (1.0, 1.1, ["outside"], "not here"),
    ],
)
def test_a_statement_is_judged_by_its_whole_interval(low: float, high: float, test: list[Any], verdict: str) -> None:
    value = 1.05 if test[0] in ("inside", "outside") else (low + high) / 2
    record = Record({"limit": 1.0}, {"ratio": Estimate(value, low, high)}, {})
    assert clauses.verdict_on([["ratio", *test]], record) == verdict


def test_a_statement_that_does_not_show_says_what_would_have_shown() -> None:
    """If that is more than the paper's effect, nothing can be told."""
    record = Record({}, {"gain": Estimate(0.01, -0.02, 0.04)}, {})
    one = {"says": "Faster.", "paper": "5 %", "ours": "{gain|+%}", "tests": [["gain", ">", 0]]}
    (found,) = clauses.clauses({"clause": [one]}, record)
    assert (found.verdict, found.ours) == ("does not show", "+1.0 % [-2.0, 4.0]; an effect of 3 % would show")
    for effect, verdict in ((0.05, "does not show"), (0.02, "cannot tell")):
        assert clauses.clauses({"clause": [one | {"effect": effect}]}, record)[0].verdict == verdict


def test_the_temperature_of_a_statement_is_that_of_its_numbers() -> None:
    assert clauses.temperatures("{gain, T = 0|%} and {gain, T = 0.6} of {rows}, {gain, T = 0}") == "0 and 0.6"
    assert clauses.temperatures("{gain}") == "1"


INF = float("inf")
GOALS: list[tuple[str, str, float, float]] = [  # what no TEST asks for: a system, a number, where its interval lies
    ("sjd", "passes with old laws kept over passes drawn anew", 1.5, INF),
    ("sjd", "passes a pixel of block less tokenwise, paired", -INF, 0),
    ("sjd", "energy less ancestral, nats a pixel, block", -0.05, 0.05),
    ("assd", "passes a token, k = 2, published", 1, 1),
    ("assd", "passes a token, k = 5, published", 0, 0.6),
    ("assd", "passes a token, k = 20, published", 0, 0.6),
    ("cspd", "rows per target pass, gamma 1", 1, 2),
    ("cspd", "speedup at the paper's cost 0.38, gamma 1", 0, 1),
    ("cspd", "speedup at the paper's cost 0.38, gamma 4", 0, 1),
    ("lantern", "W1 saved by lenience instead of nearest, k = 4", 0, INF),
    ("lantern", "W1 saved by nearest neighbours, k = 15", -INF, 0),
    ("lantern", "TV of zeroed, k = 4, delta = 0", 0.02, 1),
    ("lumina_mgpt2", "energy less ancestral, nats a pixel, uniform", -0.05, 0.05),
    ("mllm", "MBSU(5), text only", 2, INF),
    ("mllm", "tau(3) by the renewal law, unigram", 1, 1.2),
]


@pytest.mark.parametrize(("name", "number", "low", "high"), GOALS)
def test_what_no_verdict_asks_for_shows_as_well(name: str, number: str, low: float, high: float) -> None:
    found = from_json(report.recorded(RESULTS)[name]["found"])
    one = (dict(found.measured) | dict(found.predicted))[number]
    assert low <= one.low <= one.high <= high


def test_windows_save_passes_up_to_about_sixteen() -> None:
    found = from_json(report.recorded(RESULTS)["sjd"]["found"]).measured
    for first in ("left", "up", "uniform"):
        passes = [found[f"passes a pixel, W = {window}, {first}"] for window in (1, 2, 4, 8, 16)]
        assert all(wider.high < narrower.low for narrower, wider in itertools.pairwise(passes))


def test_systems_beyond_text_run_in_half_an_hour() -> None:
    """By the clock, on a machine with other jobs: LANTERN, which decodes images one by one, has most of it."""
    names = {"assd", "cspd", "lantern", "lumina_mgpt2", "mllm", "nfd", "sjd"}
    held = report.recorded(RESULTS)
    assert 0 < sum(held[name]["seconds"] for name in names) < 1800


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the record of a toy system."""
    (tmp_path / "coin.py").write_text(COIN)
    monkeypatch.setattr(systems, "__path__", [*systems.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    out = tmp_path / "out"
    assert CliRunner().invoke(real.cli.app, ["systems", "coin", "--out", str(out)]).exit_code == 0
    yield out
    sys.modules.pop("real.papers.systems.coin", None)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, None),
        ({"verdict": "does not show"}, "its verdict is judged otherwise since the record was made"),
        ({"test_hash": "0" * 16}, "its TEST has changed since the record was made"),
        ({"test": "Another sentence."}, "another sentence under the same digest"),
        ({"weights": {"toy": "0" * 16}}, "the weights of toy have changed since the record was made"),
        ({"complete": False}, "another record"),
        ({"provenance": {"system": "coin", "share": 0.1}}, "a trial on 0.1 of the texts"),
    ],
)
def test_the_check_of_records_can_fail(folder: Path, change: dict[str, Any], problem: str | None) -> None:
    path = folder / "coin.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert problems(folder) == ([] if problem is None else [f"coin: {problem}"])


def test_a_record_without_its_system_is_seen(folder: Path) -> None:
    (folder / "coin.json").rename(folder / "die.json")
    assert problems(folder) == ["die: no such system"]


def test_parameters_are_those_of_the_network() -> None:
    """Of weights as they are, and in six bits, with a head of few tokens beside them."""
    for name in ("exit_1", "smollm2/exit_2"):
        block = exit.shipped(name).block
        assert scale.parameters(f"draft/{name}") == sum(w.numel() for w in block.parameters())
