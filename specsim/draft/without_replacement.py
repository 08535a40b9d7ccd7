"""Without replacement: each candidate is drawn from q with the earlier ones taken out.

Law.         x_k ~ q_k; q_1 = q, and q_{k+1} is q_k without x_k, renormalised.
             `specsim.trees.gumbel_top_k` draws from the same law. Once the support of q is used up
             the last token repeats: nothing is left to take out, so q_{k+1} = q_k. Pr[all in H] is
             a sum over tuples: it is no function of q(H).
Randomness.  u[k] draws candidate k.
Cost.        O(K V); O(V^K) for Pr[all in H].
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace, at, chosen, emptied, ids, pick
from specsim.types import Array


def draw(q: Array, u: Array, num_drafts: int) -> Array:
    """Return candidates (..., K) from q (..., V) and uniforms u (..., K)."""
    tokens = list[Array]()
    for k in range(num_drafts):
        q = without(q, tokens[-1]) if k else q
        tokens.append(pick(q, u[..., k]))
    return array_namespace(u).stack(tokens, axis=-1)


def probability(q: Array, drafts: Array, num_drafts: int) -> Array:
    """Return the probability of the ordered tuple drafts (..., K)."""
    result = 1
    for k in range(num_drafts):
        result = result * at(q, drafts[..., k])
        q = without(q, drafts[..., k])
    return result


def within(q: Array, members: Array, num_drafts: int) -> Array:
    """Return the probability that every candidate lies in the set with indicator members (..., V).

    It is a sum over all tuples of tokens, which only small vocabularies allow.
    """
    # The probability (..., V) of each first token, if it is in the set.
    xp = array_namespace(q)
    first = xp.where(members, q, 0)
    if num_drafts == 1:
        return xp.sum(first, axis=-1)

    # Given each first token, the law (..., V, V) without it, and the probability (..., V) that the
    # other candidates are in the set.
    rest = without(q[..., None, :], ids(q))
    later = within(rest, members[..., None, :], num_drafts - 1)
    return xp.sum(first * later, axis=-1)


def uniforms(num_drafts: int) -> int:
    """Return the number of uniforms: one for each candidate."""
    return num_drafts


def without(q: Array, token: Array) -> Array:
    """Return the laws q (..., V) without a token (...), renormalised; q itself where it has no other token.

    The other probabilities are summed, rather than q(token) subtracted from 1. So a sum of 1e-300 is
    not lost in rounding.
    """
    xp = array_namespace(q)
    rest = emptied(q, token)
    total = xp.sum(rest, axis=-1, keepdims=True)
    has_rest = total > 0
    return chosen(has_rest, rest / xp.where(has_rest, total, 1), q)
