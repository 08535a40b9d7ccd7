"""What a number depends on: imports at any remove, and digests of code without its words."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from specsim.base import imports


def digest(text: str) -> str:
    return imports.code_of(ast.parse(text))


FIRST = '"""Words."""\nimport math\n\ndef f(x: int) -> float:\n    """More."""\n    return x / 2  # half\n'


def test_the_digest_reads_code_not_words() -> None:
    assert digest("from math import pi\ndef f(x: int) -> float:\n    return (x / 2)\n") == digest(FIRST)


@pytest.mark.parametrize(("right", "wrong"), [("x / 2", "x / 3"), ("x / 2", "x * 2"), ("def f", "def g")])
def test_another_code_has_another_digest(right: str, wrong: str) -> None:
    assert digest(FIRST.replace(right, wrong)) != digest(FIRST)


@pytest.mark.parametrize(("one", "other"), [("x = 0", "x = False"), ("x = 0", "x = None"), ("f()", "g()")])
def test_no_value_and_no_call_is_a_word(one: str, other: str) -> None:
    assert digest(one) != digest(other)


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("import specsim.base.check", "specsim.base.check"),
        ("from specsim.base import check", "specsim.base.check"),
        ("from specsim.base.check import integer", "specsim.base.check"),
        ("from specsim import optimal_stopping", "specsim.speed.stopping"),
        ("from specsim import discover", "specsim.discover"),
        ("def f():\n    from specsim.base import check", "specsim.base.check"),
        ("from specsim.control import block_lengths", "specsim.control._signals"),
        ("from real.models import names", "real.models.names"),
        ("import numpy, specsim.base.check", "specsim.base.check"),
        ("import numpy", None),
    ],
)
def test_a_name_counts_for_the_module_that_it_comes_from(line: str, module: str | None) -> None:
    assert imports.imports_of(ast.parse(line)) == ((module,) if module else ())


def test_what_is_imported_at_a_remove_counts() -> None:
    found = imports.closure(["specsim.verify.step.optimal_wor"])
    assert {"specsim.verify.step._pairs", "specsim.verify.step.recursive_wor", "specsim.base.arrays"} <= found
    assert "specsim.verify.step.typical" not in found
    assert all(set(imports.imported(module)) <= found for module in found)
    assert imports.closure([]) == set()


def test_a_name_that_is_passed_on_twice_and_renamed_counts_for_its_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As `g` it is not found in the second package, which calls it `f`."""
    inner = tmp_path / "specsim" / "passed_on" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").write_text("from specsim.passed_on.inner import e, f as g\n")
    (inner / "__init__.py").write_text("from specsim.passed_on.inner.core import e, f\n")
    (inner / "core.py").write_text("e = f = 1\n")
    monkeypatch.setattr(imports, "ROOT", tmp_path)
    for name in ("e", "g"):
        found = imports.imports_of(ast.parse(f"from specsim.passed_on import {name}"))
        assert found == ("specsim.passed_on.inner.core",)
