"""Texts under small trees by full enumeration, and modules with a wrong line."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.exact.small_laws import rational_table
from specsim.exact.tree import drawn_trees, kept_law
from specsim.trees import depths

Array = Any
Table = dict[tuple[int, ...], Array]


def model(table: Table, prefix: tuple[int, ...] = ()) -> Callable[[tuple[int, ...]], Array]:
    """The laws of a table after a prefix."""
    return lambda text: table[(*prefix, *text)]


def rows(table: Table, text: tuple[int, ...]) -> Array:
    """The laws (T, V) along a text."""
    return np.array([table[text[:i]] for i in range(len(text))], dtype=object)


@cache
def enumerated(
    rule: str, scheme: str, vocab: int, parents: tuple[int, ...], seed: int
) -> tuple[Table, Table, dict[Any, Any]]:
    """Two models, and P(n >= i, text) under a tree rule, i = 1..depth, for every text of depth + 1 tokens."""
    rng, depth = np.random.default_rng([vocab, len(parents), seed]), int(depths(parents).max())
    target, draft = (rational_table(rng, vocab, depth + 1) for _ in range(2))
    law = kept_law(discover.find("tree", rule), model(target), drawn_trees(model(draft), parents, scheme))
    joint = {}
    for text in itertools.product(range(vocab), repeat=depth + 1):
        then = [target[text[:i]][y] for i, y in enumerate(text)]
        ends = [law.get(text[:m], 0) * math.prod(then[m:]) for m in range(1, depth + 2)]
        joint[text] = [sum(ends[i:]) for i in range(1, depth + 1)]
    return target, draft, joint


def calls(rule: str, scheme: str, target: Table, draft: Table, parents: tuple[int, ...], length: int) -> Any:
    """Expected target calls of a decoder that writes so many tokens; near the end its tree is cut."""

    def after(prefix: tuple[int, ...]) -> Any:
        left = length - len(prefix)
        if left <= 0:
            return 0
        cut = [v for v, depth in zip(parents, depths(parents), strict=True) if depth < left]
        trees = drawn_trees(model(draft, prefix), cut, scheme)
        law = kept_law(discover.find("tree", rule), model(target, prefix), trees)
        return 1 + sum(weight * after(prefix + out) for out, weight in law.items() if weight)

    return after(())


def mutant(module: ModuleType, old: str, new: str) -> ModuleType:
    """The module with one line that is wrong."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    assert source.count(old) == 1, old
    wrong = ModuleType("mutant")
    exec(compile(source.replace(old, new), "mutant", "exec"), wrong.__dict__)
    return wrong
