"""Trees of tests of uniforms, as in the Coq theories of T07: their forked law is a count over a grid of the cube."""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from specsim.forking import rational

# Uniforms of a tree, tests on a path at most, and different results.
UNIFORMS, DEPTH, RESULTS = 2, 4, 3
# The cells of the grid on a side. It holds every cut: k/4 over 3/2, and k/6 over 1.
SIDE = 6
OPERATORS = (operator.lt, operator.le, operator.gt, operator.ge)


class Node(NamedTuple):
    """One test of a uniform, and what follows each answer: another test, or a result."""

    compare: Callable[[Any, Any], bool]
    place: int
    scale: Fraction
    bound: Fraction
    yes: Any
    no: Any


def random_tree(rng: random.Random, depth: int) -> Any:
    """Return a tree of tests, with more of them near its root."""
    if depth == 0 or rng.random() < 0.1:
        return rng.randrange(RESULTS)
    scale = Fraction(rng.choice((0, 2, 2, 3)), 2)
    bound = Fraction(rng.randint(-1, 6), 4) if scale != 1 else Fraction(rng.randint(-1, 7), SIDE)
    branches = random_tree(rng, depth - 1), random_tree(rng, depth - 1)
    return Node(rng.choice(OPERATORS), rng.randrange(UNIFORMS), scale, bound, *branches)


def run(tree: Any, u: Sequence[Any]) -> int:
    """Return the result of a tree at these uniforms."""
    while isinstance(tree, Node):
        tree = tree.yes if tree.compare(u[tree.place] * tree.scale, tree.bound) else tree.no
    return int(tree)


def leaves(tree: Any, box: tuple[tuple[Fraction, Fraction], ...]) -> list[tuple[int, Fraction]]:
    """Return (result, volume) of the leaves of a tree in a box, those below a cut first, as the Coq function does."""
    if not isinstance(tree, Node):
        return [(int(tree), math.prod((high - low for low, high in box), start=Fraction(1)))]
    is_below = tree.compare in (operator.lt, operator.le)
    below, above = (tree.yes, tree.no) if is_below else (tree.no, tree.yes)

    # A test of 0 has one answer everywhere.
    if tree.scale == 0:
        return leaves(tree.yes if tree.compare(0, tree.bound) else tree.no, box)

    # The cell decides, or it is split.
    cut, (low, high) = tree.bound / tree.scale, box[tree.place]
    if cut <= low or cut >= high:
        return leaves(above if cut <= low else below, box)
    parts = [(*box[: tree.place], cell, *box[tree.place + 1 :]) for cell in ((low, cut), (cut, high))]
    return leaves(below, parts[0]) + leaves(above, parts[1])


@pytest.mark.parametrize("seed", range(40))
def test_the_law_is_a_count_over_a_grid(seed: int) -> None:
    tree = random_tree(random.Random(seed), DEPTH)
    middles = [Fraction(2 * cell + 1, 2 * SIDE) for cell in range(SIDE)]
    results = [run(tree, u) for u in itertools.product(middles, repeat=UNIFORMS)]
    counted = {z: Fraction(results.count(z), SIDE**UNIFORMS) for z in set(results)}
    assert rational.law(lambda fork: run(tree, fork.uniforms(UNIFORMS))) == counted


@pytest.mark.parametrize("seed", range(40))
def test_runs_are_the_leaves_in_order(seed: int) -> None:
    tree = random_tree(random.Random(seed), DEPTH)
    runs = list(rational.runs(lambda fork: run(tree, fork.uniforms(UNIFORMS))))
    assert runs == leaves(tree, (rational.WHOLE,) * UNIFORMS)
    assert sum(weight for _, weight in runs) == 1


def test_trees_are_split_and_return_all() -> None:
    """So that the tests above ask something: many leaves, every result, a uniform cut twice."""
    trees = [random_tree(random.Random(seed), DEPTH) for seed in range(40)]
    counts = [len(leaves(tree, (rational.WHOLE,) * UNIFORMS)) for tree in trees]
    assert max(counts) > 2 * UNIFORMS
    assert {z for tree in trees for z, _ in leaves(tree, (rational.WHOLE,) * UNIFORMS)} == set(range(RESULTS))
