"""The decode loop before our own judge: lossless as it is, convicted with an error planted in it, and both exactly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import real.conform
from real.decode import loop
from real.decode.chain_cycle import Eager
from specsim.conform import Report, Subject, judge, judgement, registry
from specsim.conform.properties import _laws
from specsim.verify.chain import tokenwise

PLAIN, BLOCK = registry.subjects_of(registry.find(str(Path(real.conform.__file__))))


@pytest.fixture(autouse=True)
def _verdicts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No smaller counterexample is looked for, and no exhibit that is like the subject."""
    torch.set_num_threads(1)
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)


def judged(subject: Subject, *properties: str) -> Report:
    return judge(subject._replace(sizes=(1,)), budget=600, properties=properties, false_alarm=0.01)


@pytest.mark.parametrize("subject", [PLAIN, BLOCK], ids=lambda one: one.name.split()[-1])
def test_our_decode_loop_is_lossless_exactly(subject: Subject) -> None:
    report = judged(subject, "joint", "rounds", "truncation")
    assert [(v.outcome, v.evidence) for v in report.verdicts] == [("lossless", "scripted")] * 3


def from_the_target(p: Any, q: Any) -> Any:
    return p


Numbers = Callable[[Eager, Any, int, int], Any]


def last_number_for_all(self: Eager, u: Any, length: int, drafted: int) -> Any:
    """The number of the bonus token decides the drafts, too."""
    return u[:, length : length + drafted + 1][:, [drafted] * (drafted + 1)]


def numbers_of_the_drafts(self: Eager, u: Any, length: int, drafted: int) -> Any:
    """The number that a draft was drawn with decides whether it is kept."""
    return u[:, [*range(drafted), length + drafted]]


def numbers_in_another_order(self: Eager, u: Any, length: int, drafted: int) -> Any:
    """The rule's numbers in another order: the same law."""
    return u[:, [*range(length + drafted, length - 1, -1)]]


@pytest.mark.parametrize(
    ("numbers", "outcome"),
    [(last_number_for_all, "convicted"), (numbers_of_the_drafts, "convicted"), (numbers_in_another_order, "lossless")],
)
def test_a_number_that_serves_twice_is_convicted(
    numbers: Numbers, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Eager, "_rule_uniforms", numbers)
    (verdict,) = judged(PLAIN, "joint").verdicts
    assert (verdict.outcome, verdict.evidence) == (outcome, "scripted")


def test_numbers_of_an_earlier_block_are_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block alone has its law; the loop asks for the numbers of the first one again."""
    numbers = loop.Loop._numbers

    def first(self: Any, i: int, length: int) -> Any:
        draw = self._uniforms[i]
        self._uniforms = [lambda position, count: draw(0, count)]
        try:
            return numbers(self, i, length)
        finally:
            self._uniforms = [draw]

    monkeypatch.setattr(loop.Loop, "_numbers", first)
    (verdict,) = judged(PLAIN, "joint").verdicts
    assert (verdict.outcome, verdict.evidence) == ("convicted", "scripted")


def test_a_correction_from_the_target_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenwise, "left_over", from_the_target)
    (verdict,) = judged(PLAIN, "joint").verdicts
    assert (verdict.outcome, verdict.evidence) == ("convicted", "scripted")


def test_drafts_that_stay_in_the_cache_are_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was rejected is not forgotten: later rows are those of another text."""
    monkeypatch.setattr(Eager, "rollback", lambda self, i, length: None)
    assert judged(PLAIN, "joint").outcome in ("convicted", "broken")


def test_an_end_that_is_passed_over_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """An end token that was drafted and kept, with more tokens behind it."""
    monkeypatch.setattr(loop, "at_tokens", lambda ids: lambda text, safe: None)
    (verdict,) = judged(PLAIN, "truncation").verdicts
    assert (verdict.outcome, verdict.evidence) == ("convicted", "scripted")


@pytest.mark.slow
@pytest.mark.parametrize("subject", [PLAIN, BLOCK], ids=lambda one: one.name.split()[-1])
def test_our_decode_loop_is_lossless_in_everything(subject: Subject) -> None:
    """Exactly, within the default budget; large cases by frequencies, where the machine is slow."""
    report = judge(subject)
    assert {v.outcome for v in report.verdicts} == {"lossless"}
    assert {v.evidence for v in report.verdicts if v.property != "larger"} == {"scripted"}
    assert {"joint", "greedy", "parameters", "degenerate", "rounds", "truncation"} <= {
        v.property for v in report.verdicts
    }
