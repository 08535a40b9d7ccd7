"""What text systems share: predicted against decoded, sums over prompts, costs that are told or measured."""

from __future__ import annotations

import numpy as np
import pytest

from real.decode.given_text import Along
from real.papers.lab import text_lab as on
from real.papers.lab.contract import Lab
from real.papers.lab.texts import texts
from real.papers.lab.writing import written
from real.studies.costs import Costs
from real.studies.intervals import Estimate

TOLD = Costs(
    gammas=[0, 1, 2],
    draft_s=[0.0, 1.0, 2.0],
    sample_s=[0.0, 0.0, 0.0],
    verify_s=[9.0, 10.0, 11.0],
    rule_s=[0.0, 0.5, 0.5],
    host_s=[1.0, 1.0, 1.0],
    cycle_s=[10.0, 12.5, 14.5],
    spread=[0.0, 0.0, 0.0],
)
LAB = Lab(0, 0.01, costs={"own": TOLD, "widened": TOLD})


@pytest.mark.parametrize(
    ("count", "length"), [(12, 16), pytest.param(64, 128, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_predicted_tau_is_the_decode_loops(count: int, length: int) -> None:
    """The renewal law along texts, and blocks counted while other texts are written: the intervals overlap."""
    told = texts(0.6).of("validation", count)
    short = told._replace(tokens=told.tokens[:, :length])
    found = on.along(on.small(), short, 3, 0.6)
    for gamma in (1, 3):
        predicted = on.tau(on.expected(short, found, gamma))
        measured = on.tau(on.decoded(short, None, gamma, 0.6, 7, length))
        assert predicted.low < measured.high
        assert measured.low < predicted.high
        assert 1 < predicted.low < predicted.value < predicted.high < gamma + 1
    with pytest.raises(ValueError, match=r"^gamma must be from 1 to 3, the drafts taken along, got 4$"):
        on.expected(short, found, 4)


def test_a_draft_that_is_the_target_is_always_kept() -> None:
    told = texts(1.0).of("test", 4)
    p = np.full(told.tokens.shape[1], 0.5)
    q = np.full((len(p), 3), 0.5)
    same, none = [Along(q, p)] * 4, [Along(0 * q, p)] * 4
    assert on.tau(on.expected(told, same, 3)) == Estimate(4.0, 4.0, 4.0)
    assert on.tau(on.expected(told, none, 3)) == Estimate(1.0, 1.0, 1.0)
    assert on.gain(on.expected(told, same, 3), on.expected(told, none, 3)) == Estimate(3.0, 3.0, 3.0)


def test_sums_are_by_prompt() -> None:
    told = texts(1.0)
    assert on.by_prompt(told, np.ones(256)).tolist() == [2.0] * 128
    some = told._replace(group=np.array([5, 5, 9]), tokens=told.tokens[:3])
    assert on.by_prompt(some, np.array([1.0, 2.0, 4.0])).tolist() == [3.0, 4.0]
    assert on.tally(some, np.array([10.0, 20.0, 30.0])).tokens.tolist() == [512.0, 256.0]
    assert on.mean(some, np.array([1.0, 2.0, 6.0]), np.array([1.0, 1.0, 1.0])).value == 3.0


def test_costs_that_are_told() -> None:
    costs = on.costs(LAB, "widened")
    assert on.cycle(costs, 2) == 14.5
    assert on.cycle(costs, 2, draft=0.5, more=1.0) == 14.5 - 1.0 + 1.0
    two = on.Tally(np.array([29.0, 29.0]), np.array([10.0, 10.0]))
    assert on.speed(two, costs, 2) == Estimate(2.0, 2.0, 2.0)
    with pytest.raises(ValueError, match=r"^cost 'free' is unknown; costs: own, widened$"):
        on.costs(LAB, "free")  # type: ignore[arg-type]


def test_costs_that_are_measured() -> None:
    said: list[str] = []
    found = on.costs(Lab(0, 0.01, said.append), "own")
    assert said == ["time of cycles at the pair's own cost"]
    assert on.cycle(found, 8) > on.cycle(found, 1) > 0


def test_decoded_texts_stop_at_the_pairs_end_token(monkeypatch: pytest.MonkeyPatch) -> None:
    told = texts(1.0).of("test", 2)
    whole = on.decoded(told, None, 2, 0.0, 0, 12)
    first = written(told.prompts[:1], 12, 0.0, 0)[0].tolist()
    monkeypatch.setattr(on, "ends", lambda pair: frozenset([first[3]]))
    assert whole.tokens.tolist() == [12, 12]
    assert on.decoded(told, None, 2, 0.0, 0, 12).tokens[0] == first.index(first[3]) + 1
