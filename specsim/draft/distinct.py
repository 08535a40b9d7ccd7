"""Distinct: as many independent draws from q as give K distinct tokens on average.

Law.         N = m, or m + 1 with probability f; x_1, ..., x_N ~ q. N does not look at the tokens,
             and all N draws count: a token drawn twice is one candidate, costs one place in a tree
             and has two chances. (m, f) solve, for each q,
             E[number of distinct tokens] = sum_i (1 - E (1 - q_i)^N) = K.
             Pr[all in H] = G(q(H)), G(t) = E t^N. More than `limit` draws are never made: where q
             is so peaked, or K so near the size of its support, that they would be needed,
             N = limit and the expected number is smaller (`expected_distinct`).
Randomness.  u[0] decides N; u[k] draws x_k. There are `limit` places for tokens, those that stay
             empty hold -1.
Cost.        O(limit V) to draw, O(V log limit) to find N.
Paper.       None known: the scheme is this project's (T08 needs no more of N than that it is
             independent).

Where a count of candidates is asked for, a `Draws` may be given: the law of N itself.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from array_api_compat import device

from specsim.base.arrays import array_namespace, at, is_exact, pick, positive_part, wide
from specsim.draft import _occupancy, _powers
from specsim.types import Array, Draws

# Most draws for one position: a peaked draft would need hundreds to see a second token.
LIMIT = 32
# Types of a number that is the same for every row.
PLAIN = (int, float, Fraction)


def draw(q: Array, u: Array, num_drafts: int | Draws) -> Array:
    """Candidates (..., limit), -1 after the last, from q (..., V) and u (..., 1 + limit)."""
    xp, law = array_namespace(q, u), _law(q, num_drafts)
    least, extra = _least_and_extra(law, u)
    number = least + xp.where(u[..., :1] < extra, 1, 0)
    is_drawn = xp.arange(law.limit, device=device(q)) < number
    tokens = pick(q[..., None, :], xp.where(is_drawn, u[..., 1:], 0))
    return xp.where(is_drawn, tokens, -1)


def probability(q: Array, drafts: Array, num_drafts: int | Draws) -> Array:
    """Probability of the ordered tuple drafts (..., up to limit), -1 after the last."""
    # It is 0 where a place before the last token is empty.
    xp = array_namespace(q, drafts)
    is_drawn = drafts >= 0
    number = xp.sum(xp.where(is_drawn, 1, 0), axis=-1)
    places = xp.arange(drafts.shape[-1], device=device(drafts))
    is_in_front = xp.all(is_drawn == (places < number[..., None]), axis=-1)

    # Each draw, and the number of draws, are independent.
    each = xp.where(is_drawn, at(q[..., None, :], xp.where(is_drawn, drafts, 0)), 1)
    of_tokens = xp.prod(each, axis=-1)
    of_number = _chance(number, *_least_and_extra(_law(q, num_drafts), of_tokens))
    return of_tokens * is_in_front * of_number


def within(q: Array, members: Array, num_drafts: int | Draws) -> Array:
    """Probability that every candidate lies in the set with indicator members (..., V)."""
    xp = array_namespace(q)
    return inside(xp.sum(xp.where(members, q, 0), axis=-1), _law(q, num_drafts))


def uniforms(num_drafts: int | Draws) -> int:
    """The number of uniforms: one for the number of draws, one for each draw that may be made."""
    return 1 + (num_drafts.limit if isinstance(num_drafts, Draws) else LIMIT)


def draws(q: Array, num_drafts: int, limit: int = LIMIT) -> Draws:
    r"""The law of N, for each row of q, at which num_drafts distinct tokens are expected.

    .. math:: \sum_i 1 - E(1 - q_i)^N = K, \qquad N \in \{m, m+1\}

    Exact on Fractions; a search over the bits of m with fixed shapes, so that it runs under jit.

    Parameters
    ----------
    q : array, shape (..., V)
        Draft laws.
    num_drafts : int
        The expected number K of distinct tokens, at least 1.
    limit : int
        The largest N, at least 1. Reached where num_drafts is no smaller than the support of q, or
        nearly so.

    Returns
    -------
    Draws
        least and extra, shape (...); limit.

    Raises
    ------
    ValueError
        Never for laws: the front door checks them.

    References
    ----------
    T08 in proofs/.

    Examples
    --------
    >>> q = np.array([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)])
    >>> law = draws(q, 2)
    >>> int(law.least), str(law.extra), str(expected_distinct(q, law))
    (2, '12/13', '2')
    """
    xp, q = array_namespace(q), wide(q)

    def number_of(seen: Array) -> Array:
        """Expected number (..., 1) of distinct tokens, if each is seen with this probability."""
        return xp.sum(seen, axis=-1, keepdims=True)

    # One distinct token is one draw, also where q is one-hot.
    most = limit if num_drafts > 1 else 1

    # Each token's probability of being seen in 1, 2, 4, ... draws. In Fractions, where numbers grow
    # long, they end once every row sees too many tokens.
    powers = [q]
    while 2 ** len(powers) < limit and not (is_exact(q) and (number_of(powers[-1]) > num_drafts).all()):
        powers.append(_either(powers[-1], powers[-1]))

    # Find the largest m, bit by bit, with at most K distinct tokens expected.
    seen, least = q, xp.broadcast_to(xp.arange(1, 2, device=device(q)), (*q.shape[:-1], 1))
    for bit in reversed(range(len(powers))):
        later, number = _either(seen, powers[bit]), least + 2**bit
        fits = (number <= most) & (number_of(later) <= num_drafts)
        seen, least = xp.where(fits, later, seen), xp.where(fits, number, least)

    # The probability of one draw more: what is missing to K over what a draw would add.
    missing, gain = positive_part(num_drafts - number_of(seen)), number_of(q * (1 - seen))
    has_more = (least < most) & (gain > 0)
    extra = xp.where(has_more, missing / xp.where(has_more, gain, 1), 0)
    return Draws(least[..., 0], xp.where(extra < 1, extra, 1)[..., 0], limit)


def expected_distinct(q: Array, draws: Draws) -> Array:
    r"""Expected number of distinct tokens among N draws from q, :math:`\sum_i 1 - E(1 - q_i)^N`.

    Parameters
    ----------
    q : array, shape (..., V)
        Draft laws.
    draws : Draws
        The law of N for each row, or one for all.

    Returns
    -------
    array, shape (...)
        Between 1 and the smaller of E N and the support of q.

    Raises
    ------
    ValueError
        Never.

    References
    ----------
    Linearity of expectation.

    Examples
    --------
    >>> float(expected_distinct(np.array([0.5, 0.5]), Draws(2, 0.5, 3)))
    1.625
    """
    # Each token's probability of being seen in `least` draws, by the bits of that number.
    xp, q = array_namespace(q), wide(q)
    least, extra = _least_and_extra(draws, q)
    seen = 0 * q
    for bit in reversed(range(draws.limit.bit_length())):
        twice = _either(seen, seen)
        seen = xp.where((least >> bit) % 2 == 1, _either(twice, q), twice)
    return xp.sum(seen + extra * q * (1 - seen), axis=-1)


def distinct_law(q: Array, draws: Draws) -> Array:
    r"""Law of the number of distinct tokens among N draws from q.

    .. math:: \Pr[D = d \mid N = n] = n!\,[z^d x^n] \prod_i \bigl(1 + z\,(e^{q_i x} - 1)\bigr)

    To about 1e-15 limit, for any limit; exact on Fractions, token by token.

    Parameters
    ----------
    q : array, shape (..., V)
        Draft laws, NumPy floats or Fractions.
    draws : Draws
        The law of N for each row, or one for all.

    Returns
    -------
    array, shape (..., limit + 1)
        Entry d is the probability of d distinct tokens.

    Raises
    ------
    ValueError
        Never.

    References
    ----------
    The classical occupancy problem, by generating functions.

    Examples
    --------
    >>> distinct_law(np.array([0.5, 0.5]), Draws(2, 0, 2)).round(3).tolist()
    [0.0, 0.5, 0.5]
    """
    # Fractions: all numbers of draws at once.
    if is_exact(q):
        number = np.arange(draws.limit + 1)
        ways = _occupancy.ways(q, draws.limit)
        return np.sum(_chance(number, *_least_and_extra(draws, q))[..., None] * ways, axis=-2)

    # Floats: row by row.
    least, extra = (np.broadcast_to(np.asarray(v), q.shape[:-1]) for v in (draws.least, draws.extra))
    out = np.zeros((*q.shape[:-1], draws.limit + 1))
    for i in np.ndindex(q.shape[:-1]):
        row = _occupancy.law(q[i], int(least[i]), float(extra[i]))[: draws.limit + 1]
        out[i][: len(row)] = row
    return out


def inside(q_mass: Array, draws: Draws) -> Array:
    """G(t) = E t^N, the probability that every candidate lies in a set of draft mass t = q_mass.

    q_mass is (...) or (..., n).
    """
    least, extra = _least_and_extra(draws, q_mass)
    power = _powers.power(q_mass, least, draws.limit)
    return power if _is_plain_zero(extra) else power * (1 - extra * (1 - q_mass))


def mean_slope(a: Array, b: Array, draws: Draws) -> Array:
    """(G(b) - G(a)) / (b - a), and where a = b the derivative of G.

    It is a sum of products a^i b^j, so that nothing cancels.
    """
    least, extra = _least_and_extra(draws, a)
    slope = _powers.slope(a, b, least, draws.limit)
    if _is_plain_zero(extra):
        return slope
    return slope * (1 - extra * (1 - a)) + extra * _powers.power(b, least, draws.limit)


def _either(a: Array, b: Array) -> Array:
    """Probability of one of two independent events, exact also where both are tiny."""
    return a + b * (1 - a)


def _chance(number: Array, least: Array, extra: Array) -> Array:
    """Pr[N = number]."""
    return (number == least) * (1 - extra) + (number == least + 1) * extra


def _law(q: Array, num_drafts: int | Draws) -> Draws:
    """The law of N: `num_drafts` itself, or the one that expects so many distinct tokens."""
    return num_drafts if isinstance(num_drafts, Draws) else draws(q, num_drafts)


def _least_and_extra(draws: Draws, w: Array) -> tuple[Any, Any]:
    """`least` and `extra` of a law of N, as plain numbers or arrays that broadcast against w.

    For rows of laws w (b, V), `least` (b,) becomes (b, 1). Arrays have the leading axes of w.
    """
    least, extra = (_aligned(v, w) for v in (draws.least, draws.extra))
    # The type of a plain probability is that of w: Fraction beside Fractions, else float.
    if isinstance(extra, PLAIN):
        extra = Fraction(extra) if isinstance(w, PLAIN) or is_exact(w) else float(extra)
    return least, extra


def _aligned(value: Any, w: Array) -> Any:
    """A plain number as it is, an array with as many axes as w: new axes of length 1 come last."""
    if isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0:
        value = value.item()
    if isinstance(value, PLAIN):
        return value
    new_axes = (None,) * (np.ndim(w) - value.ndim)
    return value[(..., *new_axes)]


def _is_plain_zero(extra: Any) -> bool:
    """True if `extra` is the plain number 0: no row has a draw more, and its factor can be left out."""
    return isinstance(extra, PLAIN) and extra == 0
