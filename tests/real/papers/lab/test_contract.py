"""What a file of this folder must have, and what its record may hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from real.papers.lab import contract, records, report
from real.papers.lab.choices import VALUES
from real.papers.lab.contract import AXES, Record
from real.studies.intervals import Estimate

ONE = Estimate(1.0, 0.5, 1.5)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Record({"x": 1.0}, {"h": ONE, "x": ONE}, {}), "measured 'x' is in exact, too"),
        (Record({}, {"h": ONE}, {"h": ONE}), "predicted 'h' is in measured, too"),
        (Record({"x": float("nan")}, {"h": ONE}, {}), "exact 'x' is not finite: nan"),
        (Record({}, {"h": Estimate(1.0, float("-inf"), 2.0)}, {}), "measured 'h' is not finite: 1.0, -inf, 2.0"),
        (Record({}, {"h": Estimate(1.0, 1.5, 0.5)}, {}), "measured 'h' has an interval from 1.5 to 0.5"),
        (Record({}, {"g": ONE}, {}), "HEADLINE 'h' was not measured; measured: g"),
    ],
)
def test_a_record_that_nobody_can_read_is_refused(record: Record, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        contract.checked(record, "h")


def test_a_record_comes_back_from_json() -> None:
    record = Record({"x": 0.1 + 0.2}, {"h": ONE}, {"p": Estimate(1 / 3, 0.0, 1.0)})
    assert contract.from_json(json.loads(json.dumps(contract.as_json(record)))) == record
    assert contract.checked(record, "h") == record
    outside = Record({}, {"h": Estimate(3.0, 0.0, 2.0)}, {})  # a statistic, whose interval is that of another law
    assert contract.checked(outside, "h") == outside


def test_the_contract_names_what_is_asked_for() -> None:
    """Every name of the protocol is one that a file is refused for."""
    names = [*contract.System.__annotations__, "run", "verdict"]
    axes = {axis: next(iter(VALUES[axis])) for axis in AXES}
    whole: dict[str, Any] = dict.fromkeys(names, "words") | {"AXES": axes, "MODELS": ()}
    whole |= {"run": print, "verdict": print}
    assert contract.flaw(whole) is None
    for name in names:
        flaw = contract.flaw({key: value for key, value in whole.items() if key != name})
        assert flaw is not None
        assert name in flaw


def test_shown_numbers() -> None:
    assert report.shown(Estimate(2.53, 2.4999, 2.5601)) == "2.530 [2.500, 2.560]"
    assert report.shown(Estimate(1234.5, 1100.0, 1400.0)) == "1234 [1100, 1400]"
    assert records.path_of(Path("a"), "b") == Path("a/b.json")
