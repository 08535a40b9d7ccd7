"""Every public symbol is documented as promised, and every example runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from types import FunctionType, ModuleType
from typing import Any

import pytest
from numpydoc.docscrape import FunctionDoc
from numpydoc.validate import validate

import specsim
import specsim.testing
import specsim.trees

PUBLIC = [(package, name) for package in (specsim, specsim.testing) for name in package.__all__]
FUNCTIONS = [(p, n) for p, n in PUBLIC if isinstance(getattr(p, n), FunctionType)]
MODULES = [m.name for m in pkgutil.walk_packages(specsim.__path__, "specsim.")]
# What numpydoc must not find: no summary, parameters undocumented or unknown, no type, no description.
CODES = {"GL08", "SS01", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03"}
IDS = [f"{p.__name__}.{n}" for p, n in FUNCTIONS]


def missing_sections(symbol: Any) -> list[str]:
    sections = FunctionDoc(symbol)
    wanted = ["Returns", "Raises", "References", "Examples"] + ["Parameters"] * bool(
        inspect.signature(symbol).parameters
    )
    return [name for name in wanted if not sections[name]]


@pytest.mark.parametrize(("package", "name"), FUNCTIONS, ids=IDS)
def test_docstring(package: ModuleType, name: str) -> None:
    symbol = getattr(package, name)
    problems = [e for e in validate(f"{symbol.__module__}.{name}")["errors"] if e[0] in CODES]
    assert problems == []
    assert missing_sections(symbol) == []


@pytest.mark.parametrize(("package", "name"), [s for s in PUBLIC if s not in FUNCTIONS], ids=lambda v: str(v))
def test_public_records_have_a_docstring(package: ModuleType, name: str) -> None:
    assert inspect.getdoc(getattr(package, name))


def test_the_docstring_check_can_fail() -> None:
    def bare(p: int) -> int:
        """Summary."""
        return p

    assert missing_sections(bare) == ["Returns", "Raises", "References", "Examples", "Parameters"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} says nothing about itself"
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package in (specsim, specsim.trees) for name in package.__all__]
)
def test_every_public_function_has_an_example(package: ModuleType, name: str) -> None:
    symbol = getattr(package, name)
    assert doctest.DocTestFinder().find(symbol, name, globs={})[0].examples
