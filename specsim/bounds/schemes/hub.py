"""The optimum for hub drafts: two of them are the likeliest token and one of the rest, as two greedy drafts are.

The order differs, but the transport problem sees a tuple only as a set of tokens.
"""

from __future__ import annotations

from specsim.bounds.certified import Optimum
from specsim.bounds.schemes import greedy
from specsim.draft import hub
from specsim.types import Array


def value(p: Array, q: Array, num_drafts: int) -> Array:
    """The optimal acceptance (...) of broadcast rows p, q (..., V)."""
    # Refuses more drafts than two.
    hub.split(q, num_drafts)
    return greedy.value(p, q, num_drafts)


def optimum(p: Array, q: Array, num_drafts: int) -> Optimum:
    """The value, the set that proves it and the law that attains it."""
    hub.split(q, num_drafts)
    return greedy.optimum(p, q, num_drafts)
