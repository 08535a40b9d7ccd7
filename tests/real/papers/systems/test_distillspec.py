"""DistillSpec: what is compared, what is chosen on validation texts, and verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from real.papers.lab import aligned, writing
from real.papers.lab.aligned import Trained
from real.papers.lab.contract import Lab, Record
from real.papers.lab.texts import Part
from real.papers.systems import distillspec
from real.papers.systems.distillspec import DECISIVE, FIRST, Key
from real.studies.intervals import Estimate

PARTS: list[tuple[Part, float]] = [("test", 1.0), ("test", 0.0)]
ABOVE, BELOW, ACROSS = Estimate(0.1, 0.05, 0.2), Estimate(-0.1, -0.2, -0.05), Estimate(0.1, -0.05, 0.2)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give these tests a cache folder of their own."""
    folder: Path = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "cache", lambda: folder)
        yield


def trained(validation: float, test: float, seeds: int = 2) -> Trained:
    """A draft with these target calls after each of three prompts, at both temperatures."""
    calls = {("validation", 1.0): validation, ("validation", 0.0): -validation, ("test", 1.0): test, ("test", 0.0): 9.0}
    return Trained(0.1, {key: np.full((seeds, 3), value) for key, value in calls.items()})  # type: ignore[misc]


def every(calls: dict[Key, float]) -> dict[Key, Trained]:
    """A draft for each objective and source; those that are not named need 20 calls a prompt."""
    return {key: trained(calls.get(key, 20.0), calls.get(key, 20.0)) for key in distillspec.compared()}


def test_cross_entropy_learns_from_the_target_alone() -> None:
    keys = distillspec.compared()
    assert len(keys) == len(set(keys)) == 7
    assert [source for name, source in keys if name == "cross_entropy"] == ["target"]
    for source in ("draft", "mixed"):
        assert {name for name, of in keys if of == source} == {distillspec.ON_POLICY}
    assert len({distillspec.words(key) for key in keys}) == 7


def test_the_best_needs_the_fewest_calls_on_validation_texts() -> None:
    by_key = every({FIRST: 1.0, ("jsd", "target"): 5.0, ("tvd", "draft"): 4.0, ("tvd", "mixed"): 30.0})
    assert distillspec.best_of(by_key, 1.0) == ("tvd", "draft"), "cross-entropy is no divergence"
    assert distillspec.best_of(by_key, 0.0) == ("tvd", "mixed"), "each temperature has a best"


def test_sources_are_compared_at_the_same_divergence() -> None:
    by_key = every({("tvd", "draft"): 15.0, ("jsd", "target"): 1.0, ("tvd", "mixed"): 12.0, FIRST: 18.0})
    bench: Any = None
    measured = distillspec._decisive(bench, trained(0, 30.0), by_key, ("tvd", "draft"))
    values = {name: gain.value for name, gain in measured.items()}
    assert [values[name] for name in DECISIVE] == pytest.approx([1.0, 0.2, 1 / 3, -0.2])


def test_four_gains_share_one_error_of_five_percent() -> None:
    """At T = 0, where nothing is decided, the interval is of 95 %."""
    rng, bench = np.random.default_rng(0), cast("Any", None)
    by_key = {key: Trained(0.1, {key_of: rng.random((3, 9)) + 2 for key_of in PARTS}) for key in distillspec.compared()}
    before = Trained(0.1, {key_of: rng.random((3, 9)) + 2 for key_of in PARTS})
    measured = distillspec._decisive(bench, before, by_key, ("jsd", "target"))

    def wide(first: Trained, second: Trained, temperature: float, level: float) -> Estimate:
        new, old = (draft.calls["test", temperature] for draft in (first, second))
        return aligned.gain(bench, new, old, level)

    ours = by_key["jsd", "target"], by_key["tvd", "draft"]
    others = before, by_key[FIRST], by_key["tvd", "target"], by_key["tvd", "mixed"]
    expected = [wide(ours[i // 2], other, 1.0, 0.9875) for i, other in enumerate(others)]
    assert [measured[name] for name in DECISIVE] == [pytest.approx(gain) for gain in expected]
    greedy = measured["memory-bound speedup gained by text of the draft over text of the target, T = 0"]
    assert greedy == pytest.approx(wide(ours[1], others[2], 0.0, 0.95))


def test_a_choice_of_the_other_temperature_costs_nothing_where_it_is_the_same() -> None:
    by_key = every({("tvd", "draft"): 16.0})
    names = [
        "memory-bound speedup gained by the best at T = 1 over the best at T = 0, at T = 1",
        "memory-bound speedup gained by the best at T = 0 over the best at T = 1, at T = 0",
    ]
    bench: Any = None
    apart = distillspec._choices(bench, by_key, {1.0: ("tvd", "draft"), 0.0: ("fkl", "target")})
    assert [apart[name].value for name in names] == [0.25, 0.0]
    alike = distillspec._choices(bench, by_key, dict.fromkeys((1.0, 0.0), ("tvd", "draft")))
    assert [alike[name] for name in names] == [(0, 0, 0)] * 2


def test_a_run_trains_each_once_and_carries_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distillspec, "compared", lambda: [FIRST, ("tvd", "target"), ("tvd", "draft"), ("tvd", "mixed")])
    units: dict[str, Any] = {}

    def keep(name: str, make: Any) -> Any:
        if name not in units:
            units[name] = make()
        return units[name]

    lab = Lab(share=0.01, keep=keep)
    first = distillspec.run(lab)
    monkeypatch.setattr(aligned, "net_of", lambda *some: pytest.fail("it was trained before"))
    assert distillspec.run(lab) == first
    assert set(DECISIVE) <= set(first.measured)
    assert len([name for name in first.exact if name.startswith("the best on validation texts at T = ")]) == 2


def test_verdicts_follow_the_test() -> None:
    def of(*gains: Estimate) -> str:
        return distillspec.verdict(Record({}, dict(zip(DECISIVE, gains, strict=True)), {}))

    assert of(*[ABOVE] * 4) == "shows"
    for place in range(4):
        gains = [ABOVE] * 4
        gains[place] = ACROSS
        assert of(*gains) == "does not show"
        gains[place] = BELOW
        assert of(*gains) == "contradicts"
