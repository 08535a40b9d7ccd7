"""A missing package is named with its extra, in one line; and what needs none runs without."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import specsim
from specsim.base import extras
from specsim.commands.plan import read
from specsim.report.plots import _figure
from specsim.testing import rational_laws

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HALF = [0.5, 0.5]
WITHOUT = f"""
import sys
from importlib.machinery import PathFinder

class Base:  # an environment without any extra
    def find_spec(name, path=None, target=None):
        return None if name in {set(extras.EXTRA)} else PathFinder.find_spec(name, path, target)

sys.meta_path = [Base if finder is PathFinder else finder for finder in sys.meta_path]
"""

NEEDS: list[tuple[str, Callable[[], Any]]] = [
    ("cvxpy", lambda: specsim.optimal_coupling(HALF, HALF)),
    ("hypothesis", lambda: rational_laws(2)),
    ("jax", lambda: specsim.simulate(HALF, HALF, gamma=1, rule="block", blocks=8, backend="jax")),
    ("matplotlib", lambda: _figure([])),
    ("safetensors", lambda: read._tensors(Path("rows.safetensors"))),
]


@pytest.mark.parametrize(("package", "call"), NEEDS, ids=[package for package, _ in NEEDS])
def test_each_extra_is_named(package: str, call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    extra = extras.EXTRA[package]
    with pytest.raises(ImportError) as caught:
        call()
    message = str(caught.value)
    assert message.endswith(f" needs {package}: install the extra `{extra}` (specsim-llm[{extra}])")
    assert message.count("\n") == 0
    assert extras.missing(caught.value) == message  # said once, said again the same


def test_every_extra_brings_its_package() -> None:
    names = {
        "distributed": "dask[distributed]",
        "ot": "POT",
        "sklearn": "scikit-learn",
        "vl_convert": "vl-convert-python",
    }
    for package, extra in extras.EXTRA.items():
        wanted = names.get(package, package)
        assert any(line.startswith(wanted) for line in PROJECT["optional-dependencies"][extra]), package
    assert PROJECT["name"] == extras.DISTRIBUTION


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True)


def test_verifiers_are_checked_on_the_base_install() -> None:
    done = run(
        "from specsim.checks import check_rule\n"
        "from specsim.testing import assert_law\n"
        "from specsim.verify.step import rejection, typical\n"
        "assert_law([0, 1] * 5000, [0.5, 0.5])\n"
        "for rule in (rejection, typical):\n"
        "    print(*(f'{f.check}={f.outcome}' for f in check_rule(rule, 'step')), sep='\\n')\n"
    )
    assert done.returncode == 0, done.stderr
    found = [line.split("=") for line in done.stdout.splitlines()]
    assert [outcome for check, outcome in found if check == "same_on_every_backend"] == ["skipped", "skipped"]
    assert "FAIL" not in {outcome for _, outcome in found}


def test_the_command_checks_on_the_base_install() -> None:
    done = run("from specsim.cli import app\nsys.argv = ['specsim', 'check', 'iid', '--family', 'draft']\napp()\n")
    assert done.returncode == 0, done.stderr
    assert "skipped  same_on_every_backend  neither jax nor torch is installed" in done.stdout
