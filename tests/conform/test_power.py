"""Monte Carlo keeps its false-alarm rate over all looks, and sees the distance that it states."""

from __future__ import annotations

import json

import numpy as np
import pytest

from specsim.conform.evidence import montecarlo
from specsim.conform.evidence.bound import judge_counts

LAW = np.array([0.5, 0.3, 0.15, 0.05])


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
    distance = montecarlo.found(LAW, 8000, montecarlo.share(1e-6, 4))
    truth = LAW + np.array([-distance, distance, 0, 0])
    rng = np.random.default_rng(2)
    assert sum(not convicted(truth, 1e-6, 8000, rng) for _ in range(subjects)) <= 0.03 * subjects


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


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{}", "line 1 is not"),
        ('{"p": [0.5], "q": [0.5], "kept": 2}', "line 1 has p"),
        ('{"p": [0.5], "q": [0], "kept": 1}', "q = 0"),
        ("", "has no blocks"),
    ],
)
def test_a_log_that_is_none(line: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        judge_counts([line], "log")
