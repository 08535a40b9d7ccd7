"""Tree rules on random rational tables: expected lengths by other roads, published numbers, the sampler."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers.rules import MUTANTS, load
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import discover, guarantee, trees
from specsim.checks import backends
from specsim.checks.tree import forked_is_transition, strongly_lossless
from specsim.checks.tree_cases import along, depth_of, shapes
from specsim.exact.small_laws import rational_table
from specsim.exact.tree import continued_law, drawn_trees, expected_kept, kept_law, texts
from specsim.types import TokenTree
from specsim.verify.sample_chain import verify_chain
from specsim.verify.sample_tree import verify_tree
from specsim.verify.tree import target_only, tokenwise

Array = Any
TREE = discover.rules("tree")
TOY_P, TOY_Q = (np.array([Fraction(a, 3), Fraction(3 - a, 3)]) for a in (1, 2))
SIXTHS = [np.array([Fraction(a, 6) for a in w]) for w in ((0, 3, 3), (3, 1, 2))]  # theory/verification.md 11, error 6


def tables(vocab: int, depth: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([vocab, depth, seed])
    return rational_table(rng, vocab, depth).__getitem__, rational_table(rng, vocab, depth).__getitem__


def some_case(data: st.DataObject, scheme: str, nodes: int = 4) -> tuple[Any, Any, Any, int]:
    """(target, draft, shape, depth)."""
    shape = data.draw(st.sampled_from(list(shapes(scheme, nodes))))
    depth = depth_of(scheme, shape)
    vocab = data.draw(st.sampled_from([2, 3] if len(shape) <= 3 and depth < 3 else [2]))
    return *tables(vocab, depth, data.draw(st.integers(0, 10**6))), shape, depth


PAIRS = [(name, scheme) for name, rule in TREE.items() for scheme in rule.CHILDREN]


@pytest.mark.parametrize(("name", "scheme"), PAIRS)
@settings(max_examples=15)
@given(data=st.data())
def test_strongly_lossless(name: str, scheme: str, data: st.DataObject) -> None:
    target, draft, shape, depth = some_case(data, scheme)
    law = kept_law(TREE[name], target, drawn_trees(draft, shape, scheme))
    assert all(made == goal for _, made, goal in continued_law(law, target, depth + 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", TREE)
def test_strongly_lossless_on_every_shape_of_six_nodes(name: str) -> None:
    strongly_lossless(TREE[name], nodes=6)


def test_shapes_are_all_the_ordered_trees() -> None:
    assert [len([s for s in shapes("iid", n, depth=n) if len(s) == n]) for n in range(1, 7)] == [1, 2, 5, 14, 42, 132]


@pytest.mark.parametrize("scheme", target_only.CHILDREN)
@settings(max_examples=10)
@given(data=st.data())
def test_target_only_keeps_each_text_as_often_as_the_target_writes_it(scheme: str, data: st.DataObject) -> None:
    target, draft, shape, _ = some_case(data, scheme)
    wanted = Fraction(0)
    for tree, _, weight in drawn_trees(draft, shape, scheme):
        followed, nodes, text = {()}, {-1}, texts(tree)[1:]
        for i, parent in enumerate(tree.parents.tolist()):
            above = parent in nodes or (scheme == "paths" and text[i][:-1] in followed)
            if text[i] and above and text[i] not in followed:
                followed.add(text[i])
                nodes.add(i)
        wanted += weight * sum(math.prod([target(x[:j])[y] for j, y in enumerate(x)]) for x in followed - {()})
    assert expected_kept(target, draft, rule="target_only", parents=shape, scheme=scheme) == wanted


def test_traversal_mostly_keeps_more_than_the_walk_but_not_always() -> None:
    """T21: the last two cases are counterexamples."""
    toy = [(lambda _: TOY_P), (lambda _: TOY_Q)]
    thirds = [lambda _, w=w: np.array([Fraction(a, 3) for a in w]) for w in ((0, 1, 2), (2, 0, 1))]  # type: ignore[misc]
    for models, shape, scheme, walked, traversed in (
        (toy, (-1, -1, 0, 1), "without_replacement", "5/3", "16/9"),
        (toy, (-1, 0, 0, 2), "without_replacement", "40/27", "38/27"),
        (thirds, (-1, -1), "iid", "5/9", "4/9"),
    ):
        tree = {"parents": shape, "scheme": scheme}
        found = [str(expected_kept(*models, rule=name, **tree)) for name in ("tokenwise", "traversal")]
        assert found == [walked, traversed]


def test_published_lengths() -> None:
    """theory/verification.md 12: the toy, K = L = 2; its paths of one and two drafts (arXiv:2403.10444)."""
    p, q = (lambda _: TOY_P), (lambda _: TOY_Q)
    assert expected_kept(p, q, rule="traversal", parents=trees.paths(2, 2), scheme="paths") == Fraction(115, 81)
    for gamma, walked, whole in ((1, "2/3", "2/3"), (2, "10/9", "11/9")):
        shape = trees.chain(gamma)
        assert expected_kept(p, q, rule="tokenwise", parents=shape, scheme="iid") == Fraction(walked)
        assert expected_kept(p, q, rule="traversal", parents=shape, scheme="iid") == Fraction(whole)
    assert expected_kept(p, q, rule="tokenwise", parents=(-1, -1)) == Fraction(7, 9)  # recursive rejection
    assert expected_kept(p, q, rule="tokenwise", parents=(-1, -1), scheme="iid", step="optimal") == Fraction(8, 9)


def bias(rule: Any, p: Array, q: Array, drawn: Any, depth: int = 1) -> Fraction:
    law = kept_law(rule, lambda _: p, drawn)
    return sum(max(goal - made, Fraction(0)) for _, made, goal in continued_law(law, lambda _: p, depth + 1))


def test_published_errors() -> None:
    """theory/verification.md 11: errors 6, 7 and 9 with their bias."""
    found = {}
    for mutant, scheme, laws in (
        ("duplicates_dropped", "iid", SIXTHS),
        ("traversal_draft_not_renormalised", "without_replacement", SIXTHS),
        ("wor_sorted_siblings", "without_replacement", (TOY_P, TOY_Q)),
        ("traversal_sorted_siblings", "without_replacement", (TOY_P, TOY_Q)),
    ):
        rule = load(MUTANTS / "tree" / f"{mutant}.py")
        draft = laws[1]
        drawn = drawn_trees(lambda _, q=draft: q, (-1, -1), scheme)  # type: ignore[misc]
        found[mutant] = str(bias(rule, *laws, drawn))
    assert list(found.values()) == ["1/12", "1/6", "1/6", "1/6"]
    top = TokenTree(np.array([-1]), np.array([TOY_Q.argmax()]), np.array([1]), "iid")  # chosen, but said to be drawn
    assert bias(tokenwise, TOY_P, TOY_Q, [(top, np.stack([TOY_Q, TOY_Q]), 1)]) == Fraction(1, 6)
    chosen = drawn_trees(lambda _: TOY_Q, (-1,), "deterministic")
    assert bias(tokenwise, TOY_P, TOY_Q, chosen) == bias(target_only, TOY_P, TOY_Q, chosen) == 0


@pytest.mark.parametrize("name", ["tokenwise", "traversal", "lifted"])
@pytest.mark.parametrize("scheme", ["iid", "without_replacement"])
def test_trees_pruned_by_what_was_drawn_are_lossy(name: str, scheme: str) -> None:
    """Of two drawn siblings only the likelier under q is kept: reranking makes chosen tokens of drawn ones (T19)."""
    pruned = []
    for tree, q, weight in drawn_trees(lambda _: TOY_Q, (-1, -1), scheme):
        likelier = max(tree.tokens.tolist(), key=lambda x: TOY_Q[x])
        pruned.append((tree._replace(tokens=np.array([likelier, -1])), q, weight))
    assert bias(TREE[name], TOY_P, TOY_Q, pruned) > 0
    assert bias(target_only, TOY_P, TOY_Q, pruned) == 0


@pytest.mark.parametrize("step", ["recursive", "kseq", "optimal", "naive"])
@pytest.mark.parametrize(("shape", "scheme"), [((-1, -1, 0, 1), "iid"), ((-1, 0, -1, 2), "paths")])
def test_other_steps_are_lossless_too(step: str, shape: Any, scheme: str) -> None:
    target, draft = tables(2, 2, 5)
    law = kept_law(tokenwise, target, drawn_trees(draft, shape, scheme), step=step)
    assert all(made == goal for _, made, goal in continued_law(law, target, 3))


def path_of(x: Array, scheme: str = "iid") -> TokenTree:
    return TokenTree(trees.chain(x.shape[-1]), x, trees.depths(trees.chain(x.shape[-1])), scheme)


def test_on_a_path_traversal_is_block_verification_token_for_token() -> None:
    p, q, rng = backends.laws(vocab=20, rows=4000 * 5, seed=1)
    p, q = p.reshape(4000, 5, 20), q.reshape(4000, 5, 20)
    x = (rng.random((4000, 4, 1)) < np.cumsum(q[:, :4], axis=-1)).argmax(axis=-1)
    u = rng.random((4000, 5))
    found, wanted = verify_tree(p, q, path_of(x), u, rule="traversal"), verify_chain(p, q[:, :4], x, u, rule="block")
    assert (found.num_accepted == wanted.num_accepted).all()
    assert (found.token == wanted.token).all()
    assert set(found.num_accepted) == {0, 1, 2, 3, 4}


def test_target_only_is_the_walk_of_the_naive_step_token_for_token() -> None:
    p, q, rng = backends.laws(vocab=4, rows=1000 * 7, seed=2)
    p, q = p.reshape(1000, 7, 4), q.reshape(1000, 7, 4)
    shape = trees.k_ary((2, 2))
    tree = TokenTree(shape, rng.integers(0, 4, (1000, 6)), trees.depths(shape), "deterministic")
    tree.tokens[:, 1::2] = (tree.tokens[:, ::2] + 1) % 4  # siblings differ
    u = rng.random((1000, 3))
    found, wanted = (verify_tree(p, q, tree, u, rule=name) for name in ("target_only", "tokenwise"))
    assert all((a == b).all() for a, b in zip(found, wanted, strict=True))
    assert set(found.num_accepted) == {0, 1, 2}


def test_greedy_decoding_follows_the_tree() -> None:
    """One-hot targets: the token is the target's at every node, whatever u."""
    p = np.eye(3)[[1, 2, 0, 0]]  # after the root 1, after node 0 (token 1) 2, after its child (token 2) 0
    tree = TokenTree(np.array([-1, 0, -1]), np.array([1, 2, 0]), np.array([1, 2, 1]), "deterministic")
    result = verify_tree(p, p, tree, [0.9, 0.0, 0.5], rule="target_only")
    assert [int(v) for v in result] == [2, 2, 0]


@settings(max_examples=20)
@given(data=st.data())
@pytest.mark.parametrize(("name", "scheme"), PAIRS)
def test_forked_law_is_transition(name: str, scheme: str, data: st.DataObject) -> None:
    target, draft, shape, _ = some_case(data, scheme, nodes=3)
    tree, q, _ = data.draw(st.sampled_from(drawn_trees(draft, shape, scheme)))
    forked_is_transition(TREE[name], along(target, tree), q, tree)


def test_biases_of_lifted_rules_are_rational() -> None:
    assert isinstance(guarantee("lifted", step="greedy", scheme="iid").bias, Fraction)
