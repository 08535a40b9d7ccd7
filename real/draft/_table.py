"""Tables of n-grams: the law of the token that follows each n-gram, averaged over visits."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor

from real.models.model import LanguageModel

# Lengths of the n-grams that a table has, in the order in which they are looked up.
ORDERS = (4, 3, 2, 1)
# The most tokens of a law that an entry holds: enough for the drafts of a step, and a table stays
# small.
TOP = 10
Gram = tuple[int, ...]
EMPTY_LAW: Mapping[int, float] = MappingProxyType({})


class Entry(NamedTuple):
    """Entry of an n-gram table: averaged probabilities by token, and the number of visits.

    `law` and `confidence` have at most `TOP` tokens each. `confidence` is the average of the laws
    before warping; empty if they are the same.
    """

    law: Mapping[int, float]
    visits: int
    confidence: Mapping[int, float] = EMPTY_LAW


Table = Mapping[Gram, Entry]
EMPTY: Table = MappingProxyType({})


def tops(laws: Tensor) -> list[dict[int, float]]:
    """Return the `TOP` largest probabilities of each law (m, V), by token, without zeros."""
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
    """Add one visit to each n-gram at the end of the text `before`, whose next token has these laws.

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
    """Return the average of a law over `visits` visits (`old`) and one more (`new`).

    It has the largest probabilities only, in falling order.
    """
    averages = {token: (visits * old.get(token, 0.0) + new.get(token, 0.0)) / (visits + 1) for token in {**old, **new}}
    likeliest = sorted(averages, key=lambda token: (-averages[token], token))[:TOP]
    return {token: averages[token] for token in likeliest}


def dense_law(law: Mapping[int, float], target: LanguageModel) -> Tensor:
    """Return a law as a row (V,), with zeros for tokens that it lacks."""
    dtype = torch.float64 if target.dtype == torch.float64 else torch.float32
    row = torch.zeros(target.vocab_size, dtype=dtype, device=target.device)
    row[list(law)] = torch.tensor(list(law.values()), dtype=dtype, device=row.device)
    return row


def confidence_logits(entry: Entry | None, target: LanguageModel) -> Tensor:
    """Return logits (V,) of an entry's confidence; all zero, an even law, where no n-gram is known."""
    row = dense_law({}, target)
    if entry is None:
        return row
    # Tokens that the entry lacks have probability 0. Without warping an entry holds its law alone,
    # which is its confidence, too.
    confidence = entry.confidence or entry.law
    row.fill_(-torch.inf)
    row[list(confidence)] = torch.tensor(list(confidence.values()), dtype=row.dtype, device=row.device).log()
    return row
