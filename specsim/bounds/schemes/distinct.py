"""The optimum for distinct drafts, as many i.i.d. draws as give K distinct tokens on average: G(t) = E t^N (T03, T08).

N is chosen for each row of q as in `specsim.draft.distinct`, with as many draws at most. A law of N may be given
instead of K: `distinct.draws(q, K, limit)` with a larger limit, say, for rows so peaked that K distinct tokens need it.
"""

from __future__ import annotations

from specsim.bounds.certified import Optimum
from specsim.bounds.schemes import _prefix
from specsim.draft import distinct
from specsim.types import Array, Draws


def value(p: Array, q: Array, num_drafts: int | Draws) -> Array:
    """The optimal acceptance (...) of broadcast rows p, q (..., V)."""
    return _prefix.value(p, q, _count(q, num_drafts))


def optimum(p: Array, q: Array, num_drafts: int | Draws) -> Optimum:
    """The value, the set H that attains it, and the law of the winner."""
    return _prefix.optimum(p, q, _count(q, num_drafts))


def _count(q: Array, num_drafts: int | Draws) -> int | Draws:
    """The law of the number of draws; one distinct token is one draw."""
    if isinstance(num_drafts, Draws) or num_drafts == 1:
        return num_drafts
    return distinct.draws(q, num_drafts)
