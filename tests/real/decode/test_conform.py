"""`Pair.generate` before our own judge: not convicted as it is, and convicted with an error planted in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import real.conform
from real.decode import loop
from specsim.conform import Report, Subject, judge, registry
from specsim.conform.evidence import montecarlo
from specsim.verify.chain import tokenwise

PLAIN, BLOCK = registry.subjects_of(registry.find(str(Path(real.conform.__file__))))


@pytest.fixture
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few thousand texts, which show a large error."""
    monkeypatch.setattr(montecarlo, "WANTED", 0.25)
    monkeypatch.setattr(montecarlo, "UNDECIDED", 0.3)


def judged(subject: Subject, *properties: str) -> Report:
    return judge(subject._replace(sizes=(1,)), budget=600, properties=properties)


@pytest.mark.usefixtures("_coarse")
@pytest.mark.parametrize("subject", [PLAIN, BLOCK], ids=lambda one: one.name.split()[-1])
def test_our_decode_loop_is_not_convicted(subject: Subject) -> None:
    report = judged(subject, "joint", "truncation")
    assert [v.outcome for v in report.verdicts] == ["lossless", "lossless"]
    assert {v.evidence for v in report.verdicts} == {"Monte Carlo"}


def from_the_target(p: Any, q: Any) -> Any:
    return p


@pytest.mark.usefixtures("_coarse")
def test_a_correction_from_the_target_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenwise, "left_over", from_the_target)
    assert judged(PLAIN, "joint").outcome == "convicted"


@pytest.mark.usefixtures("_coarse")
def test_an_end_that_is_passed_over_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """An end token that was drafted and kept, with more tokens behind it."""
    monkeypatch.setattr(loop, "at_tokens", lambda ids: lambda text, safe: None)
    monkeypatch.setattr("real.decode.stops.at_tokens", loop.at_tokens)
    assert judged(PLAIN, "truncation").outcome == "convicted"


@pytest.mark.usefixtures("_coarse")
def test_a_key_that_a_batch_shares_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text alone has its law; all of them alike have none."""
    monkeypatch.setattr("real.pair.keyed", lambda seed, key: loop.keyed(seed, 0))
    assert judged(PLAIN, "joint").outcome == "convicted"


@pytest.mark.slow
@pytest.mark.parametrize("subject", [PLAIN, BLOCK], ids=lambda one: one.name.split()[-1])
def test_our_decode_loop_is_lossless_in_everything(subject: Subject) -> None:
    """Within the default budget, nothing undecided."""
    report = judge(subject)
    assert {v.outcome for v in report.verdicts} == {"lossless"}
    assert {"joint", "greedy", "parameters", "degenerate", "rounds", "truncation"} <= {
        v.property for v in report.verdicts
    }
