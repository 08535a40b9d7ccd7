"""What a report says as a whole, and which words its symptoms get."""

from __future__ import annotations

from typing import get_args

import pytest

from specsim.conform import Report, Verdict
from specsim.conform.symptoms import how_often
from specsim.conform.verdict import Outcome

pytestmark = pytest.mark.fast


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
