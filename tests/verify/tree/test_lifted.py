"""Lifted step rules and the highest of K paths: laws in rationals, reductions, numbers, and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from specsim import optimal_acceptance
from specsim.draft import distinct
from specsim.exact import tree as exact_tree
from specsim.exact.small_laws import rational_table
from specsim.exact.tree import expected_kept
from specsim.trees import chain, depths, draw_tree, enumerate_beams, enumerate_trees, k_ary, paths
from specsim.types import Draws, TokenTree
from specsim.verify.sample_tree import verify_tree
from specsim.verify.tree import lifted, multipath_block, traversal

Array = Any
Drawn = list[tuple[TokenTree, Array, Any]]
TOY_P, TOY_Q = (np.array([Fraction(k, 3), Fraction(3 - k, 3)]) for k in (1, 2))


def tables(vocab: int, depth: int, seed: int) -> tuple[Callable[..., Array], Callable[..., Array]]:
    rng = np.random.default_rng([vocab, depth, seed])
    target, draft = (rational_table(rng, vocab, depth) for _ in range(2))
    return target.__getitem__, draft.__getitem__


def bias(rule: Any, target: Any, trees: Drawn, **params: Any) -> Fraction:
    """Total variation distance from the target, over one token more than the tree is deep."""
    law, length = exact_tree.kept_law(rule, target, trees, **params), int(max(trees[0][0].depth)) + 1
    return sum((abs(made - goal) / 2 for _, made, goal in exact_tree.continued_law(law, target, length)), Fraction(0))


def toy(rule: str, num_paths: int, gamma: int) -> Fraction:
    return expected_kept(TOY_P, TOY_Q, rule=rule, parents=paths(num_paths, gamma), scheme="paths")


def test_published_and_recorded_lengths() -> None:
    """theory/verification.md 12 (K = L = 2) and the numbers in T22 and T23."""
    assert toy("multipath_block", 2, 2) == toy("lifted", 2, 2) == Fraction(131, 81)
    assert toy("multipath_block", 2, 3) == Fraction(1621, 729)
    assert toy("lifted", 2, 3) == Fraction(9709, 4374)
    assert toy("lifted", 3, 2) == Fraction(100549, 54675)
    for rule in ("lifted", "multipath_block"):
        assert [toy(rule, 1, gamma) for gamma in (1, 2)] == [Fraction(2, 3), Fraction(11, 9)]  # block verification


@pytest.mark.parametrize("step", ["recursive", "kseq", "naive", "importance", "optimal"])
@pytest.mark.parametrize(("shape", "scheme"), [(k_ary((2, 1)), "iid"), (paths(3, 2), "paths"), (k_ary((3,)), "iid")])
def test_any_step_rule_can_be_lifted(step: str, shape: Array, scheme: str) -> None:
    vocab = 2 if scheme == "paths" else 3
    target, draft = tables(vocab, int(depths(shape).max()), 3)
    assert bias(lifted, target, enumerate_trees(draft, shape, scheme=scheme), step=step) == 0


def test_the_front_door_takes_a_step() -> None:
    """K-SEQ keeps other drafts than the optimal step for some uniforms; all emit what p allows."""
    rng = np.random.default_rng(0)
    p, q = np.array([0.2, 0.8, 0.0]), np.array([0.5, 0.3, 0.2])
    rows = [np.tile(w, (200, 7, 1)) for w in (p, q)]
    tree = draw_tree(lambda _: q, k_ary((2, 2)), rng.random((200, 6))).tree
    u = rng.random((200, 7))
    found = [verify_tree(*rows, tree, u, rule="lifted", step=step) for step in (None, "optimal", "kseq")]
    assert (found[0].node == found[1].node).all()
    assert (found[0].node != found[2].node).any()
    assert all((result.token < 2).all() for result in found)


def test_recursive_rejection_lifts_to_traversal() -> None:
    """T23, 3: the same laws, on fixed shapes and on beams."""
    target, draft = tables(3, 2, 1)
    drawn = enumerate_trees(draft, k_ary((2, 2)), scheme="without_replacement")
    assert len(drawn) > 50
    for tree, q, _ in [*drawn, *enumerate_beams(draft, width=2, depth=2)]:
        p = np.array([target(text) for text in exact_tree.texts(tree)])
        ours, theirs = (rule.transition(rule.prepare(p, q, tree)) for rule in (lifted, traversal))
        assert (ours == theirs).all()


NUMBERS: dict[str, Any] = {
    "expected": lambda q: distinct.draws(q, 2, 3),
    "given": lambda q: Draws(1, Fraction(1, 3), 2),
}


@pytest.mark.parametrize(("shape", "law"), [((3,), "expected"), ((2, 2), "given"), ((2,), "given")])
def test_distinct_children(shape: tuple[int, ...], law: str) -> None:
    """w is that of the mixture of N, T that of the draws made; a repeated draw is one node."""
    target, draft = tables(2 if len(shape) > 1 else 3, len(shape), 4)
    trees = enumerate_trees(draft, k_ary(shape), scheme="distinct", draws=NUMBERS[law])
    assert {int((tree.tokens[: shape[0]] >= 0).sum()) for tree, _, _ in trees} > {shape[0]}  # N does vary
    assert bias(lifted, target, trees, draws=NUMBERS[law]) == 0


def test_distinct_children_at_the_front_door() -> None:
    """E[n] with one child more now and then lies between that of one and of two; the sampler takes the same trees."""
    p, q = (np.array([Fraction(a, 3), Fraction(3 - a, 3)]) for a in (1, 2))
    models = (lambda text: p), (lambda text: q)
    kept = [expected_kept(*models, rule="lifted", parents=k_ary((k,))) for k in (1, 2)]
    law = NUMBERS["given"]
    between = expected_kept(*models, rule="lifted", parents=k_ary((2,)), scheme="distinct", draws=law)
    assert between == Fraction(2, 3) * kept[0] + Fraction(1, 3) * kept[1]
    assert kept[0] < between < kept[1]
    assert between == optimal_acceptance(p, q, num_drafts=law(q), scheme="distinct")
    tree, rows, _ = enumerate_trees(models[1], k_ary((2,)), scheme="distinct", draws=law)[0]
    result = verify_tree(np.stack([p] * 3), rows, tree, [Fraction(0)] * 3, rule="lifted", draws=law)
    assert int(result.num_accepted) == 1
    with pytest.raises(ValueError, match="a tree of scheme 'distinct' needs draws"):
        verify_tree(np.stack([p] * 3), rows, tree, [Fraction(0)] * 3, rule="lifted")


def test_which_law_of_n_goes_where() -> None:
    """Children weighed by the plan of the mixture and the rest by that of the N drawn: lossy, the residuals do not fit.

    The N drawn throughout is lossless, as every N is by itself, but keeps less.
    """

    def of_drawn(rule: Any, target: Array, q: Array, level: Any, draws: Any) -> Array:
        return lifted._law(rule, target, q, level, None)

    def mixed(rule: Any, target: Array, q: Array, level: Any, draws: Any) -> Array:
        drafted = (np.arange(target.shape[-1]) == level.tokens[..., None]) & level.first[..., None]
        laws = (lifted._law(rule, target, q, level, number) for number in (draws, None))
        return np.where(drafted.any(axis=-2), *laws)

    code, defaults = lifted.prepare.__code__, lifted.prepare.__defaults__
    target, draft = tables(3, 1, 1)
    trees = enumerate_trees(draft, k_ary((2,)), scheme="distinct", draws=NUMBERS["given"])
    found = []
    for law in (lifted._law, of_drawn, mixed):
        prepare = FunctionType(code, vars(lifted) | {"_law": law}, argdefs=defaults)
        rule = SimpleNamespace(prepare=prepare, transition=lifted.transition)
        kept = exact_tree.kept_law(rule, target, trees, draws=NUMBERS["given"])  # type: ignore[arg-type]
        number = sum((len(text) - 1) * mass for text, mass in kept.items())
        found.append((bias(rule, target, trees, draws=NUMBERS["given"]), number))
    assert [lossy for lossy, _ in found[:2]] == [0, 0]
    assert found[0][1] > found[1][1]
    assert found[2][0] == Fraction(1, 45)


def test_the_rest_is_shared_alike_whatever_was_drawn() -> None:
    """T23, 4: kept with chance (a - beta)/(1 - beta), beta = 1 + min a p(H) - q(H)^K; 1 where a child always is."""
    target, draft = tables(3, 2, 7)
    some = 0
    for tree, q, _ in enumerate_trees(draft, [-1, 0, 0], scheme="iid"):
        p = np.array([target(text) for text in exact_tree.texts(tree)])
        x = int(tree.tokens[0])
        a = min(Fraction(1), p[0, x] / q[0, x])
        sets = [list(h) for size in range(4) for h in itertools.combinations(range(3), size)]
        beta = 1 + min(a * sum(p[1][h]) - sum(q[1][h]) ** 2 for h in sets)
        if beta < 1:
            chance = lifted.prepare(p, q, tree).chance[1]
            assert chance in ((a - beta) / (1 - beta), 1)
            some += 0 < chance < 1
    assert some > 3


def grown(draft: Any, peek: bool) -> Drawn:
    """Two children of the root, of which one has children: the earlier token, or one chosen after a look below."""
    out = []
    for tree, q, weight in enumerate_trees(draft, k_ary((2, 2)), scheme="iid"):
        tokens = tree.tokens.copy()
        other = 0 if (tokens[2] == 0 if peek else tokens[1] < tokens[0]) else 1
        tokens[[2, 3] if other == 0 else [4, 5]] = -1
        out.append((tree._replace(tokens=tokens), q, weight))
    return out


def test_growth_may_look_at_what_was_drawn_but_not_at_what_it_draws() -> None:
    """T23, 1: which node gets children may depend on its siblings; dropping what was drawn is lossy."""
    target, draft = tables(2, 2, 1)
    assert bias(lifted, target, grown(draft, peek=False)) == 0
    assert bias(lifted, target, grown(draft, peek=True)) > 0


def test_a_long_path_does_not_underflow() -> None:
    """Sixty tokens of probability 2^-20 each: Q(x) is 0 in float64, the law of the highest path is not."""
    small, length, count = 2.0**-20, 60, 3
    p, q = np.array([1 - small, small]), np.array([1 - small / 2, small / 2])
    tree = TokenTree(
        paths(count, length), np.ones(count * length, dtype=int), np.tile(np.arange(length) + 1, count), "paths"
    )
    rows = tuple(np.tile(w, (count * length + 1, 1)) for w in (p, q))
    plan = multipath_block.prepare(*rows, tree)
    exact = multipath_block.prepare(*(np.array([[Fraction(v) for v in row] for row in w]) for w in rows), tree)
    assert np.allclose(plan.block.q, exact.block.q.astype(float), rtol=1e-9, atol=0)
    assert np.isclose(multipath_block.transition(plan).sum(), 1)


def on(shape: Any, scheme: str, **params: Any) -> Callable[[], Any]:
    shape = np.asarray(shape)
    tree = TokenTree(shape, np.zeros(len(shape), dtype=int), depths(shape), scheme)
    rows = np.full((len(shape) + 1, 2), 0.5)
    return lambda: (multipath_block if params.pop("paths", False) else lifted).prepare(rows, rows, tree, **params)


ABSENT = TokenTree(paths(2, 1), np.array([0, -1]), depths(paths(2, 1)), "paths")
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "no law of N": (on([-1, -1], "distinct"), "scheme 'distinct' needs draws"),
    "a law of N": (on([-1, -1], "iid", draws=NUMBERS["given"]), "scheme 'iid' takes no draws"),
    "a step for other children": (
        on([-1, -1], "without_replacement", step="kseq"),
        "'kseq' expects drafts drawn 'iid'",
    ),
    "a step for one draft": (on([-1, -1], "iid", step="rejection"), "'rejection' verifies one draft, got num_drafts=2"),
    "ragged paths": (on([-1, 0, -1], "paths", paths=True), r"paths of equal length, .* not \[-1, 0, -1\]"),
    "an absent path": (lambda: multipath_block.prepare(*[np.full((3, 2), 0.5)] * 2, ABSENT), "a node is absent"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    call, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        call()


def test_no_drafts() -> None:
    for rule in (lifted, multipath_block):
        tree = TokenTree(chain(0), np.zeros(0, dtype=int), chain(0), "paths")
        assert (rule.transition(rule.prepare(TOY_P[None], TOY_Q[None], tree)) == TOY_P).all()
