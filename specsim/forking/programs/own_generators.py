"""Generators that a program keeps for itself: no script sees what is drawn from them, but their states do not lie."""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Iterable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

DRAWN = "it draws random numbers from a generator of its own"
KINDS = (np.random.Generator, np.random.RandomState, random.Random)
MOST = 3000  # objects that are looked at
WIDEST = 100  # entries of a list or dictionary that are looked at
FOREIGN = {"numpy", "torch", "jax", "jaxlib", "transformers", "scipy", "specsim", "pytest", "_pytest"}


def generators(*roots: Any) -> list[Any]:
    """Generators of NumPy and Python that functions reach: by their modules, closures, defaults and objects.

    Examples
    --------
    >>> kept = random.Random(0)
    >>> generators(lambda own=kept: own.random()) == [kept]
    True
    """
    seen: set[int] = set()
    out: list[Any] = []
    ahead = list(roots)
    while ahead and len(seen) < MOST:
        one = ahead.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, KINDS):
            out.append(one)
        else:
            ahead.extend(_reached(one))
    return out


def _reached(one: Any) -> Iterable[Any]:
    """Yield the objects that an object holds."""
    if isinstance(one, FunctionType):
        return _of_function(one)
    if isinstance(one, MethodType):
        return one.__func__, one.__self__
    if isinstance(one, functools.partial):
        return one.func, *one.args, *one.keywords.values()
    if isinstance(one, ModuleType):
        return [] if _is_foreign(one.__name__) else list(vars(one).values())
    if isinstance(one, dict):
        return list(one.values())[:WIDEST]
    if isinstance(one, list | tuple | set | frozenset):
        return list(one)[:WIDEST]
    if isinstance(one, type) or not _is_foreign(type(one).__module__):
        return [] if _is_foreign(getattr(one, "__module__", "")) else list(getattr(one, "__dict__", {}).values())
    return []


def _of_function(one: FunctionType) -> Iterator[Any]:
    """The names that its code reads, its closure, and its defaults."""
    for cell in one.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # an empty cell
            continue
    yield from one.__defaults__ or ()
    yield from (one.__kwdefaults__ or {}).values()
    yield getattr(one, "__wrapped__", None)
    if not _is_foreign(one.__module__ or ""):
        yield from (value for name, value in one.__globals__.items() if name[:2] != "__")


def _is_foreign(name: str) -> bool:
    """Whether a module is Python's own or a large library's."""
    first = name.partition(".")[0]
    return first in FOREIGN or (first in sys.stdlib_module_names and first != "__main__")


def marks(generators: Iterable[Any]) -> list[Any]:
    """Return the state of each generator."""
    return [_mark(generator) for generator in generators]


def _mark(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return None if isinstance(generator, random.SystemRandom) else generator.getstate()
    state = (
        generator.bit_generator.state
        if isinstance(generator, np.random.Generator)
        else generator.get_state(legacy=False)
    )
    return _plain(state)


def _plain(state: Any) -> Any:
    """Arrays as bytes, so that states are compared as a whole."""
    if isinstance(state, dict):
        return {key: _plain(value) for key, value in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state
