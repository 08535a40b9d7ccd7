"""UniVer is `lifted` with the optimal step (T42): the same decisions, on trees of independent draws."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from specsim.exact.small_laws import rational_table
from specsim.exact.tree import expected_kept
from specsim.trees import chain, depths, enumerate_trees, k_ary, paths
from specsim.verify.tree import lifted, univer

Array = Any
SHAPES = [
    (k_ary((2, 1)), "iid", 3),
    (k_ary((3,)), "iid", 3),
    (np.array([-1, -1, 0, 0]), "iid", 2),
    (paths(2, 2), "paths", 2),
    (paths(3, 2), "paths", 2),
    (chain(3), "iid", 2),
]


@pytest.mark.parametrize(("shape", "scheme", "vocab"), SHAPES)
def test_the_decisions_are_those_of_the_lifted_optimal_rule(shape: Array, scheme: str, vocab: int) -> None:
    """Chances of every node that is reached, and what is left there in proportion: as rationals."""
    rng = np.random.default_rng(len(shape))
    target, draft = (rational_table(rng, vocab, int(depths(shape).max())) for _ in range(2))
    for tree, q, chance in enumerate_trees(draft.__getitem__, shape, scheme=scheme):
        if not chance:
            continue
        p = np.stack([target[text] for text in texts(tree)])
        ours, theirs = univer.prepare(p, q, tree), lifted.prepare(p, q, tree, step="optimal")
        assert (univer.transition(ours) == lifted.transition(theirs)).all()


def texts(tree: Any) -> list[tuple[int, ...]]:
    """The text of every row: the root, then the nodes."""
    found: list[tuple[int, ...]] = [()]
    for token, parent in zip(tree.tokens.tolist(), tree.parents.tolist(), strict=True):
        found.append((*found[parent + 1], token))
    return found


def test_numbers_of_the_toy() -> None:
    p, q = (np.array([Fraction(k, 3), Fraction(3 - k, 3)]) for k in (1, 2))
    for shape, value in (((2, 2), (131, 81)), ((3, 2), (100549, 54675)), ((2, 3), (9709, 4374))):
        found = expected_kept(p, q, rule="univer", parents=paths(*shape), scheme="paths")
        assert found == Fraction(*value)
