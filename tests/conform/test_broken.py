"""What breaks inside a subject ends in a verdict with its words, never in the run."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from specsim.base import clock
from specsim.conform import Subject, caller, judge
from specsim.conform.standard_cases import standard
from specsim.conform.subject_call import Broken, inputs
from specsim.conform.timeout import OutOfTime, within
from specsim.conform.trial import begin
from specsim.types import Array


def raises(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    raise ZeroDivisionError("by nothing")


def leaves(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    raise SystemExit(3)


def hangs(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    while True:
        pass


def says_nan(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return float("nan"), 0


def says_rows(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return 0, p[0]


def says_foreign(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return 0, 7


def says_no_token(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return 0, -1


def says_none(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return None


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (raises, "raised ZeroDivisionError: by nothing"),
        (leaves, "raised SystemExit: 3"),
        (hangs, "did not come back within"),
        (says_nan, "returned nan as number of kept drafts"),
        (says_rows, "as token"),
        (says_foreign, "returned token 7, outside 0..2"),
        (says_no_token, "returned token -1, outside 0..2"),
        (says_none, "returned None, not a pair (kept, next token)"),
    ],
)
def test_what_breaks_ends_in_a_verdict(run: Any, words: str) -> None:
    report = judge(Subject("broken", "chain", run), budget=0.5, patience=0.3)
    assert (report.outcome, report.status) == ("broken", 2)
    assert words in report.verdicts[-1].words


def test_a_call_that_was_not_given_its_patience_is_not_broken() -> None:
    """The budget ended first: nothing is known of the subject, and the words say how much it was given."""
    report = judge(Subject("slow", "chain", hangs), budget=0.2, properties=["marginal"])
    assert report.outcome == "inconclusive"
    assert "after 10 it is called broken" in report.verdicts[0].words


def test_waiting_is_not_working() -> None:
    """A call that waits uses none of the processor: it may be the machine that it waits for."""

    def waits(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        time.sleep(60)

    report = judge(Subject("waits", "chain", waits), budget=0.2, patience=0.1, properties=["marginal"])
    assert report.outcome == "inconclusive"
    assert "did not come back in the" in report.verdicts[0].words


@pytest.mark.parametrize(("patience", "seconds", "error"), [(60, 0.05, OutOfTime), (0.02, 60, Broken)])
def test_a_call_is_broken_only_after_its_patience(patience: float, seconds: float, error: type[Exception]) -> None:
    with pytest.raises(error), within(patience, seconds):
        hangs(*[np.zeros(1)] * 4)


def test_only_a_first_call_may_use_all_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    def limited(patience: float, seconds: float, *, early: bool) -> Any:
        limits.append(early)
        return nullcontext()

    monkeypatch.setattr(caller, "within", limited)
    subject = Subject("first", "step", lambda *_: 0, sizes=(1,))
    trial = begin(subject, deadline=clock.now() + 60, patience=60, delta=1e-6, seed=0)
    case = next(iter(standard(subject)))
    for _ in range(2):
        trial.caller.once(case, inputs(subject, case)[0], np.random.default_rng(0))
    assert limits == [False, True]


def test_a_first_call_may_use_the_whole_budget() -> None:
    """It imports, it compiles; those after it may not."""
    calls = []

    def first_is_slow(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        calls.append(1)
        until = time.process_time() + (0.3 if len(calls) == 1 else 0)
        while time.process_time() < until or len(calls) == last:
            pass
        return int(random.choice(len(p), p=p))

    subject, last = Subject("slow at first", "step", first_is_slow, sizes=(1,)), 0
    assert judge(subject, budget=20, patience=0.1, properties=["marginal"]).outcome == "lossless"
    last = len(calls) + 3
    report = judge(subject, budget=20, patience=0.1, properties=["marginal"])
    assert report.outcome == "broken"


@pytest.mark.parametrize("wrong", [1, 2])
def test_one_call_that_raises_is_no_size_that_is_not_taken(wrong: int) -> None:
    """A subject that raises in one of its first calls, whatever their size, is broken."""
    calls = []

    def once(p: Array, q: Array, drafts: Array, random: Any) -> int:
        calls.append(1)
        if len(calls) == wrong:
            raise RuntimeError("this call alone")
        return int(random.choice(len(p), p=p))

    assert judge(Subject("once", "step", once, sizes=(1,)), budget=10).outcome == "broken"


def test_minus_1_is_no_token_of_a_step() -> None:
    """It was "not enough values to unpack"; after a block that was kept whole it means that there is no bonus."""
    (found,) = judge(Subject("minus", "step", lambda *_: -1), properties=["marginal"]).verdicts
    assert (found.outcome, found.words) == ("broken", "returned token -1, outside 0..2 (V=3, 1 draft)")

    def right(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        x = int(drafts[0])
        if random.random() * q[0, x] < p[0, x]:
            return 1, -1
        rest = (p[0] - q[0]).clip(0)
        return 0, random.choice(len(rest), p=rest / rest.sum())

    assert judge(Subject("right", "chain", right, sizes=(1,)), properties=["joint"]).outcome == "lossless"


def rejection(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """One draft, tested as published."""
    x = int(drafts[0])
    rest = (p - q).clip(0)
    return x if random.random() * q[x] < p[x] else int(random.choice(len(p), p=rest / rest.sum()))


def loops_from_nine_tokens_on(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """As a program over all pairs of tokens, which only few tokens allow."""
    while len(p) > 8:
        pass
    return rejection(p, q, drafts, random)


def test_a_program_for_few_tokens_is_slow_and_not_broken() -> None:
    """The verdict is on the sizes at which it comes back, and the reach says from where it does not."""
    subject = Subject("few", "step", loops_from_nine_tokens_on, sizes=(1,))
    report = judge(subject, budget=30, patience=0.3, properties=["marginal", "larger"])
    assert report.outcome == "lossless"
    marginal, larger = report.verdicts
    assert "on nothing is known: a call did not come back within" in marginal.reach
    assert larger.outcome == "not available"
