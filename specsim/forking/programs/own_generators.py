"""Generators that a program keeps for itself: no script sees draws from them, but their states change with each."""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Iterable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

# Why there is no exact law of a program that draws from one.
DRAWN = "it draws random numbers from a generator of its own"
# Classes of generators.
KINDS = (np.random.Generator, np.random.RandomState, random.Random)
# Largest number of objects that are looked at.
MOST = 3000
# Largest number of entries of a list or dictionary that are looked at.
WIDEST = 100
# Packages whose objects are not looked into, beside the standard library.
FOREIGN = {"numpy", "torch", "jax", "jaxlib", "transformers", "scipy", "specsim", "pytest", "_pytest"}


def generators(*roots: Any) -> list[Any]:
    """Return the generators of NumPy and Python that functions reach.

    They are reached by modules, closures, defaults and objects.

    Examples
    --------
    >>> private = random.Random(0)
    >>> generators(lambda rng=private: rng.random()) == [private]
    True
    """
    seen: set[int] = set()
    reached: list[Any] = []
    waiting = list(roots)
    while waiting and len(seen) < MOST:
        value = waiting.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, KINDS):
            reached.append(value)
        else:
            waiting.extend(_contents(value))
    return reached


def _contents(value: Any) -> Iterable[Any]:
    """Return the objects that an object holds."""
    # Functions, and what is bound to them.
    if isinstance(value, FunctionType):
        return _of_function(value)
    if isinstance(value, MethodType):
        return value.__func__, value.__self__
    if isinstance(value, functools.partial):
        return value.func, *value.args, *value.keywords.values()

    # Modules and collections.
    if isinstance(value, ModuleType):
        return [] if _is_foreign(value.__name__) else list(vars(value).values())
    if isinstance(value, dict):
        return list(value.values())[:WIDEST]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)[:WIDEST]

    # Classes and other objects, by their attributes.
    if isinstance(value, type) or not _is_foreign(type(value).__module__):
        is_foreign = _is_foreign(getattr(value, "__module__", ""))
        return [] if is_foreign else list(getattr(value, "__dict__", {}).values())
    return []


def _of_function(function: FunctionType) -> Iterator[Any]:
    """Yield what a function refers to: its closure, its defaults, and the names of its module."""
    for cell in function.__closure__ or ():
        # A cell may be empty.
        try:
            yield cell.cell_contents
        except ValueError:
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield getattr(function, "__wrapped__", None)
    if not _is_foreign(function.__module__ or ""):
        yield from (value for name, value in function.__globals__.items() if name[:2] != "__")


def _is_foreign(name: str) -> bool:
    """Return whether a module is Python's own or a large library's."""
    first = name.partition(".")[0]
    return first in FOREIGN or (first in sys.stdlib_module_names and first != "__main__")


def marks(generators: Iterable[Any]) -> list[Any]:
    """Return the state of each generator."""
    return [_mark(generator) for generator in generators]


def _mark(generator: Any) -> Any:
    """Return the state of a generator, None if it has none."""
    if isinstance(generator, random.Random):
        return None if isinstance(generator, random.SystemRandom) else generator.getstate()
    if isinstance(generator, np.random.Generator):
        return _plain(generator.bit_generator.state)
    return _plain(generator.get_state(legacy=False))


def _plain(state: Any) -> Any:
    """Return a state whose arrays are bytes, so that states are compared as a whole."""
    if isinstance(state, dict):
        return {key: _plain(value) for key, value in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state
