"""Every way into a file of acceptance gives one answer: `specsim log` and all readers of `specsim plan`."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from specsim.cli import app
from specsim.commands.plan.read import read_histogram

REPORTS = Path(__file__).parents[1] / "logs" / "reports"


def _answer(**metrics: object) -> str:
    held = (
        json.loads((REPORTS / "15-vllm.json").read_text(encoding="utf-8"))["metrics"]["speculative_decoding"] | metrics
    )
    return json.dumps({"metrics": {"speculative_decoding": held}})


# Siblings of report 15's file: none is a reason for a plan, whatever reads it.
ANSWERS = {
    "true for a count": _answer(acceptance_histogram=[39, True, 0, 3]),
    "a text for a count": _answer(acceptance_histogram=[39, "1", 0, 3]),
    "a nested count": _answer(acceptance_histogram=[39, [1], 0, 3]),
    "below 0": _answer(acceptance_histogram=[39, -1, 0, 3]),
    "half a block": _answer(acceptance_histogram=[39, 0.5, 0, 3]),
    "not a number": _answer(acceptance_histogram=[39, math.nan, 0, 3]),
    "another total": _answer(num_accepted_draft_tokens=11),
    "other blocks": _answer(num_spec_steps=44),
    "more accepted than drafted": _answer(num_draft_tokens=5),
    "another length": _answer(num_spec_tokens=4),
    "no blocks": _answer(acceptance_histogram=[0, 0, 0, 0], num_spec_steps=0, num_accepted_draft_tokens=0),
    "one of two without its tokens": json.dumps(json.loads(_answer()) | {"usage": {"completion_tokens": 54}})
    + "\n"
    + _answer(),
    "most steps without a draft": json.dumps(json.loads(_answer()) | {"usage": {"completion_tokens": 411}}),
}


def _entrances(file: str, out: str) -> tuple[Result, list[Result]]:
    """What `log --hazards` says of a file, and what every way to make a plan from it says."""
    kinds = [("--histogram", file), ("--hazards", file), ("--rows", file), ("--comparison", file)]
    plans = [("plan", *words, *(["--cost-ratio", "0.05"] if words[0] != "--comparison" else [])) for words in kinds]
    logged = CliRunner().invoke(app, ["log", file, "--out", out])
    return logged, [CliRunner().invoke(app, [*words, "--json"]) for words in plans]


@pytest.mark.parametrize("name", [*sorted(path.name for path in REPORTS.iterdir()), *ANSWERS])
def test_every_entrance_gives_one_answer(name: str, tmp_path: Path) -> None:
    """What `log --hazards` refuses makes no plan by any way; what it takes gives the same acceptance by all of them."""
    if name in ANSWERS:
        (tmp_path / "answer.json").write_text(ANSWERS[name])
    file = tmp_path / "answer.json" if name in ANSWERS else REPORTS / name
    logged, plans = _entrances(str(file), str(tmp_path / "h.csv"))
    assert all(one.exit_code in (0, 2) for one in (logged, *plans))
    if logged.exit_code:
        assert [one.exit_code for one in plans] == [2] * len(plans)
        return
    words = ["plan", "--hazards", str(tmp_path / "h.csv"), "--cost-ratio", "0.05", "--json"]
    ours = CliRunner().invoke(app, words)
    for one in plans:
        assert one.exit_code in (ours.exit_code, 2)
        if not one.exit_code:
            assert json.loads(one.stdout)["points"][0]["speedup"] == json.loads(ours.stdout)["points"][0]["speedup"]


@pytest.mark.parametrize(
    ("held", "place"),
    [
        ({"drafted": 1, "counts": [True, 2]}, "counts[0] is true"),
        ({"drafted": 1, "counts": [1, 2], "accepted": [0, True]}, "accepted[1] is true"),
        ({"drafted": [1, False], "counts": [1, 2], "accepted": [0, 0]}, "drafted[1] is false"),
    ],
)
def test_true_is_no_count_of_a_histogram(held: dict[str, object], place: str, tmp_path: Path) -> None:
    (tmp_path / "h.json").write_text(json.dumps(held))
    with pytest.raises(ValueError, match=r"h\.json: ") as error:
        read_histogram(tmp_path / "h.json")
    assert place in str(error.value)
