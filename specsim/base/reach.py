"""Files that define what a value is made of: the value's own code, and everything that is reached from it."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any, NamedTuple

from specsim.base.recording import is_own

# Values that refer to nothing.
ATOMS = (type(None), bool, int, float, complex, str, bytes, bytearray, range)
# The most values that are looked at: more are data as a rule, and a walk through all would take
# minutes.
MOST = 500_000
# Words on what is not known if the walk ends at this number.
BEYOND = f"what is reached only beyond the first {MOST:,} values"


class Definition(NamedTuple):
    """The files that define values; `unhashed` are words on what was not looked at, none if everything was."""

    files: list[Path]
    unhashed: tuple[str, ...] = ()


def definition(values: Iterable[Any]) -> Definition:
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
        # The value is held, so that no other value gets its place in memory.
        seen[id(value)] = value

        # Record its file, and go on with what it refers to, by its kind.
        if issubclass(kind, FunctionType):
            file = home(value)
            files[file] = None
            waiting += _bound(value) + (_globals(value) if is_own(file) else [])
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
    return Definition([Path(file) for file in files if file], (BEYOND,) if waiting else ())


def home(function: FunctionType) -> str:
    """Return the file of a function; for a function made of a text, the file whose global names it uses."""
    file = function.__code__.co_filename
    return str(function.__globals__.get("__file__") or file) if file.startswith("<") else file


def _bound(function: FunctionType) -> list[Any]:
    """Return the values that a function carries: its closure (a decorator's function), defaults, attributes."""
    values = [*(function.__closure__ or ()), function.__defaults__, function.__kwdefaults__]
    # `__wrapped__`, of functools.wraps, is an attribute.
    return [*values, *vars(function).values()]


def _globals(function: FunctionType) -> list[Any]:
    """Return the values of globals that a function refers to."""
    known = function.__globals__
    return [known[name] for name in _names(function.__code__) if name in known]


def _names(code: CodeType) -> set[str]:
    """Return the names that a function, and those inside it, refer to."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _attributes(kind: type) -> list[Any]:
    """Return the attributes of a class and its bases: all those of user's classes, only functions of others."""
    attributes: list[Any] = [type(kind)] if type(kind) is not type else []
    for base in kind.__mro__:
        values = list(vars(base).values())
        file = getattr(sys.modules.get(base.__module__), "__file__", None) or ""
        is_all = is_own(file)
        attributes += [value for value in values if is_all or isinstance(value, FunctionType)]
    return attributes
