"""Coins as inputs: the cube of uniforms is cut into boxes on which the subject gives one answer.

A box whose corners and a few points inside agree is one answer; two points that differ are joined along the axes, and
the threshold between them is found by bisection, to the last bit. The law is exact up to the subject's own floats, if
its answers change at thresholds of single coins and no box hides another answer from all its probes. Before anybody is
convicted, so many random points must agree with their boxes that what is hidden is less than what is wrong.
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

INSIDE = 16  # random points of every box
CORNERS = 6  # coins whose corners are all tried; of more, only the two ends of every axis
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
    """Exact law of program(u), u (count,) uniform; `leaves` counts its runs.

    All u are numbers that `floats` can hold: a program that takes shorter ones than float64 tells no others apart.
    At the end `agreed` random points of the whole cube have the answers of their boxes, one after the other; a box that
    one of them refutes is cut there, and they begin anew. Raises TooLong after `most` boxes, which is what happens
    where two coins are compared with each other.

    Examples
    --------
    >>> found = law(lambda u: int(u[0] < 0.25) + int(u[1] * 3), 2).law
    >>> [round(found[k], 12) for k in range(4)]
    [0.25, 0.333333333333, 0.333333333333, 0.083333333333]
    """
    rng, runs, left = np.random.default_rng(0), 0, agreed
    found: list[tuple[Box, Any, Array]] = []  # a point of it with its answer
    boxes: list[Box] = [[(0.0, 1.0)] * count]

    def ask(u: Array) -> Any:
        nonlocal runs
        runs += 1
        return program(u)

    while boxes or left:
        if clock.now() > deadline:
            raise TooLong(f"more than {len(found) + len(boxes)} boxes of coins in the time")
        if boxes:
            box = boxes.pop()
            one, *points = _probes(box, rng, floats)
            answer = ask(one)
            other = next((u for u in points if ask(u) != answer), None)
            if other is None:
                found.append((box, answer, one))
                continue
        else:
            other = _held(rng.random(count), floats)
            here = next(i for i, (box, *_) in enumerate(found) if _inside(other, box))
            if ask(other) == found[here][1]:
                left -= 1
                continue
            (box, _, one), left = found.pop(here), agreed
        axis, cut = _threshold(ask, one, other, floats)
        low, high = box[axis]
        if not low < cut < high:
            raise NotScriptable(
                "an answer changes at no threshold of a single coin: it may depend on more than the coins"
            )
        boxes += [[*box[:axis], side, *box[axis + 1 :]] for side in ((low, cut), (cut, high))]
        if len(found) + len(boxes) > most:
            raise TooLong(f"more than {most} boxes of coins")
    out: dict[Any, list[float]] = {}
    for box, answer, _ in found:
        out.setdefault(answer, []).append(math.prod(high - low for low, high in box))
    return Exact({answer: math.fsum(masses) for answer, masses in out.items()}, runs)


def _inside(u: Array, box: Box) -> bool:
    return all(low <= x < high for x, (low, high) in zip(u.tolist(), box, strict=True))


def _probes(box: Box, rng: np.random.Generator, floats: type[np.floating[Any]]) -> list[Array]:
    """Corners of a box (just inside its upper ends), and points inside."""
    ends = [(low, float(np.nextafter(floats(high), floats(0)))) for low, high in box]
    if len(box) <= CORNERS:
        outer = [np.array(corner) for corner in itertools.product(*ends)]
    else:
        middle = _held(np.array(ends).mean(axis=1), floats)
        outer = [np.where(np.arange(len(box)) == i, end, middle) for i, pair in enumerate(ends) for end in pair]
    low, last = np.array(ends).reshape(-1, 2).T
    return outer + [_held(low + (last - low) * rng.random(len(box)), floats) for _ in range(INSIDE)]


def _held(u: Any, floats: type[np.floating[Any]]) -> Any:
    """As near as these floats come to it: between two of them, or one of the two."""
    return np.asarray(u, dtype=floats).astype(np.float64)


def _threshold(
    ask: Callable[[Array], Any], one: Array, other: Array, floats: type[np.floating[Any]]
) -> tuple[int, float]:
    """(axis, cut): below the cut one answer, at the cut another, on a line along that axis between two points."""
    at = one.copy()
    for axis in range(len(one)):
        moved = at.copy()
        moved[axis] = other[axis]
        before, after = ask(at), ask(moved)
        if before == after:
            at = moved
            continue
        low, high = sorted((at[axis], moved[axis]))
        probe = at.copy()
        probe[axis] = low
        lowest = ask(probe)
        while (middle := float(_held(low + (high - low) / 2, floats))) not in (low, high):
            probe[axis] = middle
            low, high = (middle, high) if ask(probe) == lowest else (low, middle)
        return axis, high
    return 0, -1.0  # both points give the same answer now: it is no function of the coins
