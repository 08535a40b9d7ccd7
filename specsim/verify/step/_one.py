"""One draw of the optimal rule from the plan of one NumPy row, in Python's own numbers: the token of `optimal.verify`.

On a few drafts NumPy takes longer to be called than to calculate.
"""

from __future__ import annotations

import numpy as np

from specsim.types import Array
from specsim.verify.step._plan import LongPlan, Plan


def serves(*arrays: Array) -> bool:
    """True if p, the drafts and the uniforms are single NumPy rows, which this file handles."""
    return all(type(w) is np.ndarray and w.ndim == 1 and w.dtype != object for w in arrays)


def token(plan: Plan | LongPlan, drafts: Array, u: Array) -> Array:
    """Token () from drafts (K,) and u (2K+2,)."""
    count, numbers = len(drafts), u.tolist()
    # The draft with the highest label wins, the first one on ties.
    highest, winner = -2, -1
    for k, draft in enumerate(drafts.tolist()):
        label = -1 if draft < 0 else _label(plan, draft, numbers[k], numbers[count + k])
        if label > highest:
            highest, winner = label, draft
    # Accept the winner with probability min(1, p/w).
    p, pooled, q = plan.p.item(winner), plan.pooled.item(winner), plan.q.item(winner)
    w = max(plan.fill.item() * q, min(pooled, plan.cut.item() * q))
    if numbers[-2] * w < p:
        return np.array(winner)
    # Else draw y ~ (p - w)+.
    if isinstance(plan, LongPlan):
        return np.array(plan.replacement(numbers[-1]))
    total = plan.left_over.item(-1)
    return np.array(plan.left_over.searchsorted(total - numbers[-1] * total))


def _label(plan: Plan | LongPlan, draft: int, u_partner: float, u_move: float) -> int:
    """Return the label of a draft: the place that it takes, its token's or a partner's.

    `u_partner` chooses the partner, `u_move` decides whether the draft moves there.
    """
    place, wanted, q, slope = plan.column(draft) if isinstance(plan, LongPlan) else _column(plan, draft)
    unmoved = q * slope
    # The token's span, on the line of gains or of losses, faces its partners on the other line,
    # which is as long.
    line, partners = (plan.gains, plan.losses) if unmoved < wanted else (plan.losses, plan.gains)
    end = min(line.item(place), partners.item(-1))
    size = min(abs(wanted - unmoved), end)
    partner = int(partners.searchsorted(end - u_partner * size))
    gap = q * abs(plan.slope.item(partner) - slope)
    return partner if u_move * gap < size else place


def _column(plan: Plan, token: int) -> tuple[int, float, float, float]:
    """Return the place of a token, and w, q and slope there."""
    place = plan.place.item(token)
    return place, plan.wanted.item(place), plan.q_there.item(place), plan.slope.item(place)
