"""A training loss of blocks: the products of the draft's probabilities of a text's first tokens, summed."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from specsim.claims.statements._bank import DRAFT, TARGET, F, laws, shown
from specsim.claims.statements._verdict import HOLDS, REFUTED, UNDER, Settled
from specsim.exact.chain import expected_tokens
from specsim.exact.one_pass import product_draft
from specsim.types import Array

SOURCE = "arXiv:2606.11552"
STATEMENT = (
    "The chain loss, the sum over k of the product of a drafter's probabilities of a text's tokens 1 to k, is a "
    "surrogate of the expected accepted length."
)

_LENGTH, _PARTS = 2, 5
# Laws of two greedy drafts, where the target's likeliest token is the first one.
_GREEDY = (np.array([F(6, 16), F(5, 16), F(5, 16)]), np.array([F(7, 16), F(8, 16), F(1, 16)]))


class _Values(NamedTuple):
    """Expected values for drafts of one pass."""

    # The mean chain value over the target's texts.
    chain: Fraction
    # Drafts kept where the target draws them too, and by rejection.
    matched: Fraction
    kept: Fraction


def _target(text: tuple[int, ...]) -> Array:
    """Return the law after a text: one of two, by the parity of its tokens' sum."""
    return TARGET if sum(text) % 2 else DRAFT


def _values(rows: tuple[Array, ...]) -> _Values:
    """Return the values of independent drafts, whose laws are the rows."""
    texts = list(product(range(2), repeat=_LENGTH))
    written = {text: prod((_target(text[:i])[y] for i, y in enumerate(text)), start=F(1)) for text in texts}
    drafted = {text: prod((row[x] for row, x in zip(rows, text, strict=True)), start=F(1)) for text in texts}
    chain, matched = F(0), F(0)
    for text, weight in written.items():
        chain += weight * sum(prod(rows[i][y] for i, y in enumerate(text[:k])) for k in range(1, _LENGTH + 1))
        for block, mass in drafted.items():
            alike = [a == b for a, b in zip(block, text, strict=True)]
            matched += weight * mass * (alike.index(False) if False in alike else _LENGTH)
    return _Values(chain, matched, expected_tokens(_target, product_draft(rows), gamma=_LENGTH) - 1)


def _preferred() -> tuple[Array, Array, Array] | None:
    """Return the smallest target and two drafts of one token, of which the loss prefers the one that is kept less."""
    for parts in range(2, _PARTS + 1):
        for p, first, second in product(list(laws(2, parts)), repeat=3):
            less_kept = sum(map(min, p, first), F(0)) < sum(map(min, p, second), F(0))
            if less_kept and (p * first).sum() > (p * second).sum():
                return p, first, second
    return None


def _verified(row: Array) -> str:
    """Return a law, its value, and whether greedy verification keeps its likeliest token."""
    outcome = "kept" if row[0] == max(row) else "refused"
    return f"{shown(row)}: {row[0]}, {outcome}"


def settle() -> Settled:
    """Compute the verdict on the statement."""
    rows = [law for parts in range(2, _PARTS + 1) for law in laws(2, parts)]
    values = [_values(pair) for pair in product(rows, repeat=_LENGTH)]
    is_exact = all(value.chain == value.matched <= value.kept for value in values)
    case = _preferred()
    if not is_exact or case is None:
        return Settled(HOLDS if is_exact else REFUTED, "in every small case that was tried.", {})
    p, first, second = case
    example = _values((rows[1], rows[2]))
    return Settled(
        UNDER,
        "sampled drafts that are kept where the target draws the same tokens: over texts that the target wrote the "
        "mean is that expected length itself. By rejection more are kept, and another draft is best: the value is "
        "linear in each law, so a draft that is certain maximises it; greedy drafts are kept by their order alone. The "
        "paper was read as its abstract, and the loss as others write it.",
        {
            "pairs of draft laws tried": str(len(values)),
            "two drafts": f"{shown(rows[1])}; {shown(rows[2])}",
            "their value, and kept by rejection": f"{example.chain}, {example.kept}",
            "target; preferred draft; other draft": f"{shown(p)}; {shown(first)}; {shown(second)}",
            "their values": f"{(p * first).sum()}, {(p * second).sum()}",
            "their acceptance by rejection": f"{sum(map(min, p, first), F(0))}, {sum(map(min, p, second), F(0))}",
            "greedy drafts from laws of three tokens": "; ".join(map(_verified, _GREEDY)),
        },
    )
