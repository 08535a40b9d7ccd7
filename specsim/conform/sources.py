"""The files that hold the code that is judged: the user's are hashed, installed distributions are named by version.

They are the subject's file, what it and its imports import (in functions, too), the files of the
functions that are called, and what was imported meanwhile. A file is *own*, the user's, unless a
distribution installed it or it is Python's: a module of an editable install is own. Files are read
to find out, and never run.
"""

from __future__ import annotations

import functools
import inspect
import sys
import sysconfig
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import specsim
from specsim.base.modules import imported_names, origins, package
from specsim.conform.subject import Subject

# Endings of files that hold code; a kernel is compiled.
CODE = (".py", ".so", ".pyd", ".dll", ".dylib")
# Packages of the judge itself, which are not part of what is judged.
HARNESS = ("specsim.conform", "specsim.testing", "specsim.checks")
# Fields of a subject that are called.
CALLED = ("run", "batch", "paths", "coins")
PACKAGE = Path(specsim.__file__).resolve().parent
ADAPTERS = PACKAGE / "conform" / "adapters"


class Sources(NamedTuple):
    """The files of a subject's own code, the distributions that it imports, and whether it calls specsim.

    `versions` maps names of distributions to versions.
    """

    own: frozenset[Path]
    versions: dict[str, str]
    specsim: bool


def sources(module: ModuleType, subjects: Iterable[Subject], loaded: Iterable[Path] = ()) -> Sources:
    """Return the sources of a file's subjects; `loaded` are files that are known to have been imported."""
    # Begin with the file itself, and with the files of the functions that are called.
    waiting = [Path(inspect.getfile(module)), *(path for path in loaded if not _installed_by(path.resolve()))]
    for subject in subjects:
        waiting += defining_files(getattr(subject, name) for name in CALLED)
    # Follow imports until no file is left: installed ones are named by version, those of the judge
    # are left out.
    own_files: set[Path] = set()
    versions: dict[str, str] = {}
    calls_specsim = False
    while waiting:
        path = waiting.pop().resolve()
        if path in own_files or not path.is_file() or path.suffix not in CODE or _is_of_python(path):
            continue
        if distributions := _installed_by(path):
            versions |= distributions
            continue
        if PACKAGE in path.parents and ADAPTERS not in path.parents:
            calls_specsim = calls_specsim or PACKAGE / "conform" not in path.parents
            continue
        own_files.add(path)
        if path.suffix == ".py":
            for name in imported_names(path):
                files = () if _of_harness(name) else origins(name, path)
                waiting += [file for file in files if name == "specsim" or file.resolve() != PACKAGE / "__init__.py"]
    return Sources(frozenset(own_files), dict(sorted(versions.items())), calls_specsim)


def defining_files(values: Iterable[Any]) -> list[Path]:
    """Return the files that define these callables, and everything that the subject's own code reaches from them.

    The walk follows globals, closures, defaults, bound objects and base classes; it runs nothing.
    """
    files: set[str] = set()
    seen: set[int] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, type(None) | int | float | str | bytes):
            continue
        seen.add(id(value))
        # A function: its file, and if it is the subject's own, what it refers to.
        if isinstance(value, FunctionType):
            files.add(value.__code__.co_filename)
            if _is_own(value.__code__.co_filename):
                waiting += [value.__globals__[name] for name in _names(value.__code__) if name in value.__globals__]
                waiting += [cell.cell_contents for cell in value.__closure__ or () if not _is_empty(cell)]
                waiting += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
                waiting.append(getattr(value, "__wrapped__", None))
        elif isinstance(value, MethodType):
            waiting += [value.__func__, value.__self__]
        elif isinstance(value, functools.partial):
            waiting += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, ModuleType):
            files.add(getattr(value, "__file__", None) or "")
        elif isinstance(value, type):
            waiting += [
                attribute
                for base in value.__mro__
                for attribute in vars(base).values()
                if isinstance(attribute, FunctionType)
            ]
        # A library that was loaded by its path.
        elif type(value).__module__ == "ctypes":
            files.add(str(getattr(value, "_name", "")))
        elif _is_own(getattr(sys.modules.get(type(value).__module__), "__file__", None)):
            waiting += [type(value), *getattr(value, "__dict__", {}).values()]
    return [Path(file) for file in files if file]


def since(before: Iterable[str]) -> list[Path]:
    """Return the files of modules that were imported since `before` were the names of all."""
    new = sorted(name for name in sys.modules.keys() - set(before) if not _of_specsim(name))
    return [Path(file) for name in new if (file := getattr(sys.modules[name], "__file__", None))]


def label(path: Path) -> str:
    """Return the name of a file: from the folder above its package on, the same on every machine.

    >>> label(Path(specsim.__file__))
    'specsim/__init__.py'
    """
    return "/".join([*package(path, 1), path.name])


def _names(code: CodeType) -> set[str]:
    """Return the names that a function, and those inside it, refer to."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _is_empty(cell: Any) -> bool:
    """Return whether a cell of a closure holds None, or nothing yet."""
    try:
        return cell.cell_contents is None
    except ValueError:
        return True


def _of_harness(name: str) -> bool:
    """Return whether a module is the judge's own; an adapter is not."""
    return any(f"{name}.".startswith(f"{package}.") for package in HARNESS) and not _of_adapters(name)


def _of_specsim(name: str) -> bool:
    """Return whether the harness may have imported a module for itself."""
    return name.partition(".")[0] == "specsim" and not _of_adapters(name)


def _of_adapters(name: str) -> bool:
    """Return whether a module is an adapter."""
    return name.startswith("specsim.conform.adapters")


def _is_own(file: str | None) -> bool:
    """Return whether the contents of a file are looked into.

    Code that was made of a text counts with the file that made it.
    """
    if file is None or not file.endswith(".py"):
        return False
    path = Path(file).resolve()
    of_specsim = PACKAGE in path.parents and ADAPTERS not in path.parents
    return not of_specsim and not _installed_by(path) and not _is_of_python(path)


def _is_of_python(path: Path) -> bool:
    """Return whether a file is of the standard library."""
    return not _site(path) and any(library in path.parents for library in _libraries())


@functools.cache
def _libraries() -> list[Path]:
    """Return the folders of the standard library."""
    return [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]


def _site(path: Path) -> Path | None:
    """Return the folder of installed packages that a file is in, or None."""
    return next((parent for parent in path.parents if parent.name in ("site-packages", "dist-packages")), None)


@functools.cache
def _installed_by(path: Path) -> dict[str, str]:
    """Return the distributions that installed the package of a file, with their versions; none for a user's file."""
    site = _site(path)
    if site is None:
        return {}
    top = path.relative_to(site).parts[0].partition(".")[0]
    return {name: metadata.version(name) for name in _distributions().get(top, [])}


@functools.cache
def _distributions() -> dict[str, list[str]]:
    """Return the distributions that every top-level package comes from."""
    return dict(metadata.packages_distributions())
