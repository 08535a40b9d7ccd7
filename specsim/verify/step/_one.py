"""One draw of the optimal rule from the plan of one NumPy row, in Python's own numbers: the token of `optimal.verify`.

On a few drafts NumPy takes longer to be called than to calculate.
"""

from __future__ import annotations

import numpy as np

from specsim.types import Array
from specsim.verify.step._plan import Plan


def serves(*arrays: Array) -> bool:
    """Whether p, the drafts and the uniforms are rows for this file."""
    return all(type(w) is np.ndarray and w.ndim == 1 and w.dtype != object for w in arrays)


def token(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token () from drafts (K,) and u (2K+2,)."""
    count, numbers = len(drafts), u.tolist()
    highest, winner = -2, -1
    for k, draft in enumerate(drafts.tolist()):
        label = -1 if draft < 0 else _label(plan, draft, numbers[k], numbers[count + k])
        if label > highest:
            highest, winner = label, draft
    p, pooled, q = plan.p.item(winner), plan.pooled.item(winner), plan.q.item(winner)
    w = max(plan.fill.item() * q, min(pooled, plan.cut.item() * q))
    if numbers[-2] * w < p:
        return np.array(winner)
    total = plan.left_over.item(-1)
    return np.array(plan.left_over.searchsorted(total - numbers[-1] * total))


def _label(plan: Plan, draft: int, which: float, moves: float) -> int:
    """Place of the stretch that the draft takes."""
    place = plan.place.item(draft)
    wanted, q, own = plan.wanted.item(place), plan.q_there.item(place), plan.own.item(place)
    has = q * own
    mine, theirs = (plan.gains, plan.losses) if has < wanted else (plan.losses, plan.gains)
    end = min(mine.item(place), theirs.item(-1))
    size = min(abs(wanted - has), end)
    partner = int(theirs.searchsorted(end - which * size))
    return partner if moves * (q * abs(plan.own.item(partner) - own)) < size else place
