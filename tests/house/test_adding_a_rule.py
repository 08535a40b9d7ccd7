"""Adding a rule is one file: the skeleton of the docs, dropped into the folder, passes; a wrong one is convicted."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import mypy.api
import pytest
from typer.testing import CliRunner

import specsim
import specsim.cli
import specsim.verify.step as family
from specsim import discover
from specsim.checks import check_rule, family_checks
from specsim.report import tables

ROOT = Path(__file__).parents[2]
RIGHT = (ROOT / "docs" / "developer" / "skeletons" / "step.py").read_text(encoding="utf-8")
WRONG = RIGHT.replace("pick(plan.p, u[..., 0])", "pick(plan.q, u[..., 0])")  # samples the draft instead of the target


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A second directory of the step-rule package, with both files in it."""
    assert RIGHT
    assert WRONG != RIGHT
    (tmp_path / "own.py").write_text(RIGHT)
    (tmp_path / "own_wrong.py").write_text(WRONG)
    monkeypatch.setattr(family, "__path__", [*family.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    yield tmp_path
    for name in ("own", "own_wrong"):
        sys.modules.pop(f"{family.__name__}.{name}", None)


def test_the_right_one_passes_everything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"own", "rejection"} <= discover.rules("step").keys()
    rule = discover.find("step", "own")
    for name, check in family_checks("step").items():
        if name != "same_on_every_backend":  # which tests/house/test_skeletons.py asks of the same file
            check(rule)
    assert specsim.guarantee("own", num_drafts=3).lossless
    p, q = [Fraction(1, 4), Fraction(3, 4)], [Fraction(1, 2), Fraction(1, 2)]
    assert specsim.output_law(p, q, rule="own", num_drafts=2).tolist() == p
    assert specsim.acceptance_rate(p, q, rule="own", num_drafts=2) == Fraction(3, 4)
    own = [rule for rule in specsim.algorithms() if rule.name == "own"]
    assert own
    monkeypatch.setattr(tables, "rules_of_laws", lambda: own)  # of all rules the table takes seconds
    assert "| `own` | iid | yes |" in tables.rules_table()


@pytest.mark.slow  # that the example is typed, tests/house/test_skeletons.py asks; here, that mypy can tell
def test_it_is_typed(folder: Path) -> None:
    """mypy --strict has nothing to say of the example, and has where an annotation is missing."""
    strict = ["--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(folder / ".mypy_cache")]
    said, errors, status = mypy.api.run([*strict, str(folder / "own.py")])
    assert status == 0, said + errors
    (folder / "untyped.py").write_text(RIGHT.replace("(num_drafts: int) -> int", "(num_drafts)"))
    said, _, status = mypy.api.run([*strict, str(folder / "untyped.py")])
    assert status == 1
    assert "missing a type annotation" in said


def test_it_needs_no_folder(tmp_path: Path) -> None:
    """The example as a file of one's own, given by its path."""
    path = tmp_path / "own.py"
    path.write_text(RIGHT)
    p, q = [Fraction(1, 4), Fraction(3, 4)], [Fraction(1, 2), Fraction(1, 2)]
    assert specsim.guarantee(path, num_drafts=2).lossless
    assert specsim.acceptance_rate(p, q, rule=str(path), num_drafts=2) == Fraction(3, 4)
    assert specsim.simulate(p, q, rule=path, gamma=2, num_drafts=2, blocks=1000).tau > 1


def test_the_wrong_one_is_convicted(folder: Path) -> None:
    failed = {finding.check for finding in check_rule(discover.find("step", "own_wrong"), "step") if not finding.passed}
    assert failed == {"sampler_is_transition", "edges", "frequencies"}


def test_the_command_says_so(folder: Path) -> None:
    right = CliRunner().invoke(specsim.cli.app, ["check", str(folder / "own.py")])
    assert right.exit_code == 0, right.output
    wrong = CliRunner().invoke(specsim.cli.app, ["check", str(folder / "own_wrong.py")])
    assert wrong.exit_code == 1
    assert "FAIL  sampler_is_transition" in wrong.output
    (folder / "broken.py").write_text("x = (")
    broken = CliRunner().invoke(specsim.cli.app, ["check", str(folder / "broken.py")])
    assert broken.exit_code == 2
    assert "broken.py cannot be imported: SyntaxError" in broken.output
    missing = CliRunner().invoke(specsim.cli.app, ["check", str(folder / "missing.py")])
    assert missing.exit_code == 2
    assert "missing.py does not exist" in missing.output
