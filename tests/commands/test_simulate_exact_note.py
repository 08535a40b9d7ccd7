"""`specsim simulate` says in one line that its exact value and its measured one do not belong together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specsim.commands.simulate_options import Simulate
from specsim.commands.simulate_run import run

LIES = """
from specsim.verify.step.recursive import *
THEOREM = "open"
def verify(plan, drafts, u): return drafts[..., 0]
"""


def test_an_exact_value_that_the_run_contradicts_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The words `exact 1.64` stood beside `tau 2.0` without a remark."""
    lies = tmp_path / "lies.py"
    lies.write_text(LIES)
    options = Simulate("law:.5,.3,.2", "law:.1,.3,.6", gamma=1, num_drafts=2, blocks=2000.0, sequences=20)
    assert run(options._replace(rule=str(lies)))[1]
    said = capsys.readouterr().err
    assert said.startswith("note: the exact tau 1.6400 lies far outside the measured 2.0000 .. 2.0000: ")
    assert said.count("\n") == 1
    # A right rule, also where nothing is ever refused in a short run.
    assert run(options._replace(rule="recursive"))[1]
    rare = Simulate("law:.5,.5", "law:.5001,.4999", gamma=1, blocks=200.0, sequences=20)
    assert "2.0000 .. 2.0000  exact 1.9999" in run(rare)[0]
    assert capsys.readouterr().err == ""


RUN = Simulate("law:.5,.3,.2", "law:.1,.3,.6", gamma=1, blocks=2e5, seed=1, as_json=True)


def test_a_narrow_interval_casts_no_doubt(capsys: pytest.CaptureFixture[str]) -> None:
    """The exact value is held against the same interval, whatever level is shown."""
    tau = {level: json.loads(run(RUN._replace(level=level))[0])["tau"] for level in (0.001, 0.9, 0.99)}
    # The exact value is 1.6; a run this long is off by more than what events too rare for it explain.
    assert abs(tau[0.99]["value"] - 1.6) > 5e-4
    widths = [span["high"] - span["low"] for span in tau.values()]
    assert widths == sorted(widths)
    assert widths[0] < widths[2] / 100
    assert capsys.readouterr().err == ""


def test_the_level_that_is_asked_for_is_shown() -> None:
    assert json.loads(run(RUN._replace(level=0.999))[0])["level"] == 0.999
    assert "  99.9% interval " in run(RUN._replace(level=0.999, as_json=False))[0]
    with pytest.raises(ValueError, match=r"^level is 1\.0; it must lie in \(0, 1\)$"):
        run(RUN._replace(level=1.0))
