"""Tables of n-grams: what followed each, averaged over visits."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from torch import Tensor

ORDERS, TOP = (4, 3, 2, 1), 10
Gram = tuple[int, ...]
EMPTY_LAW: Mapping[int, float] = MappingProxyType({})


class Entry(NamedTuple):
    """Entry of an n-gram table: averaged probabilities of at most 10 tokens, and how often it was visited.

    `confidence` is the average of the laws before warping; empty if they are the same.
    """

    law: Mapping[int, float]
    visits: int
    confidence: Mapping[int, float] = EMPTY_LAW


Table = Mapping[Gram, Entry]
EMPTY: Table = MappingProxyType({})


def tops(laws: Tensor) -> list[dict[int, float]]:
    """The largest probabilities of each law (m, V), by token; without those that are 0."""
    values, ids = laws.double().topk(min(TOP, laws.shape[-1]), -1)
    rows = zip(ids.tolist(), values.tolist(), strict=True)
    return [{i: v for i, v in zip(*row, strict=True) if v > 0} for row in rows]


def visit(
    table: MutableMapping[Gram, Entry],
    shared: Table,
    before: Sequence[int],
    law: Mapping[int, float],
    confidence: Mapping[int, float],
) -> None:
    """One visit more of each n-gram at the end of a text; what only the shared table knows is copied first."""
    for n in ORDERS:
        if n > len(before):
            continue
        gram = tuple(before[-n:])
        old = table.get(gram) or shared.get(gram) or Entry({}, 0)
        mixed = (_averaged(old.law, law, old.visits), _averaged(old.confidence, confidence, old.visits))
        table[gram] = Entry(mixed[0], old.visits + 1, mixed[1])


def _averaged(old: Mapping[int, float], new: Mapping[int, float], visits: int) -> dict[int, float]:
    """The average of a law over one visit more, cut to its largest probabilities, in falling order."""
    mixed = {x: (visits * old.get(x, 0.0) + new.get(x, 0.0)) / (visits + 1) for x in {**old, **new}}
    likeliest = sorted(mixed, key=lambda x: (-mixed[x], x))[:TOP]
    return {x: mixed[x] for x in likeliest}
