"""The optimum for distinct drafts, as many i.i.d. draws as give K distinct tokens on average: G(t) = E t^N (T03, T08).

N is chosen for each row of q as in `specsim.draft.distinct`, but the bound has no places to fill: it allows up to
LIMIT draws, so that K distinct tokens are expected of all but very peaked rows. A law of N may be given instead of K.
"""

from __future__ import annotations

from specsim.bounds import _prefix
from specsim.draft import distinct
from specsim.types import Array, Draws, Optimum

LIMIT = 1024


def value(p: Array, q: Array, num_drafts: int | Draws) -> Array:
    """The optimal acceptance (...) of broadcast rows p, q (..., V)."""
    return _prefix.value(p, q, _count(q, num_drafts))


def optimum(p: Array, q: Array, num_drafts: int | Draws) -> Optimum:
    """The value, the set H that attains it, and the law of the winner."""
    return _prefix.optimum(p, q, _count(q, num_drafts))


def _count(q: Array, num_drafts: int | Draws) -> int | Draws:
    if isinstance(num_drafts, Draws) or num_drafts == 1:  # one distinct token is one draw
        return num_drafts
    return distinct.draws(q, num_drafts, LIMIT)
