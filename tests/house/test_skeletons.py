"""The skeletons of docs/developer are rules: every check passes, mypy --strict too; a wrong line is convicted."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from specsim.checks import check_rule, family_checks

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "developer" / "skeletons"
FAMILIES = ("step", "chain", "tree", "coupled", "draft", "process", "control", "objective")
WRONG = {  # family -> a line, what a hurried hand writes instead, and who says so
    "step": ("pick(plan.p, u[..., 0])", "pick(plan.q, u[..., 0])", "sampler_is_transition"),
    "chain": (
        "residual(row_at(p, num_accepted), row_at(q, num_accepted))",
        "row_at(p, num_accepted)",
        "sampler_is_transition",
    ),
    "tree": ("pick(row_at(plan.p, row), u[..., d])", "pick(row_at(plan.p, row), u[..., 0])", "sampler_is_transition"),
    "coupled": ("_first(p, e[..., 0, :])\n", "drafts[..., 0]\n", "drafter_invariant"),
    "draft": ("xp.where(members, q, 0)", "xp.where(members, q * q, 0)", "inside_is_exact"),
    "process": ("q = one_hot(x, rows[texts, :size])", "q = rows[texts, :size]", "law_is_the_targets"),
    "control": ("+ signals.entropy\n", "+ signals.entropy.sum()\n", "batches"),
    "objective": ("return q * (apart - xp.sum", "return q * (apart + xp.sum", "gradient_is_exact"),
}


def load(text: str, path: Path) -> ModuleType:
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_is_one_for_each_family() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(FAMILIES)
    page = (FOLDER.parent / "new-rule.md").read_text(encoding="utf-8")
    assert all(f"skeletons/{family}.py" in page for family in FAMILIES)


@pytest.mark.parametrize("family", [pytest.param(f, marks=[pytest.mark.slow] if f == "tree" else []) for f in FAMILIES])
def test_it_passes_every_check(family: str, tmp_path: Path) -> None:
    text = (FOLDER / f"{family}.py").read_text(encoding="utf-8")
    findings = check_rule(load(text, tmp_path / f"own_{family}.py"), family)
    assert findings
    assert [finding for finding in findings if not finding.passed] == []


def test_that_of_trees_passes_all_but_the_slowest(tmp_path: Path) -> None:
    """JAX compiles for ten seconds."""
    module = load((FOLDER / "tree.py").read_text(encoding="utf-8"), tmp_path / "own_tree.py")
    for name, check in family_checks("tree").items():
        if name != "same_on_every_backend":
            check(module)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_wrong_line_is_convicted(family: str, tmp_path: Path) -> None:
    right, wrong, check = WRONG[family]
    text = (FOLDER / f"{family}.py").read_text(encoding="utf-8")
    assert text.count(right) == 1
    module = load(text.replace(right, wrong), tmp_path / f"wrong_{family}.py")
    with pytest.raises(AssertionError):
        family_checks(family)[check](module)


def test_they_are_typed() -> None:
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed: lint and types run in one that has")
    files = [str(FOLDER / f"{family}.py") for family in FAMILIES]
    run = subprocess.run([sys.executable, "-m", "mypy", "--strict", *files], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
