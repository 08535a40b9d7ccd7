"""Adding a controller or an objective is one file: by its path, or in the folder; and what the command says."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from helpers.rules import MUTANTS
from typer.testing import CliRunner

import specsim.cli
import specsim.control
import specsim.objective
from specsim import discover
from specsim.control import block_lengths, row_signals
from specsim.objective import loss

SKELETONS = Path(__file__).parents[2] / "docs" / "developer" / "skeletons"
PACKAGES = {"control": specsim.control, "objective": specsim.objective}
BLOCK = row_signals([[0.9, 0.1], [0.5, 0.5], [0.9, 0.1]], [0, 0, 0], [1, 2, 3])  # 0.33, 0.69, 0.33 nats


@pytest.fixture(params=list(PACKAGES))
def family(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A family with a second directory, and the skeleton in it."""
    package: ModuleType = PACKAGES[request.param]
    (tmp_path / "own.py").write_text((SKELETONS / f"{request.param}.py").read_text(encoding="utf-8"))
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    yield request.param
    sys.modules.pop(f"{package.__name__}.own", None)


def test_it_is_found_in_the_folder(family: str) -> None:
    assert "own" in discover.names(family)
    assert discover.facts(discover.find(family, "own")).family == family
    if family == "control":
        assert block_lengths("own", BLOCK, params={"nats": 0.5}) == 2
    else:
        assert loss("own", [0.5, 0.5], np.log([0.5, 0.5])) == 0


def test_it_needs_no_folder() -> None:
    assert block_lengths(SKELETONS / "control.py", BLOCK, params={"nats": 1.1}) == 3
    assert loss(str(SKELETONS / "objective.py"), [0.75, 0.25], np.log([0.25, 0.75])) == pytest.approx(0.25)


def said(*words: str) -> str:
    return CliRunner().invoke(specsim.cli.app, ["check", *words]).output


def test_the_command_checks_it() -> None:
    assert "pass  stopping_keeps_the_law" in said("static", "--param", "gamma=1")
    assert "skipped  stopping_keeps_the_law  the module says BOUND = True" in said("clairvoyant")


def test_the_command_convicts() -> None:
    run = CliRunner().invoke(specsim.cli.app, ["check", str(MUTANTS / "control" / "drops_after_the_draw.py")])
    assert run.exit_code == 1
    assert "FAIL  stopping_keeps_the_law" in run.output
    assert "the law of the text is off by" in run.output


def test_wrong_words_end_in_one_line() -> None:
    assert "controller 'threshold' has no parameter 'theta'; known: eta, signal" in said(
        "threshold", "--param", "theta=1"
    )
    assert "controllers: clairvoyant, " in " ".join(said("spiral").split())
    assert "family 'controls' is unknown" in said("static", "--family", "controls")
