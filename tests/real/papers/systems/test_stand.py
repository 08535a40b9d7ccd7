"""STAND on a few short trajectories: what is counted, and that its test can come out in each way."""

from __future__ import annotations

import pytest

from real.papers.lab.contract import Lab, Record, checked
from real.papers.systems import stand
from real.studies.intervals import Estimate


def test_a_trial_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanics only: four prompts, two trajectories of 16 tokens, one temperature."""
    monkeypatch.setattr(stand, "TEMPERATURES", (1.0,))
    monkeypatch.setattr(stand, "TRAJECTORIES", 2)
    monkeypatch.setattr(stand, "TOLD", (1, 2))
    record = checked(stand.run(Lab(share=0.01)), stand.HEADLINE)
    assert stand.GROWN in record.measured
    shares = [one for name, one in record.measured.items() if name.startswith("first drafts kept in trajectory 1,")]
    assert all(0 < one.value < 1 for one in shares)
    calls = record.measured["calls of the loop over those predicted along its texts, T = 1"]
    assert 0.7 < calls.value < 1.4
    assert all(one.value >= 1 for name, one in record.predicted.items() if name.startswith("tau"))
    assert stand.verdict(record) in ("shows", "does not show", "contradicts")


@pytest.mark.parametrize(
    ("headline", "grown", "verdict"),
    [
        ((0.1, 0.2), (0.1, 0.2), "shows"),
        ((-0.1, 0.2), (0.1, 0.2), "does not show"),
        ((0.1, 0.2), (-2, -1), "contradicts"),
    ],
)
def test_verdicts(headline: tuple[float, float], grown: tuple[float, float], verdict: str) -> None:
    told = {stand.HEADLINE: Estimate(0.0, *headline), stand.GROWN: Estimate(0.0, *grown)}
    assert stand.verdict(Record({}, told, {})) == verdict
