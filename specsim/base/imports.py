"""The modules of this project that a module imports, at whatever remove, and digests of what they compute.

Files are read and never run. A digest is of a syntax tree without docstrings, comments and imports,
which compute nothing.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("specsim", "real")


def closure(modules: Iterable[str]) -> set[str]:
    """Return these modules of the project, those that they import, and so on."""
    waiting, reached = list(modules), set[str]()
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += imported(module)
    return reached


@cache
def imported(module: str) -> tuple[str, ...]:
    """Return the modules of the project that a module imports, anywhere in its file."""
    return imports_of(_tree(module))


def imports_of(tree: ast.Module) -> tuple[str, ...]:
    """Return the modules of the project that a syntax tree imports."""
    modules = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names if file_of(alias.name) is not None}
        elif isinstance(node, ast.ImportFrom) and file_of(node.module or "") is not None:
            modules |= {_home(str(node.module), alias.name) for alias in node.names}
    return tuple(sorted(modules))


@cache
def file_of(module: str) -> Path | None:
    """Return the file of a module of the project; None for any other name."""
    if module.partition(".")[0] not in PACKAGES:
        return None
    path = ROOT.joinpath(*module.split("."))
    candidates = (path.parent / f"{path.name}.py", path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


@cache
def code(module: str) -> str:
    """Return the digest of what a module computes."""
    return code_of(_tree(module))


def code_of(tree: ast.Module) -> str:
    """Return the digest of a syntax tree without docstrings and imports, the same on every Python.

    Examples
    --------
    >>> code_of(ast.parse("x = 1  # one")) == code_of(ast.parse("import math\\nx=1"))
    True
    """
    return hashlib.sha256(repr(_plain(tree)).encode()).hexdigest()


def _home(module: str, name: str) -> str:
    """Return the module that a name of `module` comes from.

    It is `module.name` if that is a module; else, for a package, the module from which it re-exports
    the name; else `module` itself.
    """
    if file_of(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    for node in ast.walk(_names(module)):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _home(str(node.module), alias.name)
    return module


@cache
def _names(module: str) -> ast.Module:
    """Return the syntax tree that lists what a package re-exports: its stub's, or its own; empty for no package."""
    path = file_of(module)
    if path is None or path.name != "__init__.py":
        return ast.parse("")
    stub = path.with_suffix(".pyi")
    return _parsed(stub) if stub.is_file() else _tree(module)


@cache
def _tree(module: str) -> ast.Module:
    """Return the syntax tree of a module of the project."""
    path = file_of(module)
    assert path is not None, module
    return _parsed(path)


def _parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def _plain(node: Any) -> Any:
    """Return a syntax tree as nested tuples, without docstrings, imports and empty fields.

    Newer Pythons add fields to nodes, which are empty for code that older ones can read.
    """
    if isinstance(node, ast.AST):
        fields = ((name, _plain(_without_texts(name, value))) for name, value in ast.iter_fields(node))
        return (type(node).__name__, *((name, value) for name, value in fields if value not in (None, ())))
    if isinstance(node, list):
        return tuple(_plain(item) for item in node)
    return node


def _without_texts(field: str, value: Any) -> Any:
    """Return the statements of a body without imports and docstrings; any other field as it is."""
    if field != "body" or not isinstance(value, list):
        return value
    statements = [node for node in value if not isinstance(node, ast.Import | ast.ImportFrom)]
    return [statement for statement in statements if not _is_text(statement)]


def _is_text(node: ast.AST) -> bool:
    """Return whether a statement is a text alone, as a docstring is."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
