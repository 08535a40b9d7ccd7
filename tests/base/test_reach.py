"""From a value to the files of the functions that it holds, through whatever holds them."""

from __future__ import annotations

import functools
import operator
import weakref
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from specsim.base import modules, source
from specsim.base.reach import MOST, definition


class Slots:
    """An object without a dictionary."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


def with_attribute(f: Any) -> Any:
    def outer() -> None: ...

    outer.f = f  # type: ignore[attr-defined]
    return outer


def by_default(f: Any) -> Any:
    def outer(f: Any = (f,)) -> None: ...

    return outer


def dispatched(f: Any) -> Any:
    @functools.singledispatch
    def outer(x: Any) -> None: ...

    outer.register(int, f)
    return outer


def begun(f: Any) -> Any:
    def items() -> Any:
        held = f
        yield held

    generator = items()
    next(generator)
    return generator


# How a function is held.
WAYS: dict[str, Callable[[Any], Any]] = {
    "a list": lambda f: [f],
    "a tuple in a dictionary": lambda f: {"a": (f,)},
    "a frozen set": lambda f: frozenset({f}),
    "a deque": lambda f: deque([f]),
    "a key": lambda f: {f: 1},
    "a static method": staticmethod,
    "a property": lambda f: type("A", (), {"x": property(f)}),
    "a cached property": lambda f: type("A", (), {"x": functools.cached_property(f)})(),
    "a cache": functools.lru_cache,
    "a partial": lambda f: functools.partial(print, f),
    "a wrapper": lambda f: functools.wraps(f)(lambda: None),
    "slots": Slots,
    "a closure": lambda f: lambda: f(),
    "a default": by_default,
    "an attribute": with_attribute,
    "a class attribute": lambda f: type("A", (), {"x": (f,), "__module__": __name__}),
    "a metaclass": lambda f: type("Meta", (type,), {"__call__": f, "__module__": __name__})("A", (), {}),
    "a namespace": lambda f: SimpleNamespace(x=f),
    "an array of objects": lambda f: np.array([f, None]),
    "a vectorised function": np.vectorize,
    "a ufunc": lambda f: np.frompyfunc(f, 0, 1),
    "an iterator": lambda f: map(f, [1]),
    "a generator": begun,
    "a dispatcher": dispatched,
    "a getter": lambda f: operator.itemgetter(f),
    "a weak reference": weakref.ref,
    "a method of an object": lambda f: Slots(f).__eq__,
}


@pytest.mark.parametrize("way", WAYS)
def test_the_file_of_a_function_is_reached(way: str, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.py"
    names: dict[str, Any] = {"__name__": "elsewhere"}
    exec(compile("def f(*x): pass", str(file), "exec"), names)
    assert file in definition([WAYS[way](names["f"])]).files


def test_a_function_that_was_made_of_a_text_is_of_the_file_whose_names_it_uses() -> None:
    names: dict[str, Any] = {"__file__": __file__, "__name__": "made"}
    exec("def f(): pass", names)
    assert definition([names["f"]]) == ([Path(__file__)], ())


def test_a_walk_that_ends_early_says_so(tmp_path: Path) -> None:
    """A table of half a million lists hides what stands behind it; the key, and the certificate, name that."""
    table = [[] for _ in range(MOST)]  # type: ignore[var-annotated]
    assert definition([table]).unhashed == ("what is reached only beyond the first 500,000 values",)
    assert definition([table[: MOST // 2]]).unhashed == ()
    path = tmp_path / "large.py"
    path.write_text(
        f"from specsim.verify.step.recursive import *\nTHEOREM = 'open'\nTABLE = [[] for _ in range({MOST})]\n"
    )
    module = modules.own_rule(path)
    assert module is not None
    assert source.unknown_of([module]).startswith("a rule depends on what is reached only beyond the first 500,000")
