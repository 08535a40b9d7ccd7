"""STAND on a few short trajectories: what is counted, and that its test can come out in each way."""

from __future__ import annotations

import numpy as np
import pytest

from real.decode.warp import Warping
from real.draft import ngram
from real.draft._contract import target_laws
from real.papers.lab.contract import Lab, Record, checked
from real.papers.lab.texts import texts
from real.papers.lab.times import recorded
from real.papers.lab.writing import pair
from real.papers.systems import stand
from real.studies.intervals import Estimate


def test_a_trial_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanics only: four prompts, two trajectories of 16 tokens, one temperature."""
    monkeypatch.setattr(stand, "TEMPERATURES", (0.6,))
    monkeypatch.setattr(stand, "TRAJECTORIES", 2)
    record = checked(stand.run(Lab(share=0.01)), stand.HEADLINE)
    at = "T = 0.6"
    for name, nodes in ((stand.CHAIN, 4), (stand.TREES, 8)):
        tokens = record.measured[f"tokens a call of a {name}, trajectory 12, {at}{stand.LOOP}"]
        saved = record.measured[f"calls saved by a {name}, trajectory 12, {at}"]
        latency = record.predicted[f"latency saved by a {name}, trajectory 12, {at}"]
        assert 1 <= tokens.value <= 5
        assert saved.value == pytest.approx(1 - 1 / tokens.value)
        costs = recorded(1.0)
        factor = stand.cycle_without_drafts(costs, nodes) / costs.cycle(0)
        assert latency.value == pytest.approx(1 - factor * (1 - saved.value))
        assert latency.low <= latency.value <= latency.high
    # What the loop gains is what its tokens a call say.
    first, last = (
        record.measured[f"tokens a call of a {stand.CHAIN}, trajectory {k}, {at}{stand.LOOP}"].value for k in (1, 12)
    )
    assert record.measured[stand.HEADLINE].value == pytest.approx(last / first - 1)
    assert all(one.value >= 1 for name, one in record.predicted.items() if name.startswith("tokens a call of"))
    assert stand.verdict(record) in ("shows", "does not show", "contradicts")


@pytest.mark.parametrize("is_drawn", [True, False])
def test_drafts_along_a_text_are_those_of_the_drafter(is_drawn: bool) -> None:
    """With laws that were computed before, and with a table of another text."""
    told, target, warping = texts(0.6).of("test", 2), pair().target, Warping(0.6)
    prompt, text = told.prompts[0], told.tokens[0, :12].tolist()
    laws = target_laws(target, prompt, text, warping)
    table = ngram.learn(ngram.EMPTY, prompt, told.tokens[0, :20].tolist(), laws.repeat(2, 1)[:20])
    found = stand._along(table, prompt, text, laws, is_drawn)
    drafter = ngram.drafter(target, table, stochastic=is_drawn)
    expected = drafter.along(target, prompt, text, stand.GAMMA, warping)
    assert np.abs(found.q - expected.q).max() < 1e-12
    assert np.abs(found.p - expected.p).max() < 1e-12
    assert found.q.any()


def test_latency_is_calls_times_a_pass_without_drafting() -> None:
    costs = recorded(1.0)
    assert stand.cycle_without_drafts(costs, 4) == pytest.approx(costs.cycle(4) - costs.phase("draft", 4))
    saved = stand._less(Estimate(0.5, 0.4, 0.6), 1.2)
    assert saved == pytest.approx((0.4, 0.28, 0.52))


@pytest.mark.parametrize(
    ("headline", "grown", "verdict"),
    [
        ((0.1, 0.2), (0.1, 0.2), "shows"),
        ((-0.1, 0.2), (0.1, 0.2), "does not show"),
        ((0.1, 0.2), (-2, -1), "contradicts"),
    ],
)
def test_verdicts(headline: tuple[float, float], grown: tuple[float, float], verdict: str) -> None:
    growths = {f"{stand.GROWN}, T = 1{stand.LOOP}": grown, f"{stand.GROWN}, T = 0.6{stand.LOOP}": (0.1, 0.3)}
    measured = {name: Estimate(0.0, *ends) for name, ends in growths.items()}
    gains = {f"{stand.CHANCE}, T = {at:g}": Estimate(0.0, *headline) for at in stand.TEMPERATURES}
    assert stand.verdict(Record({}, measured, gains)) == verdict
