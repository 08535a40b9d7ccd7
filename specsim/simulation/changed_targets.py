"""Targets that blocks of a rule with a `continuation` have changed for the tokens after them, one change in another.

A block of gamma drafts accepts n of them and emits n + 1 tokens. The next gamma - n - 1 tokens then come from
(above p' - below q)+ normalised, where p' is the target that this block itself was verified against. The blocks that
follow are verified against that changed target, and change it again.

Level r holds the change that lasts r + 1 more tokens. Blocks start one after the other, so no two changes end together,
an earlier one ends first, and gamma - 1 levels hold them all. A level without a change is (above, below) = (1, 0).
Along a block each token ends one level, so that there is one level less at each position.

The caller decides how a law is represented: a row of probabilities here, a pair of numbers in `residual_block`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from specsim.base.arrays import array_namespace, at, normalize_or, positive_part
from specsim.types import Array

# Pairs (above, below) of columns (B, 1), in the order in which they end.
Levels = tuple[tuple[Array, Array], ...]
# The levels at a position, and the laws that they make there, one from the other.
Position = tuple[Levels, list[Any]]


class Place(Protocol):
    """A position of a block, for a batch of texts."""

    @property
    def target(self) -> Any:
        """The law of the target."""

    def at(self, laws: Sequence[Any], token: Array) -> tuple[list[Array], Array]:
        """The probability of a token in each of the laws, and in the draft's law, as columns."""

    def left(self, law: Any, above: Array, below: Array) -> Any:
        """(above law - below q)+ normalised, or the law where nothing is left of it."""


class RowPlace(NamedTuple):
    """A place whose laws are rows (B, V)."""

    target: Array
    q: Array

    def at(self, laws: Sequence[Array], token: Array) -> tuple[list[Array], Array]:
        return [at(law, token)[:, None] for law in laws], at(self.q, token)[:, None]

    def left(self, law: Array, above: Array, below: Array) -> Array:
        return normalize_or(positive_part(above * law - below * self.q), law)


def unchanged(like: Array, lasting: int) -> Levels:
    """Levels without a change, in columns like `like`."""
    one = 0 * like + 1
    return ((one, 0 * one),) * lasting


def along_block(levels: Levels, places: Sequence[Place], drafts: list[Array]) -> list[Position]:
    """Levels and laws at each draft of a block: one level less from draft to draft, and none at the last one."""
    path = []
    for place, draft in zip(places, drafts, strict=True):
        laws = changed(place, levels)
        path.append((levels, laws))
        levels = moved(levels, laws, place, draft)
    return path


def changed(place: Place, levels: Levels) -> list[Any]:
    """The target's law, then the law after each change, earliest first; the last law is the one in force."""
    laws = [place.target]
    for above, below in levels:
        laws.append(place.left(laws[-1], above, below))
    return laws


def moved(levels: Levels, laws: list[Any], place: Place, token: Array) -> Levels:
    """The levels after a token, of which the first has ended: weights are multiplied by p'(token) and q(token)."""
    if len(levels) < 2:
        return ()
    xp, out = array_namespace(token), []
    probabilities, drafted = place.at(laws[1 : len(levels)], token)
    for (above, below), probability in zip(levels[1:], probabilities, strict=True):
        above, below = above * probability, below * drafted
        # Only the ratio of the weights counts: scale the larger one to 1. Both are 0 for a token that is never emitted.
        larger = xp.where(above > below, above, below)
        larger = xp.where(larger > 0, larger, 1)
        out.append((above / larger, below / larger))
    return tuple(out)


def after_block(
    path: list[Position],
    places: Sequence[Place],
    num_accepted: Array,
    token: Array,
    continuation: tuple[Array, Array],
) -> Levels:
    """The levels after a block: older changes that go on, and the block's own change, from its `continuation`."""
    xp, lasting = array_namespace(token), len(path[0][0])
    # After gamma - 1 accepted drafts or more the target is unchanged.
    new = list(unchanged(continuation[0], lasting))
    # Texts that accepted i drafts: older levels move over the token; the block's change lasts gamma - i - 1 tokens.
    for i in range(lasting):
        here = (num_accepted == i)[:, None]
        candidate = (*moved(*path[i], places[i], token), continuation)
        for level, pair in enumerate(candidate):
            new[level] = tuple(xp.where(here, a, b) for a, b in zip(pair, new[level], strict=True))
    return tuple(new)
