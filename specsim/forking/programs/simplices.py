"""Parts of a simplex, cut by planes through its corners: how n exponentials share their sum is uniform on it.

A part is a list of smaller simplices, each an array (n, n) whose rows are its corners, on the
simplex of rows that sum to 1; its volume is the absolute determinant of that array.
"""

from __future__ import annotations

import numpy as np

from specsim.types import Array

Part = tuple[Array, ...]
# Largest number of corners; with more of them the pieces are too many.
WIDEST = 5
# Share of the whole simplex that rounding leaves on the wrong side of a plane.
SLIVER = 1e-13


def whole(corners: int) -> Part:
    """Return the whole simplex.

    >>> volume(whole(3))
    1.0
    """
    return (np.eye(corners),)


def volume(part: Part) -> float:
    """Return the share of the whole simplex that a part is.

    >>> volume(cut(whole(2), np.array([1.0, -3.0])))  # x >= 3 y, where x + y = 1
    0.25
    """
    return float(sum(abs(np.linalg.det(simplex)) for simplex in part))


def cut(part: Part, normal: Array) -> Part:
    """Return the points x of a part with normal . x >= 0.

    A simplex on both sides is split at an edge that crosses the plane, and its halves are looked at
    in turn.
    """
    inside, waiting = [], [(simplex, simplex @ normal) for simplex in part]
    while waiting:
        simplex, side = waiting.pop()
        above, below = int(side.argmax()), int(side.argmin())
        if side[below] >= 0:
            inside.append(simplex)
        elif side[above] > 0:
            share = side[above] / (side[above] - side[below])
            middle = simplex[above] + share * (simplex[below] - simplex[above])
            for corner in (above, below):
                half, sides = simplex.copy(), side.copy()
                half[corner], sides[corner] = middle, 0.0
                waiting.append((half, sides))
    return tuple(simplex for simplex in inside if abs(np.linalg.det(simplex)) > SLIVER)


def won(part: Part, weights: Array, winner: int) -> Part:
    """Return the points x of a part where weights / x is largest at the winner.

    >>> [round(volume(won(whole(3), np.array([0.5, 0.3, 0.2]), i)), 12) for i in range(3)]
    [0.5, 0.3, 0.2]
    """
    for other in range(len(weights)):
        if other != winner and part:
            normal = np.zeros(len(weights))
            normal[other], normal[winner] = weights[winner], -weights[other]
            part = cut(part, normal)
    return part
