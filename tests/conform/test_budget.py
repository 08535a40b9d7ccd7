"""Frequencies end where they are precise enough, so that the last property has its turn as the first has."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from specsim.base import clock as charged
from specsim.conform import Report, Subject, fitting, judge
from specsim.conform.cases import logits
from specsim.conform.draws import TESTS
from specsim.conform.evidence import montecarlo
from specsim.conform.judgement import PROPERTIES
from specsim.conform.properties import _laws, vacuity
from specsim.conform.registry import names
from specsim.conform.subject import UNCHANGED, SamplingParams
from specsim.conform.trial import Trial
from specsim.laws.warp import warp
from specsim.types import Array

PRECISION = 0.09  # in the quick tests
QUICK = ("vacuity", "marginal", "joint", "bound", "batches", "degenerate", "greedy", "parameters")
Warps = Callable[[Array, SamplingParams, bool], Array]  # (rows, params, whether they are the target's)


def warped(rows: Array, params: SamplingParams, target: bool) -> Array:
    return rows if params == UNCHANGED else np.asarray(warp(logits(rows), **params._asdict()))


def greedy_is_drawn(rows: Array, params: SamplingParams, target: bool) -> Array:
    """Temperature 0 is taken for none."""
    return warped(rows, params._replace(temperature=params.temperature or 1.0), target)


def top_p_of_drafts_only(rows: Array, params: SamplingParams, target: bool) -> Array:
    return warped(rows, params._replace(top_p=1.0) if target else params, target)


def drawn(law: Array, u: Array) -> Array:
    return np.asarray((law[:, :-1].cumsum(axis=1) / law.sum(axis=1, keepdims=True) <= u[:, None]).sum(axis=1))


def rows_of(warps: Warps) -> Callable[..., tuple[Array, Array]]:
    """Tokenwise rejection of one draft in every row; what the coins are cannot be followed."""

    def batch(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams = UNCHANGED) -> Any:
        own = np.random.default_rng(int(float(random.random()) * 2**53))
        p, q = warps(p, sampling_params, True), warps(q, sampling_params, False)[:, 0]
        n, x = np.arange(len(p)), drafts[:, 0]
        kept = own.random(len(p)) * q[n, x] < p[n, 0, x]
        law = np.where(kept[:, None], p[:, 1], (p[:, 0] - q).clip(0))
        return kept.astype(int), drawn(law + 1e-300, own.random(len(p)))

    return batch


def subject(warps: Warps = warped) -> Subject:
    batch = rows_of(warps)

    def run(p: Array, q: Array, drafts: Array, random: Any, **told: Any) -> tuple[int, int]:
        kept, token = batch(p[None], q[None], drafts[None], random, **told)
        return int(kept[0]), int(token[0])

    return Subject("rows", "chain", run, sizes=(1,), warps=True, batch=batch)


def outcomes(report: Report) -> dict[str, str]:
    return {verdict.property: verdict.outcome for verdict in report.verdicts}


@pytest.fixture
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(montecarlo, "WANTED", PRECISION)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Time goes on where it is added to, and nowhere else."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(charged, "seconds_waited", lambda thread: 0.0)
    return now


@pytest.mark.usefixtures("_coarse")
def test_a_lossless_subject_leaves_nothing_undecided() -> None:
    report = judge(subject(), properties=QUICK)
    assert outcomes(report) == dict.fromkeys(QUICK, "lossless")
    assert {verdict.evidence for verdict in report.verdicts} == {"Monte Carlo"}


@pytest.mark.usefixtures("_coarse")
@pytest.mark.parametrize(("warps", "name"), [(greedy_is_drawn, "greedy"), (top_p_of_drafts_only, "parameters")])
def test_a_loss_in_one_of_the_last_properties_is_convicted(warps: Warps, name: str) -> None:
    found = outcomes(judge(subject(warps), properties=QUICK))
    assert found == dict.fromkeys(QUICK, "lossless") | {name: "convicted"}


@pytest.mark.slow
def test_the_default_precision_is_had_within_the_default_budget() -> None:
    began = charged.now()
    report = judge(subject())
    assert outcomes(report) == dict.fromkeys((*QUICK, "rounds", "larger"), "lossless")
    assert charged.now() - began < 72
    assert judge(subject(greedy_is_drawn)).outcome == "convicted"


def costly(clock: list[float], seconds: float) -> Subject:
    """Every row takes so long."""
    one = subject()

    def batch(p: Array, *told: Any, **named: Any) -> Any:
        clock[0] += seconds * len(p)
        assert one.batch is not None
        return one.batch(p, *told, **named)

    return one._replace(batch=batch)


def undecided(clock: list[float], seconds: float) -> list[str]:
    """Names of properties that a budget of 60 s leaves open; it is kept."""
    began = clock[0]
    report = judge(costly(clock, seconds), properties=QUICK)
    assert clock[0] - began < 72
    return [name for name, said in outcomes(report).items() if said == "inconclusive"]


def test_what_is_precise_enough_leaves_the_time_to_others(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """A run takes so long that not every observation can be as precise as is wanted; every one decides."""
    monkeypatch.setattr(montecarlo, "WANTED", 0.1)
    monkeypatch.setattr(montecarlo, "UNDECIDED", 0.2)
    assert undecided(clock, 5e-4) == []
    with monkeypatch.context() as mutant:  # nobody counts those to come
        for module in (_laws, vacuity):
            mutant.setattr(module, "through", lambda trial, cases: iter(cases))
        assert undecided(clock, 5e-4)


def test_the_budget_is_kept_where_it_is_too_small(clock: list[float]) -> None:
    assert "parameters" in undecided(clock, 5e-3)


def test_what_cannot_end_is_not_begun(clock: list[float]) -> None:
    """A thousand runs that would take 50 s, where there are 20 s for each of three cases."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        clock[0] += 0.05
        return int(np.random.default_rng(int(float(random.random()) * 2**53)).choice(len(p), p=p))

    first, second = judge(Subject("slow", "step", run, sizes=(1,)), properties=["marginal", "degenerate"]).verdicts
    assert (first.outcome, second.outcome) == ("inconclusive", "inconclusive")
    assert "no time for 1000 runs" in second.words
    assert (20 < first.runs < 40, second.runs) == (True, 2), "how slow it is was known, also in the second look"


@pytest.mark.parametrize("law", [np.array([1.0]), np.array([0.5, 0.5]), np.full(81, 1 / 81)])
@pytest.mark.parametrize("delta", [1e-6, 1e-12])
def test_as_many_runs_as_are_needed(law: Array, delta: float) -> None:
    def precision(runs: int, rate: float) -> float:
        return montecarlo.detectable(law, runs, rate)

    runs = montecarlo.needed(precision, delta, 0.05)
    look = 1 + sum(runs > montecarlo.FIRST * 2**k for k in range(30))
    assert precision(runs, montecarlo.share(delta, look)) <= 0.05
    assert precision(runs - 1, montecarlo.share(delta, look)) > 0.05
    assert montecarlo.needed(precision, delta, 1.0) == montecarlo.FIRST


@pytest.mark.parametrize("most", [700, 1000, 3000, 8000])
def test_looks_are_where_they_are_said_to_be(most: int) -> None:
    seen: list[int] = []

    def enough(counts: montecarlo.Counts) -> bool:
        seen.append(counts.runs)
        return False

    found = montecarlo.sample(lambda n: ["a"] * n, enough, most=most)
    assert found == ({"a": most}, most, len(seen) + 1)
    assert seen == [n for n in (1000, 2000, 4000) if n < most]


def test_all_tests_of_a_report_share_its_rate() -> None:
    """Every look of every observation, each with all of its tests: in the whole at most what is stated."""
    rate = 1e-6
    looks = [montecarlo.share(1.0, look) for look in range(1, 60)]
    total = sum(TESTS * (montecarlo.share(rate, observation) / TESTS) * sum(looks) for observation in range(1, 20_000))
    assert 0.9 * rate < total < rate


def everything() -> Iterator[Subject]:
    """What declares all that can be declared."""
    declared: dict[str, Any] = {"warps": True, "stops": True, "masks": True, "logprobs": "raw", "stateful": True}
    for kind in ("step", "chain", "tree", "decoder", "drafter"):
        yield Subject(kind, kind, print, **declared, dtypes=("float32",), batch=print)


@pytest.mark.parametrize("name", names(PROPERTIES))
def test_a_property_says_what_it_looks_at(name: str) -> None:
    """Of subjects that declare everything; nothing of those that it does not concern."""
    module = __import__(f"{PROPERTIES}.{name}", fromlist=["_"])
    for one in everything():
        if one.kind in module.KINDS and name not in ("vacuity", "bound"):
            assert list(module.cases(one)), (name, one.kind)
    plain = Subject("decoder", "decoder", print)
    needs = {"batches", "greedy", "parameters", "structured", "logprobs", "numerics", "vacuity", "bound"}
    assert (list(module.cases(plain)) == []) is (name in needs)


def test_only_what_was_said_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a property is judged, its own cases are counted down to those of the properties that follow."""
    open_: list[tuple[int, int]] = []

    def through(trial: Trial, cases: Any) -> Any:
        for case in fitting.through(trial, cases):
            open_.append((trial.budget.open, len(trial.budget.ahead)))
            yield case

    monkeypatch.setattr(_laws, "through", through)

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        return int(random.choice(len(p), p=p))

    judge(Subject("plain", "step", run, sizes=(1,)), properties=["marginal", "degenerate"])
    # Those of which only exact laws count, the last ones, have no share.
    marginal = [(n, 15) for n in range(21, 13, -1)] + [(13, 15)] * 3
    assert open_ == marginal + [(n, 0) for n in range(13, 0, -1)] + [(1, 0)]
