"""Conditional Monte Carlo of trees: contexts it starts in, texts it counts, and the bound that no rule exceeds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from specsim import block_chain, markov
from specsim.draft import distinct
from specsim.exact.tree import drawn_trees
from specsim.simulation import conditional, conditional_tau
from specsim.simulation.conditional import texts
from specsim.trees import chain, k_ary, paths
from specsim.types import TokenTree

SURE = 1 - 1e-6  # level of the intervals in these tests: one false alarm in a million
# The last two tokens count: with one, the state after a node is that of its token, whatever its parents.
TARGET, DRAFT = (markov(table) for table in np.random.default_rng(4).dirichlet(np.ones(3), (2, 3, 3)))


def test_number_of_texts() -> None:
    """Equal siblings count once, with nothing below the second; paths share what they have alike."""
    shape = k_ary((2, 1))
    tokens = np.array([[0, 1, 2, 2], [1, 1, 0, 2], [1, -1, 0, -1]])
    for scheme, numbers in (("iid", [4, 2, 2]), ("paths", [4, 3, 2])):
        assert texts(TokenTree(shape, tokens, np.array([1, 1, 2, 2]), scheme)).tolist() == numbers
    two = TokenTree(paths(2, 2), np.array([[1, 0, 1, 0], [1, 0, 1, 2]]), np.array([1, 2, 1, 2]), "paths")
    assert texts(two).tolist() == [2, 3]


def test_expected_number_of_texts_and_ends() -> None:
    """One level of distinct siblings: as many as asked for; ends are a law, and their mean depth is tau - 1."""
    options: dict[str, Any] = {"rule": "lifted", "parents": k_ary((4, 1)), "scheme": "distinct", "num_drafts": 2}
    law = distinct.draws(DRAFT.rows[:1], 2, 4)
    found = conditional_tau(TARGET, DRAFT, blocks=4000, sequences=4000, **options)
    assert distinct.expected_distinct(DRAFT.rows[:1], law) == pytest.approx(2)
    assert abs(found.nodes - 4) < 0.15
    assert found.ends.sum() == pytest.approx(1)
    assert found.ends @ [0, 1, 1, 1, 1, 2, 2, 2, 2] == pytest.approx(found.tau - 1)


BOUNDED = [
    ("traversal", {"parents": paths(2, 2), "scheme": "paths"}),
    ("traversal", {"parents": chain(3), "scheme": "iid"}),
    ("lifted", {"parents": k_ary((2, 2)), "scheme": "iid"}),
    ("lifted", {"parents": k_ary((3, 1)), "scheme": "distinct", "num_drafts": 2}),
]


@pytest.mark.parametrize(("rule", "options"), BOUNDED)
def test_no_rule_exceeds_its_bound(rule: str, options: dict[str, Any]) -> None:
    """The bound is what brute force says."""
    found = conditional_tau(TARGET, DRAFT, rule=rule, blocks=20_000, sequences=20_000, level=SURE, **options)
    assert found.bound is not None
    assert found.low <= found.bound[2]
    exact = information(options)
    assert found.bound[1] < exact < found.bound[2]


def information(options: dict[str, Any]) -> float:
    """1 + sum over texts of min(p(y), Pr[y is in the tree]), from every tree that can be drawn.

    Of equal siblings the second has nothing below it, unless they are paths: for two paths below one root all counts.
    """
    draws = (lambda q: distinct.draws(q, 2, 3)) if options["scheme"] == "distinct" else None
    chance: dict[tuple[int, ...], float] = {}
    for tree, _, weight in drawn_trees(DRAFT, options["parents"], options["scheme"], draws):
        found: dict[int, tuple[int, ...]] = {-1: ()}
        for node, (parent, token) in enumerate(zip(tree.parents.tolist(), tree.tokens.tolist(), strict=True)):
            if parent in found and token >= 0:
                text = (*found[parent], token)
                if options["scheme"] == "paths" or text not in found.values():
                    found[node] = text
        for text in set(found.values()) - {()}:
            chance[text] = chance.get(text, 0) + weight
    written = {text: math.prod(float(TARGET(text[:i])[y]) for i, y in enumerate(text)) for text in chance}
    return 1 + sum(min(chance[text], written[text]) for text in chance)


def test_bounds_only_where_they_are_known() -> None:
    """Not for siblings without replacement, nor where nodes of one depth have different numbers of children."""
    for options in (
        {"parents": k_ary((2,)), "scheme": "without_replacement"},
        {"parents": [-1, -1, 0], "scheme": "iid"},
    ):
        assert conditional_tau(TARGET, DRAFT, rule="traversal", blocks=4, sequences=2, **options).bound is None


def test_starts_are_contexts() -> None:
    """From every context in turn; and from a mixture of them."""
    exact = block_chain(TARGET, DRAFT, rule="traversal", parents=[-1, -1], scheme="iid")
    options: dict[str, Any] = {"rule": "traversal", "parents": [-1, -1], "scheme": "iid", "level": SURE}
    for s in (0, 3, 7):
        found = conditional_tau(TARGET, DRAFT, blocks=8000, sequences=4000, starts=[s] * 4000, **options)
        assert found.low < exact._replace(start=s).mean(2) < found.high < found.low + 0.1
    assert max(exact.tau) - min(exact.tau) > 0.1
    for starts, message in (
        ([0, 1], r"starts has shape \(2,\); give one .* 3 seq"),
        ([0, 1, 9], r"starts\[2\] is 9; con"),
    ):
        with pytest.raises(ValueError, match=message):
            conditional_tau(TARGET, DRAFT, blocks=3, sequences=3, starts=starts, **options)
    with pytest.raises(TypeError, match=r"^starts must be integers, numbers of contexts, got dtype float64$"):
        conditional_tau(TARGET, DRAFT, blocks=3, sequences=3, starts=[0.0, 1.0, 2.0], **options)  # type: ignore[list-item]


def test_a_wrong_level_is_refused_before_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(conditional, "drafted_tree")  # nothing may be drawn
    with pytest.raises(ValueError, match=r"^level is 1.5; it must lie in \(0, 1\)$"):
        conditional_tau(TARGET, DRAFT, rule="traversal", parents=[-1, -1], level=1.5)
