"""A user's rule file is imported as Python imports it, by every command alike."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import specsim
from specsim import discover
from specsim.base import modules, source
from specsim.cli import app

BESIDE = "from {module} import verify_all as _\nfrom specsim.verify.{family} import *\n"
LATER = "from specsim.verify.step.rejection import *\n\ndef helper():\n    import constants_beside\n"


@pytest.fixture(autouse=True)
def path_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Take away again what an import adds to the path and to the modules."""
    monkeypatch.syspath_prepend(tmp_path / "nothing")  # what is added to the path is taken away again
    monkeypatch.setattr(modules, "_FOLDERS", [])
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def rule(folder: Path, text: str, name: str = "mine.py", beside: str = "verify_all = 1\n") -> str:
    folder.mkdir(exist_ok=True)
    (folder / "ours_beside.py").write_text(beside)
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.mark.parametrize(
    ("words", "family", "says"),
    [
        ("check {}", "step.rejection", "a rule's docstring states its law first"),
        ("simulate --target law:.5,.5 --draft law:.9,.1 --rule {} --gamma 2 --blocks 8", "chain.tokenwise", "blocks"),
    ],
    ids=["check", "simulate"],
)
def test_a_module_beside_a_rule_is_found(words: str, family: str, says: str, tmp_path: Path) -> None:
    mine = rule(tmp_path, BESIDE.format(module="ours_beside", family=family))
    assert says in CliRunner().invoke(app, words.format(mine).split()).output


def test_a_rule_in_a_package_imports_its_neighbours_and_keeps_its_name(tmp_path: Path) -> None:
    rule(tmp_path / "engine_here", "", "__init__.py")
    mine = rule(tmp_path / "engine_here", BESIDE.format(module=".ours_beside", family="step.rejection"))
    assert specsim.acceptance_rate([0.5, 0.5], [0.9, 0.1], rule=mine) == pytest.approx(0.6)
    assert discover.name_of(modules.own_rule(mine)) == "mine"


def test_namesakes_beside_two_rules_are_refused(tmp_path: Path) -> None:
    """The second rule would silently compute with what lies beside the first."""
    text = BESIDE.format(module="ours_beside", family="step.rejection")
    assert modules.own_rule(rule(tmp_path / "one", text)) is not None
    second = rule(tmp_path / "two", text, beside="verify_all = 2\n")
    with pytest.raises(ValueError, match=r"ours_beside would be .*one/ours_beside\.py, which lies beside"):
        modules.own_rule(second)
    (tmp_path / "two" / "ours_beside.py").unlink()
    with pytest.raises(ValueError, match="which lies beside another file"):  # alone it would not be found
        modules.own_rule(second)
    for kept in ("import math\n", "import numpy\n", ""):  # only what would be taken for another's is refused
        assert modules.own_rule(rule(tmp_path / "two", kept + text.partition("\n")[2])) is not None


@pytest.mark.parametrize("beside", ["constants_beside", "ours_beside"])
def test_what_a_rule_imports_in_a_function_counts(beside: str, tmp_path: Path) -> None:
    """A number is of the module's text too where it is imported late, or gives no more than a constant."""
    late = LATER if beside == "constants_beside" else BESIDE.format(module=beside, family="step.rejection")
    (tmp_path / "constants_beside.py").write_text("x = 1\n")
    module = modules.own_rule(rule(tmp_path, late))
    assert module is not None
    before = source.of_module(module)
    (tmp_path / f"{beside}.py").write_text("verify_all = x = 2\n")
    assert source.of_module(module) != before
    (tmp_path / "unrelated.py").write_text("x = 1\n")
    again = source.of_module(module)
    (tmp_path / "unrelated.py").write_text("x = 2\n")
    assert source.of_module(module) == again
