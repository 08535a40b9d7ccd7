"""Law of the draft of the highest score, of three or four drafts without replacement.

A token at the height h, l <= h < l + 1 for a whole l, draws its score by itself: uniform in [l + 1, l + 2) with
probability h - l, its `share`, else uniform in [l, l + 1). The draft of the highest score is chosen. So given the
drafts, each is chosen with an integral of a product of K - 1 piecewise linear functions, for which Simpson's rule is
exact up to K = 4, in rationals too. Over all drafts token x is chosen with probability

    w_x = integral over scores s of g_x(s) dF/dG_x(G(s)),   F(G) = sum over sets S of Pr(S) prod of G_i, i in S,

where g_x is the density of x and G_i(s) the probability that i scores less than s. In the race of T15

    F(G) = integral over T of e^-T sum_j q_j G_j e_{K-1}(G_i (e^{q_i T} - 1), i other than j) dT,

so all w_x take O(V) for each node in time. Only NumPy, row by row (docs: T38, part 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from specsim.base.arrays import array_namespace, at
from specsim.types import Array
from specsim.verify.step._race import Race, arrivals

# Simpson's rule on a level, times 6: its middle counts four times.
SIMPSON = (1, 4, 1)
# Most tokens that are worked on at a time: temporaries stay small.
PIECE = 4096


class Polynomials(NamedTuple):
    """Coefficients of Y^0, Y^1, ... and of the same times epsilon, each (S, N) for scores and nodes.

    A token is the factor e^{-q T} (1 + (z + epsilon q T) G Y), z = e^{q T} - 1.
    """

    plain: list[Array]
    slope: list[Array]


def below(share: Array, ahead: Array) -> Array:
    """Probability G that a token scores less than a score that is `ahead` / 2 above its level, a whole `ahead`."""
    xp = array_namespace(share)
    lower = xp.where(ahead <= 0, 0 * share, xp.where(ahead == 1, (1 - share) / 2, 1 - share))
    return xp.where(ahead <= 2, lower, xp.where(ahead == 3, 1 - share / 2, 1 + 0 * share))


def chosen(level: Array, share: Array, drafts: Array) -> list[Array]:
    """Probability (...) that each of the drafts (..., K) has the highest score, from rows (..., V)."""
    count = drafts.shape[-1]
    levels, shares = ([at(row, drafts[..., k]) for k in range(count)] for row in (level, share))
    chances = []
    for k in range(count):
        chance: Array = 0
        for upper, part in enumerate((1 - shares[k], shares[k])):
            # Simpson's rule over the scores of one level, in halves of a level.
            first = 2 * (levels[k] + upper)
            total: Array = 0
            for half, times in enumerate(SIMPSON):
                others: Array = 1
                for j in range(count):
                    if j != k:
                        others = others * below(shares[j], first + half - 2 * levels[j])
                total = total + times * others
            chance = chance + part * total / sum(SIMPSON)
        chances.append(chance)
    return chances


def responses(run: Race, level: Array, share: Array, levels: int, grown: Array | None = None) -> Array:
    """Chances (V, 4) that a token is chosen at the heights level - 1, ..., level + 2, were it there alone.

    Its own chance is linear between them: that of its place is the mean of the middle two by `share`. `grown` (V,)
    multiplies the probability of each set by its factors of the tokens in it.
    """
    grown = np.ones(len(run.q)) if grown is None else grown
    num_drafts = run.num_drafts
    light = _light_product(run, level, share, levels, grown)
    heavy = [_heavy_factor(run, x, level[x], share[x], levels, grown[x]) for x in run.heavy]
    both = light
    for factor in heavy:
        both = _times(both, factor)
    chances = np.zeros((len(run.q), 4), dtype=np.result_type(share, grown))

    # Light tokens: each is taken out of the product of all by its own series in Y.
    for lowest, tokens in _groups(run, level):
        window = np.arange(2 * lowest - 2, 2 * lowest + 7)
        nearest = np.clip(window, 0, 2 * levels)
        z, rate = _odds(run, tokens, grown)
        minus = -below(share[tokens, None], window - 2 * lowest)
        density: Array = 0
        power, factor = np.ones_like(z), np.ones_like(minus)
        for m in range(num_drafts):
            plain, slope = (part[num_drafts - 1 - m][nearest].T for part in both)
            raised = power * z
            density = density + factor * (raised @ slope + (m + 1) * ((rate * power) @ plain))
            power, factor = raised, factor * minus
        chances[tokens] = _means(density)
    # Heavy tokens: the product of all others.
    for i, x in enumerate(run.heavy):
        others = light
        for factor in (*heavy[:i], *heavy[i + 1 :]):
            others = _times(others, factor)
        nearest = np.clip(np.arange(2 * level[x] - 2, 2 * level[x] + 7), 0, 2 * levels)
        present, eps = _present(run, x, grown[x])
        density = present * others.slope[-2][nearest] + eps * others.plain[-2][nearest]
        chances[x] = _means(density.sum(axis=-1))
    return chances


def couplings(run: Race, level: Array, share: Array, levels: int) -> Array:
    """How much (S,) two tokens as light as the K-th meet at each score, with all others below it."""
    ones = np.ones(len(run.q))
    both = _light_product(run, level, share, levels, ones)
    for x in run.heavy:
        both = _times(both, _heavy_factor(run, x, level[x], share[x], levels, 1.0))
    likeliest = run.light[[np.argmax(run.q[run.light])]]
    (z,), (rate,) = _odds(run, likeliest, ones)
    plain, slope = both.plain[run.num_drafts - 2], both.slope[run.num_drafts - 2]
    return np.asarray(slope @ (z * z) + 2 * (plain @ (z * rate)))


def prefixes(run: Race, order: Array) -> Array:
    """Probability (V,) that all K drafts are among the first tokens of an order."""
    place = np.argsort(order)
    total = np.zeros(len(order))
    # A few nodes at a time: rows of all tokens.
    for nodes in np.array_split(np.arange(len(run.log_time)), max(1, len(run.log_time) * len(order) // 2**20)):
        part = run._replace(log_time=run.log_time[nodes])
        # Sums of powers over the light tokens up to each place.
        z, rate = np.zeros((2, len(order), len(nodes)))
        z[place[run.light]], rate[place[run.light]] = _odds(part, run.light, np.ones(len(run.q)))
        powers, slopes, power = list[Array](), list[Array](), np.ones_like(z)
        for m in range(1, run.num_drafts + 1):
            slopes.append(np.cumsum(m * rate * power, axis=0))
            power = power * z
            powers.append(np.cumsum(power, axis=0))
        both = _scaled(_elementary(powers, slopes), part.light_left * run.step)
        for x in run.heavy:
            present, eps = _present(part, x, 1.0)
            is_in = (np.arange(len(order)) >= place[x])[:, None]
            absent = np.exp(-arrivals(part, [x])[0])
            both = _times(both, (absent, is_in * present, is_in * eps))
        total += both.slope[run.num_drafts].sum(axis=-1)
    return total


def _light_product(run: Race, level: Array, share: Array, levels: int, grown: Array) -> Polynomials:
    """The product of all light tokens, times the weights of the nodes."""
    shape = (run.num_drafts, 2 * levels + 2, len(run.log_time))
    powers, slopes = np.zeros((2, *shape), dtype=np.result_type(share, grown))
    # Where a token's score begins and ends its powers grow; from there on they stay.
    for lowest, tokens in _groups(run, level):
        window = np.arange(2 * lowest + 1, 2 * lowest + 5)
        lower = below(share[tokens, None], window - 2 * lowest)
        z, rate = _odds(run, tokens, grown)
        power, factor = np.ones_like(z), np.ones_like(lower)
        for m in range(run.num_drafts):
            factor = factor * lower
            slope = (m + 1) * rate * power
            power = power * z
            for sums, terms in ((powers, power), (slopes, slope)):
                grows = factor.T @ terms
                sums[m, window] += np.diff(grows, axis=0, prepend=0)
    powers, slopes = (np.cumsum(sums, axis=1)[:, :-1] for sums in (powers, slopes))
    return _scaled(_elementary(list(powers), list(slopes)), run.light_left * run.step)


def _elementary(powers: Sequence[Array], slopes: Sequence[Array]) -> Polynomials:
    """Elementary symmetric polynomials from sums of powers, by Newton's identities."""
    plain, slope = [np.ones_like(powers[0])], [np.zeros_like(powers[0])]
    for j in range(1, len(powers) + 1):
        total: Array = 0
        total_slope: Array = 0
        for m in range(1, j + 1):
            sign = 1 if m % 2 else -1
            total = total + sign * plain[j - m] * powers[m - 1]
            total_slope = total_slope + sign * (slope[j - m] * powers[m - 1] + plain[j - m] * slopes[m - 1])
        plain.append(total / j)
        slope.append(total_slope / j)
    return Polynomials(plain, slope)


def _scaled(product: Polynomials, by: Array) -> Polynomials:
    """Return the coefficients times a row of nodes."""
    return Polynomials([w * by for w in product.plain], [w * by for w in product.slope])


def _times(product: Polynomials, factor: tuple[Array, Array, Array]) -> Polynomials:
    """Return the product with one more token: its terms without Y, with Y, and with epsilon Y."""
    absent, present, eps = factor
    plain, slope = [product.plain[0] * absent], [product.slope[0] * absent]
    for j in range(1, len(product.plain)):
        plain.append(product.plain[j] * absent + product.plain[j - 1] * present)
        slope.append(product.slope[j] * absent + product.slope[j - 1] * present + product.plain[j - 1] * eps)
    return Polynomials(plain, slope)


def _heavy_factor(
    run: Race, token: int, level: Array, share: Array, levels: int, grown: Array
) -> tuple[Array, Array, Array]:
    """Terms of one heavy token: without Y (N,), with Y and with epsilon Y (S, N)."""
    lower = below(share, np.arange(2 * levels + 1) - 2 * level)[:, None]
    present, eps = _present(run, token, grown)
    return np.exp(-arrivals(run, [token])[0]), lower * present, lower * eps


def _present(run: Race, token: int, grown: Array) -> tuple[Array, Array]:
    """e^{-q T} z and e^{-q T} q T (N,) of one token."""
    (rate,) = arrivals(run, [token])
    is_late = rate > 700
    rate = np.where(is_late, 0, rate)
    return np.where(is_late, 1, -np.expm1(-rate)) * grown, rate * np.exp(-rate) * grown


def _odds(run: Race, tokens: Array, grown: Array) -> tuple[Array, Array]:
    """Z = e^{q T} - 1 and q T (n, N) of light tokens."""
    rate = arrivals(run, tokens)
    return np.expm1(rate) * grown[tokens, None], rate * grown[tokens, None]


def _means(density: Array) -> Array:
    """Means (..., 4) over four levels of values at their ends and middles (..., 9)."""
    first, middle, last = (density[..., k : k + 7 : 2] for k in range(3))
    outer, inner, _ = SIMPSON
    return (outer * (first + last) + inner * middle) / (2 * outer + inner)


def _groups(run: Race, level: Array) -> Iterator[tuple[int, Array]]:
    """Levels and their light tokens, a piece at a time."""
    order = run.light[np.argsort(level[run.light], kind="stable")]
    lowest, first = np.unique(level[order], return_index=True)
    for k, tokens in zip(lowest.tolist(), np.split(order, first[1:]), strict=True):
        for start in range(0, len(tokens), PIECE):
            yield k, tokens[start : start + PIECE]
