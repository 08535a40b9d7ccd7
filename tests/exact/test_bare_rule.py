"""A rule file that has the functions of a rule, and says no more than for how many drafts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import specsim
from specsim import conform
from specsim.base.modules import read
from specsim.cli import app

SHORT = ["--target", "law:.5,.3,.2", "--draft", "law:.2,.5,.3", "--gamma", "2", "--blocks", "100", "--sequences", "10"]
BARE = '''
"""Rejection, under another name."""
from specsim.verify.step.rejection import COUNTS, prepare, transition, uniforms, verify
'''


def test_its_guarantee_is_computed(tmp_path: Path) -> None:
    """It was taken for a chain rule, since it has no DRAFTS; then the missing EXACT was an AttributeError."""
    path = tmp_path / "bare.py"
    path.write_text(BARE)
    found = specsim.guarantee(str(path))
    assert found.lossless
    assert found.bias == 0
    assert found.reason.endswith("no proof carries it further")


def test_it_is_used_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "bare.py"
    path.write_text(BARE)
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.5, 0.3])
    assert specsim.acceptance_rate(p, q, rule=path) == specsim.acceptance_rate(p, q, rule="rejection")
    assert (specsim.output_law(p, q, rule=path) == specsim.output_law(p, q, rule="rejection")).all()
    runs = [CliRunner().invoke(app, ["simulate", "--rule", rule, *SHORT]) for rule in (str(path), "rejection")]
    assert [run.exit_code for run in runs] == [0, 0]
    assert conform.judge(conform.rules.subject(read(path, "rule")), properties=["marginal"]).outcome == "lossless"
