"""Strong losslessness of the samplers themselves: every `verify` on forking uniforms, in rationals, by ==.

Forked here: every chain rule up to V = 3, gamma = 3; every tree rule, with each of its schemes and all trees that can
be drawn, on every ordered shape of up to three levels with up to 6 nodes at V = 2 and 4 nodes at V = 3 (`-m slow`: 6
drawn i.i.d. at V = 2, 4 drawn i.i.d. or by SpecHub at V = 3, and 5 at V = 3).
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.rules import MUTANTS, load

from specsim import discover, eagle2_tree, heap_tree, sequoia_tree, trees
from specsim.checks import family_checks
from specsim.checks.tree import strongly_lossless
from specsim.checks.tree_cases import ADAPTIVE, along, depth_of, shapes, size_of
from specsim.exact.chain import strong_law, target_law
from specsim.exact.small_laws import rational_table
from specsim.exact.tree import Drawn, continued_law, drawn_trees, kept_law
from specsim.forking import rational
from specsim.forking.forked_rules import forked_chain, forked_tree, kept_and_token

Table = dict[tuple[int, ...], Any]
CHAIN, TREE = discover.rules("chain"), discover.rules("tree")
PAIRS = [(name, scheme) for name, rule in TREE.items() for scheme in rule.CHILDREN]
TOY_P, TOY_Q = (np.array([Fraction(a, 3), Fraction(3 - a, 3)]) for a in (1, 2))


def tables(vocab: int, depth: int, seed: int) -> tuple[Table, Table]:
    rng = np.random.default_rng([vocab, depth, seed])
    return rational_table(rng, vocab, depth), rational_table(rng, vocab, depth)


def bias_of_chain(rule: ModuleType, target: Table, draft: Table, gamma: int) -> Fraction:
    law, goal = strong_law(forked_chain(rule), target, draft, gamma)[0], target_law(target, gamma + 1)
    assert sum(law.values()) == 1
    return sum((max(mass - law.get(text, 0), 0) for text, mass in goal.items()), Fraction(0))


@pytest.mark.parametrize("name", CHAIN)
@pytest.mark.parametrize(("vocab", "gamma"), [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3)])
def test_chain_rules(name: str, vocab: int, gamma: int) -> None:
    for seed in range(5):
        target, draft = tables(vocab, gamma, seed)
        assert bias_of_chain(CHAIN[name], target, draft, gamma) == 0


def assert_lossless(rule: ModuleType, target: Table, drawn: list[Drawn], depth: int, where: Any) -> None:
    law = kept_law(forked_tree(rule), target.__getitem__, drawn)
    for text, made, goal in continued_law(law, target.__getitem__, depth + 1):
        assert made == goal, f"{where}: text {text} has probability {made}, not {goal}"


@pytest.mark.parametrize("name", ["tokenwise", "lifted"])
def test_trees_fork_together_as_they_do_alone(name: str) -> None:
    """Some trees have more runs than others, which go on by themselves."""
    rule, (target, draft) = TREE[name], tables(3, 2, 0)
    drawn = drawn_trees(draft.__getitem__, (-1, -1, 0), "iid")
    p = np.stack([along(target.__getitem__, tree) for tree, _, _ in drawn])
    q, first = np.stack([rows for _, rows, _ in drawn]), drawn[0][0]
    batch = first._replace(tokens=np.stack([tree.tokens for tree, _, _ in drawn]))
    forked, runs = forked_tree(rule), set()
    for k, joint in enumerate(forked.transition(forked.prepare(p, q, batch))):
        plan, tree = rule.prepare(p[k], q[k], drawn[k][0]), drawn[k][0]
        alone = kept_and_token(partial(rule.verify, plan), rule.uniforms(tree))
        assert {(int(i), int(y)): joint[i, y] for i, y in zip(*np.nonzero(joint), strict=True)} == alone
        count = rule.uniforms(batch)
        runs.add(sum(1 for _ in rational.runs(lambda fork: rule.verify(plan, fork.uniforms(count)))))  # noqa: B023
    assert len(runs) > 2


def every_shape(name: str, scheme: str, nodes: int, vocab: int) -> None:
    """All shapes of so many nodes, each with a table of its own, and all trees that can be drawn from it."""
    for seed, shape in enumerate(s for s in shapes(scheme, nodes) if size_of(scheme, s) == nodes):
        depth = depth_of(scheme, shape)
        target, draft = tables(vocab, depth, seed)
        drawn = drawn_trees(draft.__getitem__, shape, scheme)
        assert_lossless(TREE[name], target, drawn, depth, (name, scheme, shape))


SIZES = [(n, 2) for n in range(1, 7)] + [(n, 3) for n in range(1, 5)]
MINUTES = [
    (*pair, *size)
    for pair in PAIRS
    for size in SIZES
    if (pair[1], *size) in {("iid", 6, 2), ("iid", 4, 3), ("hub", 4, 3)}
]


@pytest.mark.parametrize(
    ("name", "scheme", "nodes", "vocab"),
    [
        pytest.param(*pair, *size, marks=[pytest.mark.slow] if (*pair, *size) in MINUTES else [])
        for pair in PAIRS
        for size in SIZES
    ],
)
def test_tree_rules_on_every_shape(name: str, scheme: str, nodes: int, vocab: int) -> None:
    every_shape(name, scheme, nodes, vocab)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scheme"), PAIRS)
def test_tree_rules_on_every_larger_shape(name: str, scheme: str) -> None:
    every_shape(name, scheme, nodes=5, vocab=3)


@pytest.mark.parametrize("which", ["few", pytest.param("all", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", TREE)
def test_tree_rules_with_absent_nodes_and_equal_models(name: str, which: str) -> None:
    """In the schemes in which a node may be absent, or else the first; slow: in all."""
    rule = forked_tree(TREE[name])
    few = tuple(scheme for scheme in ADAPTIVE if scheme in rule.CHILDREN) or rule.CHILDREN[:1]
    rule.CHILDREN = few if which == "few" else rule.CHILDREN
    strongly_lossless(rule, nodes=3)


@pytest.mark.parametrize("name", [name for name, rule in TREE.items() if "deterministic" in rule.CHILDREN])
@pytest.mark.parametrize("nodes", [3, 6])
def test_grown_trees(name: str, nodes: int) -> None:
    """The heap's and EAGLE-2's trees, grown by a draft model that differs from the target."""
    for seed in range(5):
        target, draft = tables(3, 3, seed)
        heap = heap_tree(draft.__getitem__, nodes=nodes, depth=3)
        eagle = eagle2_tree(draft.__getitem__, top_k=2, depth=3, nodes=nodes)
        for grown in (heap, eagle):
            assert_lossless(TREE[name], target, [(grown.tree, grown.q, Fraction(1))], 3, (name, grown.tree))


@pytest.mark.parametrize(("name", "scheme"), [pair for pair in PAIRS if pair[1] in ("iid", "without_replacement")])
def test_trees_numbered_level_by_level(name: str, scheme: str) -> None:
    """RSD-C's k-ary tree and the tree of Sequoia's program, three tokens, every tree that can be drawn."""
    sequoia = sequoia_tree([0.6, 0.2, 0.1], nodes=5, depth=3).parents
    assert trees.ranks(sequoia).max() == 1
    for seed, shape in enumerate((trees.k_ary((2, 1)), trees.k_ary((1, 2, 1)), sequoia)):
        target, draft = tables(3, depth_of(scheme, shape), seed)
        drawn = drawn_trees(draft.__getitem__, shape, scheme)
        assert_lossless(TREE[name], target, drawn, depth_of(scheme, shape), (name, scheme, shape))


SAMPLERS = (  # wrong only in `verify`, or in `prepare`; products of uniforms do not fork (clamp_then_product)
    "chain/one_coin",
    "chain/block_first_failure",
    "chain/block_uncapped_last",
    "chain/bonus_from_draft",
    "chain/greedy_block_plain_continuation",
    "tree/one_coin_for_two_levels",
    "tree/wor_sorted_siblings",
    "tree/traversal_sorted_siblings",
    "tree/traversal_draft_not_renormalised",
    "tree/duplicates_dropped",
    "tree/multipath_plain_draft_law",
    "tree/paths_not_merged",
)


@pytest.mark.parametrize("path", SAMPLERS)
def test_wrong_samplers_are_lossy(path: str) -> None:
    family = path.partition("/")[0]
    forked: Any = {"chain": forked_chain, "tree": forked_tree}[family]
    with pytest.raises(AssertionError, match="has probability"):
        family_checks(family)["strongly_lossless"](forked(load(MUTANTS / f"{path}.py")))


def test_a_wrong_sampler_of_three_levels_is_lossy() -> None:
    """Siblings on the third level that share a coin: of shapes with 4 nodes only one can tell."""
    shape, rule = (-1, 0, 1, 1), load(MUTANTS / "tree" / "traversal_one_coin_per_deep_level.py")
    target, draft = tables(3, 3, 6)
    for scheme in ("iid", "without_replacement"):
        drawn = drawn_trees(draft.__getitem__, shape, scheme)
        assert_lossless(TREE["traversal"], target, drawn, 3, scheme)
        with pytest.raises(AssertionError, match="has probability"):
            assert_lossless(rule, target, drawn, 3, scheme)


@pytest.mark.parametrize(
    ("name", "bias"),
    [("block_uncapped_last", "1/9"), ("block_first_failure", "1/3"), ("greedy_block_plain_continuation", "1/9")],
)
def test_published_biases(name: str, bias: str) -> None:
    """theory/verification.md 11, errors 2 to 4: the toy at gamma = 2, of the sampler that runs."""
    prefixes = [x for n in range(3) for x in np.ndindex(*(2,) * n)]
    target, draft = dict.fromkeys(prefixes, TOY_P), dict.fromkeys(prefixes, TOY_Q)
    assert bias_of_chain(load(MUTANTS / "chain" / f"{name}.py"), target, draft, 2) == Fraction(bias)
