"""Randomness that no script sees: nobody is convicted, or acquitted exactly, by one draw of it."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from specsim.base import clock
from specsim.conform import Subject, doubts, judge, judgement
from specsim.conform.budget import Budget
from specsim.conform.evidence import montecarlo
from specsim.conform.observation import Observation
from specsim.conform.observing import REPLAYS, observe
from specsim.conform.properties import _laws
from specsim.conform.properties.joint import look
from specsim.conform.standard_cases import standard
from specsim.conform.trial import Trial, begin
from specsim.forking.programs import own_generators, scripted
from specsim.types import Array

RNG = np.random.default_rng(5)  # made at import, as a module's own


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few runs are enough for frequencies; nothing is shrunk, or compared with the museum."""
    monkeypatch.setattr(montecarlo, "WANTED", 0.3)
    monkeypatch.setattr(montecarlo, "UNDECIDED", 0.3)
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)


def rest(p: Array, q: Array) -> Array:
    law = (p - q).clip(0)
    return law / law.sum() if law.any() else p


def own(law: Array) -> int:
    return int(RNG.choice(len(law), p=law))


def of_the_clock(law: Array) -> int:
    digest = hashlib.blake2b(str(time.perf_counter_ns()).encode()).digest()
    u = int.from_bytes(digest[:7], "big") / 2**56
    return min(int(np.searchsorted(law.cumsum(), u, side="right")), int(np.flatnonzero(law)[-1]))


def step(coin: Callable[[Any], float], spare: Callable[[Array], int], near: bool = False) -> Any:
    """Rejection of one draft; `near`: with a generator of its own only where the target is nearly certain."""

    def run(p: Array, q: Array, drafts: Array, *random: Any) -> int:
        x = int(drafts[0])
        mine = not near or p.max() > 0.99
        if (RNG.random() if near and mine else coin(random)) * q[x] < p[x]:
            return x
        return spare(rest(p, q)) if mine else int(random[0].choice(len(p), p=rest(p, q)))

    return run


def chain(spare: Callable[[Array], int]) -> Any:
    def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
        for i, x in enumerate(drafts):
            if not random.random() * q[i, x] < p[i, x]:
                return i, spare(rest(p[i], q[i]))
        return len(drafts), spare(p[-1])

    return run


def made(kind: Any, run: Any, **facts: Any) -> Subject:
    return Subject("mine", kind, run, **({"sizes": (1,)} | facts))


HIDDEN = {
    "residual by a generator made at import": made("step", step(lambda r: r[0].random(), own)),
    "the same in a chain": made("chain", chain(own)),
    "the same, declared global": made("step", step(lambda r: np.random.rand(), own), randomness="global"),  # noqa: NPY002
    "residual from a hash of the clock": made("step", step(lambda r: r[0].random(), of_the_clock)),
    "coins for the test, own generator for the residual": made(
        "step", step(lambda r: r[0][0], own), randomness="coins"
    ),
    "own generator only where max p > 0.99": made("step", step(lambda r: r[0].random(), own, near=True)),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_lossless_verifier_with_randomness_of_its_own_is_not_convicted(name: str) -> None:
    """Each was, by evidence that was called exact, in a third to all of the judgements."""
    asked = ["marginal", "degenerate"] if "0.99" in name else ["marginal"]
    report = judge(HIDDEN[name], budget=60, properties=asked)
    for verdict in report.verdicts:
        assert (verdict.outcome, verdict.evidence) == ("lossless", "Monte Carlo"), verdict
    assert "not reproducible" in report.verdicts[-1].words


@pytest.mark.parametrize("spare", [own, of_the_clock])
def test_a_lossy_one_is_convicted_by_frequencies(
    spare: Callable[[Array], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(montecarlo, "WANTED", 0.1)

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        x = int(drafts[0])
        return x if random.random() * q[x] < p[x] else spare(p)

    (found,) = judge(made("step", run), budget=60, properties=["marginal"]).verdicts
    assert (found.outcome, found.evidence) == ("convicted", "Monte Carlo")


def test_generators_that_a_function_reaches() -> None:
    old, inner, held = np.random.RandomState(0), np.random.default_rng(0), np.random.default_rng(1)

    class Holder:
        def __init__(self) -> None:
            self.deep = {"random": [held]}

        def run(self) -> float:
            return float(inner.random()) + RNG.random()

    def run(p: Any, noise: Any = old) -> Any:
        return Holder().run()

    assert {id(one) for one in own_generators.generators(run)} >= {id(old), id(inner), id(RNG)}
    assert id(held) in {id(one) for one in own_generators.generators(Holder().run)}
    for one in (old, inner):
        before = own_generators.marks([one])
        assert own_generators.marks([one]) == before
        one.random()
        assert own_generators.marks([one]) != before


def test_a_generator_of_its_own_is_seen_though_two_runs_agree() -> None:
    with pytest.raises(scripted.NotReproducible, match="a generator of its own"):
        scripted.law(lambda random: RNG.random() < 2, generators=[RNG])


def test_convicting_paths_are_run_again_as_often_as_their_distance_asks_for() -> None:
    """A hidden coin that is lossless in the mean, and was recorded at one of its sides, agrees once in a million."""
    asked = math.ceil(-math.log(1e-6) / 0.1)
    rng, path = np.random.default_rng(0), scripted.Path((), True, 1.0)
    passed = 0
    for _ in range(300):
        try:
            passed += scripted.replay(lambda random: rng.random() >= 0.1, [path] * asked) == asked
        except scripted.NotReproducible:
            continue
    assert passed == 0


def begun(subject: Subject, seed: int = 0) -> Trial:
    return begin(subject, deadline=clock.now() + 60, patience=60, delta=1e-6, seed=seed)


def test_a_doubt_asks_for_runs_of_the_outcome_that_comes_too_often() -> None:
    """Of a token that is emitted for certain, and has probability a half: one run in two would end otherwise."""
    calls: list[int] = []

    def run(p: Array, q: None, drafts: Array, random: Any) -> int:
        calls.append(1)
        return int(drafts[0])

    trial = begun(made("step", run, takes_q=False))
    seen = observe(trial, next(standard(trial.subject)))
    found = look(seen)
    share = 1 - seen.goal(1)[max(seen.law).text] if len(seen.law) == 1 else found.distance
    calls.clear()
    assert doubts.doubt(trial, seen, found.distance, partial(observe, trial)) == ""
    assert len(calls) == math.ceil(-math.log(doubts.PART * 1e-6) / share) + 2 * len(seen.law)
    assert not trial.findings.is_hidden


def test_a_doubt_follows_the_paths_that_convict(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no others: all of them lead to a text that comes too often."""
    ended: list[Any] = []
    replay = scripted.replay

    def noted(program: Any, paths: Any, *, deadline: float) -> int:
        ended.extend(path.result.text[0] for path in paths)
        return replay(program, paths, deadline=deadline)

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        x = int(drafts[0])
        return x if random.random() * q[x] < p[x] else int(random.choice(len(p), p=p))

    monkeypatch.setattr(scripted, "replay", noted)
    trial = begun(made("step", run))
    seen = observe(trial, next(standard(trial.subject)))
    assert doubts.doubt(trial, seen, look(seen).distance, partial(observe, trial)) == ""
    (token,) = set(ended)
    assert seen.joint(1)[(token,)] > seen.goal(1)[(token,)]


def test_a_law_that_is_another_one_when_found_anew_convicts_nobody() -> None:
    """The paths that lead to the outcome of the first law are not those of the second."""
    flips = [False]

    def run(p: Array, q: None, drafts: Array, random: Any) -> int:
        return int(drafts[0]) if not flips[0] else (int(drafts[0]) + 1) % len(p)

    trial = begun(made("step", run, takes_q=False))
    seen = observe(trial, next(standard(trial.subject)))
    flips[0] = True
    assert doubts.doubt(trial, seen, look(seen).distance, partial(observe, trial)) == doubts.AGAIN
    assert trial.findings.is_hidden


def test_a_trial_runs_its_first_path_again() -> None:
    """What changes at the tenth call is seen, though there is one path alone."""
    calls: list[int] = []

    def run(p: Array, q: None, drafts: Array, random: Any) -> int:
        calls.append(1)
        return int(drafts[0]) if len(calls) != REPLAYS else (int(drafts[0]) + 1) % len(p)

    trial = begun(made("step", run, takes_q=False))
    observe(trial, next(standard(trial.subject)))
    assert trial.findings.is_hidden
    assert trial.findings.kinds == ["Monte Carlo"]


def test_no_time_for_enough_runs_is_no_conviction() -> None:
    trial = begun(made("step", step(lambda r: r[0].random(), lambda law: int(law.argmax()))))
    seen = observe(trial, next(standard(trial.subject)))
    trial = trial._replace(budget=Budget(clock.now() + 0.2, patience=60))
    seen = seen._replace(rounding=1.0)  # no text comes too often
    assert "before it convicts" in doubts.doubt(trial, seen, 1e-7, partial(observe, trial))


@pytest.mark.parametrize("error", [scripted.NotReproducible, scripted.NotScriptable])
def test_what_a_later_run_does_otherwise_is_observed_again(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def differs(*_: Any) -> str:
        raise error("of a later run")

    monkeypatch.setattr(doubts, "_doubt", differs)
    trial = begun(made("step", step(lambda r: r[0].random(), lambda law: int(law.argmax()))))
    seen = Observation(next(iter(standard(trial.subject))), {}, "scripted", 1)
    assert doubts.doubt(trial, seen, 0.5, partial(observe, trial)) == doubts.AGAIN
    assert trial.findings.is_hidden


@pytest.mark.parametrize("equal", [True, False])
def test_answers_that_are_kept_over_calls(equal: bool) -> None:
    """Many are drawn at once, by what no script follows: a script sees none of it until the last is handed out."""
    kept: dict[bytes, list[int]] = {}

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        held = kept.setdefault(p.tobytes(), [])
        if not held:
            law = np.cumsum(p / p.sum())
            held += np.searchsorted(law, random.integers(2**31, size=1 if equal else 64) / 2**31, side="right").tolist()
            held *= 64 if equal else 1
        return held.pop()

    (found,) = judge(Subject("kept", "step", run, sizes=(1,)), properties=["marginal"]).verdicts
    assert (found.outcome, found.evidence) == ("convicted" if equal else "lossless", "Monte Carlo"), found.words
