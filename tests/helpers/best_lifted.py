"""The best of all lifted rules on two levels of K independent paths, by a linear program."""

from __future__ import annotations

from itertools import permutations, product
from math import prod
from typing import Any

import numpy as np
from scipy.optimize import linprog

Array = Any


def best_lifted(p: Array, q: Array, below: Array, drafts: Array, num_paths: int) -> float:
    """The most drafts that a lifted rule accepts, of any plan and any order.

    Such a rule gives each child a share of its parent's weight, and visits child by child. p, q
    (V,) at the root; below, drafts (V, V) after each token. For a tuple of first tokens and an
    order of the different ones, drawn with probability o: the share s of a child, called with
    probability c = o - the shares before it, keeps s itself, and below it min(s, min_H s p(H) + c
    (1 - q(H)^m)), m being the paths through it (T03 for the target s p, in proportion to c): all of
    it linear in s and o.
    """
    # The variables: a share and the drafts below for each child of each tuple and order, then the
    # probability of each tuple and order.
    vocab, p, q = len(p), np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    tuples = list(product(range(vocab), repeat=num_paths))
    orders = [(t, order) for t in tuples for order in permutations(sorted(set(t)))]
    places = [(line, j) for line, (_, order) in enumerate(orders) for j in range(len(order))]
    share = {place: i for i, place in enumerate(places)}
    n, lines = len(places), len(orders)
    sets = [np.array(chosen, dtype=bool) for chosen in product((False, True), repeat=vocab)]
    rows: list[Array] = []
    limits: list[float] = []

    def at_most(limit: float, entries: dict[int, float]) -> None:
        """Add a row of the program: the weighted sum of these columns is at most the limit."""
        row = np.zeros(2 * n + lines)
        for column, value in entries.items():
            row[column] += value
        rows.append(row)
        limits.append(limit)

    # A token is called at most as often as the target draws it.
    for token in range(vocab):
        at_most(p[token], {i: 1.0 for (line, j), i in share.items() if orders[line][1][j] == token})

    # Shares of an order sum to its probability at most, and bound the drafts below each child.
    for line, (drawn, order) in enumerate(orders):
        chance = 2 * n + line
        at_most(0.0, {chance: -1.0} | {share[line, j]: 1.0 for j in range(len(order))})
        for j, token in enumerate(order):
            share_column, earlier = share[line, j], [share[line, k] for k in range(j)]
            for chosen in sets:
                missed = 1 - float(drafts[token][chosen].sum()) ** drawn.count(token)
                entries = {n + share_column: 1.0, share_column: -float(below[token][chosen].sum()), chance: -missed}
                at_most(0.0, entries | dict.fromkeys(earlier, missed))

    # The orders of a tuple have its probability together.
    equal = np.zeros((len(tuples), 2 * n + lines))
    for line, (drawn, _) in enumerate(orders):
        equal[tuples.index(drawn), 2 * n + line] = 1
    chances = [prod(float(q[token]) for token in drawn) for drawn in tuples]
    aim = np.concatenate([-np.ones(2 * n), np.zeros(lines)])
    solution = linprog(aim, np.array(rows), limits, equal, chances, method="highs")
    return -float(solution.fun)
