"""The optimal rule's plan: all that it computes from p and q before it sees drafts; short rows, and one long row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from specsim.types import Array

# Tokens whose (p - w)+ a long plan keeps as one sum.
PIECE = 256
# The p/q of tokens that are never drafted: it puts them at the end of the order.
INFINITY = 2.0**60


class Plan(NamedTuple):
    """Columns (..., 1) and rows (..., V); a place is a position in the order of p/q: a token's, or a bin's."""

    p: Array
    q: Array
    pooled: Array  # p, or in bins: q times the p/q of the token's bin
    fill: Array  # c
    cut: Array  # d
    loss: Array  # 1 - acceptance
    place: Array  # of each token
    wanted: Array  # by place: w
    q_there: Array  # by place: the length of the stretch
    slope: Array  # by place: q slope is the probability that its token would win if no draft moved
    gains: Array  # by place: cumulative sums of (w - q slope)+
    losses: Array  # by place: cumulative sums of (q slope - w)+; both end at the same total
    left_over: Array  # cumulative sums of (p - w)+


@dataclass(frozen=True, eq=False)
class LongPlan:
    """A plan of one long row: four rows from which the others follow, of a token at once.

    If most tokens are never drafted, all of these share the last place.
    """

    p: Array
    q: Array
    fill: Array
    cut: Array
    loss: Array
    place: Array  # of each token
    slope: Array  # by place, as in `Plan`
    gains: Array
    losses: Array
    is_rounding: bool  # (p - w)+ is nothing but rounding: p is left over in its place
    rest_mass: Array  # cumulative sums of what is left over, of PIECE tokens each

    @property
    def pooled(self) -> Array:
        """Return p, as there are no bins."""
        return self.p

    def column(self, token: int) -> tuple[int, float, float, float]:
        """Return the place of a token, and w, q and slope there."""
        place, p, q = self.place.item(token), self.p.item(token), self.q.item(token)
        return place, max(self.fill.item() * q, min(p, self.cut.item() * q)), q, self.slope.item(place)

    def replacement(self, u: float) -> int:
        """Return the token drawn at u from what is left over: its piece by the sums of pieces, then in the piece."""
        bound = self.rest_mass.item(-1) - u * self.rest_mass.item(-1)
        piece = int(self.rest_mass.searchsorted(bound))
        if piece:
            bound -= self.rest_mass.item(piece - 1)
        mass = np.cumsum(self.left_over(slice(piece * PIECE, (piece + 1) * PIECE)))
        # Rounding may put the bound behind the last token of the piece.
        return piece * PIECE + int(mass.searchsorted(min(bound, mass.item(-1))))

    def left_over(self, s: slice) -> Array:
        """Return what is left over of the tokens s: (p - w)+, or p if that is only rounding."""
        p = self.p[s]
        return p if self.is_rounding else left_over(p, p, self.q[s], self.fill.item(), self.cut.item())

    @cached_property
    def rows(self) -> Plan:
        """The plan with all its rows, for many drafts at once."""
        # By place; a shared place has nothing.
        drafted = np.flatnonzero(self.q > 0) if len(self.slope) < len(self.p) else slice(None)
        q_there, wanted = np.zeros((2, len(self.slope)))
        q_there[self.place[drafted]] = self.q[drafted]
        # w = max(c q, min(p, d q)).
        w = np.maximum(self.fill * self.q, np.minimum(self.p, self.cut * self.q))
        wanted[self.place[drafted]] = w[drafted]
        levels = (self.fill, self.cut, self.loss)
        rows = (self.place, wanted, q_there, self.slope, self.gains, self.losses)
        return Plan(self.p, self.q, self.p, *levels, *rows, np.cumsum(self.left_over(slice(None))))


def left_over(p: Array, pooled: Array, q: Array, fill: float, cut: float) -> Array:
    """Return (p - w)+, w = max(c q, min(pooled p, d q))."""
    w = np.minimum(pooled, cut * q)
    np.minimum(p, np.maximum(fill * q, w, out=w), out=w)
    return np.subtract(p, w, out=w)


def rows(plan: Plan | LongPlan) -> Plan:
    """Return a plan with all its rows."""
    return plan.rows if isinstance(plan, LongPlan) else plan
