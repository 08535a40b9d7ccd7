"""The files that hold the code that is judged: the user's are hashed, installed distributions are named by version.

They are the subject's file, what it and its imports import (in functions, too), the files of the
functions that are called, and what their code ran or read meanwhile. A file is *own*, the user's,
unless a distribution installed it or it is Python's: a module of an editable install is own.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from specsim.base import recording
from specsim.base.modules import imported_names, made_of, origins, package
from specsim.base.reach import definition
from specsim.base.recording import ADAPTERS, PACKAGE, libraries
from specsim.conform.subject import Subject

# Endings of files that hold code; a kernel is compiled.
CODE = (".py", ".so", ".pyd", ".dll", ".dylib")
# Packages of the judge itself, which are not part of what is judged.
HARNESS = ("specsim.conform", "specsim.testing", "specsim.checks")
# Fields of a subject that are called.
CALLED = ("run", "batch", "paths", "coins")


class Sources(NamedTuple):
    """The files of a subject's own code, the distributions that it imports, and whether it calls specsim.

    `versions` maps names of distributions to versions; `unhashed` says in words what the code depends on and no file
    holds, such as answers of processes and servers.
    """

    own: frozenset[Path]
    versions: dict[str, str]
    specsim: bool
    unhashed: tuple[str, ...] = ()


def sources(module: ModuleType, subjects: Iterable[Subject], loaded: Iterable[Path] = ()) -> Sources:
    """Return the sources of a file's subjects; `loaded` are files that are known to have been imported."""
    # Begin with the file itself, and with the files of the functions that are called.
    first = Path(inspect.getfile(module))
    waiting = [first, *(path for path in loaded if not _installed_by(path.resolve()))]
    called = definition(getattr(subject, name) for subject in subjects for name in CALLED)
    waiting += [*called.files, *made_of(module)]
    # Follow imports until no file is left: installed ones are named by version, those of the judge
    # are left out.
    own_files: set[Path] = set()
    versions: dict[str, str] = {}
    calls_specsim = False
    while waiting:
        path = waiting.pop().resolve()
        if path in own_files or not path.is_file() or _is_of_python(path):
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
        # What its code has run and read so far, by names that no statement tells.
        waiting += recording.used_by([path])
    unhashed = tuple(dict.fromkeys([*called.unhashed, *recording.unhashed_by(own_files)]))
    return Sources(frozenset(own_files), dict(sorted(versions.items())), calls_specsim, unhashed)


def since(before: Iterable[str]) -> list[Path]:
    """Return the files of modules that were imported since `before` were the names of all."""
    new = sorted(name for name in sys.modules.keys() - set(before) if not _of_specsim(name))
    return [Path(file) for name in new if (file := getattr(sys.modules[name], "__file__", None))]


def label(path: Path) -> str:
    """Return the name of a file: from the folder above its package on, the same on every machine.

    >>> label(PACKAGE / "__init__.py")
    'specsim/__init__.py'
    """
    return "/".join([*package(path, 1), path.name])


def _of_harness(name: str) -> bool:
    """Return whether a module is the judge's own; an adapter is not."""
    return any(f"{name}.".startswith(f"{package}.") for package in HARNESS) and not _of_adapters(name)


def _of_specsim(name: str) -> bool:
    """Return whether the harness may have imported a module for itself."""
    return name.partition(".")[0] == "specsim" and not _of_adapters(name)


def _of_adapters(name: str) -> bool:
    """Return whether a module is an adapter."""
    return name.startswith("specsim.conform.adapters")


def _is_of_python(path: Path) -> bool:
    """Return whether a file is of the standard library."""
    return not _site(path) and any(library in path.parents for library in libraries())


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
