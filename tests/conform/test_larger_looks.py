"""One look at a larger size: how many runs it makes, what convicts, and what its verdict says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specsim.base import clock
from specsim.conform import Report, Subject, Verdict, fitting, judge, judgement
from specsim.conform.caller import Caller
from specsim.conform.cases import Case
from specsim.conform.evidence.shares import Share, divergence, excess, nats
from specsim.conform.large_cases import EVEN, HALVES, MISSING, REFUSED, STEP, TURNS, Large, large, shares
from specsim.conform.properties import larger
from specsim.conform.standard_cases import standard
from specsim.conform.subject_call import Answer
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial, begin
from specsim.types import Array


def right(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    """Rejection of one draft."""
    x = drafts[0]
    if random.random() * q[0, x] < p[0, x]:
        return 1, int(random.choice(p.shape[1], p=p[1]))
    law = (p[0] - q[0]).clip(0)
    return 0, int(random.choice(len(law), p=law / law.sum()))


def lenient(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    """Of many tokens every draft is kept."""
    if p.shape[1] < 16:
        return right(p, q, drafts, random)
    return 1, int(random.choice(p.shape[1], p=p[1]))


def beyond(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return 0, p.shape[1]


@pytest.fixture
def first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first of the cases is tried, in few runs; nothing is compared with the museum."""
    monkeypatch.setattr(larger, "large", lambda subject: [next(large(subject))])
    monkeypatch.setattr(larger, "RUNS", 100)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)


def report(run: Any, **facts: Any) -> Report:
    return judge(Subject("it", "chain", run, sizes=(1,), **facts), properties=["larger"])


@pytest.mark.usefixtures("first")
def test_a_conviction_shows_what_comes_too_often() -> None:
    verdict = report(lenient).verdicts[0]
    assert (verdict.outcome, verdict.evidence) == ("convicted", "Monte Carlo")
    shown = verdict.counterexample
    assert shown is not None
    (due,), (seen,) = shown.expected.values(), shown.observed.values()
    assert verdict.distance == abs(due - seen)
    kept = "over-drafted" in shown.outcome
    assert (due < 0.01) is kept
    assert (seen > due) is kept
    assert f"have probability {seen:.4g}, not {due:.4g}" in verdict.words
    assert report(lenient, lossless=False).verdicts[0].outcome == "lossy by design"
    assert report(right).outcome == "lossless"


@pytest.mark.usefixtures("first")
def test_a_token_beyond_the_vocabulary_is_a_fault() -> None:
    verdict = report(beyond).verdicts[0]
    assert (verdict.outcome, "outside 0..64" in verdict.words) == ("broken", True)


def begun(run: Any, **facts: Any) -> Trial:
    """Begin the trial of a subject, with a minute left."""
    subject = Subject("it", "chain", run, sizes=(1,), **facts)
    return begin(subject, deadline=clock.now() + 60, patience=60, delta=1e-6, seed=0)


def one(trial: Trial) -> Large:
    return next(large(trial.subject))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_are_not_tried(dtype: str) -> None:
    trial = begun(right, dtype=dtype)
    verdict = larger.verdict(trial.subject, trial)
    assert verdict is not None
    assert (verdict.outcome, dtype in verdict.words, trial.caller.runs) == ("not available", True, 0)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that the clock shows: it goes on where a test says so."""
    shown = [0.0]
    monkeypatch.setattr(clock, "now", lambda: shown[0])
    return shown


def test_runs_are_as_many_as_the_time_allows(time: list[float]) -> None:
    """Ten runs of 0.25 s tell the pace of those that are counted."""

    def slow(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        time[0] += 0.25
        return right(p, q, drafts, random)

    trial = begun(slow)
    assert larger._look(trial, one(trial), until=2.5 + 0.25 * 40).runs == 40
    assert larger._look(trial, one(trial), until=time[0] + 2.5 + 0.25 * larger.FEWEST).runs == larger.FEWEST
    with pytest.raises(OutOfTime):
        larger._look(trial, one(trial), until=time[0] + 2.5 + 0.25 * (larger.FEWEST - 1))
    time[0], made = trial.budget.deadline, trial.caller.runs
    with pytest.raises(OutOfTime):
        larger._look(trial, one(trial), until=time[0] + 1000)
    assert trial.caller.runs == made


@pytest.mark.parametrize(("logprobs", "by_rows"), [(False, 100), (True, 0)])
def test_half_of_the_runs_are_rows_of_batches(logprobs: bool, by_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that report no log-probabilities: those are compared elsewhere."""
    asked = dict.fromkeys((False, True), 0)

    def answers(caller: Any, case: Any, given: list[Any], own: Any, *, rows: bool) -> list[Answer]:
        asked[rows] += len(given)
        return [Answer((0, 0), 0)] * len(given)

    monkeypatch.setattr(Caller, "once_each", answers)
    for name, value in (("CHUNK", 50), ("RUNS", 200)):
        monkeypatch.setattr(larger, name, value)
    trial = begun(right, batch=right, logprobs=logprobs)
    larger._look(trial, one(trial), until=clock.now() + 50)
    assert asked == {True: by_rows, False: 200 - by_rows + larger.PROBE}


def test_a_look_convicts_by_its_part_of_the_rate_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The share that is the least likely is told, which is not the one that is off by most."""
    monkeypatch.setattr(Caller, "once_each", lambda self, case, given, own, rows: [Answer((0,), 0)] * len(given))
    runs, off, rare = larger.RUNS, Share("often", 0.55, 0.5), 0.002
    for looks in (0, 3):
        limit = nats(2, begun(right).findings.rate(looks + 1))
        for part, convicts in ((0.97, False), (1.03, True)):
            seen = next(x for x in np.arange(rare, 0.1, 1e-5) if runs * divergence(x, rare) > part * limit)
            trial = begun(right)
            for _ in range(looks):
                trial.findings.begin_look()
            monkeypatch.setattr(larger, "shares", lambda *_, seen=seen: [off, Share("rare", float(seen), rare)])
            found = larger._look(trial, one(trial), until=clock.now() + 50)
            assert (found.worst.words, found.convicts, found.runs) == ("rare", convicts, runs)
            assert found.detectable > 0.08, "a share of one half is the hardest to see"
            assert trial.findings.looks == looks + 1


def test_the_time_is_shared_and_the_widest_deviation_is_said(
    time: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look takes all that it is given: an equal part of what is left for all of them."""
    given, widths = [], iter((0.1, 0.3, 0.2))

    def look(trial: Trial, case: Large, until: float) -> larger.Seen:
        given.append(until - time[0])
        time[0] = until
        trial.caller.reset_runs(trial.caller.runs + 10)
        return larger.Seen(Share("none", 0.0, 0.0), False, 10, next(widths), None)  # type: ignore[arg-type]

    subject = Subject("it", "chain", right, sizes=(1, 4))
    monkeypatch.setattr(larger, "_look", look)
    for passed, left, share in ((0.0, 60.0, 5 / 3), (200.0, 60.0, 20 / 3), (0.0, 4.0, 2 / 3)):
        given.clear()
        widths = iter((0.1, 0.3, 0.2))
        trial = begin(subject, deadline=time[0] + passed + left, patience=60, delta=1e-6, seed=0)
        time[0] += passed
        trial.caller.reset_runs(500)
        verdict = larger.verdict(subject, trial)
        assert given == pytest.approx([share] * 3)
        assert isinstance(verdict, Verdict)
        assert (verdict.runs, "off by 0.3 would be seen" in verdict.reach) == (30, True)


def test_rounding_of_laws_explains_no_more_than_itself() -> None:
    assert excess(Share("", 0.5 + 1e-6, 0.5), 10**9, 1e-6) == 0
    assert excess(Share("", 0.5, 0.5 - 1e-3), 1000, 1e-6) == pytest.approx(1000 * divergence(0.5, 0.5 - 1e-3 + 1e-6))
    assert nats(3, 0.01) == pytest.approx(np.log(600))


def texts_of(case: Large, *roles: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Texts of a case whose tokens have these roles, which turn with the token before."""
    texts = []
    for wanted in roles:
        text = list[int]()
        for role in wanted:
            turn = STEP * (text[-1] % TURNS + 1) if text else 0
            text.append((int((case.kinds // HALVES == role).argmax()) + turn) % len(case.kinds))
        texts.append(tuple(text))
    return texts


def test_shares_are_those_of_texts_that_the_target_goes_on_with() -> None:
    """Half of the texts end after a missing token; the others have a refused one after an even one."""
    trial = begun(right)
    case = one(trial)
    found = shares(case, texts_of(case, (MISSING,), (EVEN, REFUSED)))
    first, after, second = (
        {share.words.partition(" tokens")[0]: share for share in found if share.words.endswith(words)}
        for words in ("tokens in place 1", "in place 2, after evenly drafted tokens alone", "tokens in place 2")
    )
    half = next(name for name in after if after[name].observed == 0.5)
    assert half.endswith("over-drafted")
    assert sum(share.observed for share in first.values()) == pytest.approx(1)
    assert sum(share.expected for share in first.values()) == pytest.approx(1)
    assert sum(share.observed for share in after.values()) == pytest.approx(0.5)
    mass = {name: share.expected for name, share in second.items()}
    for name, share in second.items():
        assert share.observed == pytest.approx(0.5 * mass[name] + 0.5 * (name == half))


@pytest.mark.parametrize(
    ("kind", "facts", "words"),
    [
        ("decoder", {"sizes": (1, 2)}, ["V=65, 6 drafts", "V=65, 8 drafts"]),
        ("chain", {"sizes": (1, 5)}, ["V=65, 5 drafts"]),
        ("tree", {"shapes": ((-1,), (-1, 0, 1), (-1, -1))}, ["V=65, tree [-1, 0, 1]"]),
    ],
)
def test_the_largest_sizes_are_the_declared_ones_or_longer(kind: Any, facts: Any, words: list[str]) -> None:
    found = [one.case.words for one in large(Subject("it", kind, right, **facts))]
    assert found[2:] == words
    assert found[1].startswith("V=1000")


def test_runs_of_an_unfinished_law_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many there are depends on the machine: the museum's table had another number under load."""
    trial = begun(right)
    case = next(case for case in standard(trial.subject) if case.exact_only)

    def unfinished(trial: Trial, case: Case) -> None:
        """Run out of time after 500 runs."""
        trial.caller.reset_runs(trial.caller.runs + 500)
        raise OutOfTime

    monkeypatch.setattr(fitting, "observe", unfinished)
    assert not fitting.takes(trial, case)
    assert trial.caller.runs == 0
