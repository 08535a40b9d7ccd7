"""Coins as inputs: the cube of uniforms is cut into boxes on which the subject gives one answer.

A box whose corners and a few points inside agree is one answer; two points that differ are joined
along the axes, and the threshold between them is found by bisection, to the last bit. The law is
exact up to the subject's own floats, if its answers change at thresholds of single coins and no box
hides another answer from all its probes. Before a subject is convicted, so many random points must
agree with their boxes that the hidden volume is less than the distance from the target.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from specsim.base import clock
from specsim.forking.programs.script import Exact, NotScriptable, TooLong
from specsim.types import Array

# Random points of every box.
INSIDE = 16
# Largest number of coins whose corners are all tried; of more, only the two ends of every axis are.
CORNERS = 6
Box = list[tuple[float, float]]


def law(
    program: Callable[[Array], Hashable],
    count: int,
    *,
    most: int = 400,
    deadline: float = math.inf,
    floats: type[np.floating[Any]] = np.float64,
    agreed: int = 0,
) -> Exact:
    """Return the exact law of program(u), u (count,) uniform; `leaves` counts its runs.

    All u are numbers that `floats` can hold: a program that takes shorter ones than float64 tells
    no others apart. At the end `agreed` random points of the whole cube have the answers of their
    boxes, one after the other; a box that one of them refutes is cut there, and they begin anew.
    Raises TooLong after `most` boxes, which is what happens where two coins are compared with each
    other.

    Examples
    --------
    >>> masses = law(lambda u: int(u[0] < 0.25) + int(u[1] * 3), 2).law
    >>> [round(masses[k], 12) for k in range(4)]
    [0.25, 0.333333333333, 0.333333333333, 0.083333333333]
    """
    rng, runs = np.random.default_rng(0), 0
    # Random points of the cube that must still agree with their boxes.
    points_left = agreed
    # Boxes of one answer: the box, the answer, and a point of it; and boxes that were not probed
    # yet.
    probed: list[tuple[Box, Any, Array]] = []
    boxes: list[Box] = [[(0.0, 1.0)] * count]

    def ask(u: Array) -> Any:
        """Run the program once."""
        nonlocal runs
        runs += 1
        return program(u)

    while boxes or points_left:
        if clock.now() > deadline:
            raise TooLong(f"more than {len(probed) + len(boxes)} boxes of coins in the time")

        # Find two points of a box with different answers: by its probes, or by a random point of
        # the cube.
        if boxes:
            box = boxes.pop()
            point, *others = _probes(box, rng, floats)
            answer = ask(point)
            other = next((u for u in others if ask(u) != answer), None)
            if other is None:
                probed.append((box, answer, point))
                continue
        else:
            other = _rounded(rng.random(count), floats)
            index = next(i for i, (box, *_) in enumerate(probed) if _inside(other, box))
            box, answer, point = probed[index]
            if ask(other) == answer:
                points_left -= 1
                continue
            probed.pop(index)
            points_left = agreed

        # Cut the box at the threshold between them.
        axis, cut = _threshold(ask, point, other, floats)
        low, high = box[axis]
        if not low < cut < high:
            raise NotScriptable(
                "an answer changes at no threshold of a single coin: it may depend on more than the coins"
            )
        boxes += [[*box[:axis], side, *box[axis + 1 :]] for side in ((low, cut), (cut, high))]
        if len(probed) + len(boxes) > most:
            raise TooLong(f"more than {most} boxes of coins")

    # The mass of an answer is the volume of its boxes.
    volumes: dict[Any, list[float]] = {}
    for box, answer, _ in probed:
        volumes.setdefault(answer, []).append(math.prod(high - low for low, high in box))
    return Exact({answer: math.fsum(parts) for answer, parts in volumes.items()}, runs)


def _inside(u: Array, box: Box) -> bool:
    """Return whether a point is in a box."""
    return all(low <= x < high for x, (low, high) in zip(u.tolist(), box, strict=True))


def _probes(box: Box, rng: np.random.Generator, floats: type[np.floating[Any]]) -> list[Array]:
    """Return points (n,) of a box: its corners or the centres of its faces, and random points.

    The box does not hold its upper ends: the largest number below stands for one.
    """
    # The smallest and the largest number of every coin, (n, 2).
    ends = [(low, float(np.nextafter(floats(high), floats(0)))) for low, high in box]

    # Corners; of many coins the two ends of each axis through the middle of the box.
    if len(box) <= CORNERS:
        outer = [np.array(corner) for corner in itertools.product(*ends)]
    else:
        middle = _rounded(np.array(ends).mean(axis=1), floats)
        outer = []
        for i, (low, last) in enumerate(ends):
            is_axis = np.arange(len(box)) == i
            outer += [np.where(is_axis, low, middle), np.where(is_axis, last, middle)]

    # Random points.
    lows, lasts = np.array(ends).reshape(-1, 2).T
    random_points = (lows + (lasts - lows) * rng.random(len(box)) for _ in range(INSIDE))
    return outer + [_rounded(point, floats) for point in random_points]


def _rounded(u: Any, floats: type[np.floating[Any]]) -> Any:
    """Return the numbers of these floats that are nearest to u, in float64."""
    return np.asarray(u, dtype=floats).astype(np.float64)


def _threshold(
    ask: Callable[[Array], Any], start: Array, goal: Array, floats: type[np.floating[Any]]
) -> tuple[int, float]:
    """Return (axis, cut) between two points of different answers.

    Along the axis one answer comes below the cut, another one at it. Returns (0, -1) if both points
    give the same answer now: then it is no function of the coins.
    """
    point = start.copy()
    for axis in range(len(start)):
        # Walk from the start to the goal, one coin after the other, until the answer changes.
        moved = point.copy()
        moved[axis] = goal[axis]
        before, after = ask(point), ask(moved)
        if before == after:
            point = moved
            continue

        # Bisect along this axis, to the last bit.
        low, high = sorted((point[axis], moved[axis]))
        probe = point.copy()
        probe[axis] = low
        lowest = ask(probe)
        while (middle := float(_rounded(low + (high - low) / 2, floats))) not in (low, high):
            probe[axis] = middle
            low, high = (middle, high) if ask(probe) == lowest else (low, middle)
        return axis, high
    return 0, -1.0
