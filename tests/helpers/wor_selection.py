"""A draft chosen from K without replacement, by tiers and weights, whose law reaches the optimum.

Sets of tokens are bits of an integer: everything is enumerated, as T38 states it, on few tokens.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

Array = Any
# Sets are tight if their mass differs by less than this from the least that they must have.
TIGHT = 1e-11


class Selection(NamedTuple):
    """The tier of each token, the highest first served; in a tier a draft is chosen in proportion to its weight."""

    tier: list[int]
    weight: list[Any]


def set_law(q: Array, num_drafts: int) -> dict[int, Any]:
    """Probability of each set of drafts; entries may be Fractions."""
    law: dict[int, Any] = {}
    live = [i for i, mass in enumerate(q) if mass > 0]
    for drafts in permutations(live, min(num_drafts, len(live))):
        chance, left = 1, 1
        for token in drafts:
            chance, left = chance * q[token] / left, left - q[token]
        drawn = sum(1 << token for token in drafts)
        law[drawn] = law.get(drawn, 0) + chance
    return law


def within(law: dict[int, Any], chosen: int) -> Any:
    """F: the probability that all drafts are in a set."""
    return sum(chance for drawn, chance in law.items() if not drawn & ~chosen)


def wanted(p: Array, q: Array, law: dict[int, Any]) -> list[Any]:
    """w: p filled where drafts are too many, cut where they are too few, by 1 - optimum each; q > 0 everywhere."""
    order = sorted(range(len(p)), key=lambda i: p[i] / q[i])
    sums, chosen = [(0, 0, 0)], 0  # of p, q and F over prefixes
    for token in order:
        chosen |= 1 << token
        sums.append((sums[-1][0] + p[token], sums[-1][1] + q[token], within(law, chosen)))
    loss = max(inside - of_p for of_p, _, inside in sums)
    fill = min((loss + of_p) / of_q for of_p, of_q, _ in sums[1:])
    cut = max([fill, *((1 - of_p - loss) / (1 - of_q) for of_p, of_q, _ in sums[:-1])])
    return [max(fill * b, min(a, cut * b)) for a, b in zip(p, q, strict=True)]


def selection(w: Array, law: dict[int, float]) -> Selection:
    """Tiers from a longest chain of tight sets, and in each the weights that give w, by Newton's method."""
    vocab, below, tier, weight = len(w), 0, [0] * len(w), [1.0] * len(w)
    number = 0
    while below != (1 << vocab) - 1:
        above = min((s for s in range(1 << vocab) if _is_tight(s, below, w, law)), key=int.bit_count)
        tokens = [i for i in range(vocab) if (above & ~below) >> i & 1]
        drawn: dict[int, float] = {}
        for chosen, chance in law.items():
            if not chosen & ~above and chosen & ~below:
                drawn[chosen & ~below] = drawn.get(chosen & ~below, 0.0) + chance
        weights = _weights(np.array([w[i] for i in tokens]), tokens, drawn)
        for i, value in zip(tokens, weights, strict=True):
            tier[i], weight[i] = number, value
        below, number = above, number + 1
    return Selection(tier, weight)


def _is_tight(chosen: int, below: int, w: Array, law: dict[int, float]) -> bool:
    more = chosen != below and chosen & below == below
    return more and abs(sum(w[i] for i in range(len(w)) if chosen >> i & 1) - within(law, chosen)) < TIGHT


def _weights(w: Array, tokens: list[int], drawn: dict[int, float]) -> list[float]:
    """The weights of a tier of which no smaller set is tight.

    Their law is w at the minimum of a convex function, which Newton's method finds.
    """
    is_member = np.array([[bool(s >> i & 1) for i in tokens] for s in drawn])
    mass, logs = np.array(list(drawn.values())), np.zeros(len(tokens))

    def residual(logs: Array) -> tuple[Array, Array, float]:
        """The function's gradient, its curvature and its value at logarithms of weights."""
        terms = np.where(is_member, np.exp(logs - logs.max()), 0)
        share = terms / terms.sum(axis=1, keepdims=True)
        value = mass @ (np.log(terms.sum(axis=1)) + logs.max()) - w @ logs
        return mass @ share - w, np.diag(mass @ share) - (share.T * mass) @ share, float(value)

    # A step is halved until the value does not rise.
    for _ in range(200):
        off, curve, value = residual(logs)
        if abs(off).max() < 1e-14:
            break
        step, size = np.linalg.lstsq(curve, off, rcond=None)[0], 1.0
        while size > 1e-6 and residual(logs - size * step)[2] > value:
            size /= 2
        logs = logs - size * step
    return [float(x) for x in np.exp(logs - logs.max())]


def choice(drawn: int, how: Selection) -> dict[int, Any]:
    """Law of the draft that is chosen from a set."""
    tokens = [i for i in range(len(how.tier)) if drawn >> i & 1]
    best = max(how.tier[i] for i in tokens)
    served = [i for i in tokens if how.tier[i] == best]
    total = sum(how.weight[i] for i in served)
    return {i: how.weight[i] / total for i in served}


def chosen_law(law: dict[int, Any], how: Selection) -> list[Any]:
    """Law of the draft that is chosen, over all sets."""
    out: list[Any] = [0] * len(how.tier)
    for drawn, chance in law.items():
        for token, share in choice(drawn, how).items():
            out[token] += chance * share
    return out
