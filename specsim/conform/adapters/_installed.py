"""Installed packages: their versions, and the import of one file without the rest."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib import metadata
from types import ModuleType
from typing import Any


def version(distribution: str) -> str:
    """Return the version of an installed distribution; ImportError, with what to do, where it is missing.

    >>> version("no-such-distribution")
    Traceback (most recent call last):
        ...
    ImportError: no-such-distribution is not installed: pip install no-such-distribution
    """
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        raise ImportError(f"{distribution} is not installed: pip install {distribution}") from None


def note(distribution: str, known: str, *more: str) -> str:
    """Return the note of a report on a version, and more notes.

    The version is named if it is none of `known`, a requirement such as "==0.3.2" or "==1.0,==1.1".
    """
    installed = version(distribution)
    other = f"version {installed}, the adapter was written for {known.replace('==', '').replace(',', ', ')}"
    wrong = [] if f"=={installed}" in known.split(",") else [other]
    return "; ".join([*wrong, *more])


def module(name: str) -> Any:
    """Return the module of that dotted name; ImportError names whatever it could not import."""
    return importlib.import_module(name)


def bare(name: str) -> Any:
    """Return the module of that dotted name, without running `__init__` of the packages that it lies in.

    Those import servers and kernels that a function of ten lines does not need. What was loaded is
    forgotten again afterwards, so that the program may import the whole package as usual.

    >>> bare("json.decoder").JSONDecoder().decode("[1]")
    [1]
    """
    # Set aside what was imported of the package.
    top, *_ = name.split(".")
    imported = {key: module for key, module in sys.modules.items() if key == top or key.startswith(f"{top}.")}
    for key in imported:
        del sys.modules[key]
    try:
        spec = importlib.util.find_spec(top)
        if spec is None or spec.submodule_search_locations is None:
            raise ImportError(f"package {top} is not installed")
        # Empty packages on the way to the file.
        paths = list(spec.submodule_search_locations)
        for depth in range(1, name.count(".") + 1):
            package = ModuleType(".".join(name.split(".")[:depth]))
            package.__path__ = [f"{path}/{'/'.join(name.split('.')[1:depth])}".rstrip("/") for path in paths]
            sys.modules[package.__name__] = package
        return importlib.import_module(name)
    finally:
        for key in [key for key in sys.modules if key == top or key.startswith(f"{top}.")]:
            del sys.modules[key]
        sys.modules.update(imported)


def interpreted(name: str) -> Any:
    """Return `bare` of a file of Triton kernels, which Triton's interpreter runs: they need no device.

    Triton reads the environment where a kernel is decorated, its own ones included, and some at
    their first call. So it must not have been imported before, and the variable stays set for as
    long as the process lasts.
    """
    os.environ["TRITON_INTERPRET"] = "1"
    return bare(name)
