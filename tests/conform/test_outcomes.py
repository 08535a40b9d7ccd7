"""What a report says as a whole, and which words its symptoms get."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest

from specsim.conform import Report, Subject, Verdict, judge, report
from specsim.conform.symptoms import how_often
from specsim.conform.verdict import Outcome


@pytest.mark.parametrize("outcome", get_args(Outcome))
def test_a_part_of_a_report_passes_nobody(outcome: Outcome) -> None:
    """What was not judged yet may be wrong; what was found wrong stays so."""
    verdicts = (Verdict("mine", "joint", outcome),)
    passed = outcome in ("lossless", "lossy by design")
    assert (Report("mine", verdicts).status == 0) == passed
    part = Report("mine", verdicts, complete=False)
    assert part.outcome == ("inconclusive" if passed else outcome)
    assert part.status == (1 if outcome == "convicted" else 2)


@pytest.mark.parametrize(
    ("kept", "said"),
    [(0.0, "never kept"), (0.2, "kept too rarely"), (0.5, ""), (0.7, "kept too often"), (0.9, "always kept")],
)
def test_a_draft_is_kept_never_rarely_often_or_always(kept: float, said: str) -> None:
    assert how_often("draft 1", kept, 0.5, 0.9, 1e-9) == (f"draft 1 {said}" if said else "")


def whole_target(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """A step whose test is right, and which draws from the whole target after a rejection."""
    x = int(drafts[0])
    return x if random.random() * q[x] < p[x] else int(random.choice(len(p), p=p))


def lenient_then_whole_target(p: Any, q: Any, drafts: Any, random: Any) -> int:
    x = int(drafts[0])
    return x if random.random() * q[x] < 0.75 * p[x] else int(random.choice(len(p), p=p))


def test_nobody_knows_whether_a_step_kept_its_draft() -> None:
    """It said "draft 1 is kept too often", of a test that is right: the residual draws the draft again."""
    subject = Subject("mine", "step", lenient_then_whole_target, sizes=(1,))
    found = judge(subject, properties=["marginal"])
    shown = report.text(found)
    assert found.outcome == "convicted"
    assert "kept" not in shown
    assert "It resembles no exhibit of the museum: the draft is emitted too often; a token" in shown


@pytest.mark.parametrize(("kept", "said"), [(0.0, "never"), (0.7, "too often"), (0.9, "always")])
def test_a_step_emits_its_draft_never_too_often_or_always(kept: float, said: str) -> None:
    words = "emitted too often" if said == "too often" else f"{said} emitted"
    assert how_often("the draft is", kept, 0.5, 0.9, 1e-9, "emitted") == f"the draft is {words}"


@pytest.mark.parametrize("sizes", [(1,), (1, 2)])
def test_drafts_kept_are_a_mean(sizes: tuple[int, ...]) -> None:
    """A step of one token keeps or rejects one draft a case: it was a sum over all cases."""
    (found,) = judge(Subject("mine", "step", whole_target, sizes=sizes), properties=["vacuity"]).verdicts
    words = re.fullmatch(r"a mean of (\S+) drafts kept and (\S+) rejected in (\d+) cases", found.words)
    assert words is not None
    assert float(words[1]) + float(words[2]) == pytest.approx(1, abs=0.01)
