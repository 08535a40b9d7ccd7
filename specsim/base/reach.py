"""Files that define what a value is made of: the value's own code, and everything that is reached from it."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any

from specsim.base.recording import is_own

# Values that refer to nothing.
ATOMS = (type(None), bool, int, float, complex, str, bytes, bytearray, range)
# Values that are looked at: more are data, and their file is known by then.
MOST = 500_000


def defining_files(values: Iterable[Any]) -> list[Path]:
    """Return the files that define these values, and everything that the user's own code reaches from them.

    The walk goes through containers, wrappers, slots, closures, defaults, bound objects and classes.
    It runs nothing, and does not enter functions, classes and modules that are installed.
    """
    files: dict[str, None] = {}
    seen: dict[int, Any] = {}
    waiting = list(values)
    while waiting and len(seen) < MOST:
        value = waiting.pop()
        # The type itself is asked: a proxy would answer for another value, or raise.
        kind = type(value)
        if issubclass(kind, ATOMS) or id(value) in seen or value is sys.modules:
            continue
        # Held, so that no other value gets its place in memory.
        seen[id(value)] = value
        if issubclass(kind, FunctionType):
            file = home(value)
            files[file] = None
            waiting += _held(value) + (_globals(value) if is_own(file) else [])
        elif issubclass(kind, ModuleType):
            file = str(vars(value).get("__file__") or "")
            files[file] = None
            waiting += vars(value).values() if is_own(file) else []
        elif issubclass(kind, type):
            waiting += _attributes(value)
        elif issubclass(kind, CodeType):
            files[value.co_filename] = None
        elif issubclass(kind, GeneratorType):
            waiting += [value.gi_code, *(value.gi_frame.f_locals.values() if value.gi_frame else ())]
        elif issubclass(kind, weakref.ref):
            waiting.append(value())
        elif kind.__module__ == "ctypes":
            # A library that was loaded by its path.
            files[str(getattr(value, "_name", ""))] = None
        elif kind.__module__ == "numpy" and kind.__name__ == "ndarray" and value.dtype.hasobject:
            # Arrays do not tell Python's collector what they hold.
            waiting.append(value.tolist())
        elif not issubclass(kind, FrameType):
            # Containers, and objects with whatever they hold; the class is among it.
            waiting += gc.get_referents(value)
    return [Path(file) for file in files if file]


def home(function: FunctionType) -> str:
    """Return the file of a function; of one that was made of a text, the file whose names it uses."""
    file = function.__code__.co_filename
    return str(function.__globals__.get("__file__") or file) if file.startswith("<") else file


def _held(function: FunctionType) -> list[Any]:
    """Return what was given to a function, as a decorator's is the function inside: closure, defaults, attributes."""
    # `__wrapped__`, of functools.wraps, is an attribute.
    given = [*(function.__closure__ or ()), function.__defaults__, function.__kwdefaults__]
    return [*given, *vars(function).values()]


def _globals(function: FunctionType) -> list[Any]:
    """Return the values of globals that a function refers to."""
    known = function.__globals__
    return [known[name] for name in _names(function.__code__) if name in known]


def _names(code: CodeType) -> set[str]:
    """Return the names that a function, and those inside it, refer to."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _attributes(kind: type) -> list[Any]:
    """Return what a class and its bases hold: everything of one's own classes, functions of others."""
    found: list[Any] = [type(kind)] if type(kind) is not type else []
    for base in kind.__mro__:
        values = list(vars(base).values())
        file = getattr(sys.modules.get(base.__module__), "__file__", None) or ""
        found += values if is_own(file) else [value for value in values if isinstance(value, FunctionType)]
    return found
