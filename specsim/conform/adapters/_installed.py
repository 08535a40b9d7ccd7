"""What of a package is installed here, and how one of its files is imported without the rest."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib import metadata
from types import ModuleType
from typing import Any


def version(distribution: str) -> str:
    """Version of an installed distribution; ImportError, with what to do, where it is missing.

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
    """What a report says of a version, `known` being a requirement such as "==0.3.2" or "==1.0,==1.1"; "" if known."""
    found = version(distribution)
    other = f"version {found}, the adapter was written for {known.replace('==', '').replace(',', ', ')}"
    wrong = [] if f"=={found}" in known.split(",") else [other]
    return "; ".join([*wrong, *more])


def module(name: str) -> Any:
    """The module of that dotted name; ImportError names whatever it could not import."""
    return importlib.import_module(name)


def bare(name: str) -> Any:
    """The module of that dotted name, without running `__init__` of the packages that it lies in.

    Those import servers and kernels that a function of ten lines does not need. What was loaded is forgotten again
    afterwards, so that the program may import the whole package as usual.

    >>> bare("json.decoder").JSONDecoder().decode("[1]")
    [1]
    """
    top, *_ = name.split(".")
    held = {key: module for key, module in sys.modules.items() if key == top or key.startswith(f"{top}.")}
    for key in held:
        del sys.modules[key]
    try:
        found = importlib.util.find_spec(top)
        if found is None or found.submodule_search_locations is None:
            raise ImportError(f"package {top} is not installed")
        paths = list(found.submodule_search_locations)
        for depth in range(1, name.count(".") + 1):
            package = ModuleType(".".join(name.split(".")[:depth]))
            package.__path__ = [f"{path}/{'/'.join(name.split('.')[1:depth])}".rstrip("/") for path in paths]
            sys.modules[package.__name__] = package
        return importlib.import_module(name)
    finally:
        for key in [key for key in sys.modules if key == top or key.startswith(f"{top}.")]:
            del sys.modules[key]
        sys.modules.update(held)


def interpreted(name: str) -> Any:
    """The same for a file of Triton kernels, which Triton's interpreter runs: they need no device.

    Triton asks its environment where a kernel is decorated, its own ones included, and some of them at the first call:
    nobody may have imported it before, and it is told for as long as the process lasts.
    """
    os.environ["TRITON_INTERPRET"] = "1"
    return bare(name)
