"""Monte Carlo keeps its false-alarm rate over all looks, and sees the distance that it states."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import alarms as bench
import numpy as np
import pytest

from specsim.base import clock
from specsim.base.deviation import law_deviation
from specsim.conform import Subject
from specsim.conform.cases import make
from specsim.conform.evidence import montecarlo
from specsim.conform.evidence.bound import judge_counts
from specsim.conform.observing import observe_batches
from specsim.conform.properties import marginal
from specsim.conform.properties._laws import Look
from specsim.conform.toys import toy
from specsim.conform.trial import begin
from specsim.types import Array

LAW = np.array([0.5, 0.3, 0.15, 0.05])
BENCH = Path(__file__).parents[1] / "bench"


def convicted(truth: np.ndarray, delta: float, most: int, rng: np.random.Generator) -> bool:
    """Whether a sampler of `truth` is convicted of not having LAW, at any look."""

    def beyond(seen: montecarlo.Counts) -> bool:
        frequencies = np.array([seen.counts.get(k, 0) for k in range(len(LAW))]) / seen.runs
        limit = montecarlo.allowed(LAW, seen.runs, montecarlo.share(delta, seen.looks))
        return bool(abs(frequencies - LAW).sum() / 2 > limit)

    return beyond(montecarlo.sample(lambda n: rng.choice(len(LAW), size=n, p=truth).tolist(), beyond, most=most))


def test_looks_share_the_rate() -> None:
    assert sum(montecarlo.share(1.0, look) for look in range(1, 1000)) < 1


@pytest.mark.parametrize("subjects", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_false_alarms(subjects: int) -> None:
    """At a rate of 5 %, so that a rate that is wrong shows: of 1,000 lossless subjects at most 75 are convicted."""
    rng = np.random.default_rng(1)
    alarms = sum(convicted(LAW, 0.05, 8000, rng) for _ in range(subjects))
    assert alarms <= max(1, 0.075 * subjects)


@pytest.mark.parametrize("subjects", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_the_stated_distance_is_seen(subjects: int) -> None:
    """At the distance that 8,000 runs state, 1 subject in 100 may be missed."""
    distance = montecarlo.detectable(LAW, 8000, montecarlo.share(1e-6, 4))
    truth = LAW + np.array([-distance, distance, 0, 0])
    rng = np.random.default_rng(2)
    assert sum(not convicted(truth, 1e-6, 8000, rng) for _ in range(subjects)) <= 0.03 * subjects


def in_batches(p: Array, q: Array, drafts: Array, random: Any, shift: float = 0.0) -> Array:
    """Rejection of one draft, row by row; then the likeliest token gives so much of its mass to its neighbour.

    Of equals the first would give: another one in the rows whose tokens are called otherwise, which is a smaller error.
    """
    rows, x = np.arange(len(p)), drafts[:, 0]
    rest = (p - q).clip(0) + 1e-300
    ends = (rest / rest.sum(axis=1, keepdims=True)).cumsum(axis=1)
    other = (ends[:, :-1] < random.random((len(p), 1))).sum(axis=1)
    y = np.where(random.random(len(p)) * q[rows, x] < p[rows, x], x, other)
    best = p.argmax(axis=1)
    moved = (y == best) & (random.random(len(p)) * p[rows, best] < shift)
    return np.where(moved, (best + 1) % p.shape[1], y)


def judged(seed: int, shift: float = 0.0, delta: float = 0.05) -> Look:
    """What 2,000 runs of the harness itself say of a subject at a distance of `shift` from its target."""
    subject = Subject("rows", "step", print, sizes=(1,), batch=partial(in_batches, shift=shift))
    trial = begin(subject, deadline=clock.now() + 1000, patience=10, delta=delta, seed=seed)
    target, draft = toy(3, seed, positive=True, untied=True), toy(3, seed + 10_000, positive=True)
    return marginal.look(observe_batches(trial, make(subject, target, draft, 1, "")))


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two looks and no more."""
    monkeypatch.setattr(montecarlo, "needed", lambda *_: 2000)


def mean_alone(law: Any, runs: int, delta: float) -> float:
    """What frequencies are off by in the mean, with nothing for chance."""
    return law_deviation(np.asarray(law), runs, 1.0)


def allowed_alone(law: Any, runs: int, delta: float, miss: float = 0.01) -> float:
    """A distance that is stated as seen, and is seen every other time."""
    return montecarlo.allowed(law, runs, delta)


def alarms(subjects: int) -> int:
    found = [judged(seed) for seed in range(subjects)]
    return sum(one.distance > one.allowed for one in found)


def misses(subjects: int) -> int:
    found = [judged(seed, judged(seed).detectable) for seed in range(subjects)]
    return sum(one.distance <= one.allowed for one in found)


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("subjects", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_harness_keeps_its_rate(subjects: int) -> None:
    """Lossless subjects, each with laws of its own, judged as `judge` does: at most 5 % are convicted."""
    assert alarms(subjects) <= max(1, 0.05 * subjects)


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("subjects", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_the_harness_sees_the_distance_that_it_states(subjects: int) -> None:
    """Wrong subjects at the smallest distance that the report of a right one states; 1 in 100 may be missed."""
    assert misses(subjects) <= 0.03 * subjects


@pytest.mark.usefixtures("_few")
def test_wrong_limits_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits without room for chance: the counts above go beyond what is allowed there."""
    with monkeypatch.context() as mutant:
        mutant.setattr(montecarlo, "detectable", allowed_alone)
        assert misses(20) > 1
    monkeypatch.setattr(montecarlo, "allowed", mean_alone)
    assert alarms(20) > 1


def log(rule: str, blocks: int, rng: np.random.Generator) -> list[str]:
    """Blocks of three drafts; tokenwise rejection, or a rule that keeps most of what it should reject."""
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.3, 0.4])
    lines = []
    for _ in range(blocks):
        x = rng.choice(3, size=3, p=q)
        keep = (rng.random(3) < p[x] / q[x]) | ((rng.random(3) < 0.6) & (rule == "hopeful"))
        kept = int(np.cumprod(keep).sum())
        lines.append(json.dumps({"p": p[x].tolist(), "q": q[x].tolist(), "kept": kept}))
    return lines


def test_a_log_of_counts() -> None:
    rng = np.random.default_rng(3)
    assert judge_counts(log("hopeful", 4_000, rng), "log").outcome == "convicted"
    assert judge_counts(log("tokenwise", 4_000, rng), "log").outcome == "inconclusive"


def test_a_block_rules_log_is_no_conviction() -> None:
    """A ratio above 1 makes up for one below before it: 1.5 drafts are kept, where tokenwise rejection keeps 1."""
    lines = [f'{{"p": [0.2, 0.4], "q": [0.4, 0.2], "kept": {kept}}}' for kept in (2, 2, 2, 0) * 100]
    found = judge_counts(lines, "log")
    assert (found.outcome, found.reach) == ("inconclusive", "400 blocks, 1.5 drafts kept where 1.5 are the most")


@pytest.mark.parametrize(("rate", "outcome"), [(1 / 120, "convicted"), (1 / 140, "inconclusive")])
def test_bets_share_one_wealth(rate: float, outcome: str) -> None:
    """Ten drafts kept that the target excludes: the mean of (1 + stake)^10, 126, and not the sum."""
    lines = ['{"p": [0.0], "q": [0.5], "kept": 1}'] * 10
    assert judge_counts(lines, "log", false_alarm=rate).outcome == outcome


def test_what_was_shown_once_stays_shown() -> None:
    """The wealth of the bets counts at any block; later ones may lose it again, if the whole stays above the bound."""
    kept, none = (f'{{"p": [0.2], "q": [0.4], "kept": {n}}}' for n in (1, 0))
    found = judge_counts([kept] * 100 + [none] * 90, "log")
    assert (found.outcome, found.reach) == ("convicted", "190 blocks, 0.5263 drafts kept where 0.5 are the most")
    assert found.words.startswith("after block 42, 1 drafts kept where 0.5 are the most")
    assert found.counterexample is not None
    assert found.counterexample.observed == {"kept drafts": 1.0}


@pytest.mark.parametrize(
    "odd",
    [
        '{"p": [1.0, 0.0], "q": [1e-320, 0.5], "kept": 1}',
        '{"p": [1.0, 1.0, 0.0], "q": [1e-200, 1e-200, 0.5], "kept": 2}',
        '{"p": [0.0, 1.0], "q": [0.5, 1e-320], "kept": 0}',
    ],
)
def test_a_line_of_tiny_probabilities_does_not_switch_a_conviction_off(odd: str) -> None:
    """Infinity times 0 was no number, and the wealth none from there on."""
    lines = ['{"p": [0.2], "q": [0.4], "kept": 1}'] * 100
    assert judge_counts([odd, *lines], "log").outcome == "convicted"


@pytest.mark.parametrize(
    ("p", "q", "most"),
    [
        ([1e-200, 1e-200, 0.5], [1, 1, 1e-320], "5e-81"),  # ratios 1e-200 twice, then 5e319
        ([1, 1, 1e-320], [1e-200, 1e-200, 0.5], "3"),
    ],
)
def test_products_of_ratios_do_not_overflow(p: list[float], q: list[float], most: str) -> None:
    found = judge_counts([json.dumps({"p": p, "q": q, "kept": 0})], "log")
    assert found.reach == f"1 blocks, 0 drafts kept where {most} are the most"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{}", "line 1 is not"),
        ("[" * 100_000, "line 1 is not .* is nested too deep"),
        ('{"p": [0.5], "p": [1], "q": [0.5], "kept": 1}', "line 1 is not .* has the key 'p' twice"),
        ("[1, 2]", "line 1 is not"),
        ('{"p": {"a": 1}, "q": [0.5], "kept": 1}', "line 1 is not"),
        (f'{{"p": [{"9" * 400}], "q": [0.5], "kept": 1}}', "line 1 is not"),
        ('{"p": [NaN], "q": [0.5], "kept": 1}', "probability outside"),
        ('{"p": [0.5], "q": [0.5], "kept": 2}', "line 1 has p"),
        ('{"p": [0.5], "q": [0], "kept": 1}', "q = 0"),
        ('{"p": [0.5], "q": [0.5], "kept": 0.7}', "line 1 has kept 0.7"),
        ('{"p": [0.5], "q": [0.5], "kept": true}', "line 1 has kept True"),
        ('{"p": [0.5], "q": [0.5], "kept": Infinity}', "line 1 has kept inf"),
        ("", "has no blocks"),
    ],
)
def test_a_log_that_is_none(line: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        judge_counts([line], "log")


KEPT, BAD = '{"p": [0.2], "q": [0.4], "kept": 1}', '{"p": [NaN], "q": [0.4], "kept": 1}'


@pytest.mark.parametrize("place", [0, 50, 100])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (BAD, "has a probability outside"),
        ('{"p": [0.2], "q": [0.4], "kept": NaN}', "has kept nan"),
        ('{"p": [0.2], "q": [0.4]', "is no JSON"),
        ("[" * 100_000, "nested too deep"),
        ('{"p": [0.2, 0.3], "q": [0.4], "kept": 1}', r"has p of shape (2,), q of shape (1,)"),
    ],
)
def test_a_bad_line_does_not_switch_a_conviction_off(line: str, words: str, place: int) -> None:
    lines = [KEPT] * 100
    found = judge_counts([*lines[:place], line, *lines[place:]], "log")
    assert (found.outcome, found.runs) == ("convicted", 100)
    assert f"1 line was left out: line {place + 1} " in found.words
    assert words in found.words


def test_bad_lines_convict_nobody() -> None:
    """A log that spoils the lines in which nothing is kept is no evidence, and a NaN beside it is bad input."""
    spoilt = '{"p": [0.2], "q": [0.4], "kept": null}'
    for lines in ([KEPT, spoilt] * 200, [KEPT.replace("1}", "0}")] * 100 + [BAD], [BAD] * 100):
        with pytest.raises(ValueError, match=r"^line "):
            judge_counts(lines, "log")
    assert "2 lines were left out, the first: line 1 " in judge_counts([BAD, BAD, *[KEPT] * 100], "log").words


@pytest.mark.parametrize("rate", [0.0, 1.0, -1.0, float("nan")])
def test_a_rate_that_is_none(rate: float) -> None:
    with pytest.raises(ValueError, match="false_alarm is"):
        judge_counts(['{"p": [0.5], "q": [0.5], "kept": 0}'], "log", false_alarm=rate)


RECORD = json.loads((BENCH / "alarms.json").read_text(encoding="utf-8"))


def test_the_record_of_false_alarms() -> None:
    """`python tests/bench/alarms.py`: 1,000 lossless subjects through the harness, of which none may stay undecided."""
    outcomes = RECORD["outcomes"]
    assert sum(outcomes.values()) == RECORD["subjects"] == bench.SUBJECTS == 1000
    assert outcomes.get("convicted", 0) <= RECORD["false-alarm rate"] * RECORD["subjects"]
    assert outcomes.keys() <= {"lossless", "convicted"}
    assert RECORD["properties"] == list(bench.PROPERTIES)


def test_the_record_can_be_made_again() -> None:
    """Its first line, to the number of runs; a subject that is off by as little as the report states is convicted."""
    assert bench.line(bench.judged(0)) == RECORD["first"][0]
    assert bench.judged(0, shift=0.2).outcome == "convicted"


@pytest.mark.parametrize("runs", [100, 1000, 5000])
def test_a_mean_exceeds_what_is_allowed_as_rarely_as_is_said(runs: int) -> None:
    """Exactly, of a fair coin, whose mean is as far off as any: the tail of its counts."""
    delta = 1e-6
    allowed = montecarlo.mean_allowed(1, runs, delta)
    first = math.floor(runs * (0.5 + allowed)) + 1
    tail = math.fsum(math.comb(runs, k) / 2**runs for k in range(first, runs + 1))
    assert delta / 1e3 < tail < delta
