"""Tables of n-grams: the law of the token that follows each n-gram, averaged over visits."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from torch import Tensor

# Lengths of the n-grams that a table has, the longest first: it is looked up first.
ORDERS = (4, 3, 2, 1)
# Tokens of a law that an entry holds: enough for the drafts of a step, and a table stays small.
TOP = 10
Gram = tuple[int, ...]
EMPTY_LAW: Mapping[int, float] = MappingProxyType({})


class Entry(NamedTuple):
    """Entry of an n-gram table: averaged probabilities of at most 10 tokens, and the visits.

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
    return [{token: probability for token, probability in zip(*row, strict=True) if probability > 0} for row in rows]


def visit(
    table: MutableMapping[Gram, Entry],
    shared: Table,
    before: Sequence[int],
    law: Mapping[int, float],
    confidence: Mapping[int, float],
) -> None:
    """Add one visit to each n-gram at the end of the text `before`.

    An entry that only the shared table has is copied into `table` first.
    """
    for n in ORDERS:
        if n > len(before):
            continue
        gram = tuple(before[-n:])
        old = table.get(gram) or shared.get(gram) or Entry({}, 0)
        averaged_law = _averaged(old.law, law, old.visits)
        averaged_confidence = _averaged(old.confidence, confidence, old.visits)
        table[gram] = Entry(averaged_law, old.visits + 1, averaged_confidence)


def _averaged(old: Mapping[int, float], new: Mapping[int, float], visits: int) -> dict[int, float]:
    """The average of a law over one visit more: its largest probabilities, in falling order."""
    averages = {token: (visits * old.get(token, 0.0) + new.get(token, 0.0)) / (visits + 1) for token in {**old, **new}}
    likeliest = sorted(averages, key=lambda token: (-averages[token], token))[:TOP]
    return {token: averages[token] for token in likeliest}
