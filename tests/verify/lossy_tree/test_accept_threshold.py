"""SGLang's thresholds on a tree (T51): the kernel's loop, what is lossless, what acceptance costs, what is refused."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pytest

import specsim
from specsim import discover, verify_tree
from specsim.checks import TREE_CHECKS
from specsim.checks.contract import missing
from specsim.exact.small_laws import rational_laws
from specsim.forking import rational
from specsim.testing.cases import random_laws
from specsim.trees import depths, enumerate_trees
from specsim.types import Array, TokenTree, TreeRule
from specsim.verify.lossy_tree import accept_threshold
from specsim.verify.step import accept_threshold as of_a_step
from specsim.verify.tree import target_only

LAWS = rational_laws(3, 4)
FORK, DEEP = [-1, -1], [-1, -1, 0, 0, 1]
THRESHOLDS = [(F(a, 4), F(b, 4)) for a in (0, 1, 2, 3, 4) for b in (1, 2, 3, 4)]
BOTH_ONE = (F(1), F(1))
QUICK = ("contract", "batches", "floats_follow_fractions", "transition_is_a_law")
LONGER = ("edges", "same_on_every_backend")


def tree_of(parents: list[int], tokens: list[int]) -> TokenTree:
    shape = np.array(parents)
    return TokenTree(shape, np.array(tokens), depths(shape), "deterministic")


def kernel(p: Array, tree: TokenTree, coins: Any, final: Any, single: Any, acc: Any) -> tuple[int, int]:
    """SGLang's loop on one tree: (last row kept, next token); coins by row, each on (0, 1)."""
    row = 0
    rest = list(p[0])
    while True:
        total, kept = 0 * final, None
        for node in np.flatnonzero(tree.parents == row - 1).tolist():
            mass = p[row][tree.tokens[node]]
            total = total + mass
            if coins[row] <= total / max(acc, F(1, 10**9)) or mass >= single:
                kept = node
                break
            rest[tree.tokens[node]] = 0 * mass
        if kept is None:
            break
        row = kept + 1
        rest = list(p[row])
    level, below = final * sum(rest), 0 * final
    for v, mass in enumerate(rest):
        below = below + mass
        if below > level:
            return row, v
    raise AssertionError("no token is left")


def node_law(p: Array, tokens: list[int], single: F, acc: F) -> list[F]:
    """The law of the token after a node, by the pieces of the coin on which the loop does the same."""
    sums = np.cumsum(p[tokens]) / acc
    ends = sorted({F(0), F(1), *(s for s in sums.tolist() if s < 1)})
    law = [F(0)] * len(p)
    for low, high in pairwise(ends):
        coin, kept = (low + high) / 2, None
        for k, x in enumerate(tokens):
            if coin <= sums[k] or p[x] >= single:
                kept = x
                break
        left = [F(0) if v in tokens else mass for v, mass in enumerate(p)]
        emitted = [F(v == kept) for v in range(len(p))] if kept is not None else [m / sum(left) for m in left]
        law = [a + (high - low) * b for a, b in zip(law, emitted, strict=True)]
    return law


@pytest.mark.parametrize("tokens", [[0], [1, 0], [0, 1], [2, 0, 1], [1, 2]])
def test_the_law_at_a_node_is_that_of_the_kernels_loop(tokens: list[int]) -> None:
    tree = tree_of([-1] * len(tokens), tokens)
    for p, (single, acc) in product(LAWS, THRESHOLDS):
        rows = np.stack([p] * (len(tokens) + 1))
        plan = accept_threshold.prepare(rows, rows, tree, single, acc)
        joint = accept_threshold.transition(plan)
        wanted = node_law(p, tokens, single, acc)
        first = [joint[0][v] + (joint[tokens.index(v) + 1].sum() if v in tokens else 0) for v in range(3)]
        assert first == wanted
        assert accept_threshold.bias(plan) == specsim.total_variation(wanted, p)
        assert accept_threshold.acceptance(plan) == joint[1:].sum()
        # A token that is a child is never the one after a node at which none was kept.
        assert not joint[0][tokens].any()


def test_the_sampler_is_the_kernel() -> None:
    rng = np.random.default_rng(51)
    tree = tree_of(DEEP, [0, 2, 1, 3, 0])
    laws = random_laws(4, 60, seed=57)[0]
    for k in range(10):
        p = np.stack(laws[6 * k : 6 * k + 6])
        for single, acc in THRESHOLDS:
            plan = accept_threshold.prepare(p, p, tree, single, acc)
            # Odd over a power of two: never a boundary of these laws.
            u = np.array([F(2 * int(n) + 1, 2**20) for n in rng.integers(0, 2**19, 3)])
            coins = [u[0], u[1], u[1], *[u[2]] * 3]
            node, token = accept_threshold.verify(plan, u)
            assert (int(node), int(token)) == kernel(p, tree, coins, u[2], single, acc)


@pytest.mark.parametrize(("single", "acc"), [(F(2, 5), F(3, 4)), (F(1), F(1, 3)), (F(1, 2), F(1)), BOTH_ONE])
def test_the_sampler_follows_its_law(single: F, acc: F) -> None:
    rng = np.random.default_rng(3)
    tree = tree_of(DEEP, [0, 2, 1, 0, 2])
    for _ in range(6):
        p = LAWS[rng.integers(len(LAWS), size=6)]
        plan = accept_threshold.prepare(p, p, tree, single, acc)

        def program(fork: rational.Fork, plan: Any = plan) -> tuple[int, int]:
            node, token = accept_threshold.verify(plan, fork.uniforms(accept_threshold.uniforms(tree)))
            return int(node), int(token)

        law = np.full((6, 3), F(0))
        for outcome, weight in rational.law(program).items():
            law[outcome] += weight
        assert (accept_threshold.transition(plan) == law).all()


def test_with_both_thresholds_one_it_is_target_only() -> None:
    rng = np.random.default_rng(4)
    for parents, tokens in ((FORK, [2, 0]), (DEEP, [0, 2, 1, 0, 2]), ([-1, 0, 1], [1, 1, 0])):
        tree = tree_of(parents, tokens)
        for _ in range(40):
            p = LAWS[rng.integers(len(LAWS), size=len(tokens) + 1)]
            plan = accept_threshold.prepare(p, p, tree, *BOTH_ONE)
            assert (accept_threshold.transition(plan) == target_only.transition(target_only.prepare(p, p, tree))).all()
            assert accept_threshold.bias(plan) == 0


def test_one_child_is_the_step_rule() -> None:
    for p, x, (single, acc) in product(LAWS[::2], range(3), THRESHOLDS):
        rows, q = np.stack([p, p]), np.array([F(v == x) for v in range(3)])
        step = of_a_step.prepare(p, q, 1, single, acc)
        plan = accept_threshold.prepare(rows, rows, tree_of([-1], [x]), single, acc)
        joint = accept_threshold.transition(plan)
        assert joint[1].sum() == of_a_step.acceptance(step)
        assert accept_threshold.bias(plan) == of_a_step.bias(step)
    # The defaults are the step rule's, too.
    assert accept_threshold.prepare.__defaults__ == of_a_step.prepare.__defaults__[1:] == (F(2, 5), F(3, 4))


def test_the_price_of_a_node() -> None:
    """8: the bias is at least what is gained, and just that where no child is kept more rarely than p asks for."""
    above = 0
    for p, (single, acc), tokens in product(LAWS[::2], THRESHOLDS[::2], permutations(range(3), 2)):
        tree, rows = tree_of(FORK, list(tokens)), np.stack([p] * 3)
        plan = accept_threshold.prepare(rows, rows, tree, single, acc)
        joint = accept_threshold.transition(plan)
        kept = [joint[1].sum(), joint[2].sum()]
        drafted = p[list(tokens)]
        gained, paid = sum(kept) - sum(drafted), accept_threshold.bias(plan)
        assert paid == sum(max(a - b, F(0)) for a, b in zip(kept, drafted, strict=True))
        is_starved = any(a < b for a, b in zip(kept, drafted, strict=True))
        assert (paid > gained) == is_starved
        assert paid >= gained
        above += is_starved
    assert above > 20


def test_what_two_siblings_pay_for_nothing() -> None:
    """8: of two tokens, both drafted, one is kept in any case; the threshold of 1/2 makes it always the first."""
    p = np.full((3, 2), F(1, 2))
    for tokens, single, acc in (([0, 1], F(1), F(1, 2)), ([1, 0], F(1, 2), F(1))):
        plan = accept_threshold.prepare(p, p, tree_of(FORK, tokens), single, acc)
        assert accept_threshold.transition(plan).sum(axis=-1).tolist() == [0, 1, 0]
        assert accept_threshold.bias(plan) == F(1, 2)


def test_acceptance_does_not_fall_with_a_threshold_but_that_of_a_sibling_may() -> None:
    """9, and the order of siblings."""
    tree = tree_of(FORK, [0, 1])
    for p in LAWS:
        rows = np.stack([p] * 3)
        kept = {
            pair: accept_threshold.transition(accept_threshold.prepare(rows, rows, tree, *pair)).sum(axis=-1)
            for pair in THRESHOLDS
        }
        for low, high in product(THRESHOLDS, THRESHOLDS):
            if low[0] <= high[0] and low[1] <= high[1]:
                assert kept[low][1:].sum() >= kept[high][1:].sum()
                assert kept[low][1] >= kept[high][1]
        if p.tolist() == [F(1, 2), F(1, 4), F(1, 4)]:
            assert [kept[F(1), F(a, 4)].tolist()[2] for a in (4, 3, 2)] == [F(1, 4), F(1, 3), F(0)]
            biases = [
                accept_threshold.bias(accept_threshold.prepare(rows, rows, tree_of(FORK, order), F(1), F(1, 2)))
                for order in ([0, 1], [1, 0])
            ]
            assert biases == [F(1, 2), F(1, 4)]


def test_it_pays_on_the_trees_that_a_draft_draws() -> None:
    """Without replacement: the bias of the first token over all trees is at most the mean of those given the tree."""
    p, q = (np.array([F(n, 10) for n in row]) for row in ((5, 3, 2), (1, 3, 6)))
    law, mean = np.full(3, F(0)), F(0)
    for tree, rows, weight in enumerate_trees(lambda text: q, FORK, scheme="without_replacement"):
        plan = accept_threshold.prepare(np.stack([p] * 3), rows, tree)
        joint = accept_threshold.transition(plan)
        law += weight * joint[0]
        for node, token in enumerate(tree.tokens.tolist()):
            law[token] += weight * joint[node + 1].sum()
        mean += weight * accept_threshold.bias(plan)
    assert law.sum() == 1
    assert 0 < specsim.total_variation(law, p) <= mean


def test_batches_in_floats_follow_fractions() -> None:
    rng = np.random.default_rng(6)
    p = LAWS[rng.integers(len(LAWS), size=(30, 6))]
    tree, u = tree_of(DEEP, [0, 2, 1, 0, 2]), rng.random((30, 3))
    exact = np.vectorize(F, otypes=[object])(u)
    tokens = np.stack([tree.tokens] * 30)
    many = tree._replace(tokens=tokens)
    plan, wanted = (accept_threshold.prepare(w, w, many) for w in (p.astype(float), p))
    assert [w.tolist() for w in accept_threshold.verify(plan, u)] == [
        w.tolist() for w in accept_threshold.verify(wanted, exact)
    ]
    law = accept_threshold.transition(wanted).astype(float)
    assert np.allclose(accept_threshold.transition(plan), law, atol=1e-14)
    assert np.allclose(accept_threshold.bias(plan), accept_threshold.bias(wanted).astype(float), atol=1e-14)
    assert verify_tree(p.astype(float), p.astype(float), many, u, rule=accept_threshold).node.shape == (30,)


def test_a_threshold_of_zero() -> None:
    """The first child is kept, also where p excludes it; the other threshold divides by a little instead."""
    p = np.array([[0.0, 1e-10, 1 - 1e-10]] * 3)
    tree = tree_of(FORK, [0, 1])
    kept = accept_threshold.transition(accept_threshold.prepare(p, p, tree, 0, 1)).sum(axis=-1)
    assert kept.tolist() == [0, 1, 0]
    kept = accept_threshold.transition(accept_threshold.prepare(p, p, tree, 1, 0)).sum(axis=-1)
    assert kept.tolist() == [pytest.approx(0.9), 0, pytest.approx(0.1)]


def test_a_place_without_a_child_is_no_child_with_token_zero() -> None:
    """Of the root's two children the second has one; the place of the first one's is empty, and holds token 0."""
    p, tree = np.array([[F(1, 4), F(3, 4)]] * 5), tree_of([-1, -1, 0, 0], [0, 1, 0, 1])
    one = tree_of([-1, -1, 1], [0, 1, 1])
    joint = accept_threshold.transition(accept_threshold.prepare(p[:4], p[:4], one, *BOTH_ONE))
    assert joint.tolist() == [[0, 0], [F(1, 16), F(3, 16)], [F(3, 16), 0], [F(9, 64), F(27, 64)]]
    # At a threshold of 0 the root's first child is kept, and no child of it, for it has none.
    joint = accept_threshold.transition(accept_threshold.prepare(p[:4], p[:4], one, F(0), F(1)))
    assert joint.tolist() == [[0, 0], p[0].tolist(), [0, 0], [0, 0]]
    u = np.array([F(7, 8), F(1, 8), F(1, 8)])
    for single, shape, wanted in ((F(0), tree, [3, 0]), (F(0), one, [1, 0]), (F(1), one, [3, 0])):
        rows = p[: len(shape.tokens) + 1]
        plan = accept_threshold.prepare(rows, rows, shape, single, F(1))
        assert [int(w) for w in accept_threshold.verify(plan, u)] == wanted


def test_a_token_that_the_target_excludes_is_not_kept_at_a_coin_of_zero() -> None:
    p = np.array([[0.0, 1.0]] * 2)
    plan = accept_threshold.prepare(p, p, tree_of([-1], [0]), 1, 1)
    assert [int(w) for w in accept_threshold.verify(plan, np.zeros(2))] == [0, 1]


def test_without_drafts_it_is_the_target() -> None:
    p = LAWS[3:4]
    plan = accept_threshold.prepare(p, p, tree_of([], []))
    assert (accept_threshold.transition(plan) == p).all()
    assert (accept_threshold.acceptance(plan), accept_threshold.bias(plan)) == (0, 0)


def test_nobody_meets_it_unasked() -> None:
    assert missing(accept_threshold, TreeRule) == ""
    assert "accept_threshold" not in discover.names("tree")
    assert ("tree", "accept_threshold") in {(rule.family, rule.name) for rule in specsim.algorithms()}


@pytest.mark.parametrize("name", ["threshold_single", "threshold_acc"])
def test_a_bad_threshold_ends_in_one_line(name: str) -> None:
    p = np.full((2, 2), 0.5)
    with pytest.raises(ValueError, match=rf"^{name} is 1.5; it must lie in \[0, 1\]$"):
        accept_threshold.prepare(p, p, tree_of([-1], [0]), **{name: 1.5})


def test_equal_siblings_are_not_its_trees() -> None:
    """The kernel would add the probability of a token that two siblings share twice."""
    assert {"iid", "paths", "hub"}.isdisjoint(accept_threshold.CHILDREN)
    p, tree = np.full((3, 2), 0.5), tree_of(FORK, [0, 0])._replace(scheme="iid")
    with pytest.raises(ValueError, match="accept_threshold"):
        verify_tree(p, p, tree, np.full(2, 0.5), rule=accept_threshold)


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONGER)])
def test_it_passes_the_checks_of_tree_rules(name: str) -> None:
    TREE_CHECKS[name](accept_threshold)


def test_the_checks_see_that_it_is_lossy() -> None:
    with pytest.raises(AssertionError, match="has probability"):
        TREE_CHECKS["strongly_lossless"](accept_threshold)
