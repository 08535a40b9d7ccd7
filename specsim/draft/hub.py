"""Hub: the likeliest token of q and one of the rest, ordered so that the first is a draw from q.

Law.         a is the token of largest q (the first, on ties). x_1 ~ q; x_2 = a if x_1 is another
             token, else x_2 ~ q without a, renormalised. So (x, a) has probability q(x) and (a, x)
             has q(a) q(x) / (1 - q(a)), x != a. If q(a) = 1 both candidates are a. Only K = 1, a
             draw from q, and K = 2. Pr[all in H] = [a in H] (q(H - a) + q(a) r(H)), where r is q
             without a, renormalised.
Randomness.  u[k] draws candidate k; u[1] is read only if the first is a.
Cost.        O(V).
Paper.       Sun et al., SpecHub, arXiv:2411.05289.
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace, at, one_hot, pick
from specsim.draft import greedy
from specsim.types import Array

COUNTS = (1, 2)


def draw(q: Array, u: Array, num_drafts: int) -> Array:
    """Return candidates (..., K) from q (..., V) and uniforms u (..., K)."""
    top, rest = split(q, num_drafts)
    first = pick(q, u[..., 0])
    if num_drafts == 1:
        return first[..., None]
    xp = array_namespace(first)
    second = xp.where(first == top, pick(rest, u[..., 1]), top)
    return xp.stack([first, second], axis=-1)


def probability(q: Array, drafts: Array, num_drafts: int) -> Array:
    """Return the probability of the ordered tuple drafts (..., K)."""
    top, rest = split(q, num_drafts)
    # An entry of a row of Fractions is a 0-d array; multiplied by 1 it is a number.
    first = 1 * at(q, drafts[..., 0])
    if num_drafts == 1:
        return first
    # (a, x) has probability q(a) r(x), (x, a) has q(x), and other pairs are impossible.
    is_hub_first = drafts[..., 0] == top
    is_hub_second = ~is_hub_first & (drafts[..., 1] == top)
    return first * is_hub_first * at(rest, drafts[..., 1]) + first * is_hub_second


def within(q: Array, members: Array, num_drafts: int) -> Array:
    """Return the probability that every candidate lies in the set with indicator members (..., V)."""
    xp = array_namespace(q)
    top, rest = split(q, num_drafts)
    if num_drafts == 1:
        return xp.sum(xp.where(members, q, 0), axis=-1)
    # The probability (..., V) of the pair of a and x, in either order, for each token x beside a.
    is_hub = one_hot(top, q) > 0
    hub_second = xp.where(is_hub, 0, q)
    hub_first = at(q, top)[..., None] * rest
    return at(members, top) * xp.sum(xp.where(members, hub_second + hub_first, 0), axis=-1)


def uniforms(num_drafts: int) -> int:
    """Return the number of uniforms: one for each candidate."""
    return num_drafts


def split(q: Array, num_drafts: int) -> tuple[Array, Array]:
    """Return the hub a (...), and r (..., V), the law q without a, renormalised.

    Raises ValueError for numbers of candidates other than 1 and 2.
    """
    if num_drafts not in COUNTS:
        raise ValueError(f"scheme 'hub' draws 1 or 2 candidates, got num_drafts={num_drafts}")
    (top,), rest = greedy.split(q, 2)
    return top, rest
