"""Tree shapes and drafted trees: exact laws by forking, the same tokens on every array library, errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import (
    draw_tree,
    expected_kept,
    trees,
)
from specsim.base.arrays import row_at
from specsim.checks import backends
from specsim.exact.chain import target_law
from specsim.exact.small_laws import rational_table
from specsim.forking import rational
from specsim.trees import _siblings
from specsim.trees.drawn_law import count_trees
from specsim.types import Draws

Array = Any
Table = dict[tuple[int, ...], Array]
SHAPES = {"star": [-1, -1], "chain": [-1, 0], "k-ary": [-1, -1, 0, 1], "uneven": [-1, 0, -1, 0]}


PARENTS = st.integers(0, 8).flatmap(lambda n: st.tuples(*(st.integers(-1, i - 1) for i in range(n)))).map(list)


@given(PARENTS)
def test_shape_functions_agree_with_walking_up(parents: list[int]) -> None:
    above = []
    for node in range(len(parents)):
        path, at = [], node
        while at >= 0:
            path.append(at)
            at = parents[at]
        above.append(path)
    mask = trees.mask(parents)
    assert mask[0].tolist() == [True] + [False] * len(parents)
    for node, path in enumerate(above):
        assert sorted(path) == (np.flatnonzero(mask[node + 1, 1:])).tolist()
        assert mask[node + 1, 0]
        assert trees.depths(parents)[node] == len(path)
        assert trees.ranks(parents)[node] == parents[:node].count(parents[node])
    assert [parents[i] for row in trees.children(parents) for i in row] == sorted(parents)
    assert set(trees.leaves(parents).tolist()) == set(range(len(parents))) - set(parents)


def test_named_shapes() -> None:
    assert trees.k_ary((1, 1, 1)).tolist() == trees.chain(3).tolist() == trees.paths(1, 3).tolist() == [-1, 0, 1]
    assert trees.k_ary((3,)).tolist() == trees.paths(3, 1).tolist() == [-1, -1, -1]
    assert trees.k_ary((2, 3)).tolist() == [-1, -1, 0, 0, 0, 1, 1, 1]
    assert len(trees.k_ary((2, 2, 1, 1))) == 14  # the profile of theory/trees.md
    assert trees.k_ary(()).tolist() == trees.chain(0).tolist() == []
    assert trees.mask([]).tolist() == [[True]]


def drafted_law(draw: Callable[..., Any], table: Table, parents: Any, scheme: str) -> dict[Any, Fraction]:
    """The exact law of (tokens, q) of a drafting function, by forking its uniforms."""

    def program(fork: rational.Fork) -> tuple[Any, Any]:
        u = fork.uniforms(trees.uniforms(parents, scheme))
        tree, q = draw(table.__getitem__, parents, u, scheme=scheme)
        trees.check(tree, 2)
        return tuple(tree.tokens.tolist()), tuple(q.ravel().tolist())

    return rational.law(program)


def enumerated_law(table: Table, parents: Any, scheme: str) -> dict[Any, Fraction]:
    law: dict[Any, Fraction] = {}
    for tree, q, weight in trees.enumerate_trees(table.__getitem__, parents, scheme=scheme):
        key = tuple(tree.tokens.tolist()), tuple(q.ravel().tolist())
        law[key] = law.get(key, Fraction(0)) + weight
        assert trees.probability(table.__getitem__, tree) == weight
    assert sum(law.values()) == 1
    return law


@pytest.mark.parametrize("scheme", ["iid", "without_replacement", "greedy", "hub", "deterministic", "paths"])
@pytest.mark.parametrize("name", SHAPES)
def test_drafted_trees_follow_their_probability(name: str, scheme: str) -> None:
    """Forked law of draw_tree == enumeration == probability, laws q included, in rationals."""
    parents = trees.paths(2, 2) if scheme == "paths" else SHAPES[name]
    for seed in range(4):
        table = rational_table(np.random.default_rng(seed), 2, 2)
        assert drafted_law(draw_tree, table, parents, scheme) == enumerated_law(table, parents, scheme)


def test_trees_of_a_random_number_of_draws() -> None:
    """Scheme "distinct": two draws at a node, or one, by a chance that looks at q; absent nodes have no children."""
    table = rational_table(np.random.default_rng(2), 2, 2)

    def draws(q: Array) -> Draws:
        return Draws(1, q[0] / 2, 2)

    parents, count = [-1, -1, 0, 0], 6
    law = rational.law(
        lambda fork: tuple(
            draw_tree(
                table.__getitem__, parents, fork.uniforms(count), scheme="distinct", draws=draws
            ).tree.tokens.tolist()
        )
    )
    every = trees.enumerate_trees(table.__getitem__, parents, scheme="distinct", draws=draws)
    assert law == {tuple(trees.check(one, 2).tokens.tolist()): weight for one, _, weight in every}
    assert all(trees.probability(table.__getitem__, one, draws=draws) == weight for one, _, weight in every)
    assert {tokens[1] for tokens in law} == {-1, 0, 1}


def test_drafting_check_kills_mutants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children from the root's law, uniforms used twice, and laws one row late: none follows the enumeration."""
    table, parents = rational_table(np.random.default_rng(1), 2, 2), [-1, 0, -1]

    def from_root(model: Any, *args: Any, **kinds: Any) -> Any:
        return draw_tree(lambda text: model(()), *args, **kinds)

    def twice(model: Any, shape: Any, u: Any, **kinds: Any) -> Any:
        return draw_tree(model, shape, u[[0, 1, 0]], **kinds)

    def late(*args: Any, **kinds: Any) -> Any:
        drafted = draw_tree(*args, **kinds)
        return drafted._replace(q=drafted.q[[0, 0, 1, 2]])

    wanted = enumerated_law(table, parents, "iid")
    assert drafted_law(draw_tree, table, parents, "iid") == wanted
    assert all(drafted_law(mutant, table, parents, "iid") != wanted for mutant in (from_root, twice, late))


def test_paths_are_independent_texts() -> None:
    table = rational_table(np.random.default_rng(5), 2, 2)
    one = target_law(table, 2)
    law = enumerated_law(table, trees.paths(2, 2), "paths")
    for first, second in itertools.product(one, repeat=2):
        assert sum(w for (tokens, _), w in law.items() if tokens == first + second) == one[first] * one[second]


def test_same_trees_on_every_backend() -> None:
    """Whole batches: a table for every row, contexts by the last token."""
    rng = np.random.default_rng(1)
    parents = trees.k_ary((2, 1))

    def kernel(table: Array, u: Array) -> Array:
        def model(text: tuple[Any, ...]) -> Array:
            return row_at(table, text[-1]) if text else table[..., 0, :]

        return draw_tree(model, parents, u, scheme="without_replacement").tree.tokens

    rows, u = rng.dirichlet(np.ones(5), (64, 5)), rng.random((64, 4))
    backends.assert_same(kernel, rows, u)
    for row in range(3):
        assert (kernel(rows[[row]], u[[row]]) == kernel(rows, u)[row]).all()


def test_draws_that_do_not_fill_a_tree() -> None:
    """Beyond the support a scheme repeats its last token; the likeliest tokens are absent, and so is what is below."""
    u = np.full(4, 0.5)
    one = draw_tree(lambda text: np.array([0.0, 1.0]), trees.k_ary((2, 1)), u, scheme="without_replacement").tree
    assert trees.check(one).tokens.tolist() == [1, 1, 1, 1]
    top = draw_tree(lambda text: np.array([0.0, 1.0]), trees.k_ary((3, 1)), u[:0], scheme="deterministic")
    assert trees.check(top.tree).tokens.tolist() == [1, -1, -1, 1, -1, -1]
    assert (top.q == [0.0, 1.0]).all()  # a point mass, at whichever row it is read


def test_an_enumeration_that_would_not_fit() -> None:
    law = np.array([Fraction(1, 3)] * 3)
    with pytest.raises(ValueError, match=r"^about 20000 trees or more; give fewer tokens, siblings or nodes$"):
        trees.enumerate_trees(lambda text: law, trees.k_ary((10,)))


@pytest.mark.parametrize("scheme", ["iid", "without_replacement"])
@pytest.mark.parametrize("of_models", [False, True])
def test_trees_are_counted_before_any_is_drawn(scheme: str, of_models: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary of 50 and three nodes: of one law nothing is drawn, of a model nothing below the first level."""
    asked: list[int] = []
    honest = _siblings.probability
    monkeypatch.setattr(_siblings, "probability", lambda *args: asked.append(args[3]) or honest(*args))
    law = np.full(50, 0.02)
    models: list[Any] = [lambda text: law] * 2 if of_models else [law] * 2
    with pytest.raises(ValueError, match=r"^about 20000 trees or more; give fewer tokens, siblings or nodes$"):
        expected_kept(*models, rule="tokenwise", parents=[-1, 0, 1], scheme=scheme)
    assert len(asked) == (50 + 50**2 if of_models else 0)


@pytest.mark.parametrize(("scheme", "count"), [("iid", 27), ("without_replacement", 18), ("hub", 1), ("paths", 27)])
def test_no_more_trees_are_counted_than_there_are(scheme: str, count: int) -> None:
    """On three tokens: a count that is too large would refuse what can be done."""
    law, shape = np.array([Fraction(1, 3)] * 3), [-1, -1, 0] if scheme != "paths" else [-1, 0, 1]
    if scheme == "hub":
        shape = [-1, -1]
    there = trees.enumerate_trees(lambda text: law, shape, scheme=scheme)
    assert count_trees(3, shape, scheme) == count <= len(there)
