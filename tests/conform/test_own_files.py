"""Files of one's own are what they are now, whatever was compiled of them before."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from helpers.authors import MINE, RIGHT
from typer.testing import CliRunner

from specsim.base.modules import own_rule
from specsim.cli import app
from specsim.conform import registry


def file(folder: Path, text: str, name: str = "mine.py") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_a_file_that_changed_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytecode is told by seconds and sizes: an edit within a second that keeps the length would not be seen."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "bytecode"))
    mine = tmp_path / "mine.py"
    for nanoseconds, value in enumerate((1, 2)):
        mine.write_text(f"number = {value}\nverify = subject = lambda: None\n")
        os.utime(mine, ns=(10**18, 10**18 + nanoseconds))
        found = registry.find(str(mine))
        assert found.number == value
        assert registry.find(str(mine)) is found
        rule = own_rule(mine)
        assert rule is not None
        assert rule.number == value
        assert own_rule(str(mine)) is rule


# A file is imported as Python imports it.
POSTPONED = """
from __future__ import annotations
from dataclasses import dataclass

@dataclass
class Settings:
    floor: float = 0.0
"""
RELATIVE = "from .residual import residual\n"
BESIDE = {
    "a dataclass with postponed annotations": ("mine.py", POSTPONED),
    "a module beside it": ("mine.py", "from engine_beside import thing\n"),
    "a package beside it": ("mine.py", "from engine_of_three.residual import residual\n"),
    "a file of a package": ("engine_of_three/mine.py", RELATIVE),
    "a file that is the package's own": ("engine_of_three/rejection.py", RELATIVE),
    "a file named like a package that it imports": ("numpy.py", "import numpy\nassert numpy.zeros\n"),
    "a file named like a module of Python": ("random.py", "import random\nassert random.Random\n"),
    "a name that is no identifier": ("my-verifier v1.2.py", POSTPONED),
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_file_is_imported_as_python_does_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path / "nothing")  # what is added to the path is taken away again
    package = tmp_path / "engine_of_three"
    package.mkdir()
    file(package, "from .rejection import residual\n", "__init__.py")
    file(package, RELATIVE, "rejection.py")
    file(package, "from . import constants\nresidual = constants.ZERO\n", "residual.py")
    file(package, "ZERO = 0\n", "constants.py")
    file(tmp_path, "thing = 1\n", "engine_beside.py")
    where, text = BESIDE[name]
    known = dict(sys.modules)
    try:
        module = registry.find(file(tmp_path, text + MINE.format(law=RIGHT), where))
        assert [subject.name for subject in registry.subjects_of(module)] == ["mine"]
        assert all(sys.modules[one] is known[one] for one in ("numpy", "random"))
    finally:
        for one in sys.modules.keys() - known.keys():
            del sys.modules[one]


def test_what_a_subject_prints_is_not_in_the_report(tmp_path: Path) -> None:
    """`talks` of the authors: its import, its subject() and its calls print, and JSON stays JSON."""
    text = "print('loading')\n" + MINE.format(law=RIGHT).replace("    x =", "    print(drafts)\n    x =")
    result = CliRunner().invoke(app, ["conform", file(tmp_path, text), "--property", "marginal", "--json"])
    assert json.loads(result.stdout)["reports"][0]["outcome"] == "lossless"
    assert "loading" in result.stderr
