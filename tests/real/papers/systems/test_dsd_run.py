"""DSD's run: each draft and seed is a unit, lengths come from validation texts, and three intervals are wider."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from real.papers.lab import aligning, draft_scores, draft_turns
from real.papers.lab.aligned import Judged
from real.papers.lab.aligning import Plan
from real.papers.lab.contract import Lab
from real.papers.lab.draft_turns import Resamples, Times
from real.papers.lab.texts import texts
from real.papers.systems import dsd
from specsim.types import Array

SECONDS = Times(np.array([[1.0]]), np.array([[1.0, 2.0, 3.0, 4.0, 6.0]]), np.array([2.0]))


def kept(validation: list[float], test: list[float]) -> dict[str, Any]:
    """Return what is kept of one draft and seed: calls by number of drafts, after one prompt."""
    calls = {"validation, T = 1": validation, "test, T = 1": test}
    return {"calls": {name: [[value] for value in values] for name, values in calls.items()}}


def test_the_number_of_drafts_is_the_fastest_on_validation_texts_with_the_drafts_own_steps() -> None:
    """Cycles take 2, 4, 6, 8 and 12 s: two drafts have to save half the calls of one."""
    lab_texts = kept([10.0, 4.0, 4.0, 4.0, 4.0], [10.0, 10.0, 10.0, 1.0, 10.0])
    assert dsd._fastest([[lab_texts]], 1.0, SECONDS) == [2]
    dear = kept([10.0, 6.0, 4.0, 3.0, 3.0], [10.0, 1.0, 1.0, 1.0, 1.0])
    assert dsd._fastest([[dear]], 1.0, SECONDS) == [1]


def test_perplexity_is_that_on_test_texts_at_temperature_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each seed trains by itself; validation texts are for the first one."""
    numbers: list[tuple[int, int]] = []
    by_part: dict[Any, Judged] = {}
    for part in ("test", "validation"):
        for temperature in dsd.TEMPERATURES:
            few = texts(1.0).of(part, 2 if temperature else 3)
            by_part[part, temperature] = Judged(few, temperature, [])
    monkeypatch.setattr(aligning, "ends_of", lambda pair, net: None)
    monkeypatch.setattr(aligning, "of_target", lambda lesson, plan, number: number)
    monkeypatch.setattr(
        aligning, "tuned", lambda start, ends, name, source, plan, rate, number: numbers.append((source, number))
    )
    monkeypatch.setattr(draft_scores, "scores", lambda net, ends, of_texts: of_texts)
    monkeypatch.setattr(draft_scores, "calls", lambda judged, along, gammas: [[judged.temperature]])
    monkeypatch.setattr(draft_scores, "losses", lambda along: (np.ones(len(along.rows)), along.lengths))
    lesson: Any = None
    first, second = (dsd._trained(Lab(seed=7), "unit", None, lesson, by_part, seed) for seed in (0, 1))
    assert numbers == [(7, 7), (8, 8)]
    assert len(first["calls"]) == 4
    assert set(second["calls"]) == {"test, T = 1", "test, T = 0"}
    test = by_part["test", 1.0].texts
    assert (sum(first["nats"]), sum(first["known"])) == (2, test.lengths.sum())


def resamples(steps: Array, loss: Array) -> Resamples:
    """Return eight drafts whose throughput is one over their step."""
    ones = np.ones((len(steps), 8))
    return Resamples(ones, loss, steps, steps, ones[:, :1])


def test_correlations_have_their_signs_and_three_have_wider_intervals() -> None:
    rng = np.random.default_rng(0)
    steps, loss = rng.random((400, 8)) + np.arange(8) / 8, rng.random((400, 8))
    steps[0], loss[0] = np.arange(1.0, 9.0), np.arange(8.0, 0.0, -1.0)
    found = dsd._of_all(resamples(steps, loss), 1.0)
    names = (f"{dsd.LATENCY}, T = 1", f"{dsd.QUALITY}, T = 1{dsd.OF_THREE}", dsd.HEADLINE)
    assert [found[name].value for name in names] == pytest.approx([1, -1, 2])
    plain = dsd._of_all(resamples(steps, loss), 0.0)
    for name in (dsd.ADVANTAGE, dsd.QUALITY, dsd.SHALLOW):
        wide, narrow = found[f"{name}, T = 1{dsd.OF_THREE}"], plain[f"{name}, T = 0"]
        assert wide.low < narrow.low < narrow.high < wide.high
    throughput = 1 / steps
    ends = np.quantile(dsd.shallow_over_deep(throughput)[1:], [0.05 / 6, 1 - 0.05 / 6])
    assert found[f"{dsd.SHALLOW}, T = 1{dsd.OF_THREE}"][1:] == pytest.approx(ends)


def test_a_run_keeps_every_draft_and_seed_under_a_name_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drafts begin anew with each seed; a trial has one."""
    units: dict[str, Any] = {}

    def keep(name: str, make: Any) -> Any:
        assert name not in units
        units[name] = make()
        return units[name]

    def trained(lab: Lab, unit: str, start: Any, lesson: Any, judged: Any, seed: int) -> dict[str, Any]:
        calls = {f"{part}, T = {at:g}": np.full((5, 8), 4.0 + len(units) % 3).tolist() for part, at in judged}
        return {"calls": calls, "nats": [9.0] * 8, "known": [3.0] * 8}

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(dsd, "COUNTS", {"validation": 8, "test": 8})
    monkeypatch.setattr(dsd, "PLAN", Plan(2, 2, 1))
    monkeypatch.setattr(dsd, "_trained", trained)
    turn = {"steps": [1e-3] * 8, "visits": {str(g): [[0.0, 1e-3, 1e-3, 0.0, 0.0]] for g in (0, *dsd.GAMMAS)}}
    monkeypatch.setattr(draft_turns, "taken", lambda both, nets, gammas, turns: [turn] * turns)
    record = dsd.run(Lab(share=0.01, keep=keep))
    assert len([name for name in units if name.startswith("draft ")]) == 8
    assert record.exact["seeds"] == 1
    assert len([name for name in record.exact if name.startswith("parameters inside, ")]) == 8
    assert dsd.HEADLINE in record.measured
