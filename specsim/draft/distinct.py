"""Distinct: as many independent draws from q as give K distinct tokens on average.

Law.         N = m, or m + 1 with probability f; x_1, ..., x_N ~ q. N does not depend on the tokens,
             and all N draws count: a token drawn twice is one candidate, takes one place in a tree
             and has two chances. (m, f) solve, for each q,
             E[number of distinct tokens] = sum_i (1 - E (1 - q_i)^N) = K.
             Pr[all in H] = G(q(H)), G(t) = E t^N. N is at most `limit`: where q is so peaked, or K
             so near the size of its support, that more draws would be needed, N = limit and the
             expected number is smaller (`expected_distinct`).
Randomness.  u[0] decides N; u[k] draws x_k. There are `limit` places for tokens; those behind the
             last token hold -1.
Cost.        O(limit V) to draw, O(V log limit) to find N.
Paper.       None known: the scheme is this project's (T08 needs no more of N than that it is
             independent).

In place of a number of candidates, functions take a `Draws`, too: the law of N itself, with m as
`least` and f as `extra`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from array_api_compat import device

from specsim.base.arrays import array_namespace, at, is_exact, pick, positive_part, wide
from specsim.draft import _occupancy, _powers
from specsim.types import Array, Draws

# Most draws for one position: a peaked draft would need hundreds to give a second token.
LIMIT = 32
# Types of a number that holds for every row.
PLAIN = (int, float, Fraction)


def draw(q: Array, u: Array, num_drafts: int | Draws) -> Array:
    """Return candidates (..., limit), -1 after the last, from q (..., V) and u (..., 1 + limit)."""
    # The number of draws (..., 1), then as many tokens; the places behind them are empty.
    xp, law = array_namespace(q, u), _law(q, num_drafts)
    u_number, u_tokens = u[..., :1], u[..., 1:]
    least, extra = _least_and_extra(law, u)
    number = least + xp.where(u_number < extra, 1, 0)
    is_drawn = xp.arange(law.limit, device=device(q)) < number
    tokens = pick(q[..., None, :], xp.where(is_drawn, u_tokens, 0))
    return xp.where(is_drawn, tokens, -1)


def probability(q: Array, drafts: Array, num_drafts: int | Draws) -> Array:
    """Return the probability of the ordered tuple drafts (..., up to limit), -1 after the last."""
    # A tuple with an empty place before its last token, as (3, -1, 5), is impossible.
    xp = array_namespace(q, drafts)
    is_drawn = drafts >= 0
    number = xp.sum(xp.where(is_drawn, 1, 0), axis=-1)
    places = xp.arange(drafts.shape[-1], device=device(drafts))
    is_possible = xp.all(is_drawn == (places < number[..., None]), axis=-1)

    # The draws and their number are independent: Pr = prod_k q(x_k) Pr[N = number].
    token_probabilities = at(q[..., None, :], xp.where(is_drawn, drafts, 0))
    tokens_probability = xp.prod(xp.where(is_drawn, token_probabilities, 1), axis=-1)
    number_probability = _chance(number, *_least_and_extra(_law(q, num_drafts), tokens_probability))
    return tokens_probability * is_possible * number_probability


def within(q: Array, members: Array, num_drafts: int | Draws) -> Array:
    """Return the probability that every candidate lies in the set with indicator members (..., V)."""
    xp = array_namespace(q)
    return inside(xp.sum(xp.where(members, q, 0), axis=-1), _law(q, num_drafts))


def uniforms(num_drafts: int | Draws) -> int:
    """Return the number of uniforms: one for the number of draws, one for each draw that may be made."""
    return 1 + (num_drafts.limit if isinstance(num_drafts, Draws) else LIMIT)


def draws(q: Array, num_drafts: int, limit: int = LIMIT) -> Draws:
    r"""Return the law of N, for each row of q, at which num_drafts distinct tokens are expected.

    .. math:: \sum_i 1 - E(1 - q_i)^N = K, \qquad N \in \{m, m+1\}

    Exact on Fractions; a search over the bits of m with fixed shapes, so that it runs under jit.

    Parameters
    ----------
    q : array, shape (..., V)
        Draft laws.
    num_drafts : int
        The expected number K of distinct tokens, at least 1.
    limit : int
        The largest N, at least 1. It is reached where num_drafts is no smaller than the support of
        q, or nearly so.

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

    def expected_number(drawn: Array) -> Array:
        """Return the expected number (..., 1) of distinct tokens, each drawn with this probability."""
        return xp.sum(drawn, axis=-1, keepdims=True)

    # One distinct token is one draw, also where q is one-hot.
    most = limit if num_drafts > 1 else 1
    # Each token's probability to be among 1, 2, 4, ... draws. In Fractions, where numbers grow
    # long, the list ends once more than K distinct tokens are expected for every row.
    by_bit = [q]
    while 2 ** len(by_bit) < limit:
        if is_exact(q) and (expected_number(by_bit[-1]) > num_drafts).all():
            break
        by_bit.append(_either(by_bit[-1], by_bit[-1]))

    # Find m = least (..., 1), the largest number with at most K distinct tokens expected: start
    # with one draw, and add 2^bit draws where they fit.
    drawn, least = q, xp.broadcast_to(xp.arange(1, 2, device=device(q)), (*q.shape[:-1], 1))
    for bit in reversed(range(len(by_bit))):
        drawn_with_bit, number = _either(drawn, by_bit[bit]), least + 2**bit
        fits = (number <= most) & (expected_number(drawn_with_bit) <= num_drafts)
        drawn, least = xp.where(fits, drawn_with_bit, drawn), xp.where(fits, number, least)

    # The probability of one draw more: what is missing to K over what a draw would add.
    missing = positive_part(num_drafts - expected_number(drawn))
    gain = expected_number(q * (1 - drawn))
    has_more = (least < most) & (gain > 0)
    extra = xp.where(has_more, missing / xp.where(has_more, gain, 1), 0)
    extra = xp.where(extra < 1, extra, 1)
    return Draws(least[..., 0], extra[..., 0], limit)


def expected_distinct(q: Array, draws: Draws) -> Array:
    r"""Return the expected number of distinct tokens among N draws, :math:`\sum_i 1 - E(1 - q_i)^N`.

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
    # Each token's probability to be among `least` draws, by the bits of that number: draws are
    # doubled for each bit, and one is added where the bit is set.
    xp, q = array_namespace(q), wide(q)
    least, extra = _least_and_extra(draws, q)
    drawn = 0 * q
    for bit in reversed(range(draws.limit.bit_length())):
        doubled = _either(drawn, drawn)
        is_set = (least >> bit) % 2 == 1
        drawn = xp.where(is_set, _either(doubled, q), doubled)
    return xp.sum(drawn + extra * q * (1 - drawn), axis=-1)


def distinct_law(q: Array, draws: Draws) -> Array:
    r"""Return the law of the number of distinct tokens among N draws from q.

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
    # Fractions: Pr[d] = sum_n Pr[N = n] Pr[d | N = n].
    if is_exact(q):
        number = np.arange(draws.limit + 1)
        number_probability = _chance(number, *_least_and_extra(draws, q))
        return np.sum(number_probability[..., None] * _occupancy.ways(q, draws.limit), axis=-2)

    # Floats: row by row.
    leading = q.shape[:-1]
    least, extra = np.broadcast_to(draws.least, leading), np.broadcast_to(draws.extra, leading)
    result = np.zeros((*leading, draws.limit + 1))
    for i in np.ndindex(leading):
        row = _occupancy.law(q[i], int(least[i]), float(extra[i]))[: draws.limit + 1]
        result[i][: len(row)] = row
    return result


def inside(q_mass: Array, draws: Draws) -> Array:
    """Return G(t) = E t^N = t^m (1 - f + f t), the probability that every candidate lies in a set.

    t = q_mass is the draft mass of the set, (...) or (..., n).
    """
    least, extra = _least_and_extra(draws, q_mass)
    power = _powers.power(q_mass, least, draws.limit)
    return power if _is_plain_zero(extra) else power * (1 - extra * (1 - q_mass))


def mean_slope(a: Array, b: Array, draws: Draws) -> Array:
    """Return (G(b) - G(a)) / (b - a), and where a = b the derivative of G.

    It is s_m (1 - f + f a) + f b^m with s_m = (b^m - a^m) / (b - a), where nothing cancels.
    """
    least, extra = _least_and_extra(draws, a)
    slope = _powers.slope(a, b, least, draws.limit)
    if _is_plain_zero(extra):
        return slope
    return slope * (1 - extra * (1 - a)) + extra * _powers.power(b, least, draws.limit)


def _either(a: Array, b: Array) -> Array:
    """Return the probability of at least one of two independent events, exact also where both are tiny."""
    return a + b * (1 - a)


def _chance(number: Array, least: Array, extra: Array) -> Array:
    """Return Pr[N = number] for an array of numbers: 1 - extra at `least`, extra at `least + 1`, else 0."""
    return (number == least) * (1 - extra) + (number == least + 1) * extra


def _law(q: Array, num_drafts: int | Draws) -> Draws:
    """Return the law of N: `num_drafts` itself, or the law at which as many distinct tokens are expected."""
    return num_drafts if isinstance(num_drafts, Draws) else draws(q, num_drafts)


def _least_and_extra(draws: Draws, w: Array) -> tuple[Any, Any]:
    """Return `least` and `extra` of a law of N, as plain numbers or arrays that broadcast against w.

    For rows of laws w (b, V), `least` (b,) becomes (b, 1). Arrays have the leading axes of w.
    """
    least, extra = (_aligned(v, w) for v in (draws.least, draws.extra))
    # The type of a plain probability is that of w: Fraction beside Fractions, else float.
    if isinstance(extra, PLAIN):
        extra = Fraction(extra) if isinstance(w, PLAIN) or is_exact(w) else float(extra)
    return least, extra


def _aligned(value: Any, w: Array) -> Any:
    """Return a plain number as it is, and an array with as many axes as w: new axes of length 1 come last."""
    if isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0:
        value = value.item()
    if isinstance(value, PLAIN):
        return value
    new_axes = (None,) * (np.ndim(w) - value.ndim)
    return value[(..., *new_axes)]


def _is_plain_zero(extra: Any) -> bool:
    """Return whether `extra` is the plain number 0, so that a factor 1 + extra (...) can be left out."""
    return isinstance(extra, PLAIN) and extra == 0
