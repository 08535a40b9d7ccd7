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

import real
import specsim
import specsim.conform
import specsim.continuous
import specsim.control
import specsim.objective
import specsim.testing
import specsim.trees
import specsim.verify.coupled

PACKAGES = (
    *(specsim, specsim.conform, specsim.continuous, specsim.control, specsim.objective),
    *(specsim.testing, specsim.trees, specsim.verify.coupled),
)
PUBLIC = [(package, name) for package in PACKAGES for name in package.__all__]
FUNCTIONS = [(p, n) for p, n in PUBLIC if isinstance(getattr(p, n), FunctionType)]
MODULES = [m.name for p in (specsim, real) for m in pkgutil.walk_packages(p.__path__, f"{p.__name__}.")]
# What numpydoc must not find: no summary, parameters undocumented or unknown, no type, no description.
CODES = {"GL08", "SS01", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03"}
IDS = [f"{p.__name__}.{n}" for p, n in FUNCTIONS]


ALL = ("Returns", "Raises", "References", "Examples")
LOCAL = ("Returns", "Examples")  # of what has no paper, and may have nothing to refuse


def missing_sections(symbol: Any, wanted: tuple[str, ...] = ALL) -> list[str]:
    sections, takes = FunctionDoc(symbol), inspect.signature(symbol).parameters.keys() - {"self"}
    return [name for name in [*wanted, *["Parameters"] * bool(takes)] if not sections[name]]


def problems(symbol: Any) -> list[str]:
    """What numpydoc finds, of what it must not."""
    found = validate(f"{symbol.__module__}.{symbol.__qualname__}")["errors"]
    return [f"{code}: {text}" for code, text in found if code in CODES]


@pytest.mark.parametrize(("package", "name"), FUNCTIONS, ids=IDS)
def test_docstring(package: ModuleType, name: str) -> None:
    symbol = getattr(package, name)
    assert problems(symbol) == []
    assert missing_sections(symbol, LOCAL if package is specsim.trees else ALL) == []


def test_public_names_of_real_are_documented() -> None:
    """Functions, records, and what can be called of these; they are asked for here, since that loads torch."""
    pytest.importorskip("torch")
    symbols = [getattr(real, name) for name in real.__all__ if name != "TINY"]
    records = [symbol for symbol in symbols if isinstance(symbol, type)]
    methods = [m for record in records for name, m in vars(record).items() if inspect.isfunction(m) and name[0] != "_"]
    called = [*(symbol for symbol in symbols if symbol not in records), *methods]
    assert {symbol.__qualname__ for symbol in called} >= {"load", "Pair.generate", "Pair.score", "Pair.stopping"}
    assert [record.__name__ for record in records if not inspect.getdoc(record)] == []
    assert {symbol.__qualname__: problems(symbol) for symbol in called if problems(symbol)} == {}
    assert {s.__qualname__: missing_sections(s, ("Returns", "Raises")) for s in called} == {
        symbol.__qualname__: [] for symbol in called
    }


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
    if name.startswith("real."):
        pytest.importorskip("torch")
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} says nothing about itself"
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package in (specsim, specsim.trees) for name in package.__all__]
)
def test_every_public_function_has_an_example(package: ModuleType, name: str) -> None:
    symbol = getattr(package, name)
    assert doctest.DocTestFinder().find(symbol, name, globs={})[0].examples
