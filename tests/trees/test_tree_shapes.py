"""The best tree: Sequoia, the heap, EAGLE-2 and the speed of light, against brute force and published numbers."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers.shapes import fractions, ordered_trees

from specsim import eagle2_tree, heap_tree, optimal_tree, sequoia_tree, speed_of_light, tree_value, trees
from specsim.exact.chain import target_law
from specsim.exact.small_laws import rational_table
from specsim.trees import best_shape
from specsim.trees import likeliest as growing
from specsim.types import TokenTree

Array = Any
Table = dict[tuple[int, ...], Array]
# Sequoia's acceptance by rank and times (theory/verification.md, section 12)
DEMO = [0.63418, 0.10795, 0.05697, 0.02249, 0.01949, 0.01499, 0.0045, 0.003]
DEMO_TIMES = {1: 10, 2: 10, 4: 10, 8: 12, 16: 14, 32: 18}


def assert_best(solve: Callable[..., Any], depth: int | None) -> None:
    """A solver's tree fits the budgets, has the value it states, and no ordered tree of up to 7 nodes has more."""
    every = [(p, trees.ranks(p).max(initial=-1), trees.depths(p).max(initial=0)) for p in ordered_trees(7)]
    assert len(every) == sum(math.comb(2 * n, n) // (n + 1) for n in range(8))  # Catalan numbers
    rng = np.random.default_rng(0)
    for b in [fractions(rng, count) for count in (1, 2, 2, 3, 3, 4)]:
        fits = [(len(p), tree_value(p, b)) for p, rank, deep in every if rank < len(b) and deep <= (depth or 7)]
        for nodes in range(1, 8):
            best = solve(b, nodes=nodes, depth=depth)
            assert best.value == tree_value(best.parents, b) == max(value for size, value in fits if size <= nodes)
            assert trees.depths(best.parents).max(initial=0) <= (depth or 7)
            assert len(best.parents) == min(size for size, value in fits if value == best.value)


@pytest.mark.parametrize("depth", [None, 1, 2, 3])
def test_sequoia_is_the_best_of_all_trees(depth: int | None) -> None:
    """In rationals, with acceptance that need not decrease with the rank."""
    assert_best(sequoia_tree, depth)


def test_sequoia_check_kills_mutants() -> None:
    """One level too many, the best tree for sorted acceptance, one node too few, a chain."""
    mutants: list[Callable[..., Any]] = [
        lambda b, nodes, depth: sequoia_tree(b, nodes=nodes, depth=depth + 1),
        lambda b, nodes, depth: sequoia_tree(np.sort(b)[::-1], nodes=nodes, depth=depth),
        lambda b, nodes, depth: sequoia_tree(b, nodes=max(nodes - 1, 1), depth=depth),
        lambda b, nodes, depth: best_shape.Shape(trees.chain(min(nodes, depth)), tree_value(trees.chain(nodes), b)),
    ]
    for mutant in mutants:
        with pytest.raises(AssertionError):
            assert_best(mutant, 2)


@pytest.mark.parametrize("depth", [None, 2])
def test_sequoia_takes_the_largest_products_when_acceptance_decreases(depth: int | None) -> None:
    """Another solver of the same problem: the heap, on a law that is b in every context."""
    b = np.array([Fraction(v, 20) for v in (9, 5, 3, 2, 1)], dtype=object)
    for nodes in (1, 5, 12):
        heap = heap_tree(lambda text: b, nodes=nodes, depth=depth)
        assert sequoia_tree(b, nodes=nodes, depth=depth).value == 1 + heap.reach.sum()


def test_value_of_a_tree_is_the_recursion() -> None:
    b = np.array([Fraction(1, 2), Fraction(1, 3), Fraction(1, 12)], dtype=object)

    def value(below: list[list[int]], row: int) -> Fraction:
        return 1 + sum((b[k] * value(below, node + 1) for k, node in enumerate(below[row])), Fraction(0))

    for parents in ordered_trees(6):
        if trees.ranks(parents).max(initial=0) < 3:
            assert tree_value(parents, b) == value(trees.children(parents), 0)
    for n in range(4):  # closed forms: chain and complete tree
        assert tree_value(trees.chain(n), b) == sum(b[0] ** i for i in range(n + 1))
        assert tree_value(trees.k_ary((3,) * n), b) == sum(b.sum() ** d for d in range(n + 1))
    rows = np.array([[0.5, 0.2], [0.3, 0.3]])
    assert tree_value([-1, -1, 0], rows) == pytest.approx([1.95, 1.69])


def test_published_demo() -> None:
    """theory/verification.md, section 12, to the 2e-5 it states: the 4-node chain, with one more draft step charged."""
    best = optimal_tree(DEMO, draft_s=0.3, verify_s=DEMO_TIMES, depth=9, overhead_s=0.3)
    assert best.parents.tolist() == [-1, 0, 1]
    assert best.value == pytest.approx(2.291421, abs=2e-5)
    assert best.speedup == pytest.approx(2.045912, abs=2e-5)


def test_fastest_tree_is_the_best_of_all_budgets() -> None:
    b, times = np.array([Fraction(v, 20) for v in (9, 5, 3)], dtype=object), {1: 10, 3: 11, 6: 12, 11: 19}
    best = optimal_tree(b, draft_s=1, verify_s=times, depth=4, overhead_s=Fraction(1, 2))
    budgets = [(m, d) for m, d in itertools.product(times, range(1, 5)) if m > 1]
    values = [sequoia_tree(b, nodes=m - 1, depth=d).value for m, d in budgets]
    costs = [d + times[m] + Fraction(1, 2) for m, d in budgets]
    assert best.speedup == max(10 * v / c for v, c in zip(values, costs, strict=True)) > 1
    assert best.speedup == 10 * best.value / best.cycle_s
    assert best.value == tree_value(best.parents, b)
    plain = optimal_tree([0.1], draft_s=5, verify_s=[1, 1, 1])
    assert (len(plain.parents), plain.value, plain.cycle_s, plain.speedup) == (0, 1, 1, 1)
    wide = optimal_tree([0.4, 0.4], draft_s=0, verify_s={1: 1, 9: 1}, depth=1)  # 9 pays for the 3 that fit
    assert wide.speedup == pytest.approx(1.8)


def test_512_nodes_take_less_than_two_seconds() -> None:
    b = 0.95 * np.sort(np.random.default_rng(0).dirichlet(np.ones(32)))[::-1]
    for depth in (None, 10):
        start = time.process_time()
        best = sequoia_tree(b, nodes=511, depth=depth)
        assert time.process_time() - start < 2
        assert best.value == pytest.approx(tree_value(best.parents, b), abs=1e-12)


def every_tree(table: Table, nodes: int, depth: int) -> list[frozenset[tuple[int, ...]]]:
    """Every set of `nodes` texts of two tokens, up to `depth` long, that holds each text's prefixes."""
    found = {frozenset[tuple[int, ...]]()}
    for _ in range(nodes):
        found = {
            one | {(*text, token)}
            for one in found
            for text in {(), *one}
            for token in range(2)
            if len(text) < depth and (*text, token) not in one
        }
    return list(found)


def reach(table: Table, text: tuple[int, ...]) -> Any:
    return math.prod([table[text[:i]][v] for i, v in enumerate(text)])


def assert_likeliest(grow: Callable[..., Any]) -> None:
    """A grower's tree is worth what the best of all trees of as many nodes is, in a context-dependent model."""
    for seed in range(6):
        table = rational_table(np.random.default_rng(seed), 2, 4)
        for nodes, depth in ((1, 4), (3, 4), (7, 4), (3, 2), (6, 3)):
            grown = grow(table.__getitem__, nodes=nodes, depth=depth)
            trees.check(grown.tree, 2)
            value = 1 + grown.reach.sum()
            assert value == trees.deterministic_tokens(table.__getitem__, grown.tree)
            assert value == max(1 + sum(reach(table, t) for t in one) for one in every_tree(table, nodes, depth))


def test_the_heap_is_the_best_of_all_trees() -> None:
    assert_likeliest(heap_tree)


def test_eagle2_is_the_heap_while_its_beam_cuts_nothing() -> None:
    """16 texts of 4 tokens: a beam of 8 expands every text of 3. A beam of 1 is a chain with stubs, and misses."""
    assert_likeliest(lambda model, **budget: eagle2_tree(model, top_k=8, **budget))
    with pytest.raises(AssertionError):
        assert_likeliest(lambda model, **budget: eagle2_tree(model, top_k=1, **budget))


def eagle2_texts(law: Any, top_k: int, depth: int, nodes: int) -> dict[tuple[int, ...], float]:
    """EAGLE-2's texts and their probabilities, from its description: nothing is said of places or parents."""
    seen: dict[tuple[int, ...], float] = {}
    expanded = {(): 1.0}
    for _ in range(depth):
        level = {
            (*text, v): mass * law(text)[v] for text, mass in expanded.items() for v in likeliest(law(text), top_k)
        }
        expanded = {text: level[text] for text in likeliest(level, top_k)}
        seen |= level
    return {text: seen[text] for text in likeliest(seen, nodes)}


def likeliest(weights: Any, count: int) -> list[Any]:
    """The keys, or places, of the largest entries."""
    keys = list(weights) if isinstance(weights, dict) else range(len(weights))
    return sorted(keys, key=lambda k: weights[k], reverse=True)[:count]


def assert_eagle2(grown_tree: Any) -> None:
    """Beams that cut: at most top_k children of a node, and top_k nodes of a level that are expanded."""
    rng = np.random.default_rng(11)
    table = {text: rng.dirichlet(np.full(5, 0.7)) for n in range(4) for text in itertools.product(range(5), repeat=n)}
    for top_k, depth, nodes in itertools.product((1, 2, 3), (1, 2, 4), (3, 8, 40)):
        grown = grown_tree(table.__getitem__, top_k=top_k, depth=depth, nodes=nodes)
        texts: list[tuple[int, ...]] = [()]
        for parent, token in zip(grown.tree.parents, grown.tree.tokens, strict=True):
            texts.append((*texts[parent + 1], int(token)))
        wanted = eagle2_texts(table.__getitem__, top_k, depth, nodes)
        assert dict(zip(texts[1:], grown.reach.tolist(), strict=True)) == pytest.approx(wanted)


def test_no_text_is_likelier_than_its_beginning() -> None:
    """A row may sum to a little more than 1, and the reach of its token must not grow along a path."""
    law = np.array([1 + 9e-7, 0.0])
    found = heap_tree(lambda text: law, nodes=3), eagle2_tree(lambda text: law, top_k=1, depth=3, nodes=3)
    for grown in found:
        assert grown.reach.tolist() == [1, 1, 1]


def test_eagle2_cuts_levels_and_siblings_to_top_k() -> None:
    assert_eagle2(eagle2_tree)


def test_eagle2_with_another_cut_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError):  # nothing is cut
        assert_eagle2(lambda model, **sizes: eagle2_tree(model, **sizes | {"top_k": 5}))
    honest = growing._likeliest
    monkeypatch.setattr(growing, "_likeliest", lambda law, node, count: honest(law, node, len(law)))
    with pytest.raises(AssertionError):  # every child is looked at
        assert_eagle2(eagle2_tree)


def test_heap_check_kills_breadth_first_and_inflated_reach() -> None:
    def level_by_level(model: Any, *, nodes: int, depth: int) -> Any:
        grown = heap_tree(model, nodes=30, depth=depth)
        order = np.argsort(grown.tree.depth, kind="stable")[:nodes]
        keep = sorted(order.tolist())
        parents = [-1 if grown.tree.parents[i] < 0 else keep.index(grown.tree.parents[i]) for i in keep]
        tree = TokenTree(np.array(parents), grown.tree.tokens[keep], grown.tree.depth[keep], "deterministic")
        return grown._replace(tree=tree, reach=grown.reach[keep])

    def inflated(model: Any, **budget: Any) -> Any:
        grown = heap_tree(model, **budget)
        return grown._replace(reach=grown.reach * 2)

    for mutant in (level_by_level, inflated):
        with pytest.raises(AssertionError):
            assert_likeliest(mutant)


def test_grown_trees_in_floats_and_at_their_ends() -> None:
    table = rational_table(np.random.default_rng(3), 3, 3)
    floats = {text: law.astype(float) for text, law in table.items()}
    for grow in (heap_tree, eagle2_tree):
        exact, plain = (grow(model.__getitem__, nodes=9, depth=3) for model in (table, floats))
        assert exact.tree.tokens.tolist() == plain.tree.tokens.tolist()
        assert (abs(exact.reach - plain.reach) < 1e-15).all()
        assert [row.argmax() for row in plain.q] == [row.argmax() for row in exact.q]
        first = [s[0] if s else None for s in trees.children(exact.tree.parents)]
        for row, node in zip(exact.q, first, strict=True):
            assert sorted(row) == [0, 0, 1]
            assert node is None or row[exact.tree.tokens[node]] == 1
    sure = heap_tree(lambda text: np.array([1.0, 0.0]), nodes=5, depth=3)  # no other text is possible
    assert sure.tree.tokens.tolist() == [0, 0, 0]


def test_value_of_a_deterministic_tree_is_what_the_target_follows() -> None:
    """Against the law of the target's text: longest prefix in the tree, plus one."""
    for seed in range(4):
        target, drafter = (rational_table(np.random.default_rng(seed + s), 3, 3) for s in (0, 50))
        tree = eagle2_tree(drafter.__getitem__, top_k=2, depth=3, nodes=5).tree
        texts = [()]
        for parent, token in zip(tree.parents, tree.tokens, strict=True):
            texts.append((*texts[parent + 1], int(token)))
        followed = sum(w * max(len(t) + 1 for t in texts if y[: len(t)] == t) for y, w in target_law(target, 3).items())
        assert trees.deterministic_tokens(target.__getitem__, tree) == followed
        assert followed <= speed_of_light(target.__getitem__, nodes=len(tree.tokens), depth=3)


def test_speed_of_light_is_below_the_entropy_bound() -> None:
    """The chain rule of entropy on the tree's ends, and the bound; tight for fair coins."""
    table = {t: w.astype(float) * 0.7 + 0.1 for t, w in rational_table(np.random.default_rng(0), 3, 6).items()}
    entropy = {t: -(w * np.log(w)).sum() for t, w in table.items()}
    for nodes in (1, 4, 40):
        tree = heap_tree(table.__getitem__, nodes=nodes, depth=6).tree
        texts: list[tuple[int, ...]] = [()]
        for parent, token in zip(tree.parents, tree.tokens, strict=True):
            texts.append((*texts[parent + 1], int(token)))
        ends = [p for t in texts for v in range(3) if (*t, v) not in texts for p in [reach(table, (*t, v))]]
        assert len(ends) == (nodes + 1) * 2 + 1
        inside = sum(reach(table, t) * entropy[t] for t in texts)
        assert inside == pytest.approx(-sum(p * math.log(p) for p in ends))
        value = speed_of_light(table.__getitem__, nodes=nodes, depth=6)
        assert value <= trees.entropy_bound(min(entropy[t] for t in texts), vocab=3, nodes=nodes) + 1e-12
    assert speed_of_light(lambda text: np.array([0.5, 0.5]), nodes=62) == pytest.approx(6)
    assert trees.entropy_bound(math.log(2), vocab=2, nodes=62) == pytest.approx(6)


@pytest.mark.parametrize("law", [[0.5, 0.5], [0.9, 0.1], [0.6, 0.2, 0.1, 0.1], [0.3] * 3 + [0.1]], ids=str)
def test_growth_with_the_budget_is_below_the_published_rate(law: list[float]) -> None:
    """arXiv:2512.11718 on i.i.d. targets: value - rate log N stays below 2 to N = 2^11. Half of 1/mu would not do."""
    row = np.array(law)
    reached = heap_tree(lambda text: row, nodes=2**11).reach
    sizes = 2 ** np.arange(12)
    values = 1 + reached.cumsum()[sizes - 1]
    assert (values - trees.light_rate(row) * np.log(sizes)).max() <= 2
    mu = -(row * np.log(row)).sum()
    assert (values - np.log(sizes) / (2 * mu)).max() > 2
