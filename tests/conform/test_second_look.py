"""Two looks at a subject are one report: the second decides, unless somebody ended it."""

from __future__ import annotations

from specsim.conform.sharing import merged
from specsim.conform.verdict import Report, Verdict

LATE = Verdict("x", "joint", "inconclusive", words="the budget ran out")
FINE = Verdict("x", "marginal", "lossless", "scripted")
DECIDED = Verdict("x", "joint", "lossless", "scripted")


def test_a_second_look_that_ends_completes_the_report() -> None:
    first = Report("x", (FINE, LATE), complete=False, seconds=2.0)
    found = merged(first, Report("x", (DECIDED,), seconds=3.0))
    assert (found.complete, found.seconds) == (True, 5.0)
    assert found.verdicts == (FINE, DECIDED)
    assert found.outcome == "lossless"


def test_an_interrupted_second_look_leaves_what_the_first_said() -> None:
    first, second = Report("x", (FINE, LATE)), Report("x", (), complete=False)
    assert second.interrupted
    assert merged(first, second) == first
