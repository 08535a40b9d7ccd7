"""The museum: every exhibit is convicted of what it lacks, every exoneration acquitted, and the site's page says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from specsim.conform import judge, judgement
from specsim.conform.museum import table
from specsim.conform.properties import _laws
from specsim.conform.registry import EXHIBITS, EXONERATIONS, find, names, subjects_of
from specsim.conform.verdict import Report, Verdict

PAGE = (Path(__file__).parents[2] / "docs" / "results" / "museum.md").read_text(encoding="utf-8")
EXACT = {"scripted", "bound"}
SEEN_FROM = {"new_tokens_untested": "5", "residual_of_three_tokens": "5"}  # tokens, where fewer show nothing wrong
TINY = (  # convicted with two tokens and one draft, by the simplest laws
    "always_accepts",
    "argmax_verification",
    "coin_of_four_bits",
    "first_draft_unverified",
    "gate_never_set",
    "residual_is_target",
    "residual_softmax",
    "second_target_draw",
    "target_not_warped",
    "typical_acceptance",
    "zero_temperature_is_off",
)


def judged(name: str, monkeypatch: pytest.MonkeyPatch) -> Report:
    """What the table says of it; nothing is shrunk, or compared with the museum, which the table does not show."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)
    return table.judged(name)


def counterexample(name: str) -> Verdict:
    (verdict,) = table.judged(name).verdicts
    return verdict


@pytest.mark.parametrize("name", names(EXHIBITS))
def test_an_exhibit_is_convicted_by_the_named_property(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, report = find(name), judged(name, monkeypatch)
    (verdict,) = report.verdicts
    assert verdict.property == module.PROPERTY
    assert report.outcome == module.EXPECTED == "convicted", verdict.words
    assert verdict.evidence in EXACT
    assert verdict.distance > 1e-4
    assert table.row(name, report) in PAGE, "make it anew: python docs/refresh.py"


@pytest.mark.parametrize("name", names(EXONERATIONS))
def test_an_exoneration_is_acquitted_of_everything(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    report = judged(name, monkeypatch)
    assert find(name).EXPECTED == "lossless"
    assert report.outcome == "lossless", [v.words for v in report.verdicts if v.outcome != "lossless"]
    assert report.complete
    (subject,) = subjects_of(find(name))
    asked = {"contract"} if subject.kind == "drafter" else {"marginal", "degenerate"}
    assert {v.property for v in report.verdicts} >= asked
    assert {v.evidence for v in report.verdicts if v.property != "larger"} <= EXACT
    assert max(v.distance for v in report.verdicts) < 1e-9
    assert table.row(name, report) in PAGE, "make it anew: python docs/refresh.py"


@pytest.mark.parametrize("name", TINY)
def test_the_counterexample_is_the_smallest(name: str) -> None:
    """Two tokens, one draft: the words say the case, and the laws are simple."""
    verdict = counterexample(name)
    found = verdict.counterexample
    assert found is not None
    assert found.case.startswith("V=2, 1 draft"), found.case
    assert found.expected != found.observed
    assert str(found.outcome) in verdict.words
    assert sum(found.expected.values()) == pytest.approx(1)
    assert sum(found.observed.values()) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("name", names(EXHIBITS))
def test_an_exhibit_is_convicted_by_the_whole_report(name: str) -> None:
    """Within the default budget, first with a counterexample of at most three tokens and two drafts."""
    (subject,) = subjects_of(find(name))
    report = judge(subject)
    assert report.outcome == "convicted"
    assert report.status == 1
    convicted = [verdict for verdict in report.verdicts if verdict.convicted]
    # Two properties have cases of their own with more tokens, which may show it there again.
    small = [verdict for verdict in convicted if verdict.property not in ("bound", "degenerate")]
    for verdict in [convicted[0], *small]:
        assert verdict.counterexample is not None
        case = verdict.counterexample.case
        assert re.match(rf"V=[{SEEN_FROM.get(name, '23')}], (1|2|tree)", case), case


def test_the_museum_is_large_enough() -> None:
    exhibits, exonerations = names(EXHIBITS), names(EXONERATIONS)
    assert len(exhibits) >= 25
    assert len(exonerations) >= 6
    assert not set(exhibits) & set(exonerations)
    threads = [find(name).THREAD for name in exhibits]
    assert sum(map(bool, threads)) >= 15
    assert {find(name).PROPERTY for name in exhibits} >= {
        "marginal",
        "joint",
        "bound",
        "degenerate",
        "greedy",
        "parameters",
        "batches",
        "contract",
        "rounds",
        "truncation",
        "structured",
        "logprobs",
        "numerics",
    }


@pytest.mark.parametrize("name", [*names(EXHIBITS), *names(EXONERATIONS)])
def test_a_file_says_what_it_is(name: str) -> None:
    """One sentence, one address, one subject by the file's name."""
    module = find(name)
    (subject,) = subjects_of(module)
    assert subject.name == name
    assert module.WRONG.endswith(".")
    assert "|" not in module.WRONG, "it would break the table"
    assert not module.THREAD or table.link(module.THREAD).startswith("["), module.THREAD
    assert bool(module.PROPERTY) == (name in names(EXHIBITS))


def test_the_page_shows_the_museum_and_nothing_else() -> None:
    assert re.findall(r"^\| `(\w+)`", PAGE, re.M) == [*names(EXHIBITS), *names(EXONERATIONS)]
    assert table.HEAD.format("exhibit", "what is wrong") in PAGE
    assert table.HEAD.format("rule", "accusation") in PAGE
