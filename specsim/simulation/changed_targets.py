"""Targets that blocks of a rule with a `continuation` have changed for the tokens after them, one change in another.

A block of gamma drafts that kept n: the gamma - n - 1 tokens after its own come from (above p' - below q)+ normalised,
p' being the target that this block itself was verified against. The blocks that follow are verified against that
changed target, and change it again. Level r is the change that lasts r + 1 tokens more: blocks start one after the
other, so no two changes end together, an earlier one ends first, and gamma - 1 levels hold them all. A level without a
change is (above, below) = (1, 0).
"""

from __future__ import annotations

from array_api_compat import array_namespace

from specsim.base.arrays import at, normalize_or, positive_part
from specsim.types import Array

Levels = tuple[tuple[Array, Array], ...]  # (above, below), columns (B, 1), by how long they last
Seen = tuple[Levels, list[Array]]  # of a position: the levels there, and the laws they make one after the other


def unchanged(like: Array, lasting: int) -> Levels:
    """Levels without a change, as columns like the one given."""
    one = 0 * like + 1
    return ((one, 0 * one),) * lasting


def along_block(levels: Levels, p: list[Array], q: list[Array], drafts: list[Array]) -> list[Seen]:
    """Levels and laws at every position of a block along its drafts; at its end no earlier change is left."""
    seen = []
    for i, row in enumerate(p):
        last = i == len(q)
        laws = [row] if last else changed(row, q[i], levels)
        seen.append((levels, laws))
        levels = levels if last else moved(levels, laws, q[i], drafts[i])
    return seen


def changed(p: Array, q: Array, levels: Levels) -> list[Array]:
    """The target p, then what each change makes of it, the earliest first; the last is what counts."""
    laws = [p]
    for above, below in levels:
        laws.append(normalize_or(positive_part(above * laws[-1] - below * q), laws[-1]))
    return laws


def moved(levels: Levels, laws: list[Array], q: Array, token: Array) -> Levels:
    """The levels after a token: weights grow by its p' and q (only their ratio counts), and last one token less."""
    xp, out = array_namespace(q), []
    for (above, below), law in zip(levels, laws, strict=False):
        above, below = above * at(law, token)[:, None], below * at(q, token)[:, None]
        larger = xp.where(above > below, above, below)
        larger = xp.where(larger > 0, larger, 1)  # neither: a token that is never emitted
        out.append((above / larger, below / larger))
    return (*out[1:], *unchanged(q[:, :1], 1))


def after_block(seen: list[Seen], q: list[Array], kept: Array, token: Array, own: tuple[Array, Array]) -> Levels:
    """The levels after a block: the older changes that go on, and the block's own, from its `continuation`."""
    xp, lasting = array_namespace(token), len(seen[0][0])
    new = list(unchanged(q[0][:, :1], lasting))
    for i in range(lasting):  # what follows gamma - 1 drafts or more is the target itself
        here = (kept == i)[:, None]
        levels, laws = seen[i]
        found = [*moved(levels, laws, q[i], token)]
        found[lasting - 1 - i] = own
        new = [tuple(xp.where(here, a, b) for a, b in zip(*pair, strict=True)) for pair in zip(found, new, strict=True)]
    return tuple(new)
