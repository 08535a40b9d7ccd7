"""Verdicts: each kind of evidence convicts a wrong subject and acquits a right one, and nothing ends the run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specsim.base import clock
from specsim.conform import Report, SamplingParams, Subject, judge, judgement, registry, standard_cases
from specsim.conform.cases import Case, warped
from specsim.conform.evidence import montecarlo
from specsim.conform.judgement import PROPERTIES
from specsim.conform.observation import Observation
from specsim.conform.properties import _laws, vacuity
from specsim.conform.registry import names
from specsim.conform.subject import KINDS
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial
from specsim.types import Array


def right(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    """Tokenwise rejection."""
    for i, x in enumerate(drafts):
        if not random.random() * q[i, x] < p[i, x]:
            rest = (p[i] - q[i]).clip(0)
            return i, random.choice(p.shape[1], p=rest / rest.sum())
    return len(drafts), random.choice(p.shape[1], p=p[-1])


def wrong(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    """The correction comes from p instead of what is left over."""
    for i, x in enumerate(drafts):
        if not random.random() * q[i, x] < p[i, x]:
            return i, random.choice(p.shape[1], p=p[i])
    return len(drafts), random.choice(p.shape[1], p=p[-1])


def hidden(rule: Any) -> Any:
    """The same rule with random numbers that no stand-in can follow."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        return rule(p, q, drafts, np.random.Generator(np.random.PCG64(int(float(random.random()) * 2**53))))

    return run


def by_coins(rule: Any) -> Any:
    """The same rule on coins, which it turns into floats first."""

    class Coins:
        def __init__(self, u: Array) -> None:
            self.left = iter([float(one) for one in u])

        def random(self) -> float:
            return next(self.left)

        def choice(self, vocab: int, p: Array) -> int:
            return min(int(np.searchsorted(np.cumsum(p), next(self.left), side="right")), vocab - 1)

    return lambda p, q, drafts, u: rule(p, q, drafts, Coins(u))


def outcomes(report: Report) -> dict[str, str]:
    return {verdict.property: verdict.outcome for verdict in report.verdicts}


@pytest.mark.parametrize("rule", [right, wrong])
def test_scripted(rule: Any) -> None:
    report = judge(Subject(rule.__name__, "chain", rule, sizes=(1, 2)), budget=60)
    assert report.outcome == ("lossless" if rule is right else "convicted")
    assert report.status == (0 if rule is right else 1)
    assert {v.evidence for v in report.verdicts if v.property != "larger"} <= {"scripted", "bound"}
    if rule is wrong:
        shown = next(v.counterexample for v in report.verdicts if v.counterexample)
        assert len(shown.p[0]) == 2, "the counterexample is shrunk to two tokens"


@pytest.mark.parametrize("rule", [right, wrong])
def test_coins(rule: Any) -> None:
    subject = Subject(rule.__name__, "chain", by_coins(rule), randomness="coins", sizes=(1,))
    found = judge(subject, budget=100, properties=["marginal"]).verdicts[0]
    assert (found.outcome, found.evidence) == ("lossless" if rule is right else "convicted", "coins")
    assert (found.distance < 1e-12) is (rule is right)


@pytest.mark.parametrize("rule", [right, wrong])
def test_monte_carlo(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many runs as the precision needs, however long they take."""
    monkeypatch.setattr(montecarlo, "WANTED", 0.15)
    monkeypatch.setattr(montecarlo, "UNDECIDED", 0.15)
    monkeypatch.setattr(standard_cases, "on_more_tokens", lambda subject: ())
    subject = Subject(rule.__name__, "chain", hidden(rule), sizes=(1,))
    found = judge(subject, budget=1000, properties=["marginal"]).verdicts[0]
    assert (found.outcome, found.evidence) == ("lossless" if rule is right else "convicted", "Monte Carlo")
    if rule is right:
        assert 8_000 < found.runs < 12_000
        assert "total variations from 0.1" in found.reach
        assert "not scripted" in found.words


def keeps_all(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return len(drafts), random.choice(p.shape[1], p=p[-1])


def keeps_none(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return 0, random.choice(p.shape[1], p=p[0])


def test_more_kept_drafts_than_possible_convict() -> None:
    found = judge(Subject("all", "chain", keeps_all, sizes=(1,)), properties=["bound"]).verdicts[0]
    assert (found.outcome, found.evidence) == ("convicted", "bound")
    assert judge(Subject("right", "chain", right, sizes=(1,)), properties=["bound"]).outcome == "lossless"


def test_vacuous() -> None:
    report = judge(Subject("none", "chain", keeps_none, sizes=(1, 2)))
    assert outcomes(report) | {"vacuity": "vacuous"} == dict.fromkeys(outcomes(report), "lossless") | {
        "vacuity": "vacuous"
    }
    assert (report.outcome, report.status) == ("vacuous", 2)
    nothing = Subject("nothing", "chain", lambda *_: [], sizes=(1,), returns="tokens")
    (found,) = judge(nothing, properties=["vacuity"]).verdicts
    assert (found.outcome, found.words) == ("vacuous", "no draft was ever kept")


@pytest.mark.parametrize("rule", [right, keeps_none])
def test_vacuity_is_decided_by_the_first_cases(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where drafts were kept and rejected no further case takes that back; else nothing is known."""
    observed = vacuity.observe

    def once(trial: Trial, case: Case, *, exact: bool = False) -> Observation:
        if trial.findings.seen:
            raise OutOfTime
        return observed(trial, case, exact=exact)

    monkeypatch.setattr(vacuity, "observe", once)
    (found,) = judge(Subject("first", "chain", rule, sizes=(1,)), properties=["vacuity"]).verdicts
    assert found.outcome == ("lossless" if rule is right else "inconclusive")
    assert ("the budget ran out" in found.reach) is (rule is right)


def test_lossy_by_design_is_priced() -> None:
    report = judge(Subject("wrong", "chain", wrong, sizes=(1,), lossless=False))
    assert (report.outcome, report.status) == ("lossy by design", 0)
    assert max(v.distance for v in report.verdicts) > 0.01


def impossible(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    """Right, but for a token that the target excludes."""
    kept, token = right(p, q, drafts, random)
    gone = np.flatnonzero(p[0] == 0)
    return (0, int(gone[0])) if len(gone) and (p.sum(axis=1) == 1).all() and random.random() < 1e-4 else (kept, token)


def test_a_token_of_probability_zero_convicts() -> None:
    report = judge(Subject("impossible", "chain", impossible, sizes=(1,)), properties=["degenerate"])
    assert report.outcome == "convicted"


def ignores_top_k(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams) -> Any:
    """The target is warped by the temperature only."""
    hot = np.stack([warped(row, sampling_params._replace(top_k=0)) for row in p])
    return right(hot, np.stack([warped(row, sampling_params) for row in q]), drafts, random)


def warps_both(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams) -> Any:
    return right(*(np.stack([warped(row, sampling_params) for row in w]) for w in (p, q)), drafts, random)


def test_sampling_parameters() -> None:
    for run, outcome in ((ignores_top_k, "convicted"), (warps_both, "lossless")):
        subject = Subject(run.__name__, "chain", run, warps=True, sizes=(1,))
        assert judge(subject, properties=["parameters"]).outcome == outcome
        assert judge(subject, properties=["greedy"]).outcome == "lossless"


def drafts_of(warp_rows: bool) -> Any:
    def run(draft: Any, prompt: Any, gamma: int, sampling_params: SamplingParams, random: Any) -> Any:
        text, rows = tuple(prompt), []
        for _ in range(gamma):
            law = warped(draft(text), sampling_params)
            rows.append(law if warp_rows else draft(text))
            text = (*text, int(random.choice(len(law), p=law)))
        return text[len(prompt) :], np.array(rows)

    return run


def test_contract_of_a_drafter() -> None:
    for warp_rows, outcome in ((True, "lossless"), (False, "convicted")):
        subject = Subject("drafter", "drafter", drafts_of(warp_rows), warps=True, sizes=(1, 2))
        assert judge(subject).outcome == outcome


def one_block(target: Any, draft: Any, prompt: Any, n: int, sampling_params: SamplingParams, random: Any) -> Any:
    """Drafts, verifies, and returns one block."""
    text, q = tuple(prompt), []
    for _ in range(n - 1):
        q.append(draft(text))
        text = (*text, int(random.choice(len(q[-1]), p=q[-1])))
    kept, token = right(target.rows(text, len(prompt)), np.array(q), np.array(text[len(prompt) :]), random)
    return [*text[len(prompt) :][:kept], token]


def test_a_decoder() -> None:
    report = judge(Subject("block", "decoder", one_block, block=True, sizes=(1, 2)))
    assert report.outcome == "lossless"
    assert "joint" in outcomes(report)


def test_an_interruption_keeps_what_was_said() -> None:
    def stop(verdict: Any) -> None:
        raise KeyboardInterrupt

    report = judge(Subject("right", "chain", right, sizes=(1,)), say=stop)
    assert (len(report.verdicts), report.complete, report.outcome) == (1, False, "inconclusive")


def test_the_budget_is_kept() -> None:
    def slow(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        time.sleep(0.01)
        return hidden(right)(p, q, drafts, random)

    began = clock.now()
    report = judge(Subject("slow", "chain", slow), budget=3)
    assert clock.now() - began < 3.6
    assert report.outcome == "inconclusive"
    undecided = [verdict for verdict in report.verdicts if verdict.outcome == "inconclusive"]
    assert "larger" in undecided[-1].words


def test_bad_arguments_are_named() -> None:
    subject = Subject("right", "chain", right)
    with pytest.raises(ValueError, match="budget"):
        judge(subject, budget=0)
    with pytest.raises(ValueError, match=r"property 'join' is unknown; did you mean 'joint'[?] known: batches, bound"):
        judge(subject, properties=["join"])


def plain(kind: str) -> Subject:
    """Right, and declares nothing: without drafts of its own where it can be."""
    runs: dict[str, Any] = {
        "step": lambda p, q, drafts, random: random.choice(len(p), p=p),
        "chain": right,
        "tree": lambda p, q, tree, random: ([], random.choice(p.shape[1], p=p[0])),
        "decoder": lambda target, draft, prompt, n, sampling_params, random: [0] * n,
        "drafter": lambda draft, prompt, gamma, sampling_params, random: ([0] * gamma, None),
    }
    return Subject(kind, kind, runs[kind], sizes=(1,), shapes=((-1, -1),))


@pytest.mark.parametrize("kind", KINDS)
def test_a_property_that_is_named_says_what_is_missing(kind: Any) -> None:
    """What is not asked does not pass; in a whole report it is left out."""
    known = names(PROPERTIES)
    report = judge(plain(kind), properties=known)
    assert {v.property for v in report.verdicts} == set(known)
    lacking = [v for v in report.verdicts if v.outcome == "not available"]
    assert {"batches", "logprobs", "numerics", "structured", "parameters", "greedy"} <= {v.property for v in lacking}
    for verdict in lacking:
        assert len(verdict.words) > 20
        assert "does not concern this subject" not in verdict.words, "the file of the property says more"
    asked = {v.property for v in judge(plain(kind)).verdicts}
    assert asked == {v.property for v in report.verdicts} - {v.property for v in lacking}


def test_every_property_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "api" / "conform.md").read_text(encoding="utf-8")
    for name in names(PROPERTIES):
        assert f"\n| {name} | " in page


def test_an_adapter_is_one_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from specsim.conform import Subject\n"
        "def run(p, q, drafts, random):\n"
        "    return random.choice(len(p), p=p)\n"
        "def subjects():\n"
        "    return [Subject('mine', 'step', run)]\n"
    )
    (subject,) = registry.subjects_of(registry.find(str(path)))
    assert judge(subject, properties=["marginal"]).outcome == "lossless"


@pytest.mark.parametrize("folder", [registry.EXHIBITS, registry.EXONERATIONS])
def test_the_museum_is_judged_as_it_says(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)
    name = {registry.EXHIBITS: "first_ratio_only", registry.EXONERATIONS: "target_draw_first"}[folder]
    module = registry.find(name)
    (subject,) = registry.subjects_of(module)
    report = judge(subject._replace(sizes=(1, 2)))
    assert report.outcome == module.EXPECTED
    assert not module.PROPERTY or outcomes(report)[module.PROPERTY] == "convicted"
