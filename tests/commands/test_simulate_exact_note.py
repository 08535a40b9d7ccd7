"""`specsim simulate` says in one line that its exact value and its measured one do not belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from specsim.commands.simulate import Simulate
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
