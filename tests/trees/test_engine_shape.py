"""The tree of an engine's own three numbers: it is what its beam keeps, and `--emit sglang` gives the numbers back."""

from __future__ import annotations

from itertools import product

import pytest

import specsim
from specsim.commands.plan.engines.sglang import bounds
from specsim.trees import tree_value

RANKS = [0.55, 0.2, 0.1]


def test_one_choice_is_a_chain() -> None:
    assert specsim.engine_tree(RANKS, steps=3, top_k=1, tokens=4) == (-1, 0, 1)
    assert specsim.engine_tree(RANKS, steps=1, top_k=3, tokens=4) == (-1, -1, -1)


def best_of_the_beam(steps: int, top_k: int, tokens: int) -> float:
    """All nodes an engine drafts, by their paths of ranks; the most valuable of them, added up."""
    level: list[tuple[int, ...]] = [()]
    pool: list[tuple[int, ...]] = []
    for _ in range(steps):
        born = [(*path, k) for path in level for k in range(top_k)]
        pool += born
        level = sorted(born, key=value, reverse=True)[:top_k]
    return 1 + sum(sorted(map(value, pool), reverse=True)[: tokens - 1])


def value(path: tuple[int, ...]) -> float:
    found = 1.0
    for k in path:
        found *= RANKS[k]
    return found


@pytest.mark.parametrize(
    ("steps", "top_k", "tokens"),
    [c for c in product((1, 2, 4), (1, 2, 3), (2, 4, 8)) if c[2] - 1 <= c[1] + (c[0] - 1) * c[1] ** 2],
)
def test_tau_is_that_of_the_nodes_that_are_kept(steps: int, top_k: int, tokens: int) -> None:
    parents = specsim.engine_tree(RANKS, steps=steps, top_k=top_k, tokens=tokens)
    assert len(parents) == tokens - 1
    assert all(parent < i for i, parent in enumerate(parents))
    assert float(tree_value(parents, RANKS)) == pytest.approx(best_of_the_beam(steps, top_k, tokens))
    back = bounds(parents)
    assert back.tokens == tokens
    assert back.steps <= steps
    assert back.top_k <= top_k


def test_the_next_level_grows_from_the_best_nodes_of_this_one() -> None:
    """Not from the children of the best parent alone: with ranks nearly alike those of others are better."""
    wide = specsim.engine_tree([0.34, 0.33, 0.32], steps=3, top_k=3, tokens=22)
    grown = {wide[i] for i in range(21) if wide[i] >= 0 and wide[wide[i]] >= 0}
    assert {wide[i] for i in grown} == {0, 1}, "parents of the second level that has children: .34 and .33"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"steps": 2, "top_k": 2, "tokens": 8}, "tokens is 8; 2 steps of top-k 2 draft 6 nodes"),
        ({"steps": 2, "top_k": 4, "tokens": 4}, "ranks has 3 entries; top_k is 4"),
        ({"steps": 0, "top_k": 1, "tokens": 2}, "steps"),
        ({"steps": 1, "top_k": 1, "tokens": 1}, "tokens"),
    ],
)
def test_what_no_engine_drafts_is_refused(told: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        specsim.engine_tree(RANKS, **told)
