"""The law that a draft chosen of K without replacement should have: as near to the target as can be (T38, part 1)."""

from __future__ import annotations

from specsim.base.arrays import array_namespace, is_exact, noise
from specsim.types import Array


def wanted(p: Array, q: Array, order: Array, p_mass: Array, q_mass: Array, within: Array) -> tuple[Array, Array, Array]:
    """The law w that the chosen draft should have, the tier of each token, and the optimum (...).

    `within` (..., V) is F_k of T38, the probability that all drafts are among the first k tokens of
    the order.
    """
    # Masses from each place on are summed by themselves: 1 - (what is before) loses those below
    # rounding.
    xp = array_namespace(p, q)
    p_rest, q_rest = (
        xp.flip(xp.cumulative_sum(xp.flip(xp.take_along_axis(row, order, axis=-1), axis=-1), axis=-1), axis=-1)
        for row in (p, q)
    )
    excesses = xp.where(within - p_mass > 2 * noise(p), within - p_mass, 0)
    loss = xp.max(excesses, axis=-1, keepdims=True)
    # c and d of T38, where p/q does not overflow.
    least = 0 if is_exact(q) else float(xp.finfo(q.dtype).smallest_normal)
    is_safe = q_mass > least
    level = xp.where(is_safe, (p_mass + loss) / xp.where(is_safe, q_mass, 1), 1)
    fill = xp.min(level, axis=-1, keepdims=True)
    is_safe = q_rest > least
    lid = xp.where(is_safe, (p_rest - loss) / xp.where(is_safe, q_rest, 1), 0)
    cut = xp.maximum(xp.max(lid, axis=-1, keepdims=True), fill)
    # Tokens after a place where the loss is attained have a higher tier.
    tight = xp.astype(loss - (within - p_mass) <= 2 * noise(p), order.dtype)
    tier = xp.take_along_axis(xp.cumulative_sum(tight, axis=-1) - tight, xp.argsort(order, axis=-1), axis=-1)
    return xp.maximum(fill * q, xp.minimum(p, cut * q)), tier, 1 - loss[..., 0]
