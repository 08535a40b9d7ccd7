"""Records name their pair and the numbers that they lack; a stopped run carries on with the units that it has."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.toy_system import COIN
from typer.testing import CliRunner

import real.cli
from real.papers import systems
from real.papers.lab import pairs, records
from real.papers.lab.contract import Lab, Record
from real.studies.intervals import Estimate


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A second directory of the package, with two systems in it."""
    files = tmp_path / "files"
    files.mkdir()
    for name in ("coin", "die"):
        (files / f"{name}.py").write_text(COIN)
    monkeypatch.setattr(systems, "__path__", [*systems.__path__, str(files)])
    importlib.invalidate_caches()
    yield files
    for name in ("coin", "die"):
        sys.modules.pop(f"real.papers.systems.{name}", None)


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(real.cli.app, ["systems", *map(str, words)])


def test_a_record_names_the_pair_that_it_was_made_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default the pair that the system names; with it its size, and what tells its target from others."""
    monkeypatch.setattr(systems.find("coin"), "PAIR", "smollm2", raising=False)
    monkeypatch.setattr(pairs, "check_installed", lambda pair: None)
    monkeypatch.setattr(pairs, "scale", lambda pair: {"target": len(pair)})
    for words, pair in (((), "smollm2"), (("--pair", "tiny", "--force"), "tiny")):
        assert run("coin", "--out", tmp_path, *words).exit_code == 0
        held = json.loads((tmp_path / "coin.json").read_text())
        assert vars(systems.find("coin"))["RUNS"][-1].pair == held["provenance"]["pair"] == pair
        assert (held["provenance"]["target"], held["scale"]) == (pairs.identity(pair), {"target": len(pair)})
    assert run("die", "--out", tmp_path).exit_code == 0
    assert json.loads((tmp_path / "die.json").read_text())["scale"] is None


def test_seconds_are_those_of_all_sittings(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sitting that is cut off counts up to the unit that it ended last: what came after that is done anew."""
    coin, clock, cuts = systems.find("coin"), [0.0], ["a", "b"]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])

    def make(seconds: float) -> float:
        clock[0] += seconds
        return seconds

    def in_units(lab: Lab) -> Record:
        for name, seconds in (("a", 100.0), ("b", 20.0)):
            lab.keep(name, partial(make, seconds))
            if cuts[:1] == [name]:
                cuts.remove(name)
                make(3.0)
                raise KeyboardInterrupt
        make(3.0)
        return Record({}, {coin.HEADLINE: Estimate(2.0, 1.5, 2.5)}, {})

    monkeypatch.setattr(coin, "run", in_units)
    assert [run("coin", "--out", tmp_path).exit_code for _ in range(3)] == [130, 130, 0]
    assert json.loads((tmp_path / "coin.json").read_text())["seconds"] == 123.0


def test_a_record_without_a_number_that_the_verdict_reads_is_stale(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("coin", "--out", tmp_path)
    held, coin = json.loads((tmp_path / "coin.json").read_text()), systems.find("coin")
    monkeypatch.setattr(coin, "verdict", lambda record: "shows" if record.measured["tails"].low > 0 else "contradicts")
    assert records.stale(held, coin) == "it lacks the number 'tails', by which it is judged now"


def test_a_run_that_was_cut_off_carries_on_with_its_units(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same settings and code; once the record is written they are gone."""
    coin, made, honest = systems.find("coin"), list[str](), systems.find("coin").run

    def value(name: str) -> list[float]:
        if len(made) == 1:
            made.append("cut off")
            raise KeyboardInterrupt
        made.append(name)
        return [2.0]

    def in_units(lab: Lab) -> Record:
        assert [lab.keep(name, lambda name=name: value(name)) for name in ("a", "b")] == [[2.0], [2.0]]
        return honest(lab)

    monkeypatch.setattr(coin, "run", in_units)
    assert run("coin", "--out", tmp_path).exit_code == 130
    assert made == ["a", "cut off"]
    part = (tmp_path / "coin.part").read_text()
    assert run("coin", "--out", tmp_path).exit_code == 0
    assert made == ["a", "cut off", "b"]
    assert not (tmp_path / "coin.part").exists()

    # Units of another seed, and a file that cannot be read, are not used.
    (tmp_path / "coin.part").write_text(part)
    assert run("coin", "--out", tmp_path, "--seed", "3", "--force").exit_code == 0
    assert made == ["a", "cut off", "b", "a", "b"]
    (tmp_path / "coin.part").write_text("no JSON")
    assert records.units(tmp_path, "coin", coin, {}).keep("a", lambda: 1) == 1
