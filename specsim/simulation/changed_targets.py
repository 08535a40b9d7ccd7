"""Targets that blocks of a rule with a `continuation` have changed for the tokens after them, one change in another.

A block of gamma drafts that kept n: the gamma - n - 1 tokens after its own come from (above p' - below q)+ normalised,
p' being the target that this block itself was verified against. The blocks that follow are verified against that
changed target, and change it again. Level r is the change that lasts r + 1 tokens more: blocks start one after the
other, so no two changes end together, an earlier one ends first, and gamma - 1 levels hold them all. A level without a
change is (above, below) = (1, 0).

What a law is, a place of the text knows: here it is a row, in `residual_block` two numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from specsim.base.arrays import array_namespace, at, normalize_or, positive_part
from specsim.types import Array

Levels = tuple[tuple[Array, Array], ...]  # (above, below), columns (B, 1), by how long they last
Seen = tuple[Levels, list[Any]]  # of a position: the levels there, and the laws they make one after the other


class Place(Protocol):
    """A position of a block, for a batch of texts."""

    @property
    def target(self) -> Any:
        """The law of the target."""

    def at(self, law: Any, token: Array) -> Array:
        """A law's probability of a token, as a column."""

    def drafted(self, token: Array) -> Array:
        """The same of the draft's law."""

    def left(self, law: Any, above: Array, below: Array) -> Any:
        """(above law - below q)+ normalised, or the law where nothing is left of it."""


class RowPlace(NamedTuple):
    """A place whose laws are rows (B, V)."""

    target: Array
    q: Array

    def at(self, law: Array, token: Array) -> Array:
        return at(law, token)[:, None]

    def drafted(self, token: Array) -> Array:
        return at(self.q, token)[:, None]

    def left(self, law: Array, above: Array, below: Array) -> Array:
        return normalize_or(positive_part(above * law - below * self.q), law)


def unchanged(like: Array, lasting: int) -> Levels:
    """Levels without a change, as columns like the one given."""
    one = 0 * like + 1
    return ((one, 0 * one),) * lasting


def along_block(levels: Levels, places: Sequence[Place], drafts: list[Array]) -> list[Seen]:
    """Levels and laws where each draft of a block is; at its end no earlier change is left."""
    seen = []
    for place, draft in zip(places, drafts, strict=True):
        laws = changed(place, levels)
        seen.append((levels, laws))
        levels = moved(levels, laws, place, draft)
    return seen


def changed(place: Place, levels: Levels) -> list[Any]:
    """The target's law, then what each change makes of it, the earliest first; the last is what counts."""
    laws = [place.target]
    for above, below in levels:
        laws.append(place.left(laws[-1], above, below))
    return laws


def moved(levels: Levels, laws: list[Any], place: Place, token: Array) -> Levels:
    """The levels after a token: weights grow by its p' and q (only their ratio counts), and last one token less."""
    xp, out = array_namespace(token), []
    for (above, below), law in zip(levels, laws, strict=False):
        above, below = above * place.at(law, token), below * place.drafted(token)
        larger = xp.where(above > below, above, below)
        larger = xp.where(larger > 0, larger, 1)  # neither: a token that is never emitted
        out.append((above / larger, below / larger))
    return (*out[1:], *unchanged(out[0][0], 1))


def after_block(
    seen: list[Seen], places: Sequence[Place], kept: Array, token: Array, own: tuple[Array, Array]
) -> Levels:
    """The levels after a block: the older changes that go on, and the block's own, from its `continuation`."""
    xp, lasting = array_namespace(token), len(seen[0][0])
    new = list(unchanged(own[0], lasting))
    for i in range(lasting):  # what follows gamma - 1 drafts or more is the target itself
        here = (kept == i)[:, None]
        levels, laws = seen[i]
        found = [*moved(levels, laws, places[i], token)]
        found[lasting - 1 - i] = own
        new = [tuple(xp.where(here, a, b) for a, b in zip(*pair, strict=True)) for pair in zip(found, new, strict=True)]
    return tuple(new)
