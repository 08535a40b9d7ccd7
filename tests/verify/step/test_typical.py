"""Typical acceptance (T27): its law, bias and hits for the set that is found, and what moves the set."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import specsim
from specsim.checks import STEP_CHECKS, check_rule
from specsim.cli import app
from specsim.testing.cases import random_laws
from specsim.types import LossyStepRule
from specsim.verify.step import typical

RULE: LossyStepRule = typical  # mypy: the module has a typed bias


def test_the_parts_of_the_theorem() -> None:
    for p, q in zip(*random_laws(5, 40, seed=27), strict=True):
        plan = typical.prepare(p, q)
        kept = {v for v in range(5) if plan.typical[v]}
        entropy = -sum(float(v) * np.log(float(v)) for v in p if v)
        assert kept == {v for v in range(5) if float(p[v]) > min(0.09, 0.3 * np.exp(-entropy))}
        mass = sum(q[v] for v in kept)
        law = [q[v] * (v in kept) + (1 - mass) * p[v] for v in range(5)]
        assert specsim.output_law(p, q, rule="typical").tolist() == law
        assert typical.bias(plan) == sum(abs(a - b) for a, b in zip(law, p, strict=True)) / 2 <= mass
        hit = mass + sum(q[v] * p[v] for v in range(5) if v not in kept)
        assert specsim.acceptance_rate(p, q, rule="typical") == hit
        assert hit <= sum(map(min, p, q)) + typical.bias(plan)


def test_it_is_lossless_for_one_hot_targets_only() -> None:
    p, q = np.eye(3)[1], np.array([0.5, 0.25, 0.25])
    assert typical.bias(typical.prepare(p, q)) == 0
    assert specsim.acceptance_rate(p, q, rule="typical") == specsim.optimal_acceptance(p, q) == 0.25
    verdict = specsim.guarantee("typical")
    assert not verdict.lossless
    assert isinstance(verdict.bias, float), "no Fraction was computed"
    assert verdict.bias == pytest.approx(2 / 3, abs=1e-15)
    assert "p = (0.333333, 0.666667), q = (1, 0) gives (1, 0)" in verdict.reason
    assert verdict.reason.endswith("bias (TV) 0.666667 in float64, with one draft")
    assert specsim.guarantee("typical", temperature=0).lossless


def test_both_parameters_move_the_set() -> None:
    p = np.array([0.6, 0.3, 0.08, 0.02])  # exp(-H) = 0.397
    q = np.full(4, 0.25)
    for epsilon, delta, kept in ((0.09, 0.3, 2), (0.05, 0.3, 3), (0.09, 0.1, 3), (1.0, 1.0, 1), (1e-3, 1.0, 4)):
        assert typical.prepare(p, q, epsilon=epsilon, delta=delta).typical.sum() == kept
    for wrong in ({"epsilon": 0.0}, {"epsilon": 1.5}, {"delta": 0.0}):
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is .* it must lie in"):
            typical.prepare(p, q, **wrong)
    edge = np.array([Fraction(9, 10), Fraction(1, 10), Fraction(0)])  # 0 log 0 is 0; a token of p = 0 is never kept
    assert typical.prepare(edge, edge, epsilon=1e-9).typical.tolist() == [True, True, False]


def test_checks_in_fractions_are_skipped_by_name() -> None:
    outcomes = {finding.check: finding.outcome for finding in check_rule(typical, "step")}
    exact = {"sampler_is_transition", "output_is_target", "acceptance_is_exact", "acceptance_below_optimum"}
    exact |= {"transition_is_a_law", "floats_follow_fractions"}
    assert outcomes == {name: "skipped" if name in exact else "pass" for name in STEP_CHECKS}
    shown = CliRunner().invoke(app, ["check", "typical"])
    assert shown.exit_code == 0
    assert "skipped  output_is_target  the rule says EXACT = False, and this check runs in Fractions" in shown.output


def test_a_file_of_ones_own_that_says_it_is_not_exact(tmp_path: Path) -> None:
    """A logarithm that Fractions do not have: nothing crashes, and a wrong bias is still found."""
    source = Path(typical.__file__).read_text().replace("p.astype(np.float64) if is_exact(p) else wide(p)", "wide(p)")
    (tmp_path / "own.py").write_text(source.replace("is_exact, ", ""))
    assert CliRunner().invoke(app, ["check", str(tmp_path / "own.py")]).exit_code == 0
    (tmp_path / "own.py").write_text(source.replace("axis=-1) / 2", "axis=-1)"))
    wrong = CliRunner().invoke(app, ["check", str(tmp_path / "own.py")])
    assert wrong.exit_code == 1
    assert "FAIL  laws_in_floats" in wrong.output
